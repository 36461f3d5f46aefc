"""Digests of fits, and calls that must succeed or be refused clearly."""

import hashlib
import pickle
import re
import traceback

import numpy as np
from scipy import sparse

REFUSALS = TypeError, ValueError
#: Messages that a user cannot understand without the code.
OBSCURE = re.compile(
    r"[Ss]ingular matrix|(minor|Matrix).* positive definite|did not converge|"
    r"infs or NaNs|broadcast|zero-size|not aligned|cannot reshape|NoneType|pvals|"
    r"math domain|negative dimensions|cannot convert float|out of bounds|buffer"
)
#: Attributes that may differ between two runs of the same fit: times, results for the
#: rows of the last call, and the number of passes at the last check for early stopping,
#: which is set after the last step of a pass.
TIMES = "seconds", "checked_passes", "labels_and_bound"


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


def bits(estimator):
    """Return a digest of the public fitted attributes, "" without a fit."""
    return digest_of(fitted(estimator)) if "state_" in vars(estimator) else ""


def contents(X):
    """Return a digest of the entries of data."""
    parts = "data", "indices", "indptr", "row", "col"
    if sparse.issparse(X):
        return digest_of([getattr(X, part, None) for part in parts])
    return digest_of(X)


def copied(estimator):
    return pickle.loads(pickle.dumps(estimator))


def attempt(estimator, method, *arguments, **options):
    """Call a method; return the result and the error, one of which is None.

    An error must be clear, and leave the estimator as it was.
    """
    before = bits(estimator)
    try:
        return getattr(estimator, method)(*arguments, **options), None
    except REFUSALS as error:
        # a first fit keeps the last complete step
        assert not before or bits(estimator) == before, f"{method}: changed by {error}"
        file = traceback.extract_tb(error.__traceback__)[-1].filename
        explained = any(name in file for name in ("sktemper", "sklearn", "_sputils"))
        explained = explained and not isinstance(error, np.linalg.LinAlgError)
        clear = explained and not OBSCURE.search(str(error))
        assert clear, f"{method}: an unclear error of {file}: {error}"
        return None, error
