"""Sparse matrices that know whose rows and which columns they have; places by name."""

import numpy as np
from scipy import sparse

__all__ = ["LabelledMixin", "Places", "labelled", "labels_of"]

#: Unknown labels that a message names.
MOST_NAMED = 10


class LabelledMixin:
    """Of a CSR matrix with labels: they stay where rows are taken.

    Attributes
    ----------
    user_labels : ndarray of shape (n_users,), or None
    item_labels : ndarray of shape (n_items,), or None
    """

    user_labels = item_labels = None

    def __getitem__(self, key):
        found = super().__getitem__(key)
        rows = key
        if isinstance(key, tuple):
            if len(key) != 2 or not _is_all(key[1]):
                return found
            rows = key[0]
        is_matrix = isinstance(found, LabelledMixin) and found.ndim == 2
        if is_matrix and self.user_labels is not None:
            if sparse.issparse(rows):
                return found
            users = np.atleast_1d(self.user_labels[rows])
            if len(users) == found.shape[0] and found.shape[1] == self.shape[1]:
                found.user_labels, found.item_labels = users, self.item_labels
        return found

    def copy(self):
        """Return a copy with the same labels."""
        return self._with_labels(super().copy())

    def astype(self, dtype, casting="unsafe", copy=True):
        """Return a copy in another dtype with the same labels."""
        return self._with_labels(super().astype(dtype, casting=casting, copy=copy))

    def _with_labels(self, other):
        other.user_labels, other.item_labels = self.user_labels, self.item_labels
        return other

    def users(self, labels):
        """Return the rows of some users.

        Parameters
        ----------
        labels : array-like of shape (n_chosen,)

        Returns
        -------
        X : CSR matrix of shape (n_chosen, n_items)
            With labels.

        Raises
        ------
        ValueError
            If some are not among ``user_labels``, which it lists.
        """
        return self[Places(self.user_labels, "user").of(labels)]


class LabelledCSRMatrix(LabelledMixin, sparse.csr_matrix):
    """A CSR matrix with the labels of its rows and columns."""


class LabelledCSRArray(LabelledMixin, sparse.csr_array):
    """A CSR array with the labels of its rows and columns."""


def _is_all(key):
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def labelled(X, user_labels, item_labels):
    """Return a CSR matrix or array with labels; the arrays are those of ``X``."""
    is_array = isinstance(X, sparse.sparray)
    kind = LabelledCSRArray if is_array else LabelledCSRMatrix
    out = kind((X.data, X.indices, X.indptr), shape=X.shape)
    out.has_canonical_format = X.has_canonical_format
    out.user_labels, out.item_labels = user_labels, item_labels
    return out


def labels_of(X, name):
    """Return the labels of a matrix, of a collection, or of parts; None without.

    Parameters
    ----------
    X : object
    name : {"user_labels", "item_labels"}
    """
    if not isinstance(X, list):
        labels = _labels(X, name)
        return None if labels is None else np.asarray(labels)
    parts = [_labels(part, name) for part in X]
    if not parts or any(part is None for part in parts):
        return None
    return np.concatenate(parts) if name == "user_labels" else parts[0]


def _labels(X, name):
    """Return an attribute of the class; some objects, as Dask's, answer to any name."""
    return getattr(X, name) if hasattr(type(X), name) else None


class Places:
    """Where labels stand.

    Parameters
    ----------
    labels : ndarray or None
        None: places are numbers.
    kind : {"user", "item"}
        In messages.
    size : int, optional
        How many there are, if there are no labels.
    """

    def __init__(self, labels, kind, size=0):
        self.labels, self.kind = labels, kind
        self.size = size if labels is None else len(labels)
        self._places = None

    def of(self, wanted):
        """Return the places of labels, ndarray of intp.

        Raises
        ------
        ValueError
            If some are unknown, which it lists.
        """
        wanted = np.asarray(wanted)
        if wanted.ndim != 1:
            raise ValueError(
                f"{self.kind}s must be of one dimension, got {wanted.ndim}."
            )
        if self.labels is None:
            return self._numbers(wanted)
        if self._places is None:
            found = {label: place for place, label in enumerate(self.labels.tolist())}
            self._places = found
        places = [self._places.get(label, -1) for label in wanted.tolist()]
        unknown = [w for w, p in zip(wanted.tolist(), places, strict=True) if p < 0]
        if unknown:
            self._refuse(unknown)
        return np.array(places, dtype=np.intp)

    def _numbers(self, wanted):
        """Return places that are given as such, for want of labels."""
        if not wanted.size:
            return wanted.astype(np.intp)
        if wanted.dtype.kind not in "iu":
            raise ValueError(
                f"The model knows no labels of {self.kind}s, so that they must be "
                f"numbers from 0 to {self.size - 1}; got {wanted.tolist()[0]!r}. "
                "sktemper.datasets.interactions_matrix and ratings_matrix keep labels."
            )
        outside = wanted[(wanted < 0) | (wanted >= self.size)]
        if len(outside):
            self._refuse(outside.tolist())
        return wanted.astype(np.intp)

    def _refuse(self, unknown):
        unknown = list(dict.fromkeys(unknown))
        named = ", ".join(map(repr, unknown[:MOST_NAMED]))
        more = len(unknown) - MOST_NAMED
        named += f" and {more} more" if more > 0 else ""
        s = "s" if len(unknown) > 1 else ""
        raise ValueError(f"Unknown {self.kind}{s}: {named}.")

    def names(self, places):
        """Return the labels of places, or the places themselves."""
        return places if self.labels is None else self.labels[places]
