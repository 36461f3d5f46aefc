"""How fast are the sweeps of the factorial mixture, and default fits of it?

    python benchmarks/factorial_sweeps.py CHECKOUT ...

measures each checkout of the package, whose kernels must be compiled, in a process of
its own; they take turns, `--rounds` times.  Printed are medians, of CPU time in one
thread.  A checkout measures itself by

    PYTHONPATH=CHECKOUT python benchmarks/factorial_sweeps.py

"sweep"    a sample and sweep, where no sample ends before 200 sweeps
"sample"   a local step from the start until the optimum: with what it takes to put a
           sample into a lane, out of it, and the terms of its bound
"default"  `AnnealedFactorialMixture(8).fit`, seconds, means over two seeds

GF counts a sweep as 2 K^2 operations, without its K probabilities.
"""

import argparse
import json
import statistics
import time
import warnings

import numpy as np
from checkouts import ONE_THREAD, output_of

#: Features and dimensions of the local steps, rows of a block, and repetitions.
SIZES, N_ROWS, N_REPETITIONS = ((8, 16), (16, 32), (50, 1000)), 2000, 9


def samples(n_samples, n_components, n_features, noise=0.1, seed=0):
    """Return sums of binary features, and noise."""
    random = np.random.default_rng(seed)
    components = random.normal(0, 0.35, (n_components, n_features))
    present = random.random((n_samples, n_components)) < 0.3
    return present @ components + noise * random.normal(size=(n_samples, n_features))


def local_step(K, D, dtype):
    """Return the nanoseconds of a lone sweep, and of a sample; and its sweeps."""
    from sktemper import TemperedFactorialMixture
    from sktemper.factorial_mixture import _kernels
    from sktemper.model import Request

    X = samples(N_ROWS, K, D).astype(dtype)
    mixture = TemperedFactorialMixture(
        K, tempering=None, max_iter=5, random_state=0, n_jobs=1
    ).fit(X)
    model = mixture._make_model(D, X.dtype)
    prepared = model.prepare(mixture.state_.globals_, mixture.state_.hyper)
    block, real, spent = model.take(X, slice(None)), _kernels.local_step, []

    def timed(*arguments):
        begin = time.process_time()
        n_sweeps = real(*arguments)
        spent.append((time.process_time() - begin, n_sweeps))
        return n_sweeps

    def least():
        spent.clear()
        for _ in range(N_REPETITIONS):
            model.local_step(block, prepared, Request())
        return min(spent)

    _kernels.local_step = timed
    try:
        seconds, n_sweeps = least()
        model.tol, model.max_iter = 0.0, 200
        alone, n_alone = least()
    finally:
        _kernels.local_step = real
    return 1e9 * alone / n_alone, 1e9 * seconds / N_ROWS, n_sweeps / N_ROWS


def default_fit(X):
    """Return CPU seconds of a default fit."""
    from sktemper import AnnealedFactorialMixture

    seconds = 0.0
    for seed in range(2):
        begin = time.process_time()
        AnnealedFactorialMixture(8, random_state=seed, n_jobs=1).fit(X)
        seconds += (time.process_time() - begin) / 2
    return seconds


def measure():
    """Return what the checkout on the path takes: names, and numbers."""
    warnings.simplefilter("ignore")
    found = {}
    for K, D in SIZES:
        for dtype in ("float32", "float64"):
            alone, sample, n_sweeps = local_step(K, D, dtype)
            name, flop = f"{dtype} K={K} D={D}", 2 * K * K
            found[f"{name}, sweep, ns"] = alone
            found[f"{name}, sweep, GF"] = flop / alone
            found[f"{name}, sample, ns"] = sample
            found[f"{name}, sample, GF"] = flop * n_sweeps / sample
    for n_samples, D in ((10_000, 16), (2000, 16), (1000, 32)):
        X = samples(n_samples, 8, D)
        found[f"default, {n_samples:,} samples, D={D}, s"] = default_fit(X)
    return found


def main():
    """Print the table of all checkouts, or measure what is on the path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not options.checkouts:
        print(json.dumps(measure()))
        return
    rounds = [
        [output_of(__file__, checkout, **ONE_THREAD) for checkout in options.checkouts]
        for _ in range(options.rounds)
    ]
    numbers = range(len(options.checkouts))
    print(
        "| what |" + "".join(f" {number} |" for number in numbers) + " first / last |"
    )
    print("|---|" + "---:|" * (len(numbers) + 1))
    for name in rounds[0][0]:
        medians = [statistics.median(r[n][name] for r in rounds) for n in numbers]
        ratio = statistics.median(r[0][name] / r[-1][name] for r in rounds)
        cells = "".join(f" {median:.3g} |" for median in medians)
        print(f"| {name} |{cells} {'' if name.endswith('GF') else f'{ratio:.2f}'} |")


if __name__ == "__main__":
    main()
