"""Random numbers of the generators."""

import numpy as np
from sklearn.utils import check_random_state


def seeded(random_state):
    """Seed numpy's faster generator, which also draws whole arrays of multinomials."""
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)
