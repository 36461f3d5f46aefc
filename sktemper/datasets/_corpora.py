"""Loaders of the data sets that ship with the package."""

import gzip
from importlib import resources
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from .._utils._docstrings import completed_by
from .._utils._frames import frame_library
from .._utils._sklearn import csr_container

_DATA = resources.files(__package__) / "data"


def load_debian_descriptions() -> Bunch:
    """Load the word counts of the Debian package descriptions.

    The documents are the long descriptions of the 52,189 packages of Debian 12, short
    texts whose topics are kinds of software.  They have 6,000 different words,
    1,334,974 nonzero counts and 1,786,203 tokens.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : CSR matrix of int32, shape (52189, 6000)
            How often each word occurs in each document. The rows are in random order.
            A sparse array if scikit-learn's option ``sparse_interface`` is "sparray".
        feature_names : ndarray of str, shape (6000,)
            The words, in alphabetical order.
        document_names : ndarray of str, shape (52189,)
            The names of the packages; a few names occur more than once.
        DESCR : str
            The full description of the data set.
        filename : str
            The path of the counts, which :func:`scipy.sparse.load_npz` reads.

    Examples
    --------
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> debian.data.shape
    (52189, 6000)
    >>> document = debian.document_names.tolist().index("python3-sklearn")
    >>> debian.feature_names[debian.data[[document]].indices[:6]].tolist()
    ['collection', 'functionality', 'gaussian', 'included', 'learn', 'learning']
    """
    path = _DATA / "debian_descriptions.npz"
    with path.open("rb") as file:
        counts = sparse.load_npz(file)  # stored as uint16 to save disk space
    return Bunch(
        data=csr_container()(counts, dtype=np.int32),
        feature_names=_lines("debian_descriptions.feature_names.txt"),
        document_names=_lines("debian_descriptions.document_names.txt"),
        DESCR=_text("debian_descriptions.rst"),
        filename=str(path),
    )


def load_election_survey(*, output: Literal["pandas", "polars"] = "pandas") -> Bunch:
    """Load answers of the American National Election Study of 1996.

    There are 944 respondents and 10 questions.

    Parameters
    ----------
    output : {"pandas", "polars"}, default="pandas"
        Library of the data frame.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : DataFrame of shape (944, 10)
            Its columns are "tv_news", "self", "clinton", "dole", "party", "vote",
            "age", "education", "income" and "population".
        DESCR : str
            The full description of the data set and of its columns.
        filename : str
            The path of the answers, a CSV file.

    Raises
    ------
    ValueError
        If ``output`` is not a library.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> from sktemper.datasets import load_election_survey
    >>> survey = load_election_survey().data
    >>> survey.shape
    (944, 10)
    >>> survey["vote"].value_counts().to_dict()
    {'Clinton': 551, 'Dole': 393}
    """
    path = _DATA / "election_survey.csv"
    with path.open("rb") as file:
        data = frame_library(output).read_csv(file)
    return Bunch(data=data, DESCR=_text("election_survey.rst"), filename=str(path))


@completed_by(load_election_survey, "Raises")
def load_python_changes(*, output: Literal["pandas", "polars"] = "pandas") -> Bunch:
    """Load texts with dates: the changes of Python from 2015 to 2025.

    Each of the 11,246 short texts describes a change of CPython.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : DataFrame of shape (11246, 3)
            Its columns are "date", "section" and "text". The rows are sorted by date.
        DESCR : str
            The full description of the data set, with its licence.
        filename : str
            The path of the table, a compressed CSV file.

    Examples
    --------
    >>> from sktemper.datasets import load_python_changes
    >>> changes = load_python_changes().data
    >>> print(changes["date"].iloc[0].date(), changes["text"].iloc[10])
    2015-02-08 %-interpolation (aka printf) formatting added for bytes and bytearray.
    """
    library = frame_library(output)
    dates = {"pandas": {"parse_dates": ["date"]}, "polars": {"try_parse_dates": True}}
    path = _DATA / "python_changes.csv.gz"
    with path.open("rb") as packed, gzip.open(packed) as file:
        data = library.read_csv(file, **dates[output])
    return Bunch(data=data, DESCR=_text("python_changes.rst"), filename=str(path))


def _lines(name):
    return np.array(_text(name).splitlines(), dtype=object)


def _text(name):
    return (_DATA / name).read_text(encoding="utf-8")
