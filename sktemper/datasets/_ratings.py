"""Ratings as matrices: from long tables, and from MovieLens as its users have it."""

import csv
import io
import re
import zipfile
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch, check_array, check_consistent_length
from sklearn.utils._param_validation import StrOptions, validate_params

from ._sparse import csr_container

#: The files of MovieLens, of all releases: ratings, and the titles of films.
_RATINGS = ("ratings.csv", "ratings.dat", "u.data")
_FILMS = ("movies.csv", "movies.dat", "u.item")


@validate_params(
    {
        "users": ["array-like"],
        "items": ["array-like"],
        "ratings": ["array-like"],
        "user_labels": ["array-like", None],
        "item_labels": ["array-like", None],
        "duplicates": [StrOptions({"error", "first", "last", "mean"})],
        "unknown": [StrOptions({"error", "ignore"})],
    },
    prefer_skip_nested_validation=True,
)
def ratings_matrix(
    users,
    items,
    ratings,
    *,
    user_labels=None,
    item_labels=None,
    duplicates="error",
    unknown="error",
):
    """Make a sparse matrix of a long table: a user, an item and a rating a line.

    Parameters
    ----------
    users, items : array-like of shape (n_ratings,)
        Labels of any kind that can be sorted, such as numbers or names.
    ratings : array-like of shape (n_ratings,)
        Numbers.  Zeros are ratings, and are stored.
    user_labels, item_labels : array-like of shape (n_users,) or (n_items,), \
default=None
        The labels of the rows, and of the columns, in their order.  None takes those
        that occur, sorted.  Give the items of a fitted model to bring new users to its
        columns.
    duplicates : {"error", "first", "last", "mean"}, default="error"
        What to do if a user rated an item twice: raise an error, or take the rating
        that comes first or last in the table, or their mean.
    unknown : {"error", "ignore"}, default="error"
        What to do with users and items that are not in the labels given: raise an
        error, or leave their ratings out.

    Returns
    -------
    X : CSR matrix of shape (n_users, n_items)
        The ratings, in float32 if they were, else in float64.  A sparse array if
        scikit-learn's ``sparse_interface`` is set to it.
    user_labels : ndarray of shape (n_users,)
        Whose row each is.
    item_labels : ndarray of shape (n_items,)
        Which item's column each is.

    Raises
    ------
    ValueError
        If a label or a rating is missing, or labels given occur twice; and by default
        for duplicates and for unknown labels.
    TypeError
        If labels cannot be sorted.

    Examples
    --------
    >>> from sktemper.datasets import ratings_matrix
    >>> users = ["ann", "bob", "ann", "eve"]
    >>> items = ["tea", "tea", "rum", "gin"]
    >>> X, names, drinks = ratings_matrix(users, items, [5, 3, 0, 4])
    >>> names.tolist(), drinks.tolist()
    (['ann', 'bob', 'eve'], ['gin', 'rum', 'tea'])
    >>> X.toarray()  # of ann's two ratings one is 0, stored
    array([[0., 0., 5.],
           [0., 0., 3.],
           [4., 0., 0.]])

    New users, in the same columns:

    >>> X_new, names, _ = ratings_matrix(
    ...     ["joe", "joe"], ["rum", "ale"], [2, 5], item_labels=drinks, unknown="ignore"
    ... )
    >>> X_new.toarray()
    array([[0., 2., 0.]])
    """
    users, items = _labels(users, "users"), _labels(items, "items")
    ratings = check_array(
        ratings,
        dtype=[np.float64, np.float32],
        ensure_2d=False,
        ensure_min_samples=0,
        input_name="ratings",
    )
    if ratings.ndim != 1:
        raise ValueError(f"ratings must be of one dimension, got {ratings.ndim}.")
    check_consistent_length(users, items, ratings)
    rows, user_labels = _encoded(users, user_labels, unknown, "user")
    columns, item_labels = _encoded(items, item_labels, unknown, "item")
    known = (rows >= 0) & (columns >= 0)
    if not known.all():
        rows, columns, ratings = rows[known], columns[known], ratings[known]
    shape = len(user_labels), len(item_labels)
    keys = rows * shape[1] + columns
    order = np.argsort(keys, kind="stable")
    keys, ratings = keys[order], ratings[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) < len(keys):
        ratings = _merged(keys, ratings, starts, duplicates, (user_labels, item_labels))
        keys = keys[starts]
    return csr_of_keys(keys, ratings, shape), user_labels, item_labels


