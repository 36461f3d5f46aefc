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

from sktemper.model import ConjugateModel as ConjugateModel
# An array, a sparse matrix, a data frame, a list of these, or a collection on disk.
_Data: TypeAlias = Any
_Int: TypeAlias = int | np.integer[Any]
_Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Path: TypeAlias = str | PathLike[str]
_Random: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

class BirthMoves(Moves):
    n_moves: int
    patience: int
    n_iter: Any
    start: Any
    max_samples: int
    def __init__(self, n_moves: _Int = 100, patience: _Int = 30, n_iter: _Int | Literal["auto"] = 'auto', start: _Float = 1.0, max_samples: _Int = 2000) -> None: ...
    def n_steps(self, model: Any) -> Any: ...
    def propose(self, model: Any, globals_: Any, hyper: Any, block: Any, random: Any, refused: Any, row_weight: Any = None) -> Any: ...
    def tempering(self, n_steps: Any) -> Any: ...

class MoveSequence(Moves):
    moves: Any
    n_moves: int
    patience: int
    max_samples: int
    def __init__(self, moves: Sequence[Any] = ...) -> None: ...
    def phases(self) -> Any: ...
    def validate(self) -> Any: ...

class Moves(BaseEstimator):
    n_moves: int
    patience: int
    max_samples: int
    def check(self, model: Any) -> Any: ...
    def is_hopeless(self, deficit: _Float, gain: _Float, n_left: _Int) -> bool: ...
    def knows(self, state: Any) -> Any: ...
    def n_steps(self, model: Any) -> Any: ...
    def phases(self) -> Any: ...
    def propose(self, model: ConjugateModel, globals_: Any, hyper: Any, block: Any, random: Any, refused: frozenset[str], row_weight: NDArray[Any] | None = None) -> None: ...
    def set_params(self, **params: Any) -> Self: ...
    def tempering(self, n_steps: Any) -> Any: ...
    def validate(self) -> None: ...

class NoMoves(Moves):
    n_moves: int
    patience: int
    max_samples: int

class Proposal(NamedTuple):
    globals_: Any
    hyper: Any
    key: Any = None

class ReheatMoves(Moves):
    n_moves: int
    n_iter: Any
    start: Any
    max_samples: int
    patience: int
    def __init__(self, n_moves: _Int = 1, n_iter: _Int = 30, start: _Float = 5.0, max_samples: _Int = 20000) -> None: ...
    def n_steps(self, model: Any) -> Any: ...
    def propose(self, model: Any, globals_: Any, hyper: Any, block: Any, random: Any, refused: Any, row_weight: Any = None) -> Any: ...
    def tempering(self, n_steps: Any) -> Any: ...

class SplitMergeMoves(Moves):
    n_moves: int
    patience: int
    n_iter: Any
    max_samples: int
    def __init__(self, n_moves: _Int = 100, patience: _Int = 10, n_iter: _Int = 6, max_samples: _Int = 20000) -> None: ...
    def n_steps(self, model: Any) -> Any: ...
    def propose(self, model: Any, globals_: Any, hyper: Any, block: Any, random: Any, refused: Any, row_weight: Any = None) -> Any: ...

__all__ = ["BirthMoves", "MoveSequence", "Moves", "NoMoves", "Proposal", "ReheatMoves", "SplitMergeMoves"]
