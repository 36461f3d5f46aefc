"""The fixed cases that `compare.py` measures, each in a new process.

    PYTHONPATH=CHECKOUT python benchmarks/compare_cases.py lda_default
    PYTHONPATH=CHECKOUT python benchmarks/compare_cases.py --list

The first command makes one measurement with the package of that checkout, whose kernels
must be compiled, and prints the CPU seconds of all threads and the wall seconds as
JSON. A case prepares data and returns a function to be timed.  The first call is
measured by itself, together with the start of the process and its imports but without
the data.  The call is then repeated for at least `LEAST` CPU seconds; the other
measurements are the mean time of these calls.  Cases use only public names, so that
they run with older commits too.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_info

import sktemper
from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    AnnealedMultinomialMixture,
    ImplicitFactorization,
    TemperedLDA,
    datasets,
)

#: Number of rows of one `partial_fit` call of a stream.
PIECE = 50
#: Least CPU seconds of a measurement, because clocks have a coarse resolution.
LEAST = 0.3


def documents(n_documents, dtype=np.float64):
    """Return the counts of the first documents of the package's corpus."""
    X = datasets.load_debian_descriptions().data[:n_documents]
    return sparse.csr_array(X, dtype=dtype)


def long_documents(n_documents):
    """Return generated texts of 200 words."""
    return datasets.make_lda_documents(
        n_documents, n_components=20, n_features=3000, doc_length=200, random_state=0
    )


def clusters(n_samples, n_features, n_clusters, dtype=np.float64):
    """Return clusters that overlap a little."""
    random = np.random.default_rng(0)
    centres = 3 * random.normal(size=(n_clusters, n_features))
    noise = random.normal(size=(n_samples, n_features))
    return (centres[random.integers(n_clusters, size=n_samples)] + noise).astype(dtype)


def features(n_samples):
    """Return noisy sums of 8 binary features in 32 dimensions."""
    random = np.random.default_rng(0)
    present = random.random((n_samples, 8)) < 0.3
    noise = random.normal(size=(n_samples, 32))
    return present @ random.normal(size=(8, 32)) + 0.3 * noise


def ratings(n_users):
    """Return ratings from 1 to 5 of 800 items, 24 a user."""
    X = sparse.random(n_users, 800, 0.03, format="csr", random_state=0)
    X.data = np.ceil(5 * X.data)
    return sparse.csr_array(X)


