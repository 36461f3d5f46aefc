"""Triples of users, items and ratings, as arrays that can be sorted and stored."""

import numpy as np

from .._ranking._labels import label_array
from .._utils._validation import check_unmasked
from ._ratings import missing_labels
from ._sources import check_numbers, stored

#: Largest length of a label.  All labels of a sorted temporary file are padded to the
#: same length.
LONGEST_LABEL = 256
#: Largest integer up to which float64 represents all integers.
MOST_EXACT = 2**53


def triples_of(batch, number):
    """Return users, items and ratings of a batch as arrays.

    Raises
    ------
    ValueError, TypeError
    """
    columns = _columns(batch, number)
    users = _labels(columns[0], f"The users of batch {number}")
    items = _labels(columns[1], f"The items of batch {number}")
    check_unmasked(columns[2], f"The ratings of batch {number}", may_be_nan=False)
    ratings = np.asarray(columns[2])
    if ratings.dtype.kind == "O":
        try:
            ratings = ratings.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Batch {number} has a rating that is not a number: {error}."
            ) from error
    if ratings.ndim != 1 or not len(users) == len(items) == len(ratings):
        raise ValueError(
            f"Batch {number} has {users.shape} users, {items.shape} items and "
            f"{ratings.shape} ratings; expected three columns of the same length."
        )
    if len(ratings):
        check_numbers(ratings, number, "ratings")
    if not np.isfinite(ratings).all():
        raise ValueError(f"Batch {number} has ratings that are missing or infinite.")
    if len(ratings) == 0:
        return users, items, ratings.astype(np.uint8)
    return users, items, _stored_ratings(ratings, number)


def _stored_ratings(ratings, number):
    """Return integers in the smallest type, floats in float32 or float64."""
    if ratings.dtype.kind == "f":
        return ratings.astype(np.float32 if ratings.itemsize <= 4 else np.float64)
    ratings = ratings.astype(np.uint8) if ratings.dtype.kind == "b" else ratings
    return stored(ratings, ratings.min(), ratings.max(), number)


def _columns(batch, number):
    """Return the three columns of a triple or of a table."""
    names = getattr(batch, "column_names", None)  # a table of pyarrow
    if names is None:
        names = batch if isinstance(batch, dict) else getattr(batch, "columns", None)
    if names is None:
        if not isinstance(batch, (tuple, list)) or len(batch) != 3:
            raise ValueError(
                f"Batch {number} is neither a triple (users, items, ratings) nor a "
                "table with three columns."
            )
        return batch
    names = list(names)
    wanted = ["user", "item", "rating"]
    if not set(wanted) <= set(names):
        if len(names) != 3:
            raise ValueError(
                f"Batch {number} has the columns {', '.join(map(str, names))}; "
                "expected user, item and rating."
            )
        wanted = names
    return [batch[name] for name in wanted]


def _labels(values, what):
    """Return labels as integers or strings, none of them missing."""
    values = label_array(values)
    if values.ndim != 1:
        raise ValueError(f"{what} are of {values.ndim} dimensions; expected one.")
    if missing_labels(values):
        raise ValueError(f"{what} have missing labels.")
    if values.dtype.kind == "O" or values.dtype.kind == "T":
        values = _of_one_kind(values, what)
    if values.dtype.kind == "U":
        if values.dtype.itemsize > 4 * LONGEST_LABEL:
            raise ValueError(
                f"{what} have a label of more than {LONGEST_LABEL} characters."
            )
        return values
    if values.dtype.kind == "f":
        return _whole(values, what)
    if values.dtype.kind not in "ui" or (
        values.size and not -(2**63) <= int(values.min()) <= int(values.max()) < 2**63
    ):
        raise TypeError(f"{what} must be strings or whole numbers of 64 bits.")
    return values.astype(np.int64)


def _whole(values, what):
    """Return floats as integers if all of them are exact integers."""
    with np.errstate(invalid="ignore"):
        is_whole = (values == np.rint(values)).all() and np.isfinite(values).all()
    if not is_whole:
        raise ValueError(f"{what} have numbers that are not whole.")
    if values.size and np.abs(values).max() >= MOST_EXACT:
        raise ValueError(
            f"{what} have floats of 2**53 or more, where neighbouring numbers are not "
            "distinct; give integers or strings."
        )
    return values.astype(np.int64)


def _of_one_kind(values, what):
    """Return an array of strings or of integers from an array of objects."""
    values = values.tolist()
    kinds = set(map(type, values))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        longest = max(map(len, values))
        if longest > LONGEST_LABEL:
            raise ValueError(
                f"{what} have a label of {longest:,} characters; at most "
                f"{LONGEST_LABEL} are allowed."
            )
        if any(value.endswith("\0") for value in values):
            raise ValueError(
                f"{what} have a label that ends with a null character, which NumPy "
                "does not keep."
            )
        return np.array(values, dtype=np.str_)
    numbers = (int, float, np.integer, np.floating)
    if all(issubclass(kind, numbers) and kind is not bool for kind in kinds):
        floats = [value for value in values if isinstance(value, float | np.floating)]
        _whole(np.array(floats, dtype=float), what)
        return np.array([int(value) for value in values])
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{what} must be strings or whole numbers, got {names}.")
