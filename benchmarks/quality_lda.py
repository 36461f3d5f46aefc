"""How good are the optima? Every policy against plain inference, and against peers.

    python benchmarks/quality_lda.py                    # all stages, then the report
    python benchmarks/quality_lda.py --stages peers --corpora debian --seeds 1
    python benchmarks/quality_lda.py --quick            # does it run? (two minutes)
    python benchmarks/quality_lda.py --stages           # only the report

A stage appends the rows of each finished fit to its own table in
``benchmarks/results/quality_lda``; after an interruption it goes on behind them. The
report is ``benchmarks/results/quality_lda.md``, with pictures in ``doc/images``.

policies   every tempering, rate and noise; curves over passes and over seconds
growth     does what annealing gains grow with the number of topics?
sviplus    SVI+ with |S|=1000, M=500 against plain inference with either batch size
rates      adaptive learning rates against a grid of others, batches of 64 and 1000
lengths    does the length of a schedule transfer from one size of data to another?
peers      as much time for scikit-learn, gensim, tomotopy, BigARTM, Vowpal Wabbit
ladder     distributions over temperatures, given a likelihood and in the course of fits

Scores are nats per token: of held-out words by document completion, dealt by distinct
words or token by token, and the lower bound at T=1 of the training data, estimated from
2,000 of its documents. The last tenth of a corpus, at most 2,000 documents, is the test
set. Everything runs in one thread; seconds are of CPU time, and scoring does not count.
Every fit has the same priors, the package's defaults.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import contextlib
import functools
import importlib.util
import itertools
import math
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import corpora
import matplotlib
import numpy as np
import pandas as pd
import sklearn
from cycler import cycler
from matplotlib.figure import Figure
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from topic_models import fixed, tomotopy_lda, tomotopy_topics

import sktemper
from sktemper import TemperedLDA
from sktemper.lda._model import LDAModel
from sktemper.learning_rates import AdaptiveRate, RobbinsMonro
from sktemper.metrics import completion_log_likelihood
from sktemper.noise import SVIPlusNoise
from sktemper.plotting import TemperatureDisplay
from sktemper.schedules import ExponentialSchedule, LinearSchedule, RampSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("nyt", "imdb-20000", "debian")
ALPHA, ETA = 0.05, 0.1
KEY = ["corpus", "n_components", "batch_size", "setting", "seed"]
METRICS = ["words", "tokens", "bound"]
FIELDS = [*KEY, "passes", "steps", "seconds", "temperature", *METRICS]
LADDER_FIELDS = [*KEY, "steps", "temperature", "score", "rung", "probability"]

# -- what is compared: parameters of TemperedLDA ---------------------------------------


def plain(**changes):
    start = {"init_params": "random", "doc_update": "variational"}
    return {"tempering": None, **start, **changes}


def annealed(schedule=ExponentialSchedule, target="local_step", **changes):
    return plain(tempering=Annealing(schedule(**changes), target))


def sampled(doc_update, tempering):
    return {"tempering": tempering, "doc_update": doc_update}


POLICIES = {
    "plain": plain(),
    "annealed": annealed(),
    **{f"annealed from {start}": annealed(start=start) for start in (1.5, 2, 3, 5)},
    # "auto" is half of the steps in a fit as short as these: 5 of 10 passes
    "annealed, 2.5 passes": annealed(length=2.5, unit="passes"),
    "annealed, 10 passes": annealed(length=10, unit="passes"),
    "annealed, linear": annealed(LinearSchedule),
    "annealed, likelihood": annealed(target="likelihood"),
    "annealed, posterior": annealed(target="posterior"),
    "global": plain(tempering=GlobalTempering()),
    "global, model's priors": plain(tempering=GlobalTempering(partition_priors=None)),
    "global, no cap": plain(tempering=GlobalTempering(cap=None)),
    "local": plain(tempering=LocalTempering()),
    "SVI+": plain(gradient_noise=SVIPlusNoise()),
    "Fisher rate": plain(learning_rate=AdaptiveRate()),
    "plain, sampled": sampled("sampled", None),
    "annealed, auto": sampled("auto", Annealing()),
    "annealed, sampled": sampled("sampled", Annealing()),
    "global, auto": sampled("auto", GlobalTempering()),
    "global, sampled": sampled("sampled", GlobalTempering()),
}
GROWTH = ("plain", "annealed", "annealed, auto")
LADDERS = ("annealed", "global", "global, model's priors", "global, no cap", "local")
#: The size of the batches, and what else.
SVIPLUS = {
    "plain, 500": plain(batch_size=500),
    "plain, 1000": plain(batch_size=1000),
    "M=500": plain(batch_size=1000, gradient_noise=SVIPlusNoise(500)),
    "M=500, gaussian": plain(
        batch_size=1000, gradient_noise=SVIPlusNoise(500, "gaussian")
    ),
    "M=50t": plain(batch_size=1000, gradient_noise=SVIPlusNoise(RampSchedule())),
}
RATES = {"plain": None, "Fisher": AdaptiveRate(), "identity": AdaptiveRate("identity")}
RATES |= {
    f"({offset} + t)^-{decay}": RobbinsMonro(offset, decay)
    for offset, decay in itertools.product((1, 10, 100, 1000), (0.5, 0.7, 0.9))
}
LENGTHS = {
    "200 steps": {"length": 200},
    "1000 steps": {"length": 1000},
    "0.1 pass": {"length": 0.1, "unit": "passes"},
    "1 pass": {"length": 1, "unit": "passes"},
    "3 passes": {"length": 3, "unit": "passes"},
}
SIZES = (1000, 4000, 16_000, None)
#: Batches, and the learning rates that suit them.
BATCHES = {100: RobbinsMonro(offset=64), "auto": None}
#: Batches of a stream, where one pass is all there is, and what ends well within it.
STREAMS = {
    100: ("plain", "200 steps", "0.1 pass"),
    1000: ("plain", "200 steps", "0.1 pass"),
    "auto": ("plain", "0.1 pass"),
}
#: What AnnealedLDA is by default, and with fewer or more passes.
OURS = {
    f"AnnealedLDA, {n} passes": {"tempering": Annealing(), "max_iter": n}
    for n in (5, 10, 30, 60, 180)
}
#: CPU seconds of each peer, and those that have a column in the table.
BUDGETS = {"nyt": 60, "imdb-20000": 120, "debian": 200}
COLUMNS = (5, 10, 20, 50, 100, 200)

# -- fits and their rows ---------------------------------------------------------------


class Stopwatch:
    """CPU seconds since the start, but for those when it was stopped."""

    def __init__(self):
        self.begin = time.process_time()

    def seconds(self):
        return time.process_time() - self.begin

    @contextlib.contextmanager
    def stopped(self):
        begin = time.process_time()
        yield
        self.begin += time.process_time() - begin


class Curve:
    """A callback that makes a row after each pass of a fit, or after some.

    The fit is to begin as soon as this is made: it is called back only later.
    """

    def __init__(self, corpus, passes):
        self.corpus, self.passes, self.rows = corpus, passes, []
        self.watch = Stopwatch()

    def setup(self, estimator, context):
        pass

    on_fit_task_begin = teardown = setup

    def on_fit_task_end(self, estimator, context):
        passes = self.passes or {estimator.n_iter_}
        if context.task_name == "pass" and estimator.n_iter_ in passes:
            seconds = self.watch.seconds()
            with self.watch.stopped():
                row = progress(estimator) | scores(estimator, self.corpus.test)
                row["bound"] = bound_per_token(estimator, self.corpus)
            self.rows.append(row | {"seconds": seconds})


def progress(lda):
    return {
        "passes": lda.n_iter_,
        "steps": lda.n_batch_iter_,
        "temperature": lda.temperature_,
    }


def scores(estimator, X):
    return {
        split: completion_log_likelihood(estimator, X, split=split, random_state=0)
        for split in ("words", "tokens")
    }


def bound_per_token(lda, corpus):
    """Return the bound of the training data, the documents' part from a sample."""
    topics = lda.lower_bound(corpora.empty(lda.n_features_in_))
    documents = lda.lower_bound(corpus.sample) - topics
    return documents / corpus.sample.sum() + topics / corpus.train.sum()