def csr_of_keys(keys, ratings, shape):
    """Return the CSR matrix with these entries.

    Parameters
    ----------
    keys : ndarray of int64
        ``row * n_columns + column`` of each, increasing.
    ratings : ndarray
    shape : tuple
    """
    rows, columns = np.divmod(keys, max(shape[1], 1))
    index = np.int32 if max(*shape, len(keys)) < 2**31 else np.int64
    indptr = np.zeros(shape[0] + 1, dtype=index)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    X = csr_container()((ratings, columns.astype(index), indptr), shape=shape)
    X.has_canonical_format = True
    return X


def _labels(values, name):
    """Return labels as an array, none of them missing."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must be of one dimension, got {values.ndim}.")
    # NaN, NaT and None; of pandas.NA `!=` is no boolean, and sorting refuses it.
    if values.dtype.kind in "fcmM" and (values != values).any():
        raise ValueError(f"{name} has missing labels.")
    if values.dtype.kind == "O" and any(value is None for value in values):
        raise ValueError(f"{name} has missing labels.")
    return values


def _encoded(values, labels, unknown, kind):
    """Return the place of each value among the labels, -1 if it has none; and these."""
    try:
        distinct, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"{kind}s has labels that cannot be sorted: of several types, or missing."
        ) from error
    if labels is None:
        return codes, distinct
    labels = _labels(labels, f"{kind}_labels")
    places = {label: place for place, label in enumerate(labels.tolist())}
    if len(places) < len(labels):
        raise ValueError(f"{kind}_labels has labels that occur twice.")
    of_distinct = [places.get(label, -1) for label in distinct.tolist()]
    of_distinct = np.array(of_distinct, dtype=np.int64)
    if unknown == "error" and (of_distinct < 0).any():
        missing = distinct[of_distinct < 0]
        raise ValueError(
            f"{len(missing)} {kind}s are not in {kind}_labels, such as "
            f"{missing.tolist()[0]!r}. unknown='ignore' leaves their ratings out."
        )
    return of_distinct[codes], labels


def _merged(keys, ratings, starts, duplicates, labels):
    """Return a rating of each distinct key; ``starts`` says where these begin."""
    if duplicates == "first":
        return ratings[starts]
    ends = np.append(starts[1:], len(keys))
    if duplicates == "last":
        return ratings[ends - 1]
    if duplicates == "mean":
        sums = np.add.reduceat(ratings, starts, dtype=np.float64)
        return (sums / (ends - starts)).astype(ratings.dtype)
    first = keys[starts[np.argmax(ends - starts > 1)]]
    row, column = divmod(first, len(labels[1]))
    raise ValueError(
        f"{len(keys) - len(starts)} ratings are of a user and an item that have one "
        f"already, such as user {labels[0].tolist()[row]!r} and item "
        f"{labels[1].tolist()[column]!r}. Choose with duplicates='first', 'last' or "
        "'mean'."
    )


@validate_params(
    {"path": [str, Path]},
    prefer_skip_nested_validation=True,
)
def load_movielens(path):
    r"""Load the ratings of a MovieLens data set that you have downloaded.

    The data sets of https://grouplens.org/datasets/movielens, from 100K to the latest,
    may not be distributed with this package; this reads any of them, as it comes.

    Parameters
    ----------
    path : str or pathlib.Path
        The zip file, the folder that was in it, or its file of ratings: ``u.data``,
        ``ratings.dat`` or ``ratings.csv``.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : CSR matrix of float32, shape (n_users, n_items)
            The ratings, as of `ratings_matrix`: users and films that have any.
        user_labels : ndarray of int, shape (n_users,)
            The numbers of the users, in MovieLens.
        item_labels : ndarray of int, shape (n_items,)
            The numbers of the films, in MovieLens.
        item_titles : ndarray of str, shape (n_items,)
            The titles of the films, from the file of films beside the ratings; None
            where there is no such file.

    Raises
    ------
    FileNotFoundError
        If there are no ratings at ``path``.
    ValueError
        If a line is no rating.

    References
    ----------
    .. [1] F. M. Harper, J. A. Konstan, "The MovieLens datasets: history and context",
       ACM Transactions on Interactive Intelligent Systems 5(4), 2015.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import load_movielens
    >>> with tempfile.TemporaryDirectory() as folder:  # in place of a download
    ...     lines = "196\t242\t3\t881250949\n186\t302\t4\t891717742\n"
    ...     _ = (Path(folder) / "u.data").write_text(lines)
    ...     movielens = load_movielens(folder)
    >>> movielens.user_labels
    array([186, 196])
    >>> movielens.data.toarray()
    array([[0., 4.],
           [3., 0.]], dtype=float32)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = {
                Path(name).name: _in_archive(archive, name)
                for name in archive.namelist()
            }
            return _movielens(files, _ratings_file(files, path))
    folder = path if path.is_dir() else path.parent
    files = {file.name: file.open for file in folder.iterdir() if file.is_file()}
    return _movielens(
        files, path.name if path.is_file() else _ratings_file(files, path)
    )


