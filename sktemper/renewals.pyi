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

class NoRenewals(BaseEstimator):
    def check(self, model: Any) -> Any: ...
    def knows(self, state: Any) -> Any: ...
    def set_params(self, **params: Any) -> Self: ...
    def validate(self) -> None: ...

class Renewals(BaseEstimator):
    memory: Any
    births: Any
    wait: Any
    trial: Any
    threshold: Any
    drift: Any
    def __init__(self, memory: _Int = 10000, births: _Float = 0.3, wait: _Int = 500, trial: _Int = 2000, threshold: _Float = 6.0, drift: _Float = 1.0) -> None: ...
    def check(self, model: Any) -> Any: ...
    def knows(self, state: Any) -> Any: ...
    def n_births(self, n_components: Any) -> Any: ...
    def set_params(self, **params: Any) -> Self: ...
    def validate(self) -> None: ...

__all__ = ["NoRenewals", "Renewals"]
