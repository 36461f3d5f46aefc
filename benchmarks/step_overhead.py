"""Benchmark of the CPU time of a step and of a block without their kernels.

    python benchmarks/step_overhead.py                       # this checkout
    python benchmarks/step_overhead.py ../base . --repeat 15 # before and after

The benchmark replaces kernels by functions that return immediately, so that only the
Python code of a step and of its blocks remains.  It uses two models: latent Dirichlet
allocation, whose blocks are slices of a sparse matrix, and an empty model, which
measures only the loop.  The difference between a fit with few and one with many steps
excludes the costs of starting a fit.  Steps with one block and with several blocks give
the cost of a block.

The kernels of all checkouts must be compiled.  Measurements of the checkouts alternate,
each in a new process.  The script prints the least CPU time of all threads in
microseconds, because other load on the machine can only increase times.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from checkouts import output_of

ROOT = Path(__file__).resolve().parents[1]
#: The number of rows of a block, of blocks of a long step, of timed steps, and of rows
#: of a call of `partial_fit`.
BLOCK, BLOCKS, STEPS, PIECE = 256, 8, 120, 50


def empty_lda():
    """Replace the kernels of latent Dirichlet allocation by empty functions."""
    import numpy as np

    from sktemper.lda import _kernels

    words, rows = np.empty(0, dtype=np.intp), np.empty((0, 32))

    def local_step(documents, *others):
        *_, bounds = others
        bounds[:] = 0.0
        return len(documents.starts) - 1, rows

    _kernels.local_step = local_step
    _kernels.distinct_words = lambda indices, n_features: (words, words)
    _kernels.add_rows = lambda *_: None


def empty_estimator():
    """Return the class of an estimator whose model does nothing."""
    import numpy as np

    from sktemper.base import TemperedEstimator
    from sktemper.model import ConjugateModel, LocalStep

    class Empty(ConjugateModel):
        block_size, dtype = BLOCK, np.dtype(np.float64)
        row_values = np.zeros(BLOCK)

        def take(self, X, rows):
            return X[rows]

        def initial_hyper(self, X, sample_weight=None):
            return 1.0

        def initial_globals(self, X, random, hyper=None, sample_weight=None):
            return np.zeros(1)

        def prepare(self, globals_, hyper):
            return globals_

        def local_step(self, block, prepared, request):
            row_values = self.row_values[: len(block)]
            return LocalStep(
                0.0,
                len(block),
                1.0,
                len(block),
                row_observed=row_values,
                row_bounds=row_values,
            )

        def step(self, globals_, statistics, scale, powers, rate, hyper):
            return globals_

    class EmptyEstimator(TemperedEstimator):
        def __init__(self, batch_size="auto", max_iter=10, random_state=None):
            self.batch_size, self.max_iter = batch_size, max_iter
            self.random_state = random_state

        def _validate(self, X, reset):
            self.n_features_in_ = X.shape[1]
            return X

        def _make_model(self, n_features, dtype):
            return Empty()

    return EmptyEstimator


def seconds_of(function, *arguments):
    """Return the CPU time of a call."""
    begin = time.process_time()
    function(*arguments)
    return time.process_time() - begin


def per_step(fit, n_blocks):
    """Return the CPU time of a step of ``n_blocks`` blocks with different rows."""
    steps_of_pass = max(STEPS // n_blocks // 4, 2)
    n_rows = steps_of_pass * n_blocks * BLOCK
    few, many = (
        min(seconds_of(fit, n_rows, n_blocks * BLOCK, n) for _ in range(5))
        for n in (1, 5)
    )
    return (many - few) / (4 * steps_of_pass)


def measure():
    """Return the microseconds of steps and blocks of the imported package."""
    import numpy as np
    from scipy import sparse

    from sktemper import AnnealedLDA
    from sktemper.datasets import load_debian_descriptions

    warnings.simplefilter("ignore")
    empty_lda()
    Empty = empty_estimator()
    texts = sparse.csr_array(load_debian_descriptions().data, dtype=np.float64)
    numbers = np.zeros((texts.shape[0], 4))

    def fit_lda(n_rows, size, n_passes, **others):
        lda = AnnealedLDA(20, batch_size=size, max_iter=n_passes, **others)
        lda.fit(texts[:n_rows])

    def fit_variational(n_rows, size, n_passes):
        fit_lda(n_rows, size, n_passes, doc_update="variational")

    def fit_empty(n_rows, size, n_passes):
        Empty(size, n_passes).fit(numbers[:n_rows])

    def stream(n_calls):
        lda = AnnealedLDA(20, total_samples=10_000)
        for i in range(n_calls):
            lda.partial_fit(texts[PIECE * i : PIECE * (i + 1)])

    found = {}
    for name, fit in {
        "a model that does nothing": fit_empty,
        "LDA, variational": fit_variational,
        "LDA, by default": fit_lda,
    }.items():
        one, several = per_step(fit, 1), per_step(fit, BLOCKS)
        found[f"{name}: a step of one block"] = one
        found[f"{name}: another block"] = (several - one) / (BLOCKS - 1)
    few, many = (min(seconds_of(stream, n) for _ in range(5)) for n in (2, 42))
    found[f"LDA, by default: `partial_fit` of {PIECE} rows"] = (many - few) / 40
    return {name: 1e6 * value for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure()))
        return
    runs = [
        [output_of(__file__, checkout, "--measure") for checkout in arguments.checkouts]
        for _ in range(arguments.repeat)
    ]
    print("| µs |", *(f"{path.resolve().name} |" for path in arguments.checkouts))
    print("|---|" + "---:|" * len(arguments.checkouts))
    for name in runs[0][0]:
        least = (min(side[name] for side in sides) for sides in zip(*runs, strict=True))
        print(f"| {name} |", *(f"{value:.0f} |" for value in least))


if __name__ == "__main__":
    main()
