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

class StreamingCountVectorizer(TransformerMixin, CountVectorizer):
    input: Any
    encoding: Any
    decode_error: Any
    strip_accents: Any
    lowercase: Any
    preprocessor: Any
    tokenizer: Any
    stop_words: Any
    token_pattern: Any
    ngram_range: Any
    analyzer: Any
    max_df: Any
    min_df: Any
    max_features: Any
    vocabulary: Any
    binary: Any
    dtype: Any
    half_life: Any
    vocabulary_: dict[Any, Any]
    fixed_vocabulary_: bool
    n_tokens_: int
    n_unknown_tokens_: int
    def __init__(self, *, input: Literal["filename", "file", "content"] = 'content', encoding: str = 'utf-8', decode_error: Literal["strict", "ignore", "replace"] = 'strict', strip_accents: Literal["ascii", "unicode"] | Callable[..., Any] | None = None, lowercase: bool = True, preprocessor: Callable[..., Any] | None = None, tokenizer: Callable[..., Any] | None = None, stop_words: Any = None, token_pattern: str | None = '(?u)\\b\\w\\w+\\b', ngram_range: tuple[Any, ...] = ..., analyzer: Literal["word", "char", "char_wb"] | Callable[..., Any] = 'word', max_df: _Float | _Int = 1.0, min_df: _Float | _Int = 1, max_features: _Int | None = None, vocabulary: Mapping[Any, Any] | Iterable[Any] | None = None, binary: bool = False, dtype: DTypeLike = ..., half_life: _Float | None = None) -> None: ...
    @property
    def document_frequencies_(self) -> NDArray[Any]: ...
    def drop_features(self, features: ArrayLike | _Int | None = None) -> NDArray[Any]: ...
    def fit(self, raw_documents: Iterable[Any], y: Any = None) -> Self: ...
    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any: ...
    def partial_fit(self, raw_documents: Iterable[Any], y: Any = None) -> Self: ...
    def partial_fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any: ...
    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...
    def transform(self, raw_documents: Iterable[Any]) -> Any: ...
    def set_callbacks(self, *callbacks: Any) -> Self: ...

def class_tfidf(counts: ArrayLike) -> NDArray[Any]: ...

def cluster_words(X: _Data, memberships: Any, feature_names: ArrayLike | None = None, n_words: _Int = 10, *, by: Literal["class_tfidf", "lift", "weight"] = 'class_tfidf', output: Literal["pandas", "polars"] = 'pandas') -> Any: ...

__all__ = ["StreamingCountVectorizer", "class_tfidf", "cluster_words"]
