"""The fixed cases that `compare.py` measures, each in a new process.

    PYTHONPATH=CHECKOUT python benchmarks/compare_cases.py lda_default
    PYTHONPATH=CHECKOUT python benchmarks/compare_cases.py lda_default --peer
    PYTHONPATH=CHECKOUT python benchmarks/compare_cases.py --list

The first command makes one measurement with the package of that checkout, whose kernels
must be compiled, and prints the CPU seconds of all threads and the wall seconds as
JSON. A case is a function that prepares data and returns a function to be timed.  The
first call is measured by itself, together with the start of the process and its imports
but without the data.  The call is then repeated for at least `LEAST` CPU seconds; the
other measurements are the mean time of these calls.  Cases use only public names, so
that they run with older commits too.  The docstring of a case is its title in tables.
With ``--peer`` another package does the same work, see `PEERS`.
"""

import argparse
import inspect
import json
import time
import warnings

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


def sweeps(rank):
    """Return a function that fits a million ratings in 5 sweeps."""
    X = many_ratings()
    return lambda: AnnealedMatrixFactorization(
        rank, max_iter=5, tol=0.0, random_state=0
    ).fit(X)


def stream(make, X):
    """Return a function that fits a new estimator to small chunks of data."""
    pieces = [X[i : i + PIECE] for i in range(0, X.shape[0], PIECE)]

    def run():
        estimator = make()
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


def lda_default():
    """`AnnealedLDA(20).fit`, 6,000 short texts"""
    X = documents(6000)
    return lambda: AnnealedLDA(20, random_state=0).fit(X)


def lda_two_threads():
    """The same with `n_jobs=2`"""
    X = documents(6000)
    return lambda: AnnealedLDA(20, n_jobs=2, random_state=0).fit(X)


def lda_many_topics():
    """`AnnealedLDA(100, max_iter=4).fit`, 6,000 short texts"""
    X = documents(6000)
    return lambda: AnnealedLDA(100, max_iter=4, random_state=0).fit(X)


def lda_sampled():
    """`doc_update="sampled"`, K=20, 4 passes of 6,000 short texts"""
    X = documents(6000)
    return lambda: AnnealedLDA(
        20, max_iter=4, doc_update="sampled", random_state=0
    ).fit(X)


def lda_variational():
    """`doc_update="variational"`, K=20, 4 passes of 1,500 long texts"""
    X = long_documents(1500)
    return lambda: AnnealedLDA(
        20, max_iter=4, doc_update="variational", random_state=0
    ).fit(X)


def lda_global_temperature():
    """`TemperedLDA(20, tempering="global", max_iter=2).fit`, 4,000 short texts"""
    X = documents(4000)
    return lambda: TemperedLDA(20, tempering="global", max_iter=2, random_state=0).fit(
        X
    )


def lda_online():
    """A pass by mean field, `batch_size=256`, K=20, 6,000 short texts"""
    return online(20, documents(6000))


def lda_online_float32():
    """The same in float32"""
    return online(20, documents(6000, np.float32))


def lda_online_many_topics():
    """The same in float64, K=100"""
    return online(100, documents(6000))


def lda_online_many_topics_float32():
    """The same in float32, K=100"""
    return online(100, documents(6000, np.float32))


def lda_online_long():
    """The same in float64, K=100, 1,500 long texts"""
    return online(100, long_documents(1500))


def lda_transform():
    """`transform` in float64, K=100, 6,000 short texts"""
    X = documents(6000)
    lda = AnnealedLDA(100, max_iter=2, random_state=0).fit(X)
    return lambda: lda.transform(X)


def lda_transform_float32():
    """`transform` in float32, K=100, 6,000 short texts"""
    X = documents(6000, np.float32)
    lda = AnnealedLDA(100, max_iter=2, random_state=0).fit(X)
    return lambda: lda.transform(X)


def lda_transform_long():
    """`transform` in float32, K=20, 1,500 long texts"""
    X = long_documents(1500).astype(np.float32)
    lda = AnnealedLDA(20, max_iter=2, random_state=0).fit(X)
    return lambda: lda.transform(X)


