"""Data in parts: what lies where, and which rows follow one another.

`_parts` has what a part answers, `_rows` which rows are visited in which order, and
`_data` puts parts together and makes them of what a user passes.
"""

from ._data import Data, Source, data_of, matrices_of
from ._parts import ByRows, InMemory, as_slice, cuts
from ._rows import Rows

__all__ = [
    "ByRows",
    "Data",
    "InMemory",
    "Rows",
    "Source",
    "as_slice",
    "cuts",
    "data_of",
    "matrices_of",
]
