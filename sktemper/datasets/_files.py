"""Files of collections, which are written atomically and have checksums."""

import contextlib
import io
import itertools
import json
import os
import zlib

import numpy as np

from .._utils._files import replacing

#: Number of bytes that are read at a time from a large file.
BYTES_AT_ONCE = 2**20


def _write(path, pieces):
    """Write bytes-like objects as a file; return the CRC-32 of the file.

    The file takes the place of ``path`` once it is complete and on disk.
    """
    crc = 0
    with replacing(path) as file:
        for piece in pieces:
            file.write(piece)
            crc = zlib.crc32(piece, crc)
    _sync_folder(path.parent)
    return crc


def _sync_folder(folder):
    """Flush the entries of a folder to disk, if the system can open folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # the user may write to the folder, but not read it
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path):
    """Make a folder unless it exists, and flush its name to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        _sync_folder(path.parent)


def _check_regular(path):
    """Raise a ValueError unless there is a regular file; a pipe might never end."""
    if not os.path.isfile(path):
        what = "no regular file" if os.path.exists(path) else "missing"
        raise ValueError(f"{path} is {what}: the collection is damaged.")


def check_crc(path, crc):
    """Raise a ValueError unless a file has this CRC-32.

    The file is read piece by piece, not through a memory map: if another process
    truncates the file, use of a map ends the process.
    """
    _check_regular(path)
    found = 0
    with open(path, "rb") as file:
        while piece := file.read(BYTES_AT_ONCE):
            found = zlib.crc32(piece, found)
    if found != crc:
        raise ValueError(
            f"{path} is damaged: its checksum is {found:08x}, expected {crc:08x}. "
            "Restore the file from a copy, or write the collection again."
        )


# -- JSON ------------------------------------------------------------------------------


def write_json(path, value):
    """Write a dict and its checksum as JSON, atomically; return the file's CRC-32."""
    return _write(path, [_json(value | {"checksum": zlib.crc32(_json(value))})])


def read_json(path):
    """Return a dict that `write_json` wrote, with its checksum; raise if damaged."""
    _check_regular(path)
    text = path.read_bytes()
    try:
        value = json.loads(text)
        checksum = value.pop("checksum")
        if checksum == zlib.crc32(_json(value)):
            return value | {"checksum": checksum}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass  # it is no valid JSON, or no dict with a checksum
    raise ValueError(f"{path} is damaged: its text does not have its checksum.")


def _json(value):
    return json.dumps(value, ensure_ascii=False).encode()


# -- arrays ----------------------------------------------------------------------------


def write_npy(path, chunks, dtype, shape):
    """Write arrays as one ``.npy`` file, atomically; return the file's CRC-32."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    start = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(start, header)
    arrays = (np.ascontiguousarray(chunk, dtype=dtype) for chunk in chunks)
    pieces = (array.reshape(-1).view(np.uint8) for array in arrays if array.size)
    return _write(path, itertools.chain([start.getvalue()], pieces))


def open_npy(path, dtype=None, shape=None):
    """Return a read-only map of a ``.npy`` file, after a check of type and shape."""
    _check_regular(path)
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError:  # an error of the disk, not of the file's content
        raise
    except Exception as error:  # parsing a header raises many exceptions
        raise ValueError(f"{path} is damaged: {error}") from error
    if dtype is not None and (array.dtype, array.shape) != (np.dtype(dtype), shape):
        raise ValueError(
            f"{path} is damaged: its type and shape are {array.dtype} and "
            f"{array.shape}, expected {dtype} and {shape}."
        )
    return array
