"""The policies of a fit, and one stochastic natural-gradient step under them."""

import contextlib
import functools
import math
import time
from typing import Any, NamedTuple

import numpy as np

from .._contract import IllDefined, Powers, all_finite, prepared_of
from .._utils._policy import as_number, as_numbers
from .._utils._validation import SMALLEST_COUNT
from ..learning_rates import LearningRate
from ..moves import Moves, NoMoves
from ..noise import GradientNoise
from ..renewals import NoRenewals
from ..schedules import HOTTEST, Clock
from ..tempering import COLDEST, Tempering
from ._data import QUIETLY, generator

# -- the policies of a fit, with checks of the values that they return -----------------
#: Names of the fields of `Powers` in errors.
NAMES_OF_POWERS = "prior", "statistics", "local step"


class Policies(NamedTuple):
    """The policies of a fit, with values instead of all "auto" parameters.

    Users may write their own policies.  If a policy returns an invalid value, the
    methods raise TypeError or ValueError with the name of the policy.
    """

    tempering: Tempering
    learning_rate: LearningRate
    gradient_noise: GradientNoise
    moves: Moves = NoMoves()
    renewals: NoRenewals = NoRenewals()

    def check(self, model):
        for policy in (*self[:3], *self.moves.phases(), self.renewals):
            policy.check(model)

    def check_plan(self, states, clocks):
        """Raise if a value that depends on the time only is invalid at some clock.

        Parameters
        ----------
        states : PolicyStates
        clocks : list of Clock
            Clocks of planned steps.
        """
        temperatures = self.tempering.schedule_of_temperatures()
        if temperatures is not None:
            temperatures.check_values(clocks)
        elif states.tempering is None:
            for clock in clocks:
                self.temperature(None, clock)
        sizes = self.gradient_noise.schedule_of_sizes()
        if sizes is not None:
            sizes.check_values(clocks, "effective batch size", math.inf)
        if states.learning_rate is None:
            clocks = clocks[:1] if self.learning_rate._is_one else clocks
            with contextlib.suppress(_DataNeeded):
                powers_at = functools.partial(self.tempering.powers, states.tempering)
                for clock in clocks:
                    powers = functools.partial(powers_at, clock)
                    self.rate(None, clock, _no_gradient, powers)

    def temperature(self, state, clock):
        given = self.tempering.temperature(state, clock)
        what = f"temperature of step {clock.steps + 1}"
        return as_number(given, self.tempering, what, 1.0, HOTTEST)

    def powers(self, state, clock, n_units):
        powers = self.tempering.powers(state, clock)
        check_class(powers, Powers, self.tempering, "powers")
        checked = []
        for power, name in zip(powers, NAMES_OF_POWERS, strict=True):
            given = power, self.tempering, f"power of the {name}"
            if name != "prior" and np.ndim(power):
                checked.append(as_numbers(*given, n_units, COLDEST, 1.0))
            else:
                checked.append(as_number(*given, COLDEST, 1.0))
        return Powers(*checked)

    def ladder(self, state):
        """Return the ladder's temperatures and their probabilities, or None twice."""
        ladder = self.tempering.ladder()
        probabilities = self.tempering.probabilities(state)
        if ladder is None and probabilities is None:
            return None, None
        n, of = np.size(ladder), "of the ladder"
        return (
            as_numbers(ladder, self.tempering, f"temperatures {of}", n, 0.0),
            as_numbers(probabilities, self.tempering, f"probabilities {of}", n, 0.0),
        )

    def unit_noise(self, n_units, clock, random):
        """Return the noise factors of the units of a batch, or None without noise."""
        factors = self.gradient_noise.unit_noise(n_units, clock, random)
        if factors is None:
            return None
        return as_numbers(factors, self.gradient_noise, "factors", n_units)

    def rate(self, state, clock, gradient, powers):
        """Return the rate of the next step, and the new state of the learning rate."""
        answer = self.learning_rate.next_rate(state, clock, gradient)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise TypeError(
                f"{type(self.learning_rate).__name__} gave {answer!r}, which must be a "
                "pair: the rate of a step and the state after it."
            )
        rate, state = answer
        what = f"learning rate of step {clock.steps + 1}"
        checks = self.learning_rate, what, 0.0, 1.0
        rate = self.learning_rate.scaled(as_number(rate, *checks), powers)
        return as_number(rate, *checks), state

    def guarded(self, rate, largest_rate):
        """Return the rate, or one for each part of the parameters that may differ.

        With these rates the step stays in the domain.
        """
        noise = self.gradient_noise
        rates = noise.guarded(rate, largest_rate)
        if np.ndim(rates) == 0:
            return as_number(rates, noise, "guarded rate", 0.0, 1.0)
        rates = as_numbers(rates, noise, "guarded rates", len(rates), 0.0, 1.0)
        return rate if (rates == rate).all() else rates


class _DataNeeded(Exception):
    """Error of a learning rate that needs the gradient, before there is one."""


