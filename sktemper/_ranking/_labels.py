"""Sparse matrices with labels of rows and columns, and positions of labels."""

from collections.abc import Iterator, Set
from functools import cached_property

import numpy as np
from scipy import sparse

from .._utils._dates import as_moment
from .._utils._frames import frame_labels
from .._utils._validation import check_unmasked
from .._utils._values import INEXACT

#: Largest number of labels that a message lists.
MOST_NAMED = 10


class LabelledMixin:
    """Mixin that gives a CSR matrix labels of its rows and columns.

    Slices keep the labels of their rows and columns.  Operations on the stored numbers,
    such as ``X / X.data.mean()`` and ``X.log1p()``, keep all labels.

    Attributes
    ----------
    user_labels : ndarray of shape (n_users,), or None
        Labels of the rows.
    item_labels : ndarray of shape (n_items,), or None
        Labels of the columns.
    """

    user_labels = item_labels = None

    def __getitem__(self, key):
        found = super().__getitem__(key)
        if not isinstance(found, LabelledMixin) or found.ndim != 2:
            return found
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if not _is_grid(rows, columns):
            return found
        labels = _taken(self.user_labels, rows), _taken(self.item_labels, columns)
        sizes = tuple(-1 if part is None else len(part) for part in labels)
        if sizes == found.shape:
            found.user_labels, found.item_labels = labels
        return found

    def _with_data(self, data, copy=True):
        # scipy calls this to make a matrix with the same pattern and other numbers,
        # also for a copy and for another dtype
        other = super()._with_data(data, copy=copy)
        other.user_labels, other.item_labels = self.user_labels, self.item_labels
        return other

    def resize(self, *shape):
        """Change the shape in place; drop the labels of axes whose length changes."""
        super().resize(*shape)
        for name, size in zip(("user_labels", "item_labels"), self.shape, strict=True):
            labels = getattr(self, name)
            if labels is not None and len(labels) != size:
                setattr(self, name, None)

    def users(self, labels):
        """Return the rows of the users with the given labels.

        Parameters
        ----------
        labels : array-like of shape (n_chosen,)
            Labels of users.

        Returns
        -------
        X : CSR matrix of shape (n_chosen, n_items)
            Rows of these users, with labels.

        Raises
        ------
        ValueError
            If labels are not in ``user_labels``; the message lists them.
        """
        return self[LabelIndex(self.user_labels, "user").positions(labels)]


class LabelledCSRMatrix(LabelledMixin, sparse.csr_matrix):
    """A CSR matrix with the labels of its rows and columns."""


class LabelledCSRArray(LabelledMixin, sparse.csr_array):
    """A CSR array with the labels of its rows and columns."""


def _is_grid(rows, columns):
    """Return whether indices select a submatrix, and not single entries.

    A submatrix has an entry for each selected row and each selected column.  Two arrays
    select a submatrix only if the first one is a column and the second one is a row.
    """
    if np.ndim(rows) == 0 or np.ndim(columns) == 0:
        return True
    if sparse.issparse(rows) or sparse.issparse(columns):
        return True
    return np.shape(rows)[1:] == (1,) and len(np.atleast_2d(columns)) == 1


def _taken(labels, key):
    """Return the labels that an index of rows or columns selects, or None."""
    if labels is None or sparse.issparse(key):
        return None
    return labels if key is Ellipsis else np.ravel(labels[key])


def labelled(X, user_labels, item_labels):
    """Return a CSR matrix or array with labels, which shares the arrays of ``X``."""
    is_array = isinstance(X, sparse.sparray)
    kind = LabelledCSRArray if is_array else LabelledCSRMatrix
    out = kind((X.data, X.indices, X.indptr), shape=X.shape)
    out.has_canonical_format = X.has_canonical_format
    out.user_labels, out.item_labels = user_labels, item_labels
    return out


def labels_of(X, name):
    """Return the labels of a matrix, data frame, collection or list of parts if any."""
    if not isinstance(X, list):
        return _labels_of_part(X, name)
    parts = [_labels_of_part(part, name) for part in X]
    if not parts or any(part is None for part in parts):
        return None
    return np.concatenate(parts) if name == "user_labels" else parts[0]


def _labels_of_part(X, name):
    # look at the class: some instances, such as Dask's, have attributes of any name
    if not hasattr(type(X), name):
        return frame_labels(X, "index" if name == "user_labels" else "columns")
    labels = getattr(X, name)
    if labels is None:
        return None
    labels, size = np.asarray(labels), X.shape[name == "item_labels"]
    if labels.shape != (size,):
        raise ValueError(
            f"{name} of X has the shape {labels.shape}; expected ({size},): X was "
            "changed after it was labelled."
        )
    return labels


def as_labels(wanted):
    """Return one label, a set or an iterator as a list; return other objects as is."""
    if np.isscalar(wanted):
        return [wanted]
    return list(wanted) if isinstance(wanted, Set | Iterator) else wanted


