"""Checks of columns: those without values, identifiers, and copies."""

import numpy as np
from scipy.sparse import issparse

from .._utils._notices import warn_once

#: A column with at most this number of values does not look like an identifier.
MANY_OPTIONS = 50
#: Largest number of columns in a message.
NAMED = 3


def has_no_values(numbers):
    return bool(np.isnan(numbers).all())


def looks_like_identifier(numbers):
    """Return whether many numbers are different, whole, and in order or dense."""
    known = numbers[~np.isnan(numbers)]
    if len(known) <= MANY_OPTIONS or (known[:NAMED] != np.rint(known[:NAMED])).any():
        return False
    steps, gaps = np.diff(known), np.diff(np.sort(known))
    is_dense = gaps.all() and gaps.sum() < 2 * len(known)
    is_ordered = (steps > 0).all() or (steps < 0).all()
    return bool((is_ordered or is_dense) and (known == np.rint(known)).all())


#: Faults of columns, which end a sentence.
EMPTY = "has no values, and does not change the fit"
IDENTIFIER = (
    "looks like an identifier: most rows have another text, or whole number in order"
)

COPY = "has the values of an earlier column, which count twice"


def fault_of(numbers, seen):
    """Return the fault of a column, or None; ``seen`` has hashes of earlier columns."""
    if has_no_values(numbers):
        return EMPTY
    if looks_like_identifier(numbers):
        return IDENTIFIER
    key = hash(numbers.tobytes())
    is_copy = key in seen and len(np.unique(numbers)) > MANY_OPTIONS
    seen.add(key)
    return COPY if is_copy else None


def warn_of_columns(estimator, n_columns, names, fault):
    """Warn once that columns with these names have a fault."""
    all_are_empty = fault == EMPTY and len(names) == n_columns  # or have no weight
    if names and not all_are_empty:
        named = ", ".join(names[:NAMED])
        warn_once(estimator, fault, f"{named} {fault}. Leave it out of X.", UserWarning)


def check_columns(self, data):
    """Warn of columns of numbers without values, of identifiers, and of copies."""
    found, seen = {}, set()
    for label, numbers in _labelled_columns(data, self._names()):
        found.setdefault(fault_of(numbers, seen), []).append(label)
    found.pop(None, None)
    for fault, names in found.items():
        warn_of_columns(self, data.shape[1], names, fault)


def check_first_columns(self, data):
    """Raise if a column of the first chunk of a stream has no values."""
    for label, numbers in _labelled_columns(data, self._names()):
        if has_no_values(numbers):
            raise ValueError(
                f"{label} has only missing values (NaN): leave it out, or start with "
                "rows that have values."
            )


def _labelled_columns(data, names):
    """Yield labels of columns of arrays for messages, and the columns, one at a time.

    Data are never copied whole.
    """
    blocks = [X for X in data.validated if not issparse(X)]
    for number, name in enumerate(names if blocks else []):
        label = f"Column {name!r}" + " of X" * (not isinstance(name, str))
        columns = [X[:, number] for X in blocks]
        yield label, columns[0] if len(columns) == 1 else np.concatenate(columns)
