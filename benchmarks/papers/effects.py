"""Effects of temperature on every model, beside other ways to a better optimum."""

import itertools

import numpy as np
from common import figure
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import train_test_split
from stages import spread

from sktemper import (
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
    TemperedMultinomialMixture,
)
from sktemper.datasets import make_factorial_mixture, make_ratings
from sktemper.tempering import Annealing


def texts(run):
    for name, corpus in run.texts("debian", "nyt", n_train=5000):
        yield name, 50, corpus.train, corpus.test


def split(*sets):
    for name, n_components, X in sets:
        yield name, n_components, *train_test_split(X, test_size=0.3, random_state=0)


def clusters(run):
    n = run.size(5000, 1000)
    blobs, _ = make_blobs(n, 10, centers=30, center_box=(-4, 4), random_state=0)
    return split(("digits", 30, load_digits().data), ("blobs", 50, blobs))


def images(run):
    shapes = make_factorial_mixture(run.size(3000, 600), random_state=0)
    return split(("digits", 20, load_digits().data / 16), ("shapes", 8, shapes))


def ratings(run):
    X = make_ratings(n_stars=5, random_state=0)
    sets = [("generated", 10, X)]
    if path := run.path("movielens", "movielens_100k.npz"):
        sets.append(("MovieLens", 20, sparse.csr_array(sparse.load_npz(path))))
    return split(*sets)


#: Models, their data, and the values of parameters with which temperature is combined.
MODELS = {
    TemperedLDA: (
        texts,
        {
            "doc_update": ("sampled", "variational"),
            "init_params": ("spectral", "random"),
        },
    ),
    TemperedMultinomialMixture: (texts, {"moves": ("split_merge", None)}),
    TemperedGaussianMixture: (
        clusters,
        {"moves": ("all", None), "init_params": ("kmeans", "random_from_data")},
    ),
    TemperedFactorialMixture: (
        images,
        {"moves": ("birth", None), "init": ("ica", "random")},
    ),
    TemperedMatrixFactorization: (ratings, {}),
}


@figure("effects")
def effects(run):
    """Temperature x sampling, moves and start: score and bound, for all models.

    Effects are those of annealing over a plain fit with the same other parameters,
    paired by seed: of held-out scores, and of bounds per unit of the training data.
    """
    print("| model | data | with | effect on score | on bound |\n|---|---|---|---|---|")
    for kind, (data, others) in MODELS.items():
        for name, n_components, X, X_test in data(run):
            units = X.sum() if data is texts else X.shape[0]
            for values in itertools.product(*others.values()):
                context = dict(zip(others, values, strict=True))
                found = []
                for seed in run.all_seeds(5):
                    fits = [
                        kind(n_components, tempering=t, random_state=seed, **context)
                        for t in (Annealing(), None)
                    ]
                    found.append(
                        [
                            (fit.fit(X).score(X_test), fit.lower_bound(X) / units)
                            for fit in fits
                        ]
                    )
                gains = np.subtract(*np.moveaxis(found, 1, 0))
                shown = ", ".join(f"{k}={v!r}" for k, v in context.items())
                cells = (spread(gain, 3, "+") for gain in gains.T)
                print(
                    f"| {kind.__name__} | {name} | {shown} | {' | '.join(cells)} |",
                    flush=True,
                )
