"""Input of all checks: a model, some rows and fitted parameters."""

import copy

import numpy as np

from .._contract import Powers, Request, numbers_in

#: Powers for the checks: without temperature, and for each target of `Annealing`.
POWERS = (Powers(), Powers(1.0, 1.0, 0.5), Powers(1.0, 0.5, 0.5), Powers(0.5, 0.5, 0.5))
#: Powers for which the target of a step minus the parameters is the natural gradient of
#: the tempered bound.
OBJECTIVES = (Powers(), Powers(1.0, 0.5, 0.5), Powers(0.5, 0.5, 0.5))
#: Largest number of rows of a case.
MOST_ROWS = 60
#: Weight of the data that makes the posterior of global parameters very narrow.  The
#: prior minus this multiple of the statistics is outside the domain.
CERTAIN_SCALE = 1e7
#: Number of steps of coordinate ascent.
N_STEPS = 8
#: A power at which the likelihood is negligible.
HARDLY = 1e-6


class Skip(Exception):
    """Exception that skips a check; its message is the reason."""


class Case:
    """A model, some rows and the parameters after two steps of a fit."""

    def __init__(self, model, X, random_state, log_likelihood=None):
        self.model, self.X = model, X
        self.random_state, self.log_likelihood = random_state, log_likelihood
        self.n_rows = min(X.shape[0], MOST_ROWS)
        if self.n_rows < 4:
            raise ValueError(f"check_model needs at least 4 rows, got {self.n_rows}.")
        self.random = np.random.default_rng(random_state)
        self.hyper = model.initial_hyper(X)
        self.globals_ = self.initial_globals(self.hyper)
        self.start = copy.deepcopy(self.globals_)
        self.block = self.take(slice(0, self.n_rows))
        for _ in range(2):
            self.globals_ = self.stepped(self.globals_, Powers(), rate=0.7)

    def fresh(self):
        """Return a copy for one check, which may change it."""
        other = copy.copy(self)
        other.hyper, other.start, other.globals_ = copy.deepcopy(
            (self.hyper, self.start, self.globals_)
        )
        other.block = self.take(slice(0, self.n_rows))
        other.random = np.random.default_rng(self.random_state)
        return other

    def initial_globals(self, hyper):
        random = np.random.RandomState(self.random_state)
        return self.model.initial_globals(self.X, random, hyper)

    def take(self, rows):
        return self.model.take(self.X, rows)

    def local_step(self, block=None, powers=Powers(), globals_=None, **others):  # noqa: B008
        """Return the local step of a block, by default with statistics and bound."""
        model = self.model
        globals_ = self.globals_ if globals_ is None else globals_
        prepared = model.prepare(globals_, self.hyper)
        others = {"want": ("statistics", "bound"), **others}
        block = self.block if block is None else block
        return model.local_step(block, prepared, Request(powers, **others))

    def predictive_scores(self, block=None, globals_=None):
        """Return each row's score and its number of held-out observations."""
        globals_ = self.globals_ if globals_ is None else globals_
        prepared = self.model.prepare(globals_, self.hyper)
        block = self.block if block is None else block
        scores, n_held_out = self.model.predictive_scores(block, prepared)
        return np.asarray(scores, dtype=float), np.asarray(n_held_out, dtype=float)

    def stepped(self, globals_, powers, rate=1.0, scale=1.0):
        """Return the parameters after a step on the block with fixed priors."""
        statistics = self.local_step(powers=powers, globals_=globals_).statistics
        return self.step(globals_, statistics, scale, powers, rate)

    def step(self, globals_, statistics, scale, powers, rate):
        old = copy.deepcopy(globals_)
        return self.model.step(old, statistics, scale, powers, rate, self.hyper)

    def learned(self):
        statistics = self.local_step().statistics
        arguments = self.globals_, statistics, 1.0, 1.0, Powers()
        return self.model.update_hyper(self.hyper, *arguments)

    def certain(self):
        """Return parameters whose posterior is very narrow."""
        globals_ = self.globals_
        for _ in range(2):
            globals_ = self.stepped(globals_, Powers(), scale=CERTAIN_SCALE)
        return globals_

    def vector(self, globals_=None):
        self.require("dense_vectors")
        globals_ = self.globals_ if globals_ is None else globals_
        return np.array(self.model.natural_parameters(globals_), dtype=np.float64)

    def target(self, statistics, powers=Powers(), scale=1.0):  # noqa: B008
        self.require("dense_vectors")
        return np.array(
            self.model.target_parameters(statistics, scale, powers, self.hyper)
        )

    def from_vector(self, vector):
        return self.model.from_natural_parameters(np.array(vector))

    def prior(self):
        """Return the parameters at which the approximate posterior is the prior."""
        return self.from_vector(self.target(self.local_step().statistics, scale=0.0))

    def bound(self, globals_, powers):
        local = self.local_step(powers=powers, globals_=globals_, want=("bound",))
        return local.bound + self.model.global_bound(globals_, self.hyper, powers)

    def empty_bounds(self, prior=1.0):
        """Return the bounds of the rows without their likelihood.

        The bounds are extrapolated from two small powers of the likelihood to the power
        0.
        """
        one, two = (
            self.local_step(powers=Powers(prior, h, h), want=("bound",)).row_bounds
            for h in (HARDLY, 2 * HARDLY)
        )
        return 2 * np.asarray(one) - np.asarray(two)

    def require(self, capability):
        """Skip a check if the model lacks a capability."""
        if capability not in self.model.capabilities():
            raise Skip(f"{type(self.model).__name__} has no {capability}")

    def require_exact(self):
        """Skip a check that holds only if a local step finds the optimum."""
        if self.model.is_random:
            raise Skip(f"local steps of {type(self.model).__name__} are random")

    def n_units(self):
        return int(self.model.units_per_row(self.X, np.arange(self.n_rows)).sum())

    def tangent(self):
        """Return a random direction in which a step can change natural parameters.

        The largest absolute value of its entries is 1.
        """
        unit_noise = self.random.uniform(0.1, 2.0, self.n_units())
        statistics = self.local_step(unit_noise=unit_noise).statistics
        change = self.target(statistics, scale=self.random.uniform(0.5, 2.0))
        change -= self.vector()
        return change / max(np.abs(change).max(), np.finfo(float).tiny)

    @property
    def precision(self):
        return float(np.sqrt(np.finfo(self.model.dtype).eps)) / 8

    # -- comparisons -------------------------------------------------------------------
    def expect_one_per_row(self, shape, name):
        fault = f"{name} do not have one entry per row"
        expect(shape == (self.n_rows,), fault, (self.n_rows,), shape)

    def expect_finite_rows(self, rows, name):
        self.expect_one_per_row(rows.shape, name)
        refuse_rows(~np.isfinite(rows), rows, f"{name}: expected finite numbers")

    def close_statistics(self, found, expected, fault, rtol):
        """Compare statistics by the targets of their steps.

        If the model lacks the capability "dense_vectors", nothing is compared.
        """
        if "dense_vectors" in self.model.capabilities():
            expected = self.target(expected)
            atol = rtol * np.abs(expected).max()
            fault = f"{fault}; natural parameter of the step's target"
            close(self.target(found), expected, fault, rtol, atol)


