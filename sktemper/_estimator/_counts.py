"""Validation of counts, and warnings about data that are not counts or lack words."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._utils._linalg import canonical
from .._utils._notices import warn_once
from .._utils._validation import LARGEST_COUNT, NON_NEGATIVE, check_data, largest_count
from ._choices import choices_of, choose

#: Largest number of rows that are inspected.
ROWS_INSPECTED = 1000
#: Tolerance for the norm of normalised rows.
NORM_TOL = 1e-4
#: Least number of rows of a chunk from which missing words can be detected.
FEWEST_ROWS = 10
#: A chunk lacks words if the mean number of words of its documents is below
#: `LEAST_SHARE` of the earlier mean by `ERRORS` standard errors, or if the share of
#: empty documents exceeds the earlier share by `MOST_EMPTY`.
LEAST_SHARE, ERRORS, MOST_EMPTY = 0.5, 4.0, 0.1

#: Advice for documents of few words.  Their counts do not show why there are few.
REMEDY_OF_MISSING_WORDS = (
    "If these documents are merely shorter, ignore this. Otherwise, a vectorizer left "
    "out words that are not in its vocabulary, and the model cannot learn them: use "
    "sktemper.text.StreamingCountVectorizer, whose vocabulary grows "
    "with the stream, or HashingVectorizer(alternate_sign=False, norm=None), which has "
    "a column for every word."
)


class Lengths(NamedTuple):
    """Statistics of the numbers of different words of documents.

    Attributes
    ----------
    n_rows, n_empty : int
    total, squares : float
        Sums over all documents.
    """

    n_rows: int = 0
    n_empty: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, data):
        """Return the statistics of `Data`, of which some rows may represent all."""
        lengths = _lengths(data.counted_sample(ROWS_INSPECTED)).astype(np.float64)
        n_empty = int((lengths == 0).sum())
        return cls(len(lengths), n_empty, lengths.sum(), (lengths**2).sum())

    def __add__(self, other):
        return Lengths(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def mean(self):
        return self.total / self.n_rows

    @property
    def error(self):
        variance = self.squares / self.n_rows - self.mean**2
        return math.sqrt(max(variance, 0.0) / self.n_rows)

    @property
    def empty_share(self):
        return self.n_empty / self.n_rows

    def lack_words(self, earlier):
        if min(self.n_rows, earlier.n_rows) < FEWEST_ROWS:
            return False
        error = math.hypot(self.error, earlier.error)
        fewer = self.mean < LEAST_SHARE * earlier.mean - ERRORS * error
        return fewer or self.empty_share > earlier.empty_share + MOST_EMPTY


_ON_PAIRS = (
    "Lists of pairs of ids and counts, as gensim has them, are made a matrix by "
    "gensim.matutils.corpus2csc(corpus, num_terms=len(dictionary)).T."
)
#: Advice for data that are no counts, see `check_data`.
ON_COUNTS = {
    "setting an array element with a sequence": _ON_PAIRS,  # documents of any lengths
    "with dim 3": _ON_PAIRS,  # documents of the same length
    "contains NaN": "The count of a word that does not occur is 0.",
    "Negative values": (
        "Counts are not negative. HashingVectorizer and FeatureHasher give hashes a "
        "sign unless alternate_sign=False."
    ),
    "text": (
        "X contains texts: count their words first, with "
        "sklearn.feature_extraction.text.CountVectorizer."
    ),
}


def validate_counts(estimator, X, reset):
    """Validate a matrix of counts, CSR or dense; integers stay integers."""
    X = check_data(estimator, X, ON_COUNTS, reset=reset, **NON_NEGATIVE)
    if X.dtype.kind == "f" and largest_count(X) > LARGEST_COUNT:
        raise ValueError(
            f"{type(estimator).__name__} takes no counts above {LARGEST_COUNT:g}."
        )
    if issparse(X) and not X.data.all():  # repeated entries stay: sums may not fit
        X = X.copy()
        X.eliminate_zeros()
    return X


def validate_training_counts(estimator, X, reset):
    """Validate training counts.

    Rows alone may have counts that are all too small.
    """
    X = estimator._validate(X, reset)
    largest = largest_count(X)
    if 0 < largest < 1 / LARGEST_COUNT:
        raise ValueError(
            f"X has no counts above {largest:.3g}, but one must be at least "
            f"{1 / LARGEST_COUNT:g}."
        )
    return X


def inspect_counts(estimator, data, fresh):
    """Warn once of a matrix that is normalised, or of a chunk that lacks words."""
    if fresh and are_normalised(data.counted_sample(ROWS_INSPECTED)):
        warn_once(
            estimator,
            "normalised",
            "The rows of X are scaled to length 1, as TfidfVectorizer and "
            f"HashingVectorizer return them, but {type(estimator).__name__} treats "
            "each row as the counts of a document, which would have about one word. "
            "Pass counts, by CountVectorizer or HashingVectorizer(norm=None, "
            "alternate_sign=False).",
            UserWarning,
        )
    known, these = choices_of(estimator).lengths or Lengths(), Lengths.of(data)
    if fresh or not these.lack_words(known):
        # a fit that continues has the same documents, which count once
        choose(estimator, lengths=these if fresh or these == known else known + these)
        return
    warn_once(
        estimator,
        "words",
        f"The documents of this chunk have {these.mean:.3g} different words on "
        f"average, {1 - these.mean / known.mean:.0%} less than earlier documents, "
        f"which had {known.mean:.3g}, and {these.empty_share:.0%} of the documents "
        f"of this chunk have no words. {REMEDY_OF_MISSING_WORDS}",
        UserWarning,
    )


def are_normalised(X):
    """Return whether all inspected rows have the sum 1, or the sum of squares 1.

    At most about `ROWS_INSPECTED` rows are inspected.  Rows of whole numbers do not
    count as normalised.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    """
    if X.dtype.kind != "f":
        return False
    X = X[:: -(-X.shape[0] // ROWS_INSPECTED)]
    X = canonical(X) if issparse(X) else X
    values = X.data if issparse(X) else X
    if (values == np.rint(values)).all():
        return False
    return any(_are_all_one(X, power) for power in (1, 2))


def _are_all_one(X, power):
    """Return whether the values of non-empty rows, to a power, have the sum 1."""
    X = X.astype(np.float64)
    sums = np.asarray((X.power(power) if issparse(X) else X**power).sum(axis=1))
    sums = sums.ravel()[sums.ravel() > 0]
    return len(sums) > 1 and bool((np.abs(sums - 1.0) < NORM_TOL).all())


def _lengths(X):
    """Return the numbers of different words of documents; of some rows if dense."""
    if issparse(X):
        return np.diff(X.indptr)
    return (X[:: -(-X.shape[0] // ROWS_INSPECTED)] != 0).sum(axis=1)
