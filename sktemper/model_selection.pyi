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

def bootstrap_n_components(estimator: Any, X: Any, *, n_replicates: _Int = 100, sample_weight: ArrayLike | None = None, n_jobs: _Int | None = None, random_state: _Random | None = None, verbose: _Int = 0) -> dict[Any, Any]: ...

def bootstrap_profiles(estimator: Any, X: Any, *, n_replicates: _Int = 100, interval: _Float = 0.95, sample_weight: ArrayLike | None = None, n_jobs: _Int | None = None, random_state: _Random | None = None, verbose: _Int = 0) -> Any: ...

def train_test_split_entries(X: _Data, *, test_size: _Float | _Int | Literal["half"] = 0.1, per: Literal["user", "all"] = 'user', random_state: _Random | None = None) -> tuple[Any, Any]: ...

__all__ = ["bootstrap_n_components", "bootstrap_profiles", "train_test_split_entries"]
