"""004: Ranganath, Wang, Blei, Xing, adaptive learning rates for SVI, 2013."""

import itertools

from common import compare_topics, figure, plain

from sktemper.learning_rates import AdaptiveRate, PrintedAdaptiveRate, RobbinsMonro


@figure("004.fig2")
def rates(run):
    """LDA: adaptive rates do as well as the best of tuned rates, or better."""
    policies = {
        f"offset {offset}, decay {decay}": RobbinsMonro(offset, decay)
        for offset, decay in itertools.product((1, 64, 1024), (0.5, 0.7))
    }
    for metric in ("fisher", "identity"):
        # the paper does not print the number of batches of the warm-up
        for n in run.size((2, 10, 50, 150, 300), (2, 10, 50)):
            policies[f"as printed, {metric}, {n}"] = PrintedAdaptiveRate(metric, n)
        policies[f"AdaptiveRate, {metric}"] = AdaptiveRate(metric)
    settings = {name: plain(learning_rate=rate) for name, rate in policies.items()}
    shared = {"n_components": run.size(50, 20), "batch_size": 64, "max_iter": 3}
    compare_topics(run, settings, ("debian", "nyt"), 2, **shared)
