"""What a collection on disk says of itself, in ``meta.json``."""

import zlib
from pathlib import Path

import numpy as np

from ._files import META, UNFINISHED, read_json

__all__ = ["index_dtype", "joined", "joined_dtype", "read_meta", "smallest"]

FORMAT, VERSION = "sktemper collection", 1
KINDS = ("counts", "dense", "ratings")
#: What values may be stored as.
DTYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64")


def index_dtype(n_features):
    """Return the smallest type that column indices are stored in."""
    return np.dtype(np.uint16 if n_features <= 2**16 else np.int32)


def smallest(low, high):
    """Return the smallest type of whole numbers from ``low`` to ``high``.

    Of at most 32 bits; None if there is none.
    """
    names = ("uint8", "uint16", "uint32") if low >= 0 else ("int8", "int16", "int32")
    for name in names:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return np.dtype(name)
    return None


def joined_dtype(dtypes, least, largest):
    """Return the smallest type for values of several types, in these bounds."""
    if all(np.dtype(dtype).kind in "ui" for dtype in dtypes) and least is not None:
        return smallest(least, largest) or np.dtype(np.float64)
    return np.result_type(*dtypes)


def joined(kind, n_features, shards, shard_rows, has_names):
    """Return what ``meta.json`` says of these shards.

    Parameters
    ----------
    kind : str
    n_features : int
    shards : list of dict
        With ``rows``, ``entries``, ``dtype``, ``least``, ``largest``,
        ``fraction`` (a value that is no whole number, if any), ``sum``, ``missing``
        (how many values are NaN) and ``crc`` (of the files).
    shard_rows : int
    has_names : bool
        Whether there are names of the features.

    Returns
    -------
    meta : dict
    """
    least = [shard["least"] for shard in shards if shard["least"] is not None]
    largest = [shard["largest"] for shard in shards if shard["largest"] is not None]
    least, largest = min(least, default=None), max(largest, default=None)
    dtypes = [np.dtype(shard["dtype"]) for shard in shards]
    checksums = repr([(shard["rows"], shard["crc"]) for shard in shards])
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "shape": [sum(shard["rows"] for shard in shards), n_features],
        "entries": sum(shard["entries"] for shard in shards),
        "dtype": joined_dtype(dtypes, least, largest).name,
        "index_dtype": index_dtype(n_features).name,
        "least": least,
        "largest": largest,
        "fraction": next((s["fraction"] for s in shards if s["fraction"]), None),
        "sum": sum(shard["sum"] for shard in shards),
        "missing": sum(shard["missing"] for shard in shards),
        "canonical": True,
        "shard_rows": shard_rows,
        "feature_names": has_names,
        "fingerprint": f"{zlib.crc32((kind + checksums).encode()):08x}",
        "shards": shards,
    }


def read_meta(folder):
    """Return the description of a finished collection.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it holds no collection, one that is not finished, or a damaged one.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    path = folder / META
    if not path.exists():
        if (folder / UNFINISHED).exists():
            raise ValueError(
                f"The collection in {folder} is not finished: it was not written to "
                "its end. Write it again with the same batches, and it goes on where "
                "it stopped."
            )
        raise ValueError(f"{folder} holds no collection: it has no {META}.")
    meta = read_json(path)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a collection of sktemper.")
    if meta.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {meta.get('version')!r} of the format; this version "
            f"of sktemper reads {VERSION}."
        )
    try:
        wrong = _wrong(meta)
    except (KeyError, TypeError, ValueError) as error:
        wrong = f"{type(error).__name__} {error}"
    if wrong:
        raise ValueError(f"{path} is damaged: {wrong}.")
    return meta


def _wrong(meta):
    """Return what in a description contradicts itself, or None."""
    shards, (n_rows, n_features) = meta["shards"], meta["shape"]
    numbers = [n_rows, n_features, meta["entries"], meta["missing"]]
    numbers += [shard[name] for shard in shards for name in ("rows", "entries")]
    if not all(type(number) is int and number >= 0 for number in numbers):
        return "a size is no whole number"
    if meta["kind"] not in KINDS:
        return f"{meta['kind']!r} is no kind of collection"
    if not {meta["dtype"], *(shard["dtype"] for shard in shards)} <= set(DTYPES):
        return "a dtype is none that is written"
    if meta["index_dtype"] != index_dtype(n_features).name:
        return f"indices are {meta['index_dtype']}"
    if meta["fingerprint"] != str(meta["fingerprint"]):
        return "the fingerprint is no string"
    for name, total in (("rows", n_rows), ("entries", meta["entries"])):
        if sum(shard[name] for shard in shards) != total:
            return f"the {name} of the shards are not {total}"
    for name in ("least", "largest", "fraction", "sum", "feature_names"):
        if not isinstance(meta[name], (int, float, type(None))):
            return f"{name} is {meta[name]!r}"
    return None
