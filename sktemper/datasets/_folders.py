"""The folder of a collection that is being written.

The first collection of a folder is written into the folder itself.  A collection that
replaces another one is written into a subfolder, such as ``generation-00001``.  The
file ``meta.json`` names the subfolder with the current files, so that the replacement
of this file replaces the collection atomically.  The old files are removed after that.
"""

import contextlib
import os
import re
from pathlib import Path

import numpy as np

from ._claims import CLAIM, Claim
from ._files import (
    META,
    OURS,
    TEMPORARY,
    UNFINISHED,
    make_folder,
    read_json,
    shard_file,
    write_json,
)
from ._meta import read_meta

GENERATION = re.compile(r"generation-(\d{5,9})")
#: Prefix of the names that NFS gives to files that are deleted while they are open.
LEFT_BY_NFS = ".nfs"


def generation_folder(folder, generation):
    """Return the folder of a generation; generation 0 is in the collection's folder."""
    folder = Path(folder)
    return folder / f"generation-{generation:05d}" if generation else folder


class Target:
    """A collection that is being written.

    Parameters
    ----------
    folder : Path
        Folder of the collection.
    generation : int
        Index of the collection among the folder's consecutive collections.  Only the
        first, 0, continues an interrupted conversion of batches to a collection.
    claim : Claim
        Claim of this process.

    Attributes
    ----------
    files : Path
        Folder of the files that are written.
    replaces : bool
        Whether the new collection replaces an earlier one.
    """

    def __init__(self, folder, generation, claim):
        self.folder, self.generation, self.claim = folder, generation, claim
        self.files = generation_folder(folder, generation)
        self.replaces, self._committing = generation > 0, False

    def prepare(self, settings, overwrite):
        """Prepare the folder, or check that an interrupted conversion can continue.

        Parameters
        ----------
        settings : dict
            Settings that must be unchanged if a conversion continues.
        overwrite : bool
            Whether to start from the beginning, even if a conversion was interrupted.

        Raises
        ------
        ValueError
            If an interrupted conversion had other settings.
        """
        if self.replaces:
            self._remove_others(_current(self.folder))
            make_folder(self.files)
            return
        unfinished = self.folder / UNFINISHED
        if unfinished.exists() and not overwrite:
            _check_settings(unfinished, settings)
            return
        # Remove descriptions (.json) first.  If this call is interrupted, no remaining
        # description then lacks its arrays.
        for what in ("json", "npy"):
            for path in _ours_in(self.folder, {UNFINISHED}, f"*.{what}*"):
                path.unlink(missing_ok=True)
        write_json(unfinished, settings)

    def commit(self, meta):
        """Make the written files the current collection of the folder.

        Parameters
        ----------
        meta : dict
            Description of the collection, as returned by `joined`.
        """
        self.claim.check()
        self._committing = True
        write_json(self.folder / META, meta | {"generation": self.generation})
        self._remove_others(self.generation)
        numbers = range(len(meta["shards"]))
        whats = ("indptr.npy", "indices.npy", "data.npy")
        kept = {shard_file("", n, what).name for n in numbers for what in whats}
        for path in _ours_in(self.files, {META, *kept, *meta["files"]}, "*"):
            _unlink(path)
        if self.replaces:
            for path in _ours_in(self.folder, {META}, "*"):
                _unlink(path)

    def abandon(self):
        """Remove the written files if they belong to a replacement.

        Returns
        -------
        is_kept : bool
            Whether the earlier collection is still in place.
        """
        if not self.replaces:
            return False
        if self._committing and _current(self.folder) in (None, self.generation):
            return False  # the written files may already be the current collection
        _remove_folder(self.files)
        return True

    def _remove_others(self, generation):
        """Remove all generations except ``generation``; do nothing if it is None."""
        if generation is None:
            return
        for number, path in _generations(self.folder).items():
            if number != generation:
                _remove_folder(path)


