"""Types of the parameters and results that many public signatures share."""

import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike  # noqa: F401

#: An array, a sparse matrix, a data frame, a list of these, or a collection on disk.
DataLike: TypeAlias = Any
Int: TypeAlias = int | np.integer
Float: TypeAlias = float | np.floating | np.integer
Seed: TypeAlias = int | np.integer | np.random.RandomState | None
StrPath: TypeAlias = str | PathLike
#: A time, such as "30D".
Duration: TypeAlias = str | datetime.timedelta | np.timedelta64
#: A CSR matrix or CSR array of scipy, which has no types.
SparseMatrix: TypeAlias = Any
#: What fills a gap of data.
Statistic: TypeAlias = Literal["mode", "mean", "median", "sample"]
#: The object of a function that is a method of several classes.
Owner = TypeVar("Owner")

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    #: A data frame of pandas, or of polars if an argument asks for it.
    DataFrame: TypeAlias = pd.DataFrame | Any
else:  # these packages are imported when they are used
    Axes = DataFrame = Figure = Any
