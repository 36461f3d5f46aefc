"""Types of the public names; written by .ci/stubs, not by hand."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch


# An array, a sparse matrix, a data frame, a list of these, or a collection on disk.
_Data: TypeAlias = Any
_Int: TypeAlias = int | np.integer[Any]
_Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Path: TypeAlias = str | PathLike[str]
_Random: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

def topic_report(lda: Any, X: _Data, feature_names: ArrayLike | None = None, documents: Sequence[Any] | None = None, path: _Path | None = None, *, vectorizer: Any = None, embeddings: ArrayLike | None = None, document_names: ArrayLike | None = None, dates: ArrayLike | None = None, groups: ArrayLike | None = None, n_words: _Int = 30, n_documents: _Int = 10, title: str = 'Topics') -> Path | str: ...

__all__ = ["topic_report"]