def lda_stream():
    """`partial_fit`, K=20, 4,000 short texts, 50 a call"""
    return stream(
        lambda: AnnealedLDA(20, total_samples=4000, random_state=0), documents(4000)
    )


def gaussian_default():
    """`AnnealedGaussianMixture(8).fit`, 3,000 samples, 4 features"""
    X = clusters(3000, 4, 6)
    return lambda: AnnealedGaussianMixture(8, random_state=0).fit(X)


def gaussian_toy():
    """`AnnealedGaussianMixture(5).fit`, 500 samples, 2 features"""
    X = clusters(500, 2, 5)
    return lambda: AnnealedGaussianMixture(5, random_state=0).fit(X)


def gaussian_fifty():
    """`AnnealedGaussianMixture(50).fit`, 10,000 samples of 50 clusters, 16 features"""
    X = clusters(10000, 16, 50)
    return lambda: AnnealedGaussianMixture(50, random_state=0).fit(X)


def gaussian_without_moves():
    """`moves=None`, 10 components, 20,000 samples, 8 features, 20 steps on all"""
    X = clusters(20000, 8, 10)
    return lambda: AnnealedGaussianMixture(
        10, moves=None, max_iter=20, tol=0.0, random_state=0
    ).fit(X)


def gaussian_two_threads():
    """The same with `n_jobs=2`"""
    X = clusters(20000, 8, 10)
    return lambda: AnnealedGaussianMixture(
        10, moves=None, max_iter=20, tol=0.0, n_jobs=2, random_state=0
    ).fit(X)


def gaussian_diagonal():
    """`covariance_type="diag"`, 20 components, 10,000 samples, 32 features, 20 steps"""
    X = clusters(10000, 32, 20)
    return lambda: AnnealedGaussianMixture(
        20, covariance_type="diag", moves=None, max_iter=20, tol=0.0, random_state=0
    ).fit(X)


def gaussian_minibatches():
    """`batch_size=500, moves=None`, 10 components, 3 passes of 20,000 samples"""
    X = clusters(20000, 8, 10)
    return lambda: AnnealedGaussianMixture(
        10, batch_size=500, moves=None, max_iter=3, random_state=0
    ).fit(X)


def gaussian_scores():
    """`score_samples`, 20 full covariances, 20,000 samples, 32 features"""
    X = clusters(20000, 32, 20)
    mixture = AnnealedGaussianMixture(20, moves=None, max_iter=2, random_state=0)
    mixture.fit(X)
    return lambda: mixture.score_samples(X)


def gaussian_stream():
    """`partial_fit`, 10 components, 8,000 samples, 50 a call"""
    return stream(
        lambda: AnnealedGaussianMixture(10, total_samples=8000, random_state=0),
        clusters(8000, 8, 10),
    )


def factorial_default():
    """`AnnealedFactorialMixture(8).fit`, 1,000 samples, 32 features"""
    X = features(1000)
    return lambda: AnnealedFactorialMixture(8, random_state=0).fit(X)


def factorial_transform():
    """`transform`, 8 features, 20,000 samples"""
    X = features(20000)
    mixture = AnnealedFactorialMixture(8, moves=None, max_iter=5, random_state=0)
    mixture.fit(X[:2000])
    return lambda: mixture.transform(X)


def ratings_default():
    """`AnnealedMatrixFactorization(10).fit`, 3,000 users, 800 items"""
    X = ratings(3000)
    return lambda: AnnealedMatrixFactorization(10, random_state=0).fit(X)


def ratings_sweeps():
    """5 sweeps, 10 factors, a million ratings of 20,000 users and 5,000 items"""
    return sweeps(10)


def ratings_sweeps_wide():
    """The same, 32 factors"""
    return sweeps(32)


def clicks_sweeps():
    """`ImplicitFactorization(32)`, 5 sweeps of a million pairs"""
    X = many_ratings()
    return lambda: sktemper.ImplicitFactorization(
        32, max_iter=5, tol=0.0, random_state=0
    ).fit(X)


