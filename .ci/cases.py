"""Models and data for the scripts of this folder, from the registry of the tests.

A new model needs only a row in ``tests/registry.py`` and no entry here.
"""

import hashlib
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from registry import ESTIMATORS, ROWS  # noqa: E402

__all__ = ["ANNEALED", "ESTIMATORS", "ROOT", "ROWS"]
#: One estimator of each model, the annealed one if there are several.
ANNEALED = {name: "Annealed" if row.has_policies else "" for name, row in ROWS.items()}
#: Attributes that may differ between two runs of the same fit: times, and the number of
#: passes at the last check for early stopping, which is set after the last step of a
#: pass.
TIMES = "seconds", "checked_passes"


def quiet(function, *arguments, **options):
    """Call a function without warnings; return what it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def dense(row, n_samples):
    """Return data of a model as a float64 array, with NaN for missing values."""
    X = row.data(n_samples)
    if "NaN" in row.settings:
        X = row.settings["NaN"].data(X)
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


def fitted(estimator):
    """Return a dict of the public fitted attributes of an estimator."""
    names = [n for n in dir(estimator) if n[-1] == "_" and n[0] != "_"]
    return {
        name: getattr(estimator, name) for name in names if hasattr(estimator, name)
    }


def digest_of(value):
    """Return a digest of arrays, containers and objects, without `TIMES`."""
    digest = hashlib.blake2b(digest_size=8)
    for part in bytes_of(value):
        digest.update(part)
    return digest.hexdigest()


def bytes_of(value):
    """Yield the bytes from which `digest_of` computes a digest."""
    if isinstance(value, np.ndarray):
        dtype = value.dtype.newbyteorder("=")  # that of a loaded pickle
        yield f"{dtype}{value.shape}".encode()
        if value.dtype.hasobject:  # bytes of such an array are addresses
            yield from bytes_of(value.tolist())
        else:
            yield np.ascontiguousarray(value, dtype).tobytes()
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            if not any(word in str(key) for word in TIMES):
                yield str(key).encode()
                yield from bytes_of(value[key])
    elif isinstance(value, list | tuple):
        yield type(value).__name__.encode()
        for part in value:
            yield from bytes_of(part)
    elif isinstance(value, set | frozenset):
        yield repr(sorted(map(repr, value))).encode()
    elif type(value).__name__ == "History":
        yield from bytes_of(value.to_dict())
    elif hasattr(value, "__dict__"):
        yield type(value).__name__.encode()
        yield from bytes_of(vars(value))
    else:
        yield repr(value).encode()