def _in_archive(archive, name):
    return lambda mode: archive.open(name)  # binary, as all files here


def _ratings_file(files, path):
    for name in _RATINGS:
        if name in files:
            return name
    raise FileNotFoundError(f"{path} has none of {', '.join(_RATINGS)}.")


def _movielens(files, name):
    """Return the Bunch; ``files`` maps names to functions that open them."""
    with files[name]("rb") as file:
        users, items, ratings = _columns(file)
    X, user_labels, item_labels = ratings_matrix(users, items, ratings)
    return Bunch(
        data=X,
        user_labels=user_labels,
        item_labels=item_labels,
        item_titles=_titles(files, item_labels),
    )


def _columns(file):
    """Return users, items and ratings: the first three columns of any release."""
    first = file.readline().decode("utf-8-sig", errors="replace")
    delimiter = re.search(r"::|[\t,]", first)
    if delimiter is None:
        raise ValueError(
            f"The first line is no rating of MovieLens: {first.rstrip()!r}."
        )
    has_header = not first[:1].isdigit()
    double = delimiter[0] == "::"  # numpy splits at one character: at each of both
    table = np.loadtxt(
        file if has_header else chain([first], file),
        delimiter=delimiter[0][0],
        usecols=(0, 2, 4) if double else (0, 1, 2),
        ndmin=2,
    )
    return *table[:, :2].T.astype(np.int64), table[:, 2].astype(np.float32)


def _titles(files, item_labels):
    names = [name for name in _FILMS if name in files]
    if not names:
        return None
    with files[names[0]]("rb") as file:
        text = _decoded(file.read())
    if names[0].endswith(".csv"):
        rows = csv.reader(io.StringIO(text))
    else:
        delimiter = "::" if names[0].endswith(".dat") else "|"
        rows = (line.split(delimiter) for line in text.splitlines())
    titles = {int(row[0]): row[1] for row in rows if row and row[0].isdigit()}
    labels = item_labels.tolist()
    return np.array([titles.get(label, "") for label in labels], dtype=object)


def _decoded(data):
    """Return the text of a file: older releases are in Latin-1, later ones in UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