def clicks_recommend():
    """`recommend`, 64 factors, 10 of 5,000 items for 2,000 users"""
    model = sktemper.ImplicitFactorization(64, max_iter=1, random_state=0)
    model.fit(many_ratings())
    return lambda: model.recommend(np.arange(2000), n_items=10)


def ratings_minibatches():
    """`batch_size=300`, 10 factors, 4 passes of 3,000 users"""
    X = ratings(3000)
    return lambda: AnnealedMatrixFactorization(
        10, batch_size=300, max_iter=4, random_state=0
    ).fit(X)


def ratings_transform():
    """`transform`, 32 factors, 3,000 users"""
    X = ratings(3000)
    model = AnnealedMatrixFactorization(32, max_iter=2, random_state=0).fit(X)
    return lambda: model.transform(X)


def multinomial_default():
    """`AnnealedMultinomialMixture(10).fit`, 4,000 short texts"""
    X = documents(4000)
    return lambda: AnnealedMultinomialMixture(10, random_state=0).fit(X)


def bernoulli_default():
    """`AnnealedBernoulliMixture(10).fit`, 2,000 samples, 64 features"""
    X = (clusters(2000, 64, 10) > 0).astype(float)
    return lambda: AnnealedBernoulliMixture(10, random_state=0).fit(X)


# -- the same or similar work by other packages ----------------------------------------


def allocation(**parameters):
    """Return scikit-learn's latent Dirichlet allocation."""
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(random_state=0, **parameters)


def allocation_online(n_topics, X):
    """scikit-learn, one online pass"""
    lda = allocation(
        n_components=n_topics, learning_method="online", batch_size=256, max_iter=1
    )
    return lambda: lda.fit(X)


def gensim_online(n_topics, X):
    """gensim, one online pass, in float32 as it is by default"""
    from gensim.models import LdaModel

    texts = [
        list(zip(row.indices, row.data, strict=True)) for row in sparse.csr_matrix(X)
    ]
    words = dict(enumerate(map(str, range(X.shape[1]))))
    return lambda: LdaModel(
        texts,
        num_topics=n_topics,
        id2word=words,
        chunksize=256,
        iterations=100,
        eval_every=None,
        random_state=0,
    )


def allocation_default(n_topics, X):
    """scikit-learn's fit with its defaults, 10 passes"""
    lda = allocation(n_components=n_topics)
    return lambda: lda.fit(X)


def allocation_transform(n_topics, X):
    """scikit-learn"""
    lda = allocation(n_components=n_topics, learning_method="online", max_iter=2).fit(X)
    return lambda: lda.transform(X)


def gibbs(n_topics, X, n_sweeps):
    """tomotopy, 40 sweeps on one thread"""
    import tomotopy

    texts = [
        [str(word) for word in np.repeat(row.indices, row.data.astype(int))]
        for row in sparse.csr_matrix(X)
    ]

    def run():
        lda = tomotopy.LDAModel(k=n_topics, seed=0)
        for text in filter(None, texts):
            lda.add_doc(text)
        lda.train(n_sweeps, workers=1)

    return run


def mixture(n_components, X, **parameters):
    """scikit-learn's variational Gaussian mixture, one fit"""
    from sklearn.mixture import BayesianGaussianMixture

    mixture = BayesianGaussianMixture(
        n_components=n_components, random_state=0, **parameters
    )
    return lambda: mixture.fit(X)


def mixture_scores(n_components, X):
    """scikit-learn"""
    from sklearn.mixture import BayesianGaussianMixture

    fitted = BayesianGaussianMixture(
        n_components=n_components, max_iter=2, random_state=0
    ).fit(X)
    return lambda: fitted.score_samples(X)


def alternating(rank):
    """cmfrec, 5 sweeps by Cholesky factors"""
    from cmfrec import CMF

    X = many_ratings().tocoo()
    return lambda: CMF(
        k=rank, lambda_=10.0, use_cg=False, niter=5, nthreads=1, verbose=False
    ).fit(X)


def alternating_implicit(rank):
    """implicit, 5 sweeps by Cholesky factors"""
    from implicit.als import AlternatingLeastSquares

    X = sparse.csr_matrix(many_ratings(), dtype=np.float32)
    return lambda: AlternatingLeastSquares(
        rank, iterations=5, use_cg=False, num_threads=1, random_state=0
    ).fit(X, show_progress=False)


