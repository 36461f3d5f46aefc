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

class ClassProfilesDisplay:
    image_: Any
    labels_: list[str]
    ax_: Any
    figure_: Any
    def __init__(self, *, profiles: Any) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, items: Sequence[Any] | None = None, ax: Any = None) -> ClassProfilesDisplay: ...
    def plot(self, ax: Any = None, *, items: Sequence[Any] | None = None) -> ClassProfilesDisplay: ...

class ComponentsDisplay:
    images_: list[Any]
    axes_: NDArray[Any]
    colorbar_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, images: NDArray[Any], numbers: NDArray[Any]) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, image_shape: Any, *, components: ArrayLike | None = None, ax: Any = None, **image_kw: Any) -> ComponentsDisplay: ...
    def plot(self, ax: Any = None, *, n_columns: _Int | None = None, colorbar: bool = True, **image_kw: Any) -> ComponentsDisplay: ...

class CriticalTemperaturesDisplay:
    points_: Any
    line_: Any
    band_: Any
    axes_: NDArray[Any]
    ax_: Axes
    figure_: Figure
    def __init__(self, *, critical_temperatures: NDArray[Any], time: NDArray[Any] | None = None, temperature: NDArray[Any] | None = None, unit: Literal["steps", "passes"] = 'steps') -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: _Data, sample_weight: ArrayLike | None = None, *, ax: Any = None, **line_kw: Any) -> CriticalTemperaturesDisplay: ...
    def plot(self, ax: Any = None, **line_kw: Any) -> CriticalTemperaturesDisplay: ...

class DocumentDisplay:
    texts_: list[Any]
    ax_: Axes
    figure_: Figure
    def __init__(self, *, pieces: Sequence[Any], topics: Sequence[Any], probabilities: Sequence[Any], labels: dict[Any, Any]) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, *, text: str | None = None, feature_names: ArrayLike | None = None, ax: Any = None, **text_kw: Any) -> DocumentDisplay: ...
    def plot(self, ax: Any = None, **text_kw: Any) -> DocumentDisplay: ...

class MixtureEllipsesDisplay:
    ellipses_: list[Any]
    points_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, means: NDArray[Any], covariances: NDArray[Any], weights: NDArray[Any], points: NDArray[Any] | None = None, labels: NDArray[Any] | None = None, names: Any = ...) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, *, features: Any = ..., n_std: _Float = 2.0, min_weight: _Float = 0.01, ax: Any = None, **ellipse_kw: Any) -> MixtureEllipsesDisplay: ...
    def plot(self, ax: Any = None, *, n_std: _Float = 2.0, **ellipse_kw: Any) -> MixtureEllipsesDisplay: ...

class NumberOfComponentsDisplay:
    best_: int
    one_standard_error_: int
    line_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, n_components: NDArray[Any], scores: NDArray[Any], errors: NDArray[Any], score_name: str = 'Held-out score', name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, param: str = 'n_components', metric: str | None = None, ax: Any = None, name: str | None = None, **line_kw: Any) -> NumberOfComponentsDisplay: ...
    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> NumberOfComponentsDisplay: ...

class StreamDisplay:
    score_line_: Any
    alarms_: list[Any]
    lines_: list[Any]
    ax_: Axes
    axes_: NDArray[Any]
    figure_: Figure
    def __init__(self, *, course: dict[Any, Any], renewals: dict[Any, Any], alarms: dict[Any, Any], labels: dict[Any, Any], n_components: _Int = 8, score_name: str = 'Score (nats)') -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: ArrayLike | None = None, n_components: _Int = 8, ax: Any = None, **line_kw: Any) -> StreamDisplay: ...
    def plot(self, ax: Any = None, **line_kw: Any) -> StreamDisplay: ...

