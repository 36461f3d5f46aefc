"""Description of a collection on disk, the file ``meta.json``."""

import hashlib
import math
from pathlib import Path

import numpy as np

from ._files import META, NAMES, UNFINISHED, read_json

#: Version 2 adds checksums of all files, and the generation index (see `_folders`).
FORMAT, VERSION, READABLE = "sktemper collection", 2, (1, 2)
KINDS = ("counts", "dense", "ratings")
#: Files with the labels of ratings.
LABELS = ("user_labels.npy", "item_labels.npy")
#: Largest number of columns (their indices have 32 bits), of rows (their indices have
#: 64 bits), and of consecutive collections in a folder.
MOST_FEATURES, MOST_ROWS, MOST_GENERATIONS = 2**31 - 1, 2**62, 10**8
#: Types in which values are stored.
DTYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64")
#: Extremes of the values of a shard, so that checks need not read all values.
EXTREMES = ("least", "largest", "fraction")


def index_dtype(n_features):
    """Return the smallest type for column indices."""
    return np.dtype(np.uint16 if n_features <= 2**16 else np.int32)


def smallest(low, high):
    """Return the smallest type for integers from ``low`` to ``high``.

    The type has at most 32 bits; the result is None if 32 bits are too few.
    """
    names = ("uint8", "uint16", "uint32") if low >= 0 else ("int8", "int16", "int32")
    for name in names:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return np.dtype(name)
    return None


def joined_dtype(dtypes, least, largest):
    """Return the smallest common type for values from ``least`` to ``largest``."""
    if all(np.dtype(dtype).kind in "ui" for dtype in dtypes) and least is not None:
        return smallest(least, largest) or np.dtype(np.float64)
    return np.result_type(*dtypes)


def joined(kind, n_features, shards, shard_rows, files):
    """Return the description of a collection with some shards, for ``meta.json``.

    Parameters
    ----------
    kind : str
    n_features : int
    shards : list of dict
        Entries ``rows``, ``entries``, ``dtype``, ``least``, ``largest``, ``fraction``
        (a value that is not an integer, or None), ``sum`` (None if it is too large),
        ``missing`` (number of NaN values) and ``crc`` (checksums of the files).
    shard_rows : int
    files : dict of str to int
        Checksums of the files beside the shards.

    Returns
    -------
    meta : dict
    """
    least = [shard["least"] for shard in shards if shard["least"] is not None]
    largest = [shard["largest"] for shard in shards if shard["largest"] is not None]
    least, largest = min(least, default=None), max(largest, default=None)
    dtypes = [np.dtype(shard["dtype"]) for shard in shards]
    sums = [shard["sum"] for shard in shards]
    said = [(shard["rows"], shard["dtype"], shard["crc"]) for shard in shards]
    said = repr((kind, n_features, said, sorted(files.items())))
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
        "sum": None if None in sums else finite(sum(sums)),
        "missing": sum(shard["missing"] for shard in shards),
        "canonical": True,
        "shard_rows": shard_rows,
        "feature_names": NAMES in files,
        "files": files,
        "fingerprint": hashlib.blake2b(said.encode(), digest_size=8).hexdigest(),
        "shards": shards,
    }


def stamp_of(meta):
    """Return a text that identifies a collection until it is replaced."""
    return f"{meta['generation']}-{meta['fingerprint']}"


def finite(number):
    """Return a number, or None if it is infinite, which JSON cannot represent."""
    return number if math.isfinite(number) else None


