"""Corpora of word counts for the benchmarks, and topics of other packages.

Corpora are split into training and test documents.  The Debian corpus comes from
`sktemper.datasets`.  Two other corpora, ``nyt.npz`` (8,447 x 3,012 word counts) and
``imdb.npz`` (99,772 x 8,000), are read from a folder, see `add_argument`.
"""

import functools
import itertools
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sktemper import TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.learning_rates import AdaptiveRate

#: Number of documents of a test set.
N_TEST = 2000


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


class Corpus(NamedTuple):
    """Training documents and test documents."""

    train: sparse.csr_matrix
    test: sparse.csr_matrix


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


def documents(X):
    """Yield the indices of words and their counts for each document."""
    for start, stop in itertools.pairwise(X.indptr):
        yield X.indices[start:stop], X.data[start:stop]


# -- topics of any package -------------------------------------------------------------


def fixed(topics):
    """Return a fitted estimator of this package with given topics.

    ``init`` sets the topics. A step with an empty document makes the estimator fitted;
    its learning rate is 0, so that the topics do not change.
    """
    lda = TemperedLDA(
        len(topics), tempering=None, init=topics, learning_rate=AdaptiveRate()
    )
    return lda.partial_fit(sparse.csr_matrix((1, topics.shape[1]), dtype=np.int32))


def tomotopy_lda(X, n_topics, seed, **priors):
    """Return tomotopy's untrained model with the documents."""
    import tomotopy

    lda = tomotopy.LDAModel(k=n_topics, seed=seed, **priors)
    for words, counts in documents(X):
        if len(words):
            lda.add_doc([str(word) for word in np.repeat(words, counts.astype(int))])
    return lda


def tomotopy_topics(lda, n_features):
    """Return tomotopy's pseudo-counts of words, (n_topics, n_features)."""
    topics = np.full((lda.k, n_features), lda.eta)
    topics[:, [int(word) for word in lda.used_vocabs]] = [
        lda.get_topic_word_dist(k, normalize=False) for k in range(lda.k)
    ]
    return topics
