"""Data in parts, in memory or elsewhere, and the order of their rows.

`_parts` defines the parts.  `_rows` defines the order in which rows are visited.
`_data` combines parts to data, and converts the input of users to data.
"""

from ._data import Data, Source, check_widths, data_of, matrices_of
from ._parts import ByRows, InMemory, as_slice, cuts
from ._rows import Rows

__all__ = [
    "ByRows",
    "Data",
    "InMemory",
    "Rows",
    "Source",
    "as_slice",
    "check_widths",
    "cuts",
    "data_of",
    "matrices_of",
]