def label_array(values):
    """Return labels as an array in which different labels remain different.

    NumPy converts ``["1", 1]`` to two equal strings, drops null characters at the end
    of a string, and converts large integers to floats if one label is a float.  For
    such labels the array has the dtype object.

    Raises TypeError if some labels are masked.
    """
    check_unmasked(values, "labels", may_be_nan=False)
    labels = np.asarray(values)
    if not isinstance(values, list | tuple) or labels.ndim != 1:
        return labels
    if labels.dtype.kind in "US":
        kind, null = (str, "\0") if labels.dtype.kind == "U" else (bytes, b"\0")
        keeps = all(isinstance(v, kind) and not v.endswith(null) for v in values)
    elif labels.dtype.kind == "f":
        exact = np.abs(labels) < INEXACT  # False for NaN
        pairs = zip(values, exact.tolist(), strict=True)
        keeps = all(is_exact or isinstance(v, float) for v, is_exact in pairs)
    else:
        keeps = labels.dtype.kind == "b" or bool not in set(map(type, values))
    if not keeps:
        labels = np.empty(len(values), dtype=object)
        labels[:] = values
    return labels


def label_keys(labels):
    """Return labels as a list, in which equal dates are equal whatever their types."""
    if labels.dtype.kind in "MO":
        return list(map(as_moment, labels))
    return labels.tolist()


def listed_labels(labels):
    """Return a text that lists labels, at most `MOST_NAMED` of them."""
    more = len(labels) - MOST_NAMED
    named = ", ".join(map(repr, labels[:MOST_NAMED]))
    return named + (f" and {more} more" if more > 0 else "")


class LabelIndex:
    """Map from labels of users or items to their positions.

    Parameters
    ----------
    labels : ndarray or None
        Labels in the order of their positions.  None uses positions as labels.
    kind : {"user", "item"}
        Noun for messages.
    size : int, optional
        Number of positions, if there are no labels.
    advice : str, default=""
        Text to add to the message about unknown labels.
    """

    def __init__(self, labels, kind, size=0, advice=""):
        self.labels, self.kind, self.advice = labels, kind, advice
        self.size = size if labels is None else len(labels)

    def positions(self, wanted):
        """Return the positions of labels, ndarray of intp.

        Raises ValueError, with a list of them, if labels are unknown.
        """
        wanted = label_array(wanted)
        if wanted.ndim != 1:
            raise ValueError(
                f"{self.kind}s must be of one dimension, got {wanted.ndim}."
            )
        if self.labels is None:
            return self._checked_positions(wanted)
        keys = label_keys(wanted)
        found = [self._by_label.get(label, -1) for label in keys]
        if wanted.dtype.kind == "f" and self.labels.dtype.kind != "f":
            self._check_floats(wanted)
        unknown = [w for w, p in zip(keys, found, strict=True) if p < 0]
        if unknown:
            self._refuse(unknown)
        found = np.array(found, dtype=np.intp)
        self._check_bools(wanted, found)
        return found

    def _check_floats(self, wanted):
        """Raise if floats may be rounded integers, and so other labels."""
        large = wanted[np.abs(wanted) >= INEXACT]
        if len(large):
            raise ValueError(
                f"{self.kind}s are floats, which are not exact from 2**53 on, such as "
                f"{large[0]:.0f}: pass a data frame or a list with integers."
            )

    def _check_bools(self, wanted, positions):
        """Raise if True or False is given for the label 1 or 0 (True equals 1)."""
        found = self.labels[positions]
        if wanted.dtype.kind not in "bO" or found.dtype.kind == "b":
            return
        pairs = zip(wanted.tolist(), found.tolist(), strict=True)
        if any(type(w) is bool and type(f) is not bool for w, f in pairs):
            raise ValueError(
                f"{self.kind}s must be labels, not True and False. To use a mask, pass "
                "labels[mask]."
            )

    @cached_property
    def _by_label(self):
        labels = label_keys(self.labels)
        positions = {label: position for position, label in enumerate(labels)}
        if len(positions) < len(labels):
            twice = [labels[i] for i in range(len(labels)) if positions[labels[i]] != i]
            twice = list(dict.fromkeys(twice))
            raise ValueError(
                f"Labels of {self.kind}s occur twice, so {self.kind}s cannot be "
                f"selected by label: {listed_labels(twice)}."
            )
        return positions

    def _checked_positions(self, wanted):
        """Return given positions as intp; raise if a position is out of range."""
        if not wanted.size:
            return wanted.astype(np.intp)
        if wanted.dtype.kind not in "iu":
            raise ValueError(
                f"The model has no labels of {self.kind}s, so {self.kind}s must be row "
                f"or column numbers from 0 to {self.size - 1}; got "
                f"{wanted.tolist()[0]!r}. Matrices of "
                "sktemper.datasets.interactions_matrix and ratings_matrix have labels."
            )
        outside = wanted[(wanted < 0) | (wanted >= self.size)]
        if len(outside):
            self._refuse(outside.tolist())
        return wanted.astype(np.intp)

    def _refuse(self, unknown):
        unknown = list(dict.fromkeys(unknown))
        s = "s" if len(unknown) > 1 else ""
        raise ValueError(
            f"Unknown {self.kind}{s}: {listed_labels(unknown)}.{self._hint(unknown)}"
        )

    def _hint(self, unknown):
        known = [] if self.labels is None else self.labels[:1].tolist()
        if not known or isinstance(unknown[0], type(known[0])):
            return self.advice
        kind = type(known[0]).__name__
        return f" Labels of {self.kind}s are of type {kind}, such as {known[0]!r}."

    def names(self, positions):
        return positions if self.labels is None else self.labels[positions]