@contextlib.contextmanager
def writing(folder, settings, overwrite):
    """Claim a folder, to write a collection or to continue an interrupted one.

    Parameters
    ----------
    folder : str or Path
    settings : dict
        Settings that must be unchanged if a conversion continues.
    overwrite : bool
        Whether to start from the beginning, and to replace an existing collection.

    Yields
    ------
    target : Target

    Raises
    ------
    FileExistsError
        If the path is a file, or the folder has a finished collection and ``overwrite``
        is False.
    BlockingIOError
        If another process writes to the folder.
    ValueError
        If the folder has other files, or an interrupted conversion with other settings.
    """
    if not isinstance(overwrite, bool | np.bool_):
        raise ValueError(f"overwrite must be True or False, got {overwrite!r}.")
    folder = Path(os.path.abspath(folder))
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder.")
    make_folder(folder)
    _check_contents(folder, overwrite)
    with Claim(folder) as claim:
        names = _check_contents(folder, overwrite)  # other writers are excluded now
        generation = _next_generation(folder) if META in names else 0
        target = Target(folder, generation, claim)
        try:
            target.prepare(settings, overwrite)
            yield target
        except BaseException as error:
            if target.abandon():
                error.add_note(f"The collection in {folder} is as it was before.")
            raise


def _check_contents(folder, overwrite):
    """Return the names in a folder; raise unless a collection may be written there."""
    names = [path.name for path in folder.iterdir()]
    names = [name for name in names if not name.startswith(LEFT_BY_NFS)]
    foreign = [path for path in map(folder.joinpath, names) if not _is_ours(path)]
    begun = META in names or UNFINISHED in names
    is_empty = all(name == CLAIM or name.endswith(TEMPORARY) for name in names)
    if foreign or not (begun or is_empty):
        found = min([path.name for path in foreign] or names)
        raise ValueError(
            f"{folder} holds something else than a collection, such as {found!r}; give "
            "a new or an empty folder."
        )
    if META in names and not overwrite:
        raise FileExistsError(
            f"{folder} holds a collection already; open it, or replace it with "
            "overwrite=True."
        )
    return names


def _is_ours(path):
    """Return whether a path in a collection's folder belongs to the collection."""
    if path.is_symlink() or not path.is_dir():
        name = path.name.removesuffix(TEMPORARY)
        return name == CLAIM or OURS.fullmatch(name) is not None
    return GENERATION.fullmatch(path.name) is not None


def _generations(folder):
    """Return a dict from generation indices to the subfolders of generations."""
    found = {}
    for path in folder.iterdir():
        match = GENERATION.fullmatch(path.name)
        if match and path.is_dir() and not path.is_symlink():
            found[int(match[1])] = path
    return found


def _current(folder):
    """Return the current generation, or None if ``meta.json`` does not name it."""
    try:
        return read_meta(folder)["generation"]
    except (OSError, ValueError):
        return None


def _next_generation(folder):
    """Return a generation index that is not in use yet."""
    return 1 + max(_current(folder) or 0, *_generations(folder), 0)


def _ours_in(folder, kept, pattern):
    """Yield the files of a collection in a folder, except the names in ``kept``."""
    for path in list(folder.glob(pattern)):
        is_file = path.is_symlink() or not path.is_dir()
        if is_file and path.name not in {*kept, CLAIM} and _is_ours(path):
            yield path


def _unlink(path):
    """Remove a file if possible; otherwise the next writer tries again."""
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_folder(path):
    """Remove the folder of a generation, as far as possible."""
    for file in _ours_in(path, (), "*"):
        _unlink(file)
    with contextlib.suppress(OSError):
        path.rmdir()


def _check_settings(path, settings):
    """Raise if an interrupted conversion had other settings."""
    before = read_json(path)
    if not isinstance(before, dict):
        changed = ["all"]
    else:
        names = sorted({*settings, *before} - {"checksum"})
        changed = [name for name in names if before.get(name) != settings.get(name)]
    if changed:
        raise ValueError(
            f"{path.parent} holds the beginning of another conversion "
            f"({', '.join(changed)} differ); continue it with the same arguments, or "
            "start over with overwrite=True."
        )
