"""Gaussian mixtures: clusters with symmetries, units, wide columns and odd columns."""

from itertools import product

import numpy as np

from ..core import DataSet, Family
from . import clusters
from .clusters import MOST_TEST, TEST, generated

# -- data ------------------------------------------------------------------------------


def drawn(n_rows, n_classes, limit, rows):
    """Return a function that draws classes of equal size, and their rows.

    Parameters
    ----------
    limit : int
        The number of components that methods get.
    rows : callable
        ``rows(random, y)`` returns the rows of classes ``y``.
    """

    def make(random):
        y = random.integers(n_classes, size=n_rows + min(int(TEST * n_rows), MOST_TEST))
        return generated(rows(random, y), y, n_rows, n_classes, limit, "full")

    return make


def grid(n_rows, sizes, spacing, limit):
    """Return a function that draws unit clusters on a grid with equal spacing."""
    centres = spacing * np.array(list(product(*map(range, sizes))), dtype=float)
    return drawn(
        n_rows,
        len(centres),
        limit,
        lambda random, y: centres[y] + random.standard_normal((len(y), len(sizes))),
    )


def rings(n_rows, radii, noise, limit):
    """Return a function that draws circles around one centre."""

    def rows(random, y):
        angles = random.uniform(0, 2 * np.pi, len(y))
        radius = np.array(radii)[y] + noise * random.standard_normal(len(y))
        return radius[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])

    return drawn(n_rows, len(radii), limit, rows)


def correlated(n_rows, n_columns, n_classes, limit, n_signal=10, n_factors=20):
    """Return a function that draws clusters in ten dimensions of many columns.

    The noise of the columns has a covariance of low rank plus a multiple of the
    identity, as in embeddings.
    """

    def rows(random, y):
        centres = 3.0 * random.standard_normal((n_classes, n_signal))
        into = random.standard_normal((n_signal, n_columns)) / np.sqrt(n_signal)
        factors = random.standard_normal((n_factors, n_columns)) / np.sqrt(n_factors)
        z = random.standard_normal((len(y), n_factors)) @ factors
        return centres[y] @ into + z + 0.3 * random.standard_normal(z.shape)

    return drawn(n_rows, n_classes, limit, rows)


def with_columns(n_rows, n_columns, n_classes, limit, change, separation=5.0):
    """Return a function that draws unit clusters, whose columns are then changed.

    ``change(random, X, y)`` returns the changed rows.
    """

    def rows(random, y):
        centres = clusters.centres_of(random, n_classes, n_columns, separation)
        X = centres[y] + random.standard_normal((len(y), n_columns))
        return change(random, X, y)

    return drawn(n_rows, n_classes, limit, rows)


def in_units(lowest, highest):
    """Return a change of the units of columns by powers of ten."""

    def change(random, X, y):
        return X * 10.0 ** np.linspace(lowest, highest, X.shape[1])

    return change


def with_indicators(*n_levels):
    """Return a change that appends 0/1 columns of variables that depend on classes."""

    def change(random, X, y):
        for n in n_levels:
            p = random.dirichlet(np.full(n, 0.6), y.max() + 1)[y].cumsum(axis=1)
            codes = (p[:, :-1] < random.random((len(y), 1))).sum(axis=1)
            X = np.hstack([X, np.eye(n)[codes]])
        return X

    return change


def with_zeros(n_columns, share):
    """Return a change that appends positive columns with zeros."""

    def change(random, X, y):
        shape = len(y), n_columns
        positive = random.lognormal(0.5 * y[:, None], 0.5, shape)
        return np.hstack([X, positive * (random.random(shape) >= share)])

    return change


def exponential(n_columns, scale):
    """Return a change of the first columns to their exponentials: log-normal."""

    def change(random, X, y):
        X[:, :n_columns] = np.exp(scale * X[:, :n_columns])
        return X

    return change


# -- the family ------------------------------------------------------------------------

DEVELOPMENT = {
    "grid 4 x 4": grid(1000, (4, 4), 6.0, 20),
    "grid 3 x 3 x 3": grid(1500, (3, 3, 3), 6.0, 35),
    "two rings": rings(1000, (1.0, 0.4), 0.05, 10),
    "correlated D=100 K=8": correlated(2000, 100, 8, 16),
    "correlated D=160 K=8": correlated(2000, 160, 8, 16),
    "units 1e-4 to 1e5, D=4 K=4": with_columns(800, 4, 4, 8, in_units(-4, 5)),
    "0/1 columns, D=4+7 K=4": with_columns(800, 4, 4, 12, with_indicators(3, 4)),
    "half zeros, D=3+2 K=4": with_columns(800, 3, 4, 12, with_zeros(2, 0.5)),
    "log-normal columns, D=4 K=4": with_columns(1000, 4, 4, 10, exponential(2, 0.3)),
    "t3 D=8 K=5": clusters.clusters(2000, 8, 5, 8, tail=3),
}
HELD_BACK = {
    "grid 5 x 6": grid(2500, (5, 6), 5.0, 40),
    "hypercube of 16": grid(1200, (2, 2, 2, 2), 5.0, 24),
    "row of 9": grid(900, (9, 1), 7.0, 15),
    "three rings": rings(1500, (3.0, 2.0, 1.0), 0.1, 20),
    "correlated D=40 K=6": correlated(1500, 40, 6, 12),
    "correlated D=240 K=5": correlated(1200, 240, 5, 10),
    "units 1e-3 to 1e3, D=7 K=6": with_columns(1200, 7, 6, 12, in_units(-3, 3)),
    "0/1 columns, D=6+5 K=3": with_columns(1500, 6, 3, 9, with_indicators(5)),
    "a third zeros, D=5+3 K=5": with_columns(1500, 5, 5, 15, with_zeros(3, 0.3)),
    "log-normal columns, D=6 K=3": with_columns(700, 6, 3, 9, exponential(6, 0.2)),
    "t3 D=3 K=4": clusters.clusters(1500, 3, 4, 8, tail=3),
}

FAMILY = Family(
    name="shapes",
    title="Gaussian mixtures: symmetries, units, wide and odd columns",
    page="shapes",
    about="""Clusters are on grids, on rings, in few dimensions of many correlated
columns, in different units, beside 0/1 columns or columns with zeros, skewed, or have
heavy tails. The shapes and seeds of the second split are held back: neither defaults
nor thresholds were chosen by them. Methods and figures are those of the family of
clusters. The classes of rings are the rings, and no Gaussian mixture has one component
for each.""",
    data_sets=tuple(
        DataSet(name, make, held_back, seeds=(3, 3))
        for sets, held_back in ((DEVELOPMENT, False), (HELD_BACK, True))
        for name, make in sets.items()
    ),
    methods=clusters.FAMILY.methods,
    figures=clusters.FAMILY.figures,
    judge=clusters.judge,
    facts=clusters.FAMILY.facts,
    smallest=DataSet("smallest", grid(90, (2, 1), 8.0, 4), held_back=False),
    cap=60,
)
