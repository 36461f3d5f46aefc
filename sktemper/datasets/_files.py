"""Files of collections, which are written atomically and have checksums."""

import contextlib
import json
import os
import zlib

import numpy as np

#: Ending of the names of incomplete files.
TEMPORARY = ".part"
#: Number of bytes that are read at a time from a large file.
BYTES_AT_ONCE = 2**20


class _NewFile:
    """A file that is being written; ``crc`` is the CRC-32 of the bytes so far."""

    def __init__(self, file):
        self.file, self.crc = file, 0

    def write(self, data):
        self.file.write(data)
        self.crc = zlib.crc32(data, self.crc)


@contextlib.contextmanager
def _replacing(path):
    """Open a file that takes the place of ``path`` once it is complete and on disk."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with open(temporary, "wb") as file:
            yield _NewFile(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # such as a full disk, where the incomplete file takes space
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


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
    value = value | {"checksum": _checksum(value)}
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    with _replacing(path) as file:
        file.write(text)
    return file.crc


def read_json(path):
    """Return a dict that `write_json` wrote, with its checksum; raise if damaged."""
    _check_regular(path)
    with open(path, "rb") as file:
        text = file.read()
    try:
        value = json.loads(text)
        checksum = value.pop("checksum")
        if checksum == _checksum(value):
            return value | {"checksum": checksum}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        pass  # it is no valid JSON, or no dict with a checksum
    raise ValueError(f"{path} is damaged: its text does not have its checksum.")


def _checksum(value):
    return zlib.crc32(json.dumps(value, ensure_ascii=False).encode())


# -- arrays ----------------------------------------------------------------------------


def write_npy(path, chunks, dtype, shape):
    """Write arrays as one ``.npy`` file of this type and shape, atomically.

    Returns the CRC-32 of the file.
    """
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    with _replacing(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            chunk = np.ascontiguousarray(chunk, dtype=dtype)
            if chunk.size:
                file.write(chunk.reshape(-1).view(np.uint8))
    return file.crc


def open_npy(path, dtype=None, shape=None):
    """Return a read-only map of a ``.npy`` file, after a check of type and shape."""
    _check_regular(path)
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError:  # an error of the disk, not of the file's content
        raise
    except Exception as error:  # parsing a header raises many exceptions
        raise ValueError(f"{path} is damaged: {error}") from error
    size = array.offset + array.nbytes
    for what, found, expected in (
        ("type", array.dtype, array.dtype if dtype is None else np.dtype(dtype)),
        ("shape", array.shape, array.shape if shape is None else tuple(shape)),
        ("size in bytes", os.path.getsize(path), size),
    ):
        if found != expected:
            raise ValueError(
                f"{path} is damaged: its {what} is {found}, expected {expected}."
            )
    return array
