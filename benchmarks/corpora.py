"""Corpora of word counts for the benchmarks, split into training and test documents.

The Debian corpus comes from `sktemper.datasets`. Two other corpora, ``nyt.npz`` (8,447
x 3,012 word counts) and ``imdb.npz`` (99,772 x 8,000), are read from a folder, see
`add_argument`.
"""

import functools
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from sktemper.datasets import load_debian_descriptions

#: Number of documents of a test set, and of the training documents for lower bounds.
N_TEST = N_SAMPLE = 2000


def add_argument(parser):
    """Add an argument for the folder of corpora that are not part of the package."""
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(
            os.environ.get("SKTEMPER_DATA")
            or Path(__file__).resolve().parents[1] / "../shared/data"
        ),
        help="folder of nyt.npz and imdb.npz; default: the environment variable "
        "SKTEMPER_DATA, or ../shared/data beside the checkout",
    )


@dataclass(frozen=True)
class Corpus:
    """Training documents and test documents."""

    train: sparse.csr_matrix
    test: sparse.csr_matrix

    @functools.cached_property
    def sample(self):
        """Random rows of the training set, the same for every fit."""
        n_rows = self.train.shape[0]
        rows = np.random.default_rng(0).permutation(n_rows)[:N_SAMPLE]
        return self.train[np.sort(rows)]


@functools.lru_cache(maxsize=2)
def load(name, folder, n_train=None, n_test=N_TEST):
    """Return a `Corpus`, or None if its file is missing.

    The test set is the last tenth of the rows, at most ``n_test`` rows.  The training
    set is the rows before, at most the first ``n_train``.

    Parameters
    ----------
    name : {"debian", "nyt", "imdb"}
    folder : Path
    n_train, n_test : int or None
    """
    if name == "debian":
        X = sparse.csr_matrix(load_debian_descriptions().data)
    elif not (folder / f"{name}.npz").exists():
        print(f"{name}.npz is not there: skipped (see --data)", flush=True)
        return None
    else:
        X = sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz"))
    if name == "nyt":  # the other corpora are in random order
        X = X[np.random.default_rng(0).permutation(X.shape[0])]
    n_first = X.shape[0] - X.shape[0] // 10
    return Corpus(X[:n_first][:n_train], X[n_first:][:n_test])


# -- formats of other packages ---------------------------------------------------------


def empty(n_features):
    """Return a document without words, a matrix of one row."""
    return sparse.csr_matrix((1, n_features), dtype=np.int32)


def documents(X):
    """Yield the indices of words and their counts for each document."""
    for start, stop in itertools.pairwise(X.indptr):
        yield X.indices[start:stop], X.data[start:stop]
