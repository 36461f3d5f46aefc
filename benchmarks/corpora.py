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
#: Number of documents that are generated at a time.
PIECE = 50_000


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


class GeneratedCorpus:
    """Documents drawn from the model, which are generated in pieces when needed.

    Unlike `sktemper.datasets.make_lda_documents` it holds only one piece in memory.
    With the default priors, the perplexity is similar to that of real text.

    Parameters
    ----------
    n_documents, n_topics, n_features : int
    doc_length : float
        Mean number of tokens of a document.
    doc_topic_prior, topic_word_prior : float
    """

    def __init__(
        self,
        n_documents,
        n_topics,
        n_features=5000,
        doc_length=50,
        doc_topic_prior=0.02,
        topic_word_prior=0.02,
    ):
        self.n_documents = n_documents
        self.doc_length = doc_length
        self.doc_topic_prior = np.full(n_topics, doc_topic_prior)
        prior = np.full(n_features, topic_word_prior)
        self.topic_word = np.random.default_rng(0).dirichlet(prior, n_topics)

    @property
    def test(self):
        """Test documents, drawn from the same topics."""
        return self._documents(N_TEST, number=0)

    def pieces(self):
        """Yield the documents in pieces; every call yields the same documents."""
        for start in range(0, self.n_documents, PIECE):
            n_rows = min(PIECE, self.n_documents - start)
            yield self._documents(n_rows, number=1 + start // PIECE)

    def _documents(self, n_rows, number):
        random = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number,)))
        lengths = random.poisson(self.doc_length, n_rows)
        doc_topic = random.dirichlet(self.doc_topic_prior, n_rows)
        documents, words = [], []
        # draw all tokens of a topic together, because the set-up of a topic is costly
        for n_tokens, probabilities in zip(
            random.multinomial(lengths, doc_topic).T, self.topic_word, strict=True
        ):
            cdf = np.cumsum(probabilities)
            documents.append(np.repeat(np.arange(n_rows), n_tokens))
            words.append(cdf.searchsorted(random.random(n_tokens.sum()) * cdf[-1]))
        ones = np.ones(lengths.sum(), dtype=np.int32)
        coordinates = np.concatenate(documents), np.concatenate(words)
        shape = n_rows, self.topic_word.shape[1]
        return sparse.csr_matrix((ones, coordinates), shape=shape)


# -- formats of other packages ---------------------------------------------------------


def empty(n_features):
    """Return a document without words, a matrix of one row."""
    return sparse.csr_matrix((1, n_features), dtype=np.int32)


def documents(X):
    """Yield the indices of words and their counts for each document."""
    for start, stop in itertools.pairwise(X.indptr):
        yield X.indices[start:stop], X.data[start:stop]


def write_documents(X, folder, name):
    """Write documents as lines: a name and ``word:count`` pairs; return the path."""
    path = Path(folder, "documents")
    with path.open("w") as file:
        for i, pair in enumerate(documents(X)):
            words = (f"{word}:{count}" for word, count in zip(*pair, strict=True))
            file.write(" ".join([name.format(i), *words]) + "\n")
    return str(path)
