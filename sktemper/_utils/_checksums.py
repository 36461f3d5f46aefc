"""Checksums by which a loaded pickle is compared with what was saved."""

import contextlib
import datetime
import decimal
import zlib

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

#: Types whose ``repr`` has the whole value.
PLAIN = {type(None), bool, int, float, complex, str, bytes, decimal.Decimal}
PLAIN |= {datetime.date, datetime.datetime, datetime.timedelta}
#: Arrays of a sparse matrix.
ARRAYS = ("data", "indices", "indptr")
#: Methods by which a class changes its pickles, and their implementations in classes
#: whose pickles are their attributes.
WAYS = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
USUAL = {getattr(base, way, None) for base in (object, BaseEstimator) for way in WAYS}


def with_checksum(attributes):
    """Return a dict of attributes with their checksum, which omits callbacks."""
    return attributes | {"_checksum": _checksum(_without_callbacks(attributes))}


def checked(attributes):
    """Return a dict of attributes without their checksum.

    Raises ValueError if the checksum is missing, or is not that of the attributes.
    """
    attributes = dict(attributes)
    found = attributes.pop("_checksum", None)
    if found != _checksum(_without_callbacks(attributes)):
        raise ValueError("its checksum differs")
    return attributes


@contextlib.contextmanager
def refusing_damage(estimator):
    """Turn any error into one about damage."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"This {type(estimator).__name__} cannot be loaded: it is damaged, or of "
            f"another version of sktemper ({error})."
        ) from error


def _without_callbacks(attributes):
    # a callback may contain its estimator, which is then loaded before the callback
    return {name: value for name, value in attributes.items() if "callback" not in name}


def _checksum(value, crc=0, outer=()):
    """Continue the CRC-32 checksum ``crc`` with a value, by content.

    It depends neither on the layout and byte order of arrays nor on which parts are the
    same object.  Of objects that define their own pickles, it has the class only.

    ``outer`` has the identities of the objects that contain the value.
    """
    kind = type(value)
    if kind in PLAIN:
        return _add(crc, kind.__name__, value)
    if isinstance(value, np.generic | np.ndarray):
        return _add_array(crc, np.asarray(value))
    if isinstance(value, np.dtype):
        # a wrong flag of a dtype can crash NumPy
        return _add(crc, "dtype", (value.descr, value.flags))
    crc = _add(crc, "object", kind.__qualname__)
    if isinstance(value, dict):
        return _add_items(_add_items(crc, value, outer), value.values(), outer)
    if isinstance(value, list | tuple):
        return _add_items(crc, _without_new_fields(value), outer)
    if isinstance(value, set | frozenset):
        return _add_items(crc, sorted(_checksum(item) for item in value), outer)
    if sparse.issparse(value):
        parts = [getattr(value, name) for name in ARRAYS if hasattr(value, name)]
        return _add_items(crc, (value.shape, *parts), outer)
    if hasattr(value, "__qualname__"):  # a class or function, which is pickled by name
        return _add(crc, "name", value.__qualname__)
    if id(value) in outer or not {getattr(kind, way, None) for way in WAYS} <= USUAL:
        return crc
    return _checksum(value.__getstate__(), crc, (*outer, id(value)))


def _without_new_fields(value):
    """Return a named tuple without the fields that pickles of older versions lack.

    The class lists them in ``_new_fields``; they are omitted at their defaults.
    """
    if not (new := getattr(value, "_new_fields", ())):
        return value
    defaults = value._field_defaults
    fields = zip(value._fields, value, strict=True)
    return [item for name, item in fields if name not in new or item != defaults[name]]


def _add(crc, kind, value):
    return zlib.crc32(f"{kind} {value!r}".encode(), crc)


def _add_items(crc, items, outer):
    items = list(items)
    if set(map(type, items)) <= PLAIN:
        return _add(crc, "items", items)
    crc = _add(crc, "items", len(items))
    for item in items:
        crc = _checksum(item, crc, outer)
    return crc


def _add_array(crc, array):
    dtype = array.dtype.newbyteorder("=")  # the byte order that NumPy loads
    crc = _add(crc, dtype.descr, (array.dtype.flags, *array.shape))
    if array.dtype.hasobject:
        return _add_items(crc, array.ravel().tolist(), ())
    if array.nbytes == 0:
        return crc
    # a copy of a whole array may be large
    flags = ["external_loop", "buffered", "grow_inner"]
    kinds = [["readonly", "contig"]]
    for piece in np.nditer(array, flags, kinds, dtype, order="C", casting="equiv"):
        crc = zlib.crc32(piece.view(np.uint8), crc)
    return crc
