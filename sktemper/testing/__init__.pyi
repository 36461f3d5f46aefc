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

def check_model(model: Any, X: ArrayLike, *, log_likelihood: Callable[..., Any] | None = None, random_state: _Int = 0, on_fail: Literal["raise", "warn"] | None = 'raise') -> list[Any]: ...

__all__ = ["check_model"]