class TemperatureDisplay:
    line_: Any
    mesh_: Any
    colorbar_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, x: NDArray[Any], temperature: NDArray[Any], ladder: NDArray[Any] | None = None, probabilities: NDArray[Any] | None = None, x_name: Literal["passes", "seconds", "steps"] = 'steps', name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: Literal["line", "heatmap"] = 'line', x: Literal["passes", "seconds", "steps"] = 'steps', ax: Any = None, name: str | None = None, mesh_kw: dict[Any, Any] | None = None, colorbar: bool = True, **line_kw: Any) -> TemperatureDisplay: ...
    def plot(self, ax: Any = None, *, name: str | None = None, mesh_kw: dict[Any, Any] | None = None, colorbar: bool = True, **line_kw: Any) -> TemperatureDisplay: ...

class TopicMapDisplay:
    circles_: Any
    labels_: list[Any]
    ax_: Axes
    figure_: Figure
    def __init__(self, *, positions: NDArray[Any], prevalence: NDArray[Any], labels: Sequence[Any]) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: ArrayLike | None = None, n_words: _Int = 3, ax: Any = None, **scatter_kw: Any) -> TopicMapDisplay: ...
    def plot(self, ax: Any = None, **scatter_kw: Any) -> TopicMapDisplay: ...

class TopicPrevalenceDisplay:
    artists_: list[Any]
    colorbar_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, shares: Any, labels: Sequence[Any], topics: NDArray[Any], places: NDArray[Any] | None = None, n_groups: _Int | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, X: _Data, groups: ArrayLike | None = None, *, feature_names: ArrayLike | None = None, topics: ArrayLike | None = None, n_bins: _Int = 20, ax: Any = None, **artist_kw: Any) -> TopicPrevalenceDisplay: ...
    def plot(self, ax: Any = None, **artist_kw: Any) -> TopicPrevalenceDisplay: ...

class TopicWordsDisplay:
    axes_: NDArray[Any]
    ax_: Axes
    figure_: Figure
    def __init__(self, *, words: Sequence[Any], weights: Sequence[Any], topics: NDArray[Any], prevalence: NDArray[Any] | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: ArrayLike | None = None, topics: ArrayLike | None = None, n_words: _Int = 8, relevance: _Float = 1.0, n_columns: _Int = 4, ax: Any = None, **bar_kw: Any) -> TopicWordsDisplay: ...
    def plot(self, ax: Any = None, *, n_columns: _Int = 4, **bar_kw: Any) -> TopicWordsDisplay: ...

class TrainingCurveDisplay:
    line_: Any
    ax_: Axes
    figure_: Figure
    def __init__(self, *, x: NDArray[Any], y: NDArray[Any], x_name: Literal["passes", "seconds", "steps"] = 'passes', y_name: Literal["heldout_score", "batch_bound"] = 'heldout_score', name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, estimator: Any, *, x: Literal["passes", "seconds", "steps"] = 'passes', y: Literal["heldout_score", "batch_bound"] = 'heldout_score', ax: Any = None, name: str | None = None, **line_kw: Any) -> TrainingCurveDisplay: ...
    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> TrainingCurveDisplay: ...

def topic_map_layout(topic_word: ArrayLike, prevalence: ArrayLike, *, width: _Float = 1.0, height: _Float = 1.0) -> tuple[NDArray[Any], NDArray[Any]]: ...

def topic_shares(doc_topic: ArrayLike, tokens: ArrayLike, groups: ArrayLike | None = None, *, n_bins: _Int = 20) -> tuple[Any, NDArray[Any]]: ...

__all__ = ["ClassProfilesDisplay", "ComponentsDisplay", "CriticalTemperaturesDisplay", "DocumentDisplay", "MixtureEllipsesDisplay", "NumberOfComponentsDisplay", "StreamDisplay", "TemperatureDisplay", "TopicMapDisplay", "TopicPrevalenceDisplay", "TopicWordsDisplay", "TrainingCurveDisplay", "topic_map_layout", "topic_shares"]