def many_ratings():
    """Return a million ratings by 20,000 users of 5,000 items, few of them popular."""
    random = np.random.default_rng(0)
    users = random.integers(20_000, size=1_100_000)
    items = (5000 * random.random(len(users)) ** 2).astype(np.int64)
    entries = np.unique(users * 5000 + items)
    values = random.integers(1, 6, size=len(entries)).astype(np.float64)
    parts = values, (entries // 5000, entries % 5000)
    return sparse.csr_array(parts, shape=(20_000, 5000))


# -- functions to be timed -------------------------------------------------------------


def fits(X, kind, n_components, **parameters):
    """Return a function that fits a new estimator to data."""
    parameters |= {"n_components": n_components, "random_state": 0}
    return lambda: kind(**parameters).fit(X)


def calls(method, X, kind, n_components, train=None, **parameters):
    """Return a function that calls a method of an estimator with data."""
    fitted = fits(X if train is None else train, kind, n_components, **parameters)()
    return lambda: getattr(fitted, method)(X)


def stream(X, kind, n_components):
    """Return a function that fits a new estimator to small chunks of data."""
    pieces = [X[i : i + PIECE] for i in range(0, X.shape[0], PIECE)]

    def run():
        estimator = kind(n_components, total_samples=X.shape[0], random_state=0)
        for piece in pieces:
            estimator.partial_fit(piece)

    return run


def online(n_topics, X):
    """Return a function for a pass of plain variational inference, 256 rows a step."""
    lda = TemperedLDA(
        n_topics,
        tempering=None,
        doc_update="variational",
        batch_size=256,
        max_iter=1,
        random_state=0,
    )
    if hasattr(lda, "init_params"):  # older commits have only a random start
        lda.set_params(init_params="random")
    return lambda: lda.fit(X)


def recommended():
    model = ImplicitFactorization(64, max_iter=1, random_state=0).fit(many_ratings())
    return lambda: model.recommend(np.arange(2000), n_items=10)


TWENTY, FIVE = {"max_iter": 20, "tol": 0.0}, {"max_iter": 5, "tol": 0.0}
DIAGONAL = {"covariance_type": "diag", **TWENTY}


class Case(NamedTuple):
    """A case: its title in tables, and a function that prepares it."""

    title: str
    prepare: Callable


CASES = {
    "lda_default": Case(
        "`AnnealedLDA(20).fit`, 6,000 short texts",
        lambda: fits(documents(6000), AnnealedLDA, 20),
    ),
    "lda_two_threads": Case(
        "The same with `n_jobs=2`",
        lambda: fits(documents(6000), AnnealedLDA, 20, n_jobs=2),
    ),
    "lda_many_topics": Case(
        "`AnnealedLDA(100, max_iter=4).fit`, 6,000 short texts",
        lambda: fits(documents(6000), AnnealedLDA, 100, max_iter=4),
    ),
    "lda_sampled": Case(
        '`doc_update="sampled"`, K=20, 4 passes of 6,000 short texts',
        lambda: fits(
            documents(6000), AnnealedLDA, 20, max_iter=4, doc_update="sampled"
        ),
    ),
    "lda_variational": Case(
        '`doc_update="variational"`, K=20, 4 passes of 1,500 long texts',
        lambda: fits(
            long_documents(1500), AnnealedLDA, 20, max_iter=4, doc_update="variational"
        ),
    ),
    "lda_global_temperature": Case(
        '`TemperedLDA(20, tempering="global", max_iter=2).fit`, 4,000 short texts',
        lambda: fits(documents(4000), TemperedLDA, 20, tempering="global", max_iter=2),
    ),
    "lda_online": Case(
        "A pass by mean field, `batch_size=256`, K=20, 6,000 short texts",
        lambda: online(20, documents(6000)),
    ),
    "lda_online_float32": Case(
        "The same in float32",
        lambda: online(20, documents(6000, np.float32)),
    ),
    "lda_online_many_topics": Case(
        "The same in float64, K=100",
        lambda: online(100, documents(6000)),
    ),
    "lda_online_many_topics_float32": Case(
        "The same in float32, K=100",
        lambda: online(100, documents(6000, np.float32)),
    ),
    "lda_online_long": Case(
        "The same in float64, K=100, 1,500 long texts",
        lambda: online(100, long_documents(1500)),
    ),
    "lda_transform": Case(
        "`transform` in float64, K=100, 6,000 short texts",
        lambda: calls("transform", documents(6000), AnnealedLDA, 100, max_iter=2),
    ),
    "lda_transform_float32": Case(
        "`transform` in float32, K=100, 6,000 short texts",
        lambda: calls(
            "transform", documents(6000, np.float32), AnnealedLDA, 100, max_iter=2
        ),
    ),
    "lda_transform_long": Case(
        "`transform` in float32, K=20, 1,500 long texts",
        lambda: calls(
            "transform",
            long_documents(1500).astype(np.float32),
            AnnealedLDA,
            20,
            max_iter=2,
        ),
    ),
    "lda_stream": Case(
        "`partial_fit`, K=20, 4,000 short texts, 50 a call",
        lambda: stream(documents(4000), AnnealedLDA, 20),
    ),
    "gaussian_default": Case(
        "`AnnealedGaussianMixture(8).fit`, 3,000 samples, 4 features",
        lambda: fits(clusters(3000, 4, 6), AnnealedGaussianMixture, 8),
    ),
    "gaussian_toy": Case(
        "`AnnealedGaussianMixture(5).fit`, 500 samples, 2 features",
        lambda: fits(clusters(500, 2, 5), AnnealedGaussianMixture, 5),
    ),
    "gaussian_fifty": Case(
        "`AnnealedGaussianMixture(50).fit`, 10,000 samples of 50 clusters, 16 features",
        lambda: fits(clusters(10000, 16, 50), AnnealedGaussianMixture, 50),
    ),
    "gaussian_without_moves": Case(
        "`moves=None`, 10 components, 20,000 samples, 8 features, 20 steps on all",
        lambda: fits(
            clusters(20000, 8, 10), AnnealedGaussianMixture, 10, moves=None, **TWENTY
        ),
    ),
    "gaussian_two_threads": Case(
        "The same with `n_jobs=2`",
        lambda: fits(
            clusters(20000, 8, 10),
            AnnealedGaussianMixture,
            10,
            moves=None,
            n_jobs=2,
            **TWENTY,
        ),
    ),
    "gaussian_diagonal": Case(
        '`covariance_type="diag"`, 20 components, 10,000 samples, 32 features, '
        "20 steps",
        lambda: fits(
            clusters(10000, 32, 20), AnnealedGaussianMixture, 20, moves=None, **DIAGONAL
        ),
    ),
    "gaussian_minibatches": Case(
        "`batch_size=500, moves=None`, 10 components, 3 passes of 20,000 samples",
        lambda: fits(
            clusters(20000, 8, 10),
            AnnealedGaussianMixture,
            10,
            batch_size=500,
            moves=None,
            max_iter=3,
        ),
    ),
    "gaussian_scores": Case(
        "`score_samples`, 20 full covariances, 20,000 samples, 32 features",
        lambda: calls(
            "score_samples",
            clusters(20000, 32, 20),
            AnnealedGaussianMixture,
            20,
            moves=None,
            max_iter=2,
        ),
    ),
    "gaussian_stream": Case(
        "`partial_fit`, 10 components, 8,000 samples, 50 a call",
        lambda: stream(clusters(8000, 8, 10), AnnealedGaussianMixture, 10),
    ),
    "factorial_default": Case(
        "`AnnealedFactorialMixture(8).fit`, 1,000 samples, 32 features",
        lambda: fits(features(1000), AnnealedFactorialMixture, 8),
    ),
    "factorial_transform": Case(
        "`transform`, 8 features, 20,000 samples",
        lambda: calls(
            "transform",
            features(20000),
            AnnealedFactorialMixture,
            8,
            features(20000)[:2000],
            moves=None,
            max_iter=5,
        ),
    ),
    "ratings_default": Case(
        "`AnnealedMatrixFactorization(10).fit`, 3,000 users, 800 items",
        lambda: fits(ratings(3000), AnnealedMatrixFactorization, 10),
    ),
    "ratings_sweeps": Case(
        "5 sweeps, 10 factors, a million ratings of 20,000 users and 5,000 items",
        lambda: fits(many_ratings(), AnnealedMatrixFactorization, 10, **FIVE),
    ),
    "ratings_sweeps_wide": Case(
        "The same, 32 factors",
        lambda: fits(many_ratings(), AnnealedMatrixFactorization, 32, **FIVE),
    ),
    "clicks_sweeps": Case(
        "`ImplicitFactorization(32)`, 5 sweeps of a million pairs",
        lambda: fits(many_ratings(), ImplicitFactorization, 32, **FIVE),
    ),
    "clicks_recommend": Case(
        "`recommend`, 64 factors, 10 of 5,000 items for 2,000 users",
        lambda: recommended(),
    ),
    "ratings_minibatches": Case(
        "`batch_size=300`, 10 factors, 4 passes of 3,000 users",
        lambda: fits(
            ratings(3000), AnnealedMatrixFactorization, 10, batch_size=300, max_iter=4
        ),
    ),
    "ratings_transform": Case(
        "`transform`, 32 factors, 3,000 users",
        lambda: calls(
            "transform", ratings(3000), AnnealedMatrixFactorization, 32, max_iter=2
        ),
    ),
    "multinomial_default": Case(
        "`AnnealedMultinomialMixture(10).fit`, 4,000 short texts",
        lambda: fits(documents(4000), AnnealedMultinomialMixture, 10),
    ),
    "bernoulli_default": Case(
        "`AnnealedBernoulliMixture(10).fit`, 2,000 samples, 64 features",
        lambda: fits(
            (clusters(2000, 64, 10) > 0).astype(float), AnnealedBernoulliMixture, 10
        ),
    ),
}


def measure(prepare):
    """Return CPU and wall seconds of a case, and facts about the libraries in use."""
    imported = time.process_time()  # CPU seconds since the process started
    run = prepare()
    prepared = time.process_time()
    run()
    first = imported + time.process_time() - prepared
    calls, passed = 0, 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    while passed < LEAST:
        run()
        calls, passed = calls + 1, time.process_time() - cpu
    wall = time.perf_counter() - wall
    kernels = {library.get("architecture") for library in threadpool_info()}
    return {
        "first": first,
        "cpu": passed / calls,
        "wall": wall / calls,
        "package": sktemper.__file__,
        "blas": "/".join(sorted(filter(None, kernels))),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("--list", action="store_true", help="print all cases")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.list:
        print(json.dumps({name: case.title for name, case in CASES.items()}))
    elif arguments.case:
        print(json.dumps(measure(CASES[arguments.case].prepare)))
    else:
        parser.error("a case, or --list")


if __name__ == "__main__":
    main()
