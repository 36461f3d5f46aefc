"""Random draws of the laws, which are others in each commit, and judges of counts."""

import functools
import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sktemper

#: How many times as many draws as in the quick suite a law makes; `.ci/attack` sets it.
LENGTH = int(os.environ.get("SKTEMPER_LAWS", "1"))
#: The probability that a law which holds is reported as broken, over all its cells.
FALSE_ALARM = 1e-3


@functools.cache
def commit():
    """Return the commit of the checkout, or the version outside of a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return sktemper.__version__
    return found.stdout.strip()


def generator(*key):
    """Return a generator whose seed is the commit and the name of a cell.

    ``SKTEMPER_LAWS_SEED`` replaces the commit, to repeat what another commit found.
    """
    seed = os.environ.get("SKTEMPER_LAWS_SEED") or commit()
    digest = hashlib.blake2b(repr((seed, *key)).encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


class Draws:
    """Draws of one case, from the generator with its key."""

    def __init__(self, *key):
        self.random = generator(*key)

    def one_of(self, *values):
        return values[self.random.integers(len(values))]

    def between(self, least, most):
        return int(self.random.integers(least, most + 1))

    def happens(self, share):
        """Return whether something of this probability happens."""
        return self.random.random() < share

    def generator(self):
        return self.random


def cells(law, rows, every=1):
    """Return a mark that runs a law on each row; of ``every`` rows, one is quick."""

    def decorate(test):
        parametrize = pytest.mark.parametrize(law, rows, ids=lambda row: row.name)
        return pytest.mark.every(every)(parametrize(test))

    return decorate


def too_many(count, n_draws, probability, n_cells=1):
    """Return whether a count is improbable if events have at most a probability."""
    tail = stats.binom.sf(count - 1, n_draws, probability)
    return tail < FALSE_ALARM / n_cells


def too_few(count, n_draws, probability, n_cells=1):
    """Return whether a count is improbable if events have at least a probability."""
    return stats.binom.cdf(count, n_draws, probability) < FALSE_ALARM / n_cells