def curve(corpus, parameters, passes=None):
    """Return the rows of one fit after some passes; None is after each."""
    recorder = Curve(corpus, passes)
    TemperedLDA(**parameters).set_callbacks(recorder).fit(corpus.train)
    return recorder.rows


def stream(corpus, parameters):
    """Return the row of one pass: pieces are generated, learned and forgotten."""
    lda = TemperedLDA(**parameters, total_samples=corpus.n_documents)
    seconds = 0.0
    for piece in corpus.pieces():
        watch = Stopwatch()
        lda.partial_fit(piece)
        seconds += watch.seconds()
    row = progress(lda) | {"passes": 1, "seconds": seconds}
    return [row | scores(lda, corpus.test)]


def truth(corpus, parameters):
    """Return the row of the topics from which the documents were drawn."""
    topics = fixed(1e6 * corpus.topic_word + 1e-6)  # as if counted often
    return [{"passes": 1, "temperature": 1.0} | scores(topics, corpus.test)]


# -- stages: pairs of what a row begins with, and how a corpus makes the rest ----------


class Options(argparse.Namespace):
    """The command line; with ``--quick`` everything is a tenth or less."""

    def tenth(self, n, least=1):
        return max(n // 10, least) if self.quick and n else n

    def load(self, name):
        """Load "nyt", or "imdb-20000": so many documents of it; None if it cannot."""
        name, _, size = name.partition("-")
        if self.corpora and name not in self.corpora:
            return None
        if name == "generated":
            n_documents = 10**4 if self.quick else 10**6
            return corpora.GeneratedCorpus(n_documents, self.tenth(100))
        n_train, n_test = int(size) if size else None, corpora.N_TEST
        if self.quick:
            n_train, n_test = min(n_train or 500, 500), 200
        return corpora.load(name, self.data.resolve(), n_train, n_test)


def grid(options, names, settings, topics=(100,), seeds=3, label="auto", **how):
    """Yield every combination; ``label`` is what the table says of the batches."""
    rows = how.pop("rows", curve)
    seeds = range(options.seeds or (1 if options.quick else seeds))
    for name, K, seed in itertools.product(names, topics, seeds):
        K = options.tenth(K, least=5)
        for setting, parameters in settings.items():
            key = dict(zip(KEY, (name, K, label, setting, seed), strict=True))
            parameters = {"n_components": K, "random_state": seed, **parameters}
            yield key, functools.partial(rows, parameters=parameters, **how)


def each(settings, **changes):
    return {name: parameters | changes for name, parameters in settings.items()}


def policies(options):
    return grid(options, TEXTS, POLICIES)


def growth(options):
    settings = {name: POLICIES[name] | {"max_iter": 5} for name in GROWTH}
    return grid(options, ("imdb-20000",), settings, (100, 200, 500), passes={5})


def sviplus(options):
    # 20 passes in batches of 1000 are as many steps as 10 in batches of 500
    settings, passes = each(SVIPLUS, max_iter=20), {10, 20}
    return grid(options, ("nyt",), settings, (50,), 20, "as named", passes=passes)


def rates(options):
    for size in (64, 1000):
        settings = {
            k: plain(learning_rate=v, batch_size=size) for k, v in RATES.items()
        }
        yield from grid(options, ("nyt",), settings, label=size, passes={10})


def lengths(options):
    """Yield fits that go on for two passes after their schedule, ten at least.

    The plain fit is as long as the longest, and scored where any of them ends.
    """
    for size, (batch_size, rate) in itertools.product(SIZES, BATCHES.items()):
        name = f"imdb-{options.tenth(size)}" if size else "imdb"
        corpus = options.load(name)
        if corpus is None:
            continue
        per_pass = steps_per_pass(corpus.train, options.tenth(100), batch_size)
        ends = {}
        for setting, how in LENGTHS.items():
            passes = how["length"] / (1 if "unit" in how else per_pass)
            ends[setting] = max(10, 2 + math.ceil(passes))
        for setting, parameters in schedules(batch_size, rate).items():
            passes = {ends[setting]} if setting in ends else set(ends.values())
            settings = {setting: parameters | {"max_iter": max(passes)}}
            yield from grid(options, (name,), settings, label=batch_size, passes=passes)
    yield from grid(options, ("generated",), {"true topics": {}}, rows=truth)
    for size, names in STREAMS.items():
        settings = schedules(size, BATCHES.get(size))
        settings = {name: settings[name] for name in names}
        yield from grid(options, ("generated",), settings, label=size, rows=stream)


def schedules(batch_size, rate):
    settings = {"plain": plain()} | {k: annealed(**how) for k, how in LENGTHS.items()}
    return each(settings, batch_size=batch_size, learning_rate=rate)


def steps_per_pass(X, K, batch_size):
    if batch_size == "auto":
        model = LDAModel(K, X.shape[1], None, None)
        batch_size = model.auto_batch_size(X, X.shape[0])
    return math.ceil(X.shape[0] / batch_size)


def ladder(options):
    settings = {name: POLICIES[name] for name in LADDERS}
    return grid(options, TEXTS, settings, seeds=1, rows=temperatures)


def peers(options):
    for name in TEXTS:
        yield from grid(options, (name,), OURS)
        settings = {setting: {"setting": setting} for setting in PEERS}
        budget = BUDGETS[name] / (400 if options.quick else 1)
        yield from grid(options, (name,), settings, rows=race, budget=budget)


# -- peers: each fits until it is told that its time is over ---------------------------


class Race:
    """Scores of a peer's topics in the course of its fit."""

    def __init__(self, corpus, budget, setting):
        self.corpus, self.budget, self.setting = corpus, budget, setting
        self.rows, self.due = [], budget / 100
        self.start()

    def start(self):
        """Start the clock, again: before were made the data in the peer's own form."""
        self.watch = Stopwatch()

    def is_over(self, topics, seconds=None):
        """Score topics if it is time, and return whether all of it is gone.

        ``topics()`` are pseudo-counts, by what to add to the name in the table.
        """
        if seconds is None:
            seconds = self.watch.seconds()
        if seconds >= self.due:
            with self.watch.stopped():
                for rest, components in topics().items():
                    row = {"setting": self.setting + rest, "temperature": 1.0}
                    found = scores(fixed(components), self.corpus.test)
                    self.rows.append(row | found | {"seconds": seconds})
            self.due = min(1.15 * seconds, max(self.budget, seconds))
        return seconds >= self.budget


def race(corpus, parameters, budget):
    setting = parameters["setting"]
    module, peer, *changes = PEERS[setting]
    if importlib.util.find_spec(module) is None:
        print(f"{setting}: not installed", flush=True)
        return []
    race = Race(corpus, budget, setting)
    K, seed = parameters["n_components"], parameters["random_state"]
    peer(corpus.train, K, seed, race, *changes)
    return race.rows


def scikit_learn(X, K, seed, race, batch_size, decay=0.7):
    n_rows = X.shape[0]
    X = X.astype(np.float64)  # as it would itself, each time anew
    lda = LatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_decay=decay,
        batch_size=batch_size or n_rows,
        total_samples=n_rows,
        random_state=seed,
    )
    piece = lda.batch_size * max(1, n_rows // (10 * lda.batch_size))
    race.start()
    for start in itertools.cycle(range(0, n_rows, piece)):
        lda.partial_fit(X[start : start + piece])
        if race.is_over(lambda: {"": lda.components_}):
            return


def gensim(X, K, seed, race):
    from gensim.models import LdaModel
    from gensim.models.callbacks import Metric

    class AfterPass(Metric):
        title = logger = None

        def get_value(self, *, model, **rest):
            if race.is_over(lambda: {"": model.state.get_lambda()}):
                raise StopIteration  # the only way out

    documents = [list(zip(*pair, strict=True)) for pair in corpora.documents(X)]
    names = {word: str(word) for word in range(X.shape[1])}
    priors = {"alpha": [ALPHA] * K, "eta": ETA}
    run = {"passes": 10**6, "eval_every": None, "callbacks": [AfterPass()]}
    race.start()
    with contextlib.suppress(StopIteration):
        LdaModel(documents, K, names, random_state=seed, **priors, **run)


def tomotopy(X, K, seed, race, eta=ETA):
    """Sample by collapsed Gibbs: the last sample, the mean of the last two thirds."""
    lda = tomotopy_lda(X, K, seed, alpha=ALPHA, eta=eta)
    lda.optim_interval = 0  # the prior stays
    samples = []

    def topics():
        mean = np.mean(samples[len(samples) // 3 :], axis=0)
        return {"": samples[-1], ", averaged": mean}

    race.start()
    while not samples or not race.is_over(topics):
        lda.train(10, workers=1)
        samples.append(tomotopy_topics(lda, X.shape[1]).astype(np.float32))


def bigartm(X, K, seed, race):
    import artm

    with tempfile.TemporaryDirectory() as folder:
        batches = artm.BatchVectorizer(
            data_path=corpora.write_documents(X, folder, "d{}"),
            data_format="vowpal_wabbit",
            target_folder=f"{folder}/batches",
        )
        priors = {"alpha": ALPHA, "beta": ETA, "dictionary": batches.dictionary}
        lda = artm.LDA(num_topics=K, num_processors=1, seed=seed, **priors)

        def topics():  # probabilities there: as many counts as there are tokens
            words = [w if isinstance(w, str) else w[-1] for w in lda.phi_.index]
            topics = np.full((K, X.shape[1]), ETA)
            topics[:, [int(w) for w in words]] = lda.phi_.to_numpy().T * X.sum() / K
            return {"": np.maximum(topics, 1e-6)}

        race.start()
        lda.fit_online(batches, tau0=10)
        while not race.is_over(topics):
            lda.fit_online(batches, tau0=10)


def vowpal_wabbit(X, K, seed, race):
    """Fit anew with twice the passes: only the end brings all words up to date."""
    bits = math.ceil(math.log2(X.shape[1]))
    with tempfile.TemporaryDirectory() as folder:
        documents = corpora.write_documents(X, folder, "|")

        def topics():  # a line for each word, behind a preamble
            lines = Path(folder, "topics").read_text().splitlines()[-(2**bits) :]
            table = np.array([line.split() for line in lines[: X.shape[1]]], float)
            return {"": table[:, 1 : K + 1].T}

        for passes in (2**i for i in itertools.count()):
            begin = children_seconds()
            command = (
                f"-m vowpalwabbit -d {documents} --quiet -b {bits} "
                f"--random_seed {seed} --lda {K} --lda_D {X.shape[0]} "
                f"--lda_alpha {ALPHA} --lda_rho {ETA} "
                "--minibatch 1024 --learning_rate 1 --initial_t 10 --power_t 0.7 "
                f"--passes {passes} --holdout_off -k --cache_file {folder}/cache "
                f"--readable_model {folder}/topics"
            )
            subprocess.run([sys.executable, *command.split()], check=True)
            if race.is_over(topics, children_seconds() - begin):
                return


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


#: Module, fit and its further arguments.  scikit-learn's batch algorithm is its online
#: one with all documents in a batch and rate 1, and so can be watched.
PEERS = {
    "scikit-learn online": ("sklearn", scikit_learn, 128),
    "scikit-learn online, batches of 1000": ("sklearn", scikit_learn, 1000),
    "scikit-learn batch": ("sklearn", scikit_learn, None, 0),
    "gensim": ("gensim", gensim),
    "tomotopy": ("tomotopy", tomotopy),
    "tomotopy, eta=.03": ("tomotopy", tomotopy, 0.03),
    "BigARTM": ("artm", bigartm),
    "Vowpal Wabbit": ("vowpalwabbit", vowpal_wabbit),
}

# -- temperatures ----------------------------------------------------------------------


def temperatures(corpus, parameters):
    """Return the temperatures of about 100 steps, and q over a global ladder."""
    lda = TemperedLDA(**parameters).fit(corpus.train)
    history, tempering, rows = lda.history_, lda.tempering_, []
    is_global = isinstance(tempering, GlobalTempering)
    for i in range(0, len(history["step"]), max(1, len(history["step"]) // 100)):
        row = {"steps": history["step"][i], "temperature": history["temperature"][i]}
        if is_global:
            q = history["temperature_probabilities"][i]
            rows += likely(row, tempering.ladder(), q)
        else:
            rows.append(row)
    return rows + (
        distributions(tempering, lda.state_.policies.tempering) if is_global else []
    )


def likely(row, rungs, probabilities, least=1e-3):
    return [
        {**row, "rung": rung, "probability": probability}
        for rung, probability in zip(rungs, probabilities, strict=True)
        if probability >= least
    ]


def distributions(policy, state, n_words=100):
    """Return q over the ladder for one document, given four log-likelihoods per word.

    Log C is convex, and q highest where its slope is the log-likelihood: near the four
    temperatures below.
    """
    b, rows = state.inverse_temperatures, []
    slopes = np.gradient(state.log_partition, b)
    for temperature in (1.1, 1.6, 2.5, 5):
        score = slopes[np.abs(1 / b - temperature).argmin()]
        document = SimpleNamespace(score=n_words * score, n_observed=n_words)
        q = policy.next_state(state._replace(score=math.nan), document, 1.0, None)
        rows += likely({"score": score}, 1 / b, q.probabilities)
    return rows


# -- tables and pictures ---------------------------------------------------------------


def spread(values, sign=""):
    values = values.dropna()
    if values.empty:
        return "-"
    error = f" ± {values.sem():.3f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.3f}{error}"


def gain(rows, group, baseline="plain", same="passes"):
    """Return by how much rows are better than the baseline's of the same seeds."""
    by = ["seed", same]
    rows = rows[rows.setting != baseline]
    base = group[group.setting == baseline].set_index(by)[METRICS]
    return rows.set_index(by)[METRICS] - base


def table(frame, versus=(("plain", "passes"),), gains=METRICS, all_passes=False):
    """Yield a table for each corpus, number of topics and batch size."""
    for (corpus, K, batch), group in frame.groupby(KEY[:3], sort=False):
        yield from ("", f"### {corpus}, K={K}, batch size {batch}", "")
        heads = ["setting", "passes", "steps", "CPU s", *METRICS]
        for baseline, same in versus:
            heads += [f"{m} over {baseline}, same {same}" for m in gains]
        yield from ("| " + " | ".join(heads) + " |", "|---" * len(heads) + "|")
        ends = group.groupby("setting").passes.transform("max")
        shown = group if all_passes else group[group.passes == ends]
        for (setting, passes), rows in shown.groupby(["setting", "passes"], sort=False):
            cells = [setting, f"{passes:g}", f"{rows.steps.mean():g}"]
            cells += [f"{rows.seconds.mean():.1f}", *(spread(rows[m]) for m in METRICS)]
            for baseline, same in versus:
                gained = gain(rows, group, baseline, same)
                cells += [spread(gained[m], "+") for m in gains]
            yield "| " + " | ".join(cells) + " |"


def table_of_sviplus(frame):
    versus = [("plain, 500", "passes"), ("plain, 500", "steps")]
    versus.append(("plain, 1000", "passes"))
    return table(frame, versus, ("words", "bound"), all_passes=True)


def table_of_peers(frame):
    """Yield tables of what is reached within so many seconds, at T=1."""
    for (corpus, K), group in frame.groupby(KEY[:2], sort=False):
        budgets = [seconds for seconds in COLUMNS if seconds <= BUDGETS[corpus]]
        for metric in ("tokens", "words"):
            yield from ("", f"### {corpus}, K={K}, split by {metric}", "")
            yield "| | " + " | ".join(f"{seconds} s" for seconds in budgets) + " |"
            yield "|---" + "|---:" * len(budgets) + "|"
            for setting, rows in group.groupby("setting", sort=False):
                rows = rows[rows.temperature < 1 + 1e-9]
                within = [rows[rows.seconds <= seconds] for seconds in budgets]
                best = [spread(part.groupby("seed")[metric].last()) for part in within]
                yield f"| {setting} | " + " | ".join(best) + " |"


#: Colours that people with any colour vision tell apart (Okabe and Ito).
COLOURS = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#000000", "#56B4E9"
#: Of lines, so that one can be seen below another.
WIDTHS = (4, 3.5, 3, 2, 1.5, 1)


def panels(n_rows, n_columns=3, **parameters):
    figure = Figure((11, 3.6 * n_rows), layout="constrained")
    with matplotlib.rc_context({"axes.prop_cycle": cycler(color=COLOURS)}):
        axes = figure.subplots(n_rows, n_columns, squeeze=False, **parameters)
    return figure, axes


def picture_of_policies(frames):
    settings = ("plain", "annealed", "annealed, auto", "global", "local", "SVI+")
    figure, axes = panels(2, sharey="col")
    groups = frames["policies"].groupby("corpus", sort=False)
    for (corpus, group), column in zip(groups, axes.T, strict=False):
        group = group[group.setting.isin(settings)]
        for setting, width in zip(settings, WIDTHS, strict=True):
            by_pass = group[group.setting == setting].groupby("passes")
            line = by_pass[["seconds", "words"]].mean()
            column[0].plot(line.index, line.words, lw=width, label=setting)
            column[1].plot(line.seconds, line.words, lw=width)
        ends = group[group.passes == group.passes.max()].words
        column[0].set_ylim(2 * ends.min() - ends.max(), None)
        column[0].set(title=corpus, xlabel="passes over the data")
        column[1].set_xlabel("CPU seconds")
    return labelled(figure, axes, "held-out nats per token (words)")


def picture_of_lengths(frames):
    figure, axes = panels(1, 2)
    frame = frames["lengths"]
    for ax, batch in zip(axes[0], ("100", "auto"), strict=True):
        part = frame[frame.batch_size.astype(str) == batch]
        for corpus, group in part.groupby("corpus", sort=False):
            gains = [
                gain(group[group.setting == name], group).words.mean()
                for name in LENGTHS
            ]
            ax.plot(list(LENGTHS), gains, "o-", label=corpus)
        ax.set_title(f"batches: {batch}")
        ax.tick_params(axis="x", rotation=30)
        ax.axhline(0, color="0.8", zorder=0)
    return labelled(figure, axes, "gain over plain (nats, words)")


#: Colours, styles and widths of lines.
PEER_STYLES = {
    "AnnealedLDA": ("#0072B2", "-", 3.5),
    "tomotopy, averaged": ("#D55E00", "-", 2),
    "tomotopy": ("#D55E00", ":", 2),
    "scikit-learn batch": ("#009E73", "-", 2),
    "scikit-learn online, batches of 1000": ("#009E73", "--", 2),
    "scikit-learn online": ("#009E73", ":", 2),
    "gensim": ("#000000", "-", 1.5),
}
PEER_CORPORA = {
    "debian": "52,189 short descriptions (34 words)",
    "nyt": "8,447 newspaper articles",
}


def picture_of_peers(frames):
    """Draw what each has reached after so many seconds; of our fits the longest."""
    frame = frames["peers"]
    corpora_ = [name for name in PEER_CORPORA if (frame.corpus == name).any()]
    figure, axes = panels(1, len(corpora_))
    for corpus, ax in zip(corpora_, axes[0], strict=True):
        group = frame[frame.corpus == corpus]
        ours = group[group.setting.isin(OURS)]
        longest = ours.setting[ours.passes.idxmax()]
        group = group[(group.temperature < 1 + 1e-9) & (group.seed == 0)]
        best = group.groupby("setting").tokens.max()
        drawn = []
        for name, (color, style, width) in PEER_STYLES.items():
            setting = longest if name == "AnnealedLDA" else name
            line = group[group.setting == setting]
            ax.plot(line.seconds, line.tokens, style, color=color, lw=width, label=name)
            drawn.append(best[setting])
        room = 0.05 * (max(drawn) - min(drawn))
        ax.set_ylim(min(drawn) - room, max(drawn) + room)
        ax.set(title=PEER_CORPORA[corpus], xlabel="CPU time [s]", xscale="log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        ax.grid(alpha=0.3)
    return labelled(figure, axes, "held-out score [nats per token]")


def picture_of_temperatures(frames):
    """Draw temperatures; below, q given a likelihood, and in the course of two fits."""
    figure, axes = panels(2)
    groups = frames["ladder"].groupby("corpus", sort=False)
    for (corpus, group), ax in zip(groups, axes[0], strict=False):
        for setting, width in zip(LADDERS, WIDTHS, strict=False):
            steps = group[group.setting == setting].groupby("steps")
            line = steps.temperature.first()
            ax.plot(line.index, line, lw=width, label=setting)
        ax.set(title=corpus, xlabel="steps")
    labelled(figure, axes, "temperature")
    for score, rows in group[group.setting == "global"].groupby("score"):
        axes[1, 0].plot(rows.rung, rows.probability, label=f"{score:.2f}")
    axes[1, 0].set(xlabel="temperature", ylabel="q, a document of 100 words")
    axes[1, 0].legend(title="log-likelihood\nper word", loc="upper right")
    for ax, setting in zip(axes[1, 1:], ("global", "global, no cap"), strict=True):
        rows = group[(group.setting == setting) & group.score.isna()]
        draw_heat_map(ax, rows, POLICIES[setting]["tempering"].ladder())
        ax.set_title(f"{corpus}: {setting}")
    return figure


def draw_heat_map(ax, rows, rungs):
    """Draw q over the steps; the table left out what is unlikely."""
    nearest = np.abs(rows.rung.to_numpy()[:, None] - rungs).argmin(axis=1)
    table = rows.assign(rung=nearest).pivot(index="steps", columns="rung")
    probabilities = table.probability.reindex(columns=range(len(rungs))).fillna(0.0)
    TemperatureDisplay(
        x=table.index.to_numpy(),
        temperature=rows.groupby("steps").temperature.first().to_numpy(),
        ladder=rungs,
        probabilities=probabilities.to_numpy(),
    ).plot(ax)


def labelled(figure, axes, label):
    for ax in axes[:, 0]:
        ax.set_ylabel(label)
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4)
    return figure


#: What is done, its heading, its table and its picture.
STAGES = {
    "policies": (policies, "Policies", table, picture_of_policies),
    "growth": (growth, "The number of topics", table, None),
    "sviplus": (sviplus, "SVI+", table_of_sviplus, None),
    "rates": (rates, "Learning rates", table, None),
    "lengths": (lengths, "Lengths of schedules", table, picture_of_lengths),
    "peers": (peers, "Peers at equal CPU time", table_of_peers, picture_of_peers),
    "ladder": (ladder, "Temperatures", None, picture_of_temperatures),
}

# -- running and reporting -------------------------------------------------------------


def run(stage, options, folder):
    """Do what is not done yet of a stage, and append it to the stage's table."""
    path = folder / f"{stage}.csv"
    fields = LADDER_FIELDS if stage == "ladder" else FIELDS
    done = set()
    if path.exists():
        done.update(
            pd.read_csv(path, dtype=str)[KEY].itertuples(index=False, name=None)
        )
    for key, rows in STAGES[stage][0](options):
        if tuple(map(str, key.values())) in done:
            continue
        corpus = options.load(key["corpus"])
        table = [] if corpus is None else [key | row for row in rows(corpus)]
        if table:
            frame = pd.DataFrame(table, columns=fields)
            how = {"index": False, "header": not path.exists(), "float_format": "%.6g"}
            frame.to_csv(path, mode="a", **how)
            print(stage, *frame.iloc[-1].to_dict().values(), flush=True)


def report(folder, images):
    """Write tables and pictures of what has been measured."""
    frames = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
    lines = [
        "# Quality of latent Dirichlet allocation",
        "",
        "Nats per token, mean ± standard error over seeds; gains are paired by seed. "
        "`benchmarks/quality_lda.py` made this, and says what stages, settings and "
        "columns are; every number stands in `quality_lda/`. sktemper "
        f"{sktemper.__version__}, scikit-learn {sklearn.__version__}.",
    ]
    for stage, (_, title, table, picture) in STAGES.items():
        if stage not in frames:
            continue
        lines += ["", f"## {title}"]
        if picture is not None:
            path = images / f"quality_{stage}.png"
            picture(frames).savefig(path, dpi=110)
            path = Path(os.path.relpath(path, folder.parent)).as_posix()
            lines += ["", f"![{title}]({path})"]
        if table is not None:
            lines += table(frames[stage])
    path = folder.with_suffix(".md")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"See {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", nargs="*", choices=STAGES, default=list(STAGES))
    parser.add_argument("--corpora", nargs="+", help="of nyt, imdb, debian, generated")
    parser.add_argument("--seeds", type=int, help="default: 3, of sviplus 20, ladder 1")
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--output", type=Path, help="instead of this checkout")
    corpora.add_argument(parser)
    options = parser.parse_args(namespace=Options())
    scratch = Path(tempfile.gettempdir(), "quality_lda_quick")
    root = options.output or (scratch if options.quick else ROOT)
    folder, images = root / "benchmarks/results/quality_lda", root / "doc/images"
    folder.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for stage in options.stages:
        run(stage, options, folder)
    report(folder, images)


if __name__ == "__main__":
    main()
