"""Functions that write a collection's files atomically and check files when reading."""

import contextlib
import json
import math
import os
import re
import zlib
from pathlib import Path

import numpy as np

#: Names of files: the description of a finished collection, which is written last; the
#: settings of an unfinished first collection; and the names of the features.
META, UNFINISHED, NAMES = "meta.json", "unfinished.json", "feature_names.json"
#: Pattern of the names of all files of a finished or unfinished collection.
OURS = re.compile(
    r"(meta|unfinished|feature_names)\.json|(user|item)_labels\.npy"
    r"|shard-\d+\.(json|(indptr|indices|data)\.npy)|words-\d+\.json"
    r"|run-\d+\.(json|npy)|users-\d+\.npy"
)
TEMPORARY = ".part"
#: Number of bytes that are read at a time from a large file.
BYTES_AT_ONCE = 2**20


def shard_file(folder, number, what):
    """Return the path of a shard's file; ``what`` is "json", "data.npy" and so on."""
    return Path(folder) / f"shard-{number:05d}.{what}"


@contextlib.contextmanager
def _replacing(path):
    """Open a file that takes the place of ``path`` once it is complete and on disk."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with open(temporary, "wb") as file:
            yield file
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


# -- JSON ------------------------------------------------------------------------------


def write_json(path, value):
    """Write a value as JSON, atomically; a dict gets an entry with its checksum.

    Returns
    -------
    crc : int
        CRC-32 of the file.
    """
    if isinstance(value, dict):
        value = value | {"checksum": _checksum(value)}
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    with _replacing(Path(path)) as file:
        file.write(text)
    return zlib.crc32(text)


def read_json(path, crc=None):
    """Return the value of a JSON file.

    Parameters
    ----------
    path : str or path
    crc : int or None
        CRC-32 that the file must have.

    Raises
    ------
    ValueError
        If the file is missing, is not valid JSON, or has a wrong checksum.
    """
    text = _bytes_of(Path(path))
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is no valid JSON: {error}.") from error
    found = None if crc is None else zlib.crc32(text)
    if isinstance(value, dict) and "checksum" in value:
        found, crc = _checksum(value), value["checksum"]
    if found != crc:
        raise ValueError(f"{path} is damaged: its text has another checksum.")
    return value


def _bytes_of(path):
    """Return the bytes of a regular file; reading a pipe might never end."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no regular file: the collection is damaged.")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing: the collection is damaged.") from error


def _refuse_constant(name):
    raise ValueError(f"it contains {name}")


def _checksum(value):
    """Return the CRC-32 of a dict without its entry for the checksum."""
    rest = {name: value[name] for name in value if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return zlib.crc32(text.encode(errors="surrogatepass"))


# -- arrays ----------------------------------------------------------------------------


def write_npy(path, chunks, dtype, shape):
    """Write consecutive arrays as one ``.npy`` file, atomically.

    Parameters
    ----------
    path : Path
    chunks : iterable of ndarray
    dtype : dtype
        Type of the file, to which every chunk can be cast.
    shape : tuple
        Shape of the array in the file, which all chunks form together.

    Returns
    -------
    crc : int
        CRC-32 of the entries.
    """
    dtype, crc, n_rows = np.dtype(dtype), 0, 0
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    with _replacing(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            chunk = np.ascontiguousarray(chunk, dtype=dtype)
            n_rows += len(chunk)
            if chunk.size:
                entries = chunk.reshape(-1).view(np.uint8)
                file.write(entries)
                crc = zlib.crc32(entries, crc)
        if n_rows != shape[0]:
            raise ValueError(f"{path}: {n_rows} rows were given, expected {shape[0]}.")
    return crc


def opened_npy(path, dtype=None, shape=None):
    """Return a read-only map of a ``.npy`` file, after a check of type and shape.

    Raises
    ------
    ValueError
        If the file is damaged, or has another type or shape than expected.
    """
    if not os.path.isfile(path):
        what = "no regular file" if os.path.exists(path) else "missing"
        raise ValueError(f"{path} is {what}: the collection is damaged.")
    try:
        found_shape, by_columns, found_dtype, offset, size = _header_of(path)
    except OSError:  # an error of the disk, not of the file's content
        raise
    except Exception as error:  # parsing a header raises many exceptions
        raise ValueError(f"{path} is damaged: {error}") from error
    if dtype is not None and found_dtype != dtype:
        raise ValueError(
            f"{path} is damaged: its entries are {found_dtype}, "
            f"expected {np.dtype(dtype)}."
        )
    if shape is not None and found_shape != tuple(shape):
        raise ValueError(
            f"{path} is damaged: its shape is {found_shape}, expected {tuple(shape)}."
        )
    expected = offset + math.prod(found_shape) * found_dtype.itemsize
    if size != expected:
        raise ValueError(
            f"{path} is damaged: it has {size:,} bytes, expected {expected:,}."
        )
    if by_columns or found_dtype.hasobject:
        raise ValueError(f"{path} is damaged: it is no file of a collection.")
    return np.memmap(path, found_dtype, mode="r", offset=offset, shape=found_shape)


def _header_of(path):
    """Return the header of a ``.npy`` file, its length, and the length of the file."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"it has version {version} of the format .npy.")
        shape, by_columns, dtype = readers[version](file)
        is_vector = len(shape) < 2
        size = os.fstat(file.fileno()).st_size
        return shape, by_columns and not is_vector, dtype, file.tell(), size


def crc_of(path, array, inspect=lambda piece: None):
    """Return the CRC-32 of the entries of a ``.npy`` file.

    The entries are read from the file, not from its memory map: if another process
    truncates the file, reading raises an error, but use of the map ends the process.

    Parameters
    ----------
    path : str or path
    array : ndarray
        Memory map of the file.
    inspect : callable
        Called with each piece of the entries.

    Raises
    ------
    ValueError
        If the file ends early, or ``inspect`` raises.
    """
    crc, left = 0, array.size
    chunk_size = max(BYTES_AT_ONCE // max(array.itemsize, 1), 1)
    buffer = np.empty(min(chunk_size, left), dtype=array.dtype)
    with open(path, "rb") as file:
        file.seek(array.offset)
        while left:
            piece = buffer[:left]
            if file.readinto(piece.view(np.uint8)) < piece.nbytes:
                raise ValueError(f"{path} is damaged: it was cut off.")
            crc = zlib.crc32(piece.view(np.uint8), crc)
            inspect(piece)
            left -= len(piece)
    return crc


def remove(folder, pattern, first=0):
    """Remove files of a collection whose names match a pattern, such as ``run-*``.

    Parameters
    ----------
    folder : Path
    pattern : str
        Pattern of names.  Each name contains an index, such as ``run-00003.npy``.
    first : int, default=0
        Smallest index to remove.
    """
    for path in list(Path(folder).glob(pattern)):
        is_ours = OURS.fullmatch(path.name.removesuffix(TEMPORARY))
        if is_ours and int(re.search(r"\d+", path.name)[0]) >= first:
            path.unlink()
