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

def completion_log_likelihood(estimator: Any, X: _Data, *, split: Literal["words", "tokens"] = 'words', temperatures: Literal["unit", "learned"] = 'unit', random_state: _Random | None = None) -> float: ...

def completion_rmse(estimator: Any, X: _Data, *, clip: tuple[Any, ...] | None = None) -> float: ...

completion_scorer: Callable[..., Any]

diversity_scorer: Callable[..., Any]

def heldout_rmse(estimator: Any, X: _Data, *, clip: tuple[Any, ...] | None = None) -> float: ...

def interval_coverage(estimator: Any, X: _Data, *, levels: ArrayLike = ...) -> NDArray[Any]: ...

def make_completion_scorer(*, split: Literal["words", "tokens"] = 'words', temperatures: Literal["unit", "learned"] = 'unit', random_state: _Random | None = 0) -> Callable[..., Any]: ...

def make_diversity_scorer(*, n_words: _Int = 25) -> Callable[..., Any]: ...

def make_npmi_scorer(*, n_words: _Int = 10) -> Callable[..., Any]: ...

def make_ranking_scorer(measure: str = 'ndcg@100', *, test_size: _Float | _Int | Literal["half"] = 'half', relevant: _Float | None = None, random_state: _Int = 0) -> Callable[..., Any]: ...

def match_components(components_a: ArrayLike, components_b: ArrayLike, *, metric: Literal["cosine", "jensenshannon"] = 'cosine') -> tuple[NDArray[Any], NDArray[Any]]: ...

def ndcg_at_k(scores: Any, X_test: _Data, *, k: _Int = 10, X_seen: _Data | None = None, relevant: _Float | None = None, per_user: bool = False) -> float | NDArray[Any]: ...

def npmi_coherence(topics_or_estimator: Any, X: _Data, *, n_words: _Int = 10) -> NDArray[Any]: ...

npmi_scorer: Callable[..., Any]

def perplexity(estimator: Any, X: _Data, *, split: Literal["words", "tokens"] = 'words', temperatures: Literal["unit", "learned"] = 'unit', random_state: _Random | None = None) -> float: ...

def precision_at_k(scores: Any, X_test: _Data, *, k: _Int = 10, X_seen: _Data | None = None, relevant: _Float | None = None, per_user: bool = False) -> float | NDArray[Any]: ...

def ranking_report(scores: Any, X_test: _Data, *, measures: Sequence[Any] = ..., X_seen: _Data | None = None, relevant: _Float | None = None) -> dict[Any, Any]: ...

ranking_scorer: Callable[..., Any]

def recall_at_k(scores: Any, X_test: _Data, *, k: _Int = 10, X_seen: _Data | None = None, relevant: _Float | None = None, per_user: bool = False) -> float | NDArray[Any]: ...

def topic_diversity(topics_or_estimator: Any, *, n_words: _Int = 25) -> float: ...

def umass_coherence(topics_or_estimator: Any, X: _Data, *, n_words: _Int = 10, smoothing: _Float | None = None) -> NDArray[Any]: ...

__all__ = ["completion_log_likelihood", "completion_rmse", "completion_scorer", "diversity_scorer", "heldout_rmse", "interval_coverage", "make_completion_scorer", "make_diversity_scorer", "make_npmi_scorer", "make_ranking_scorer", "match_components", "ndcg_at_k", "npmi_coherence", "npmi_scorer", "perplexity", "precision_at_k", "ranking_report", "ranking_scorer", "recall_at_k", "topic_diversity", "umass_coherence"]