def read_meta(folder):
    """Return the description of a finished collection.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If the folder has no collection, or an unfinished or damaged one.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    path = folder / META
    if not path.exists():
        if (folder / UNFINISHED).exists():
            raise ValueError(
                f"The collection in {folder} is not finished, because its conversion "
                "was interrupted. Call the writer again with the same batches to "
                "continue."
            )
        raise ValueError(f"{folder} holds no collection: it has no {META}.")
    meta = read_json(path)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a collection of sktemper.")
    if meta.get("version") not in READABLE:
        raise ValueError(
            f"{path} has version {meta.get('version')!r} of the format; this version "
            f"of sktemper reads {READABLE[0]} to {READABLE[-1]}."
        )
    if meta["version"] == 1:
        meta |= {"generation": 0, "files": {}}
    try:
        wrong = _wrong(meta)
    except KeyError as error:
        wrong = f"it has no entry {error}"
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        wrong = str(error)
    if wrong:
        raise ValueError(f"{path} is damaged: {wrong}.")
    return meta


def _wrong(meta):
    """Return an error in the description of a collection as a text, or None."""
    kind, shards, (_, n_features) = meta["kind"], meta["shards"], meta["shape"]
    if kind not in KINDS:
        return f"{kind!r} is no kind of collection"
    if not _is_size(n_features) or not 0 < n_features <= MOST_FEATURES:
        return f"it has {n_features!r} columns"
    for number, shard in enumerate(shards):
        if wrong := wrong_in_shard(shard, kind, n_features):
            return f"in shard {number}, {wrong}"
    if not 0 < sum(shard["rows"] for shard in shards) <= MOST_ROWS:
        return "its number of rows is impossible"
    expected = joined(kind, n_features, shards, meta["shard_rows"], meta["files"])
    for name in ("shape", "entries", "dtype", "index_dtype", "missing", *EXTREMES):
        if meta[name] != expected[name]:
            return f"{name} is {meta[name]!r}, but its shards give {expected[name]!r}"
    if not _is_number(meta["sum"]):
        return f"sum is {meta['sum']!r}"
    if not isinstance(meta["fingerprint"], str):
        return "the fingerprint is no string"
    return _wrong_in_files(meta)


def _wrong_in_files(meta):
    """Return an error in the description of the files beside the shards, or None."""
    if type(meta["feature_names"]) is not bool:
        return f"feature_names is {meta['feature_names']!r}"
    if not _is_size(meta["generation"]) or meta["generation"] > MOST_GENERATIONS:
        return f"generation is {meta['generation']!r}"
    if meta["version"] == 1:
        return None
    expected = {NAMES} if meta["feature_names"] else set()
    if meta["kind"] == "ratings":
        expected |= set(LABELS)
    if set(meta["files"]) != expected or not all(map(_is_size, meta["files"].values())):
        return f"files is {meta['files']!r}"
    return None if "checksum" in meta else "it has no checksum"


def wrong_in_shard(shard, kind, n_features):
    """Return an error in the description of a shard, or None.

    Parameters
    ----------
    shard : object
        Description of a shard; a valid one is a dict, see `joined`.
    kind : str
    n_features : int

    Raises
    ------
    KeyError, TypeError
        If an entry is missing, or has a wrong type.
    """
    for name in ("rows", "entries", "missing"):
        if not _is_size(shard[name]):
            return f"{name} is {shard[name]!r}"
    values = shard["rows"] * n_features
    if shard["entries"] > values or (kind == "dense" and shard["entries"] != values):
        return f"entries is {shard['entries']!r}"
    if shard["dtype"] not in DTYPES:
        return f"dtype is {shard['dtype']!r}"
    n_files = 1 if kind == "dense" else 3
    if len(shard["crc"]) != n_files or not all(map(_is_size, shard["crc"])):
        return f"crc is {shard['crc']!r}"
    if not _is_number(shard["sum"]):
        return f"sum is {shard['sum']!r}"
    return _wrong_in_extremes(shard, kind)


def _wrong_in_extremes(shard, kind):
    """Return an error in the extreme values of a shard, or None."""
    dtype = np.dtype(shard["dtype"])
    values = [shard[name] for name in EXTREMES]
    for name, value in zip(EXTREMES, values, strict=True):
        if not _is_number(value) or not _is_held(value, dtype):
            return f"{name} is {value!r}, and dtype {dtype}"
    least, largest, fraction = values
    is_empty = shard["entries"] == shard["missing"]
    if (least is None) != is_empty or (largest is None) != is_empty:
        return f"least is {least!r}, largest {largest!r}"
    if not is_empty and (least > largest or (kind == "counts" and least < 0)):
        return f"least is {least!r}, largest {largest!r}"
    if fraction is not None and (
        is_empty or fraction % 1 == 0 or not least <= fraction <= largest
    ):
        return f"fraction is {fraction!r}"
    return None


def _is_size(value):
    """Return whether a value is a nonnegative integer."""
    return type(value) is int and value >= 0


def _is_number(value):
    """Return whether a value is a finite number or None."""
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) is int


def _is_held(value, dtype):
    """Return whether a type can represent a number; True if the number is None."""
    if value is None:
        return True
    if dtype.kind == "f":
        return abs(value) <= float(np.finfo(dtype).max)
    limits = np.iinfo(dtype)
    return type(value) is int and limits.min <= value <= limits.max
