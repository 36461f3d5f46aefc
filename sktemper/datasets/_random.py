"""Random numbers and dtypes of the generators of data."""

import numpy as np
from sklearn.utils import check_random_state

from .._utils._arguments import refuse

#: Descriptions of kinds of types, for error messages.
KINDS = {"f": "a floating-point type", "iuf": "a type of integers or floats"}


def seeded(random_state):
    """Return a `numpy.random.Generator` with a seed drawn from ``random_state``."""
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)


def dtype_of(dtype, kinds):
    """Return a valid dtype; raise for float16, or for a kind that is not in ``kinds``.

    Parameters
    ----------
    dtype : dtype-like
    kinds : {"f", "iuf"}
        Allowed values of `numpy.dtype.kind`.
    """
    found = np.dtype(dtype)
    if found.kind not in kinds or found == np.float16:
        refuse("dtype", f"{KINDS[kinds]} other than float16", dtype)
    return found