def _no_gradient():
    raise _DataNeeded


def check_class(value, cls, policy, what, others=""):
    """Raise if a value that a policy returned is not of a class."""
    if not isinstance(value, cls):
        raise TypeError(
            f"{type(policy).__name__} gave {value!r} as the {what}, which must be of "
            f"the class {cls.__name__}{others}."
        )


def unguarded(rate, largest_rate):
    """Return the rate, as no factor is negative."""
    return rate


def mean_rate(rates):
    """Return the mean of the rates of parts, or their common rate."""
    return float(np.mean(rates)) if isinstance(rates, np.ndarray) else rates


def numbers_of_moves(moves):
    """Return the largest number of proposals of each phase of moves."""
    return tuple(phase.n_moves for phase in moves.phases())


def steps_on_proposal(policy, model):
    n_steps = policy.n_steps(model)
    n_steps = int(as_number(n_steps, policy, "number of steps", 1.0))
    tempering = policy.tempering(n_steps)
    check_class(tempering, Tempering, policy, "tempering of its steps")
    return n_steps, tempering


# -- one step, and its commit to the state of a fit ------------------------------------


class StepInputs(NamedTuple):
    """Inputs of the local steps of a batch.

    Attributes
    ----------
    clock : Clock
    temperature : float
    powers : Powers
    prepared : object
        Result of `ConjugateModel.prepare`.
    random : numpy.random.Generator or None
        Generator of this step; None if nothing is drawn.
    units_per_row : ndarray of shape (n_rows,) or None
        Number of units of each row of the batch; None if each row is one unit.
    unit_noise : ndarray of shape (n_units,) or None
        Factors of the units of the batch.
    """

    clock: Clock
    temperature: float
    powers: Powers
    prepared: Any
    random: np.random.Generator | None
    units_per_row: Any
    unit_noise: Any


class StepOutcome(NamedTuple):
    """Outcome of the local steps: five arguments of `ConjugateModel.step`, new states.

    Attributes
    ----------
    statistics : object
    scale : float
    powers : Powers
    rates : float or ndarray
        Rate of the parameters, or of each of their parts.
    hyper : object
    wanted_rate : float
        Learning rate before the noise policy reduced it.
    local : ndarray or None
        Local parameters of all rows, if the model keeps them.
    tempering, learning_rate : object
        New states of these policies.
    """

    statistics: Any
    scale: float
    powers: Powers
    rates: float | np.ndarray
    hyper: Any
    wanted_rate: float
    local: Any
    tempering: Any
    learning_rate: Any

    @property
    def rate(self):
        """Mean of the rates."""
        return mean_rate(self.rates)