def recommendations(rank):
    """implicit, factors of the same shape"""
    from implicit.als import AlternatingLeastSquares

    X = sparse.csr_matrix(many_ratings(), dtype=np.float32)
    model = AlternatingLeastSquares(rank, iterations=1, num_threads=1, random_state=0)
    model.fit(X, show_progress=False)
    users = np.arange(2000)
    return lambda: model.recommend(users, X[users], N=10)


TWENTY = {"max_iter": 20, "tol": 0.0}
#: For each case, a function of another package for the same or a similar task.
PEERS = {
    "lda_default": lambda: allocation_default(20, documents(6000)),
    "lda_many_topics": lambda: allocation_default(100, documents(6000)),
    "lda_sampled": lambda: gibbs(20, documents(6000), 40),
    "lda_online": lambda: allocation_online(20, documents(6000)),
    "lda_online_float32": lambda: allocation_online(20, documents(6000)),
    "lda_online_many_topics": lambda: allocation_online(100, documents(6000)),
    "lda_online_many_topics_float32": lambda: gensim_online(100, documents(6000)),
    "lda_online_long": lambda: allocation_online(100, long_documents(1500)),
    "lda_transform": lambda: allocation_transform(100, documents(6000)),
    "lda_transform_float32": lambda: allocation_transform(100, documents(6000)),
    "lda_transform_long": lambda: allocation_transform(20, long_documents(1500)),
    "gaussian_default": lambda: mixture(8, clusters(3000, 4, 6)),
    "gaussian_toy": lambda: mixture(5, clusters(500, 2, 5)),
    "gaussian_fifty": lambda: mixture(50, clusters(10000, 16, 50)),
    "gaussian_without_moves": lambda: mixture(10, clusters(20000, 8, 10), **TWENTY),
    "gaussian_diagonal": lambda: mixture(
        20, clusters(10000, 32, 20), covariance_type="diag", **TWENTY
    ),
    "gaussian_scores": lambda: mixture_scores(20, clusters(20000, 32, 20)),
    "ratings_sweeps": lambda: alternating(10),
    "ratings_sweeps_wide": lambda: alternating(32),
    "clicks_sweeps": lambda: alternating_implicit(32),
    "clicks_recommend": lambda: recommendations(64),
}
CASES = {
    case.__name__: case
    for case in (
        lda_default,
        lda_two_threads,
        lda_many_topics,
        lda_sampled,
        lda_variational,
        lda_global_temperature,
        lda_online,
        lda_online_float32,
        lda_online_many_topics,
        lda_online_many_topics_float32,
        lda_online_long,
        lda_transform,
        lda_transform_float32,
        lda_transform_long,
        lda_stream,
        gaussian_default,
        gaussian_toy,
        gaussian_fifty,
        gaussian_without_moves,
        gaussian_two_threads,
        gaussian_diagonal,
        gaussian_minibatches,
        gaussian_scores,
        gaussian_stream,
        factorial_default,
        factorial_transform,
        ratings_default,
        ratings_sweeps,
        ratings_sweeps_wide,
        clicks_sweeps,
        clicks_recommend,
        ratings_minibatches,
        ratings_transform,
        multinomial_default,
        bernoulli_default,
    )
}


def measure(case):
    """Return CPU and wall seconds of a case, and facts about the libraries in use."""
    imported = time.process_time()  # CPU seconds since the process started
    run = case()
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


def described(case):
    """Return the title of a case, and whether it has a peer."""
    return {"text": inspect.getdoc(CASES[case]), "has_peer": case in PEERS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("--peer", action="store_true", help="by another package")
    parser.add_argument("--list", action="store_true", help="print all cases")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.list:
        print(json.dumps({name: described(name) for name in CASES}))
    elif arguments.case:
        kind = PEERS if arguments.peer else CASES
        print(json.dumps(measure(kind[arguments.case])))
    else:
        parser.error("a case, or --list")


if __name__ == "__main__":
    main()
