"""Checks of data: columns without values, identifiers, copies of columns and rows."""

from collections import Counter

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri

from .._engine._data import with_weight
from .._utils._budgets import ROWS_COMPARED
from .._utils._evidence import FALSE_ALARM_RATE
from .._utils._notices import listed, warn_once

# -- columns without values, and identifiers -------------------------------------------
#: A column with at most this number of values does not look like an identifier.
MANY_OPTIONS = 50


def looks_like_identifier(numbers):
    """Return whether many numbers are different, whole, and in order or dense."""
    known = numbers[~np.isnan(numbers)]
    if len(known) <= MANY_OPTIONS or (known != np.rint(known)).any():
        return False
    steps, gaps = np.diff(known), np.diff(np.sort(known))
    is_dense = gaps.all() and gaps.sum() < 2 * len(known)
    is_ordered = (steps > 0).all() or (steps < 0).all()
    return bool(is_ordered or is_dense)


#: Faults of columns, which end a sentence.
EMPTY = "has no values, and does not change the fit"
IDENTIFIER = (
    "looks like an identifier: most rows have another text, or whole number in order"
)

COPY = "has the values of an earlier column, which count twice"
#: Each component has parameters of such a column, too, which its prior counts.
ONE_VALUE = (
    "has one value only, like more than half of all, which keeps clusters together"
)


def fault_of(numbers, seen):
    """Return the fault of a column, or None; ``seen`` has hashes of earlier columns."""
    if np.isnan(numbers).all():
        return EMPTY
    if looks_like_identifier(numbers):
        return IDENTIFIER
    key = hash(numbers.tobytes())
    is_copy = key in seen and len(np.unique(numbers)) > MANY_OPTIONS
    seen.add(key)
    return COPY if is_copy else None


def warn_of_columns(estimator, n_columns, faults):
    """Warn once of each fault, given pairs of the label of a column and its fault."""
    found = {}
    for label, fault in faults:
        found.setdefault(fault, []).append(label)
    found.pop(None, None)
    n_constant = len(found.get(ONE_VALUE, ()))
    if not 0.5 * n_columns < n_constant < n_columns:
        found.pop(ONE_VALUE, None)
    for fault, names in found.items():
        if fault != EMPTY or len(names) < n_columns:  # not if all have no weight
            each, them = ("Each of ", "them") if len(names) > 1 else ("", "it")
            message = f"{each}{listed(names)} {fault}. Leave {them} out of X."
            warn_once(estimator, fault, message, UserWarning)


def check_columns(self, data):
    """Warn of columns of numbers without values, of identifiers, and of copies."""
    seen, faults = set(), []
    for label, numbers in labelled_columns(data, self._names()):
        fault = fault_of(numbers, seen)
        if fault is None and np.fmin.reduce(numbers) == np.fmax.reduce(numbers):
            fault = ONE_VALUE
        faults.append((label, fault))
    warn_of_columns(self, data.shape[1], faults)


def check_first_columns(self, data):
    """Raise if a column of the first chunk of a stream has no values."""
    for label, numbers in labelled_columns(data, self._names()):
        if np.isnan(numbers).all():
            raise ValueError(
                f"{label} has only missing values (NaN): leave it out, or start with "
                "rows that have values."
            )


def labelled_columns(data, names):
    """Yield labels of columns of arrays for messages, and the columns, one at a time.

    Data are never copied whole.  Sparse data, whose columns may all be rare, have none.
    """
    blocks = [X for X in data.validated if not issparse(X)]
    weight = data.weight if sum(map(len, blocks)) == len(data) else None
    for number, name in enumerate(names if blocks else []):
        label = f"Column {name!r}" + " of X" * (not isinstance(name, str))
        columns = [X[:, number] for X in blocks]
        column = columns[0] if len(columns) == 1 else np.concatenate(columns)
        yield label, with_weight(column, weight)


# -- copies of rows, of which a mixture would make components of their own -------------
#: Of pairs that agree in half of the columns, this share must agree in all.  It is
#: lower if rows are equal because values are coarse.
LEAST_WHOLE = 0.9


def rows_repeat(estimator, problem):
    """Return the message of a warning about copies of rows, or None."""
    X, n_rows = problem.counted_sample[0], len(problem.data)
    if problem.sample_weight is not None:
        n_rows = np.count_nonzero(problem.sample_weight)
    n_copies = _n_copies(X, n_rows, estimator.n_components)
    if n_copies == 0:
        return None
    return (
        f"A row of X occurs {1 + n_copies:.3g} times on average, and copies count as "
        "further observations, so that components may describe single rows. Unless "
        "they are observations of their own, fit each row once: np.unique(X, axis=0), "
        "or drop_duplicates() of a data frame."
    )


def _n_copies(X, n_rows, n_components):
    """Return the mean number of copies of a row, without the row; 0 if it is chance.

    Rows that do not all occur equally often are copies if there are clearly more than
    in a bootstrap sample, where a row has one on average.
    """
    if X.shape[0] > ROWS_COMPARED:
        random = np.random.default_rng(0)
        X = X[np.sort(random.choice(X.shape[0], ROWS_COMPARED, replace=False))]
    numbers, n = _counts(X), X.shape[0]
    n_pairs = _n_pairs(numbers)
    copies = n_pairs * (n_rows - 1) / (n * max(n - 1, 1))
    # two different rows a component, and no more, are categories
    if not copies or n_components == 1 or 2 * n_components * (1 + copies) >= n_rows:
        return 0.0
    is_multiple = n == n_rows and np.gcd.reduce(numbers) > 1
    # n_pairs is twice a count, whose variance is its mean
    least = copies * (1 + ndtri(FALSE_ALARM_RATE) * (2 / n_pairs) ** 0.5)
    halves = (_n_pairs(_counts(X[:, start::2])) for start in (0, 1))
    are_whole = n_pairs >= LEAST_WHOLE * max(halves)
    return copies * (is_multiple or (least >= 1 and are_whole))


def _n_pairs(numbers):
    return sum(number * (number - 1) for number in numbers)


def _counts(X):
    """Return how often each row occurs."""
    if not issparse(X):
        return list(Counter(row.tobytes() for row in np.ascontiguousarray(X)).values())
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    rows = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends)
    return list(Counter(rows).values())
