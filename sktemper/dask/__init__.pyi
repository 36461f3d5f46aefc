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

from sktemper.base import TemperedEstimator as TemperedEstimator
# An array, a sparse matrix, a data frame, a list of these, or a collection on disk.
_Data: TypeAlias = Any
_Int: TypeAlias = int | np.integer[Any]
_Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Path: TypeAlias = str | PathLike[str]
_Random: TypeAlias = int | np.integer[Any] | np.random.RandomState | None
_Estimator = TypeVar("_Estimator", bound=TemperedEstimator)

def counts(text: Any, vectorizer: Any) -> Any: ...

def fit(estimator: _Estimator, X: Any, *, client: Any = None, checkpoint: _Path | None = None, every: _Int | None = None, sample_weight: _Data | None = None, X_val: Any = None) -> _Estimator: ...

def lower_bound(estimator: TemperedEstimator, X: Any, *, client: Any = None, sample_weight: _Data | None = None) -> float: ...

def partial_fit(estimator: _Estimator, X: Any, *, client: Any = None, sample_weight: _Data | None = None, times: Any = None) -> _Estimator: ...

def predict(estimator: TemperedEstimator, X: Any, *, client: Any = None) -> Any: ...

def predict_proba(estimator: TemperedEstimator, X: Any, *, client: Any = None) -> Any: ...

def score(estimator: TemperedEstimator, X: Any, *, client: Any = None, sample_weight: _Data | None = None) -> float: ...

def score_samples(estimator: TemperedEstimator, X: Any, *, client: Any = None) -> Any: ...

def transform(estimator: TemperedEstimator, X: Any, *, client: Any = None) -> Any: ...

__all__ = ["counts", "fit", "lower_bound", "partial_fit", "predict", "predict_proba", "score", "score_samples", "transform"]