def expect(holds, fault, expected, found):
    """Raise an error with the fault and both values unless a condition holds."""
    if not holds:
        raise AssertionError(f"{fault}: expected {expected}, got {found}")


def refuse_rows(wrong, found, fault):
    """Raise an error about the first wrong row, if any row is wrong."""
    for row in np.flatnonzero(wrong)[:1]:
        raise AssertionError(f"{fault}, got {found[row]:.6g} in row {row}")


def close(found, expected, fault, rtol=1e-7, atol=0.0):
    """Raise an error with fault, index and both numbers unless the numbers are close.

    The fault, which begins the message, names the compared numbers.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    same_shape = found.shape == expected.shape
    expect(same_shape, fault, f"the shape {expected.shape}", found.shape)
    found, expected = found.astype(float), expected.astype(float)
    with np.errstate(invalid="ignore"):
        excess = np.abs(found - expected) - (atol + rtol * np.abs(expected))
    wrong = ~((excess <= 0) | (found == expected))
    if not wrong.any():
        return
    excess = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -np.inf)
    worst = np.unravel_index(excess.argmax(), excess.shape)
    place = f" at {', '.join(map(str, worst))}" if worst else ""
    some = f" ({wrong.sum()} of {wrong.size} differ)" if wrong.size > 1 else ""
    texts = [f"{part[worst]:.10g}" for part in (expected, found)]
    if texts[0] == texts[1]:  # they differ in later digits
        texts = [repr(float(part[worst])) for part in (expected, found)]
    raise AssertionError(f"{fault}{place}: expected {texts[0]}, got {texts[1]}{some}")


def close_parts(found, expected, fault, rtol=0.0, atol=0.0):
    """Compare the numbers in two values, such as parameters, as `close` does."""
    pairs = zip(numbers_in(found), numbers_in(expected), strict=True)
    for number, (one, other) in enumerate(pairs):
        close(one, other, f"{fault} in part {number}", rtol, atol)


def same(found, expected, fault):
    """Raise an error with fault, index and both numbers unless the bits are equal."""
    close(found, expected, fault, 0.0)
