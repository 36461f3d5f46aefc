"""The folder of a collection: its files, its lock, and its description.

The files of a collection are in a subfolder, such as ``generation-00001``.  They have
checksums, and are written atomically.  The file ``meta.json`` describes the collection
and names the subfolder, so that the replacement of this file replaces the collection
atomically.  Old subfolders are removed after that.
"""

import contextlib
import datetime
import io
import itertools
import json
import os
import re
import socket
import zlib
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from .._utils._files import TEMPORARY, replacing
from ._lines import BYTES_AT_ONCE


# -- files -----------------------------------------------------------------------------
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


# -- folders ---------------------------------------------------------------------------
#: Names of files: the description of a finished collection, which is written last; the
#: settings and progress of an unfinished first collection; the names of the features.
META, UNFINISHED, NAMES = "meta.json", "unfinished.json", "feature_names.json"
#: Files with the labels of ratings.
LABELS = ("user_labels.npy", "item_labels.npy")
#: The locked file, and a file that tells who has locked it.
LOCK, WRITER = "writer.lock", "writer.txt"
#: The format of collections.
FORMAT = "sktemper collection 1"
GENERATION = re.compile(r"generation-(\d{5,9})")
#: Pattern of the names of files in a subfolder; other files belong to the user.
OURS = re.compile(
    r"(feature_names|user_labels|item_labels|(words|shard|run|users)-\d+)"
    rf"(\.data|\.indices|\.indptr)?\.(json|npy)({re.escape(TEMPORARY)})?"
)
#: Prefix of the names that NFS gives to files that are deleted while they are open.
DELETED_BY_NFS = ".nfs"


def generation_folder(folder, generation):
    return Path(folder) / f"generation-{generation:05d}"


def read_meta(folder):
    """Return the description of a finished collection, or raise."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    path = folder / META
    if path.exists():
        meta = read_json(path)
        if meta.get("format") != FORMAT:
            raise ValueError(f"{path} does not have the format {FORMAT!r}.")
        return meta
    if (folder / UNFINISHED).exists():
        raise ValueError(
            f"The collection in {folder} is not finished, because its conversion was "
            "interrupted. Call the writer again with the same batches to continue."
        )
    raise ValueError(f"{folder} holds no collection: it has no {META}.")


@contextlib.contextmanager
def _locked(folder):
    """Hold the lock of a folder, which the system releases when the process ends."""
    lock = FileLock(folder / LOCK)
    writer = folder / WRITER
    try:
        lock.acquire(blocking=False)
    except Timeout:
        who = "another process"
        with contextlib.suppress(OSError):  # the writer has just begun or ended
            who = writer.read_text() or who
        raise BlockingIOError(
            f"{folder} is being written by {who}. Wait until it has finished, or give "
            "another folder."
        ) from None
    except OSError as error:
        error.add_note(
            f"{folder} cannot be locked. If its file system has no locks, write to "
            "another disk, and move the folder."
        )
        raise
    try:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        process = f"process {os.getpid()} on {socket.gethostname()}"
        writer.write_text(f"{process} (since {now})")
        yield
    finally:
        _unlink(writer)
        lock.release()


class Target:
    """A collection that is being written.

    A first collection continues an interrupted conversion with the same settings,
    unless ``overwrite`` is True.  A replacement starts from the beginning.  ``files``
    is the subfolder of the files that are written, and ``progress`` the dict that was
    last given to `store`, which is empty for a new conversion.
    """

    def __init__(self, folder, settings, overwrite):
        self.folder, self.settings, self.progress = folder, settings, {}
        self.replaces = (folder / META).exists()
        unfinished, generations = folder / UNFINISHED, _generations(folder)
        if self.replaces or overwrite or not unfinished.exists():
            current = _current(folder) if self.replaces else None
            self.generation = 1 + max([current or 0, *generations])
            if current is not None or not self.replaces:
                self._remove_others(current)
            self.store({})
        else:
            self.generation = max(generations, default=1)
            self.progress = _progress(unfinished, settings)
        self.files = generation_folder(folder, self.generation)
        make_folder(self.files)

    def store(self, progress):
        """Store from where a first collection can continue."""
        if not self.replaces:
            unfinished = self.settings | {"progress": progress}
            write_json(self.folder / UNFINISHED, unfinished)

    def commit(self, meta, names):
        """Make the files with these names the current collection of the folder."""
        meta = {"format": FORMAT, "generation": self.generation, **meta}
        write_json(self.folder / META, meta)
        self._remove_others(self.generation)
        _remove_files(self.files, names)
        _unlink(self.folder / UNFINISHED)

    def _remove_others(self, generation):
        """Remove the subfolders of all other generations, as far as possible."""
        for number, path in _generations(self.folder).items():
            if number != generation:
                _remove_folder(path)


@contextlib.contextmanager
def writing(folder, settings, overwrite):
    """Lock a folder, and yield the `Target` of a new or interrupted conversion."""
    folder = Path(os.path.abspath(folder))
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder.")
    make_folder(folder)
    _check_contents(folder, overwrite)
    with _locked(folder):
        _check_contents(folder, overwrite)  # other writers are excluded now
        target = Target(folder, settings, overwrite)
        try:
            yield target
        except BaseException as error:
            if target.replaces and _current(folder) != target.generation:
                _remove_folder(target.files)
                error.add_note(f"The collection in {folder} is as it was before.")
            raise


def _check_contents(folder, overwrite):
    """Raise unless a collection may be written into a folder."""
    names = {path.name.removesuffix(TEMPORARY) for path in folder.iterdir()}
    names = {name for name in names if not name.startswith(DELETED_BY_NFS)}
    others = names - {META, UNFINISHED, LOCK, WRITER}
    if META in names or UNFINISHED in names:
        others = {name for name in others if not GENERATION.fullmatch(name)}
    if others:
        raise ValueError(
            f"{folder} holds something else than a collection, such as {min(others)!r};"
            " give a new or an empty folder."
        )
    if (folder / META).exists() and not overwrite:
        raise FileExistsError(
            f"{folder} holds a collection already; open it, or replace it with "
            "overwrite=True."
        )


def _generations(folder):
    """Return a dict from generation indices to the subfolders of generations."""
    found = {}
    for path in folder.iterdir():
        match = GENERATION.fullmatch(path.name)
        if match and path.is_dir() and not path.is_symlink():
            found[int(match[1])] = path
    return found


def _current(folder):
    """Return the current generation, or None if ``meta.json`` is damaged."""
    try:
        return read_meta(folder)["generation"]
    except ValueError:
        return None


def _remove_files(folder, kept=()):
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path.name not in kept:
            _unlink(path)


def _remove_folder(path):
    _remove_files(path)
    with contextlib.suppress(OSError):
        path.rmdir()


def _unlink(path):
    """Remove a file if possible; otherwise the next writer tries again."""
    with contextlib.suppress(OSError):
        path.unlink()


def _progress(path, settings):
    """Return the progress of an interrupted conversion; raise on other settings."""
    before = read_json(path)
    changed = [name for name in sorted(settings) if before.get(name) != settings[name]]
    if changed:
        raise ValueError(
            f"{path.parent} holds the beginning of another conversion "
            f"({', '.join(changed)} differ); continue it with the same arguments, or "
            "start over with overwrite=True."
        )
    return before.get("progress", {})