class Steps:
    """Consecutive steps of a fit, each committed to the state of the fit.

    The parameters prepared at the end of one step are used by the next step.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    state : State
        State of the fit, which no other code may change meanwhile.
    prepared : object or None
        Prepared parameters of the state, if they are known.
    """

    def __init__(self, problem, policies, state, prepared=None):
        self.problem, self.policies, self.state = problem, policies, state
        self._prepared = prepared

    @property
    def prepared(self):
        if self._prepared is None:
            self._prepared = prepared_of(
                self.problem.model, self.state.globals_, self.state.hyper
            )
        return self._prepared

    def take(self, batch, on_commit=lambda: None, last=False):
        """Take one step on a batch.

        The step is committed only if the new parameters, and the values prepared from
        them for the next step, are finite.

        Parameters
        ----------
        batch : Batch
        on_commit : callable
            Called inside the commit, which no signal can interrupt.
        last : bool
            Whether this is the last step.  If so, nothing is prepared for a next step.

        Raises
        ------
        IllDefined
            If the step would leave the domain of the parameters; it is not committed
            then.
        """
        self.problem.workers.run_whole(self.commit_of(batch, on_commit, last))

    @QUIETLY()
    def commit_of(self, batch, on_commit=lambda: None, last=False, **noted):
        """Return the function that commits a step, see `take`.

        Parameters
        ----------
        batch, on_commit, last
            As in `take`.
        **noted : float
            Values of further columns in the history's row of this step.

        Returns
        -------
        commit : callable
            Raises `IllDefined`, before it changes the state, if the step is invalid.
        """
        begin = time.perf_counter()
        problem, state = self.problem, self.state
        inputs, local = self.local_half(batch)
        with refusing_singular():
            outcome = self._outcome(batch, inputs, local)
            lower_bound = self._lower_bound(batch, inputs, local)
        in_place = problem.model.steps_in_place
        moved = None if in_place else self._moved(outcome, not last)

        def commit():
            row = self._row(batch, inputs, local, outcome)
            globals_, self._prepared = moved or self._moved(outcome, not last)
            install_step(state, globals_, batch, inputs, outcome)
            state.convergence.follow([lower_bound])
            state.progress.seconds += time.perf_counter() - begin
            state.history.append(
                step=state.progress.steps,
                seconds=state.progress.seconds,
                lower_bound=lower_bound,
                **row,
                **noted,
            )
            on_commit()

        return commit

    def local_half(self, batch):
        """Return the inputs and the sum of the local steps of a batch."""
        inputs = self._inputs(batch)
        tempering = self.policies.tempering
        local = self.problem.local_steps(batch, inputs, tempering, self.state)
        if not all_finite(local.bound, local.score):
            raise IllDefined()
        return inputs, local

    def _draws(self, batch):
        """Return a generator or None, and the units of rows and their number."""
        draws = self.problem.model.is_random or self.policies.gradient_noise.is_random
        seed, step = self.state.seed, self.state.progress.steps
        random = generator(seed, step) if draws else None
        return (random, *self.problem.units(batch.rows))

    def _inputs(self, batch):
        state, policies = self.state, self.policies
        clock = state.clock(batch.total_of_clock)
        prepared = self.prepared
        random, units, n_units = self._draws(batch)
        return StepInputs(
            clock,
            policies.temperature(state.policies.tempering, clock),
            policies.powers(state.policies.tempering, clock, n_units),
            prepared,
            random,
            units,
            policies.unit_noise(n_units, clock, random),
        )

    def _outcome(self, batch, inputs, local):
        """Return the outcome of the summed local steps; the state is unchanged."""
        model, policies, state = self.problem.model, self.policies, self.state
        scale, statistics, factors = batch.scale, local.statistics, inputs.unit_noise
        guarded = unguarded
        if factors is not None and np.min(factors, initial=0.0) < 0:
            statistics, guarded = model.within_domain(statistics), policies.guarded
        arguments = statistics, scale, inputs.powers

        def gradient():
            vector = model.target_parameters(*arguments, state.hyper)
            vector = vector - model.natural_parameters(state.globals_)
            return vector, model.fisher_product(state.globals_, vector)

        wanted, rate_state = policies.rate(
            state.policies.learning_rate, inputs.clock, gradient, lambda: inputs.powers
        )
        largest = functools.partial(model.largest_rate, state.globals_, *arguments)
        rates = guarded(wanted, functools.partial(largest, state.hyper))
        learned = state.hyper, state.globals_, statistics, scale, mean_rate(rates)
        hyper = model.update_hyper(*learned, inputs.powers)
        return StepOutcome(
            *arguments,
            rates=guarded(wanted, functools.partial(largest, hyper)),
            hyper=hyper,
            wanted_rate=wanted,
            local=np.concatenate(local.kept) if local.kept else None,
            tempering=policies.tempering.next_state(
                state.policies.tempering, local, scale, inputs.clock
            ),
            learning_rate=rate_state,
        )

    def _lower_bound(self, batch, inputs, local):
        """Return the lower bound before the step, NaN if it is not computed."""
        model, state = self.problem.model, self.state
        plain = inputs.unit_noise is None and inputs.temperature == 1.0
        if not (model.watches_bound and batch.is_whole and plain):
            return math.nan
        return local.bound + model.global_bound(state.globals_, state.hyper)

    def _moved(self, outcome, prepare):
        """Return the global parameters after the step, and their prepared form."""
        model = self.problem.model
        with QUIETLY():  # numpy's error settings apply to one thread only
            globals_ = model.step(self.state.globals_, *outcome[:5])
        return globals_, prepared_of(model, globals_, outcome.hyper, prepare)

    def _row(self, batch, inputs, local, outcome):
        n_rows, wanted = len(batch.rows), outcome.wanted_rate
        ladder, probabilities = self.policies.ladder(self.state.policies.tempering)
        none = local.n_observed <= SMALLEST_COUNT
        per_observed = 0.0 if none else local.bound / local.n_observed
        return {
            "passes": (self.state.progress.samples + n_rows) / batch.total,
            "temperature": inputs.temperature,
            "learning_rate": outcome.rate,
            "rate_share": outcome.rate / wanted if wanted else 1.0,
            "batch_bound": per_observed,
            "mean_iterations": local.n_iterations / n_rows,
            "ladder": ladder,
            "probabilities": probabilities,
        }


@contextlib.contextmanager
def refusing_singular():
    """Turn the error of a singular matrix into `IllDefined`."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise IllDefined() from error


def install_step(state, globals_, batch, inputs, outcome):
    """Change a state by a step."""
    state.globals_, state.hyper, state.local = globals_, outcome.hyper, outcome.local
    policies, progress, convergence = state.policies, state.progress, state.convergence
    policies.tempering = outcome.tempering
    policies.learning_rate = outcome.learning_rate
    policies.temperature = inputs.temperature
    progress.steps += 1
    progress.samples += len(batch.rows)
    # the rate of all steps so far was 0, as in a warm-up
    if outcome.rate == 0 and convergence.start_share == 1:
        progress.idle_steps, progress.idle_samples = progress.steps, progress.samples
    convergence.start_share *= 1.0 - outcome.rate
