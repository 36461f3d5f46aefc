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
from sklearn.utils import Bunch

from sktemper.schedules import Clock as Clock
# An array, a sparse matrix, a data frame, a list of these, or a collection on disk.
_Data: TypeAlias = Any
_Int: TypeAlias = int | np.integer[Any]
_Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Path: TypeAlias = str | PathLike[str]
_Random: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

class AdaptiveRate(LearningRate):
    metric: Any
    max_rate: Any
    n_warmup_batches: Any
    def __init__(self, metric: Literal["fisher", "identity"] = 'fisher', max_rate: _Float = 0.25, n_warmup_batches: _Int = 10) -> None: ...
    def initial_state(self) -> Any: ...
    def knows(self, state: Any) -> Any: ...
    def next_rate(self, state: Any, clock: Any, gradient: Any) -> Any: ...

class ConstantRate(LearningRate):
    rate: Any
    def __init__(self, rate: _Float = 0.05) -> None: ...
    def next_rate(self, state: Any, clock: Any, gradient: Any) -> Any: ...

class LearningRate(BaseEstimator):
    def check(self, model: Any) -> Any: ...
    def initial_state(self) -> Any: ...
    def knows(self, state: Any) -> Any: ...
    def next_rate(self, state: Any, clock: Clock, gradient: Callable[..., Any]) -> None: ...
    def set_params(self, **params: Any) -> Self: ...
    def validate(self) -> None: ...

class RobbinsMonro(LearningRate):
    offset: Any
    decay: Any
    def __init__(self, offset: _Float = 10.0, decay: _Float = 0.6) -> None: ...
    def __call__(self, t: Any) -> Any: ...
    def next_rate(self, state: Any, clock: Any, gradient: Any) -> Any: ...

__all__ = ["AdaptiveRate", "ConstantRate", "LearningRate", "RobbinsMonro"]
