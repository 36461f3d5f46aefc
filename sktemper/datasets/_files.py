"""Files of a collection on disk: written whole or not at all, checked when read."""

import contextlib
import json
import os
import re
import zlib
from pathlib import Path

import numpy as np

__all__ = [
    "META",
    "UNFINISHED",
    "claim",
    "opened_npy",
    "read_json",
    "remove",
    "shard_file",
    "write_json",
    "write_npy",
]

#: What makes a folder a collection, written last; and what one that is being written
#: has in its place.
META, UNFINISHED = "meta.json", "unfinished.json"
#: The names of all files that a collection, finished or not, may consist of.
OURS = re.compile(
    r"(meta|unfinished|feature_names)\.json|(user|item)_labels\.npy"
    r"|shard-\d+\.(json|(indptr|indices|data)\.npy)|words-\d+\.json"
    r"|run-\d+\.(json|npy)|users-\d+\.npy"
)
TEMPORARY = ".part"


def shard_file(folder, number, what):
    """Return the path of a file of a shard: "json", "data.npy" and so on."""
    return Path(folder) / f"shard-{number:05d}.{what}"


@contextlib.contextmanager
def _replacing(path):
    """Open a file that takes the place of ``path`` once it is complete and on disk."""
    temporary = path.with_name(path.name + TEMPORARY)
    with open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync_folder(path.parent)


def _sync_folder(folder):
    """Bring the names in a folder to disk, where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path, value):
    """Write a value as JSON, atomically."""
    with _replacing(Path(path)) as file:
        file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


def read_json(path):
    """Return what a JSON file has.

    Raises
    ------
    ValueError
        If it is no JSON.
    """
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged, it is no JSON: {error}.") from error


def write_npy(path, chunks, dtype, shape):
    """Write arrays one behind the other as one ``.npy`` file, atomically.

    Parameters
    ----------
    path : Path
    chunks : iterable of ndarray
    dtype : dtype
        Of the file; every chunk can be cast to it.
    shape : tuple
        That of all chunks together.

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
    """Return a ``.npy`` file as a read-only map, of the type and shape expected.

    Raises
    ------
    ValueError
        If the file is damaged, or is another one than expected.
    """
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing: the collection is damaged.") from error
    except (ValueError, EOFError, OverflowError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if dtype is not None and array.dtype != dtype:
        raise ValueError(
            f"{path} is damaged: its entries are {array.dtype}, "
            f"expected {np.dtype(dtype)}."
        )
    if shape is not None and array.shape != tuple(shape):
        raise ValueError(
            f"{path} is damaged: its shape is {array.shape}, expected {tuple(shape)}."
        )
    size = os.path.getsize(path)
    expected = array.offset + array.nbytes
    if size != expected or not array.flags.c_contiguous:
        raise ValueError(
            f"{path} is damaged: it has {size:,} bytes, expected {expected:,}."
        )
    return array


def remove(folder, pattern):
    """Remove files of a collection by a pattern of names, such as ``run-*``."""
    for path in Path(folder).glob(pattern):
        if OURS.fullmatch(path.name.removesuffix(TEMPORARY)):
            path.unlink()


def claim(folder, settings, overwrite):
    """Make a folder ready for a collection to be written, or to be gone on with.

    Parameters
    ----------
    folder : Path
    settings : dict
        What must be the same for a conversion to go on.
    overwrite : bool
        Whether to begin anew in place of a collection, finished or not.

    Raises
    ------
    FileExistsError
        If there is a finished collection.
    ValueError
        If the folder holds something else, or a conversion with other settings.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    names = [path.name for path in folder.iterdir()]
    foreign = [n for n in names if not OURS.fullmatch(n.removesuffix(TEMPORARY))]
    begun = META in names or UNFINISHED in names
    only_temporary = all(name.endswith(TEMPORARY) for name in names)
    if foreign or not (begun or only_temporary):
        raise ValueError(
            f"{folder} holds something else than a collection, such as "
            f"{min(foreign or names)!r}; give a new or an empty folder."
        )
    if META in names and not overwrite:
        raise FileExistsError(
            f"{folder} holds a collection already; open it, or replace it with "
            "overwrite=True."
        )
    if overwrite:
        (folder / META).unlink(missing_ok=True)
        for name in names:
            (folder / name).unlink(missing_ok=True)
    if (folder / UNFINISHED).exists():
        _check_settings(folder / UNFINISHED, settings)
    else:
        write_json(folder / UNFINISHED, settings)


def _check_settings(path, settings):
    """Raise if a conversion was begun with other settings."""
    before = read_json(path)
    names = sorted(set(settings) | set(before)) if isinstance(before, dict) else ["all"]
    changed = [
        n
        for n in names
        if not isinstance(before, dict) or before.get(n) != settings.get(n)
    ]
    if changed:
        raise ValueError(
            f"{path.parent} holds the beginning of another conversion "
            f"({', '.join(changed)} differ); go on as it was begun, or begin anew "
            "with overwrite=True."
        )
