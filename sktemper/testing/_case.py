"""What checks look at: a model, a few rows, and parameters that have come some way."""

import copy

import numpy as np

from ..model import Powers, Request

__all__ = ["OBJECTIVES", "POWERS", "Case", "Skip"]
__all__ += ["close", "close_statistics", "precision"]

#: Powers at which the model is seen: itself, and annealed with each of the targets.
POWERS = (
    Powers(),
    Powers(1.0, 1.0, 0.5),
    Powers(1.0, 0.5, 0.5),
    Powers(0.5, 0.5, 0.5),
)
#: Those whose target is the natural gradient's of the tempered bound.
OBJECTIVES = (Powers(), Powers(1.0, 0.5, 0.5), Powers(0.5, 0.5, 0.5))
#: Rows of the data that are looked at, at most, and a seed for models that sample.
MOST_ROWS, SEED = 60, 7


class Skip(Exception):
    """A check that does not apply to the model; the reason is its message."""


class Case:
    """A model, a few rows, and the parameters of a fit that has come some way."""

    def __init__(self, model, X, random_state):
        self.model, self.X = model, X
        self.n_rows = min(X.shape[0], MOST_ROWS)
        if self.n_rows < 4:
            raise ValueError(f"check_model needs at least 4 rows, got {self.n_rows}.")
        self.random = np.random.default_rng(random_state)
        start = np.random.RandomState(random_state)
        self.hyper = model.initial_hyper(X)
        self.globals_ = model.initial_globals(X, start, self.hyper)
        self.block = self.take(slice(0, self.n_rows))
        for _ in range(2):
            self.globals_ = self.stepped(self.globals_, Powers(), rate=0.7)

    def take(self, rows):
        return self.model.take(self.X, rows)

    def local_step(self, block=None, powers=Powers(), globals_=None, **others):  # noqa: B008
        """Return the local step of a block, all of what a step may want computed."""
        model = self.model
        globals_ = self.globals_ if globals_ is None else globals_
        prepared = model.prepare(globals_, self.hyper)
        others = {"want": ("statistics", "bound"), "seed": SEED, **others}
        block = self.block if block is None else block
        return model.local_step(block, prepared, Request(powers, **others))

    def stepped(self, globals_, powers, rate=1.0, scale=1.0):
        """Return the parameters after a step on the block, priors as they are."""
        statistics = self.local_step(powers=powers, globals_=globals_).statistics
        return self.step(globals_, statistics, scale, powers, rate)

    def step(self, globals_, statistics, scale, powers, rate):
        """Return the parameters after a step, which may not reuse the old ones."""
        old = copy.deepcopy(globals_)
        return self.model.step(old, statistics, scale, powers, rate, self.hyper)

    def vector(self, globals_=None):
        """Return the natural parameters as a vector of its own."""
        self.require("dense_vectors")
        globals_ = self.globals_ if globals_ is None else globals_
        return np.array(self.model.natural_parameters(globals_), dtype=np.float64)

    def target(self, statistics, powers=Powers(), scale=1.0):  # noqa: B008
        """Return the target of a step as a vector of its own."""
        self.require("dense_vectors")
        return np.array(
            self.model.target_parameters(statistics, scale, powers, self.hyper)
        )

    def at(self, vector):
        """Return the parameters of a vector."""
        return self.model.from_natural_parameters(np.array(vector))

    def bound(self, globals_, powers):
        """Return the tempered bound of the block."""
        local = self.local_step(powers=powers, globals_=globals_, want=("bound",))
        return local.bound + self.model.global_bound(globals_, self.hyper, powers)

    def require(self, capability):
        """Skip what a model without a capability need not promise."""
        if capability not in self.model.capabilities():
            raise Skip(f"{type(self.model).__name__} has no {capability}")

    def require_exact(self):
        """Skip what holds only where a local step finds the optimum."""
        if self.model.is_random:
            raise Skip(f"local steps of {type(self.model).__name__} are random")

    def n_units(self):
        """Return how many units the block has."""
        return int(self.model.units_per_row(self.X, np.arange(self.n_rows)).sum())

    def tangent(self):
        """Return a random change of the natural parameters, as data make it."""
        unit_noise = self.random.uniform(0.1, 2.0, self.n_units())
        statistics = self.local_step(unit_noise=unit_noise).statistics
        change = self.target(statistics, scale=self.random.uniform(0.5, 2.0))
        change -= self.vector()
        return change / max(np.abs(change).max(), np.finfo(float).tiny)


def close(found, expected, what, rtol=1e-7, atol=0.0):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=what)


def precision(model):
    """Return the relative precision of what the model computes."""
    return float(np.sqrt(np.finfo(model.dtype).eps)) / 8


def close_statistics(case, found, expected, rtol, powers=Powers()):  # noqa: B008
    """Compare statistics by the step to which they lead."""
    if "dense_vectors" in case.model.capabilities():
        expected = case.target(expected, powers)
        atol = rtol * np.abs(expected).max()
        close(case.target(found, powers), expected, "statistics", rtol, atol)
