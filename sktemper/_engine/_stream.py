"""Training on streams with a half-life, with renewals between steps.

A renewal fits new components to the memory, a sample of recent rows.  Its result is a
challenger: parameters that replace the current parameters if they predict the next rows
better.
"""

import math
from dataclasses import replace

import numpy as np

from ..learning_rates import ConstantRate, Population, RobbinsMonro
from ..model import IllDefined
from ..noise import NoNoise
from ..schedules import Plan
from ..tempering import Untempered
from ._data import Batch, Data, InMemory, Purpose, generator
from ._moves import run_moves
from ._passes import predictive_scores, run_passes
from ._reservoir import FIRST_RENEWAL, Challenger, Reservoir, Stream
from ._state import MoveProgress
from ._step import Policies, Steps, numbers_of_moves

# -- renewals: fits of new components to the memory of a stream ------------------------
#: Numbers of passes of two fits: a new fit to a memory that is not full, and the fit of
#: new components.  One pass fits all components before merges.  After merges, one step
#: on all rows removes the noise of the steps on mini-batches.
FRESH_PASSES, BIRTH_PASSES = 8, 3
#: Number of steps on all rows that untempered fits take if the model watches its lower
#: bound.  The steps replace the passes on mini-batches, or the one step after merges.
STEPS_ON_ALL = 10
#: All rows.
ALL = slice(None)


class _Renewing:
    """A renewal of the components of a stream.

    Parameters
    ----------
    problem : Problem
    policies : Policies
    tempering : Tempering
        Tempering of new fits; each fit resolves "auto" parameters.
    state : State
        Current state, which is not changed.

    Attributes
    ----------
    n_births : int
        Number of new components.
    rows : ndarray of int of shape (n_rows,)
        Positions of the rows in the memory.
    weight : ndarray of shape (n_rows,)
        Weights of the rows, see `Reservoir.sample`.
    recent : ndarray of int
        Indices of those rows to which new components are fitted, see
        `Stream.first_recent`.
    """

    def __init__(self, problem, policies, tempering, state):
        self.problem, self.policies, self.tempering = problem, policies, tempering
        self.state, memory = state, state.stream.memory
        self.n_births = policies.renewals.n_births(problem.model.n_components)
        size = ROWS_PER_SIZE * state.policies.learning_rate.size
        self.rows, self.weight = memory.sample(rows_of(policies.renewals, size))
        is_recent = memory.numbers[self.rows] >= state.stream.first_recent
        self.recent = np.flatnonzero(is_recent)

    @property
    def n_recent(self):
        """Effective number of the recent rows, (sum of w)^2 / (sum of w^2)."""
        weight = self.weight[self.recent]
        weight = weight / weight.max(initial=1e-300)  # squares may underflow
        return weight.sum() ** 2 / max((weight**2).sum(), 1e-300)

    def challenger(self):
        """Return the `Challenger`, or None if its fit failed."""
        self.X = self.state.stream.memory.matrix()[self.rows]
        try:
            globals_, hyper, born = self.renewed()
            self.problem.model.check(globals_, hyper)
        except (IllDefined, np.linalg.LinAlgError):
            return None
        trial = self.trial(globals_, hyper, 6)
        trial.policies = replace(self.state.policies)
        return Challenger(trial, born)

    def random(self, number):
        seed, samples = self.state.seed, self.state.stream.samples
        return generator(seed, samples, Purpose.RENEWALS, number)

    def on(self, X, weight, model):
        """Return the problem of a model, a matrix and weights of its rows."""
        data = Data([InMemory(X)], [X], X)
        return replace(
            self.problem,
            model=model,
            data=data,
            rows=data.all_rows(),
            sample_weight=weight,
            total_samples=None,
            validation=None,
            labels=None,
            ascents=[],
        )

    def trial(self, globals_, hyper, number):
        return self.state.trial(
            globals_, hyper, int(self.random(number).integers(2**31))
        )

    def passes(self, model, trial, rows, n_passes, tempering=None):
        """Make passes over some rows; they change only the trial state.

        If ``n_passes`` is None, take one step on all rows.  A model that watches its
        bound takes `STEPS_ON_ALL` such steps instead, unless it is tempered.
        """
        on_all = n_passes is None
        if model.watches_bound and tempering is None:
            on_all, n_passes = True, STEPS_ON_ALL
        n_passes, tempering = n_passes or 1, tempering or Untempered()
        X, weight = self.X[rows], self.weight[rows]
        problem, policies = self.on(X, weight, model), trial.policies
        n_rows = X.shape[0]
        rate, size = RobbinsMonro(), model.auto_batch_size(X, n_rows)
        if on_all:
            rate, size = ConstantRate(1.0), n_rows
        policies.batch_size = min(size, n_rows)
        trial.progress.planned_passes = trial.progress.passes + n_passes
        per_pass = math.ceil(n_rows / policies.batch_size)
        temperatures = ()
        if tempering.has_critical_temperatures:
            temperatures = problem.temperatures(tempering, trial.hyper)
        plan = Plan(per_pass * n_passes, per_pass, *temperatures)
        tempering = tempering.resolved(plan)
        if not tempering.knows(policies.tempering) or trial.progress.steps == 0:
            policies.tempering = tempering.initial_state(
                model, trial.hyper, self.random(99)
            )
        for take in run_passes(problem, Policies(tempering, rate, NoNoise()), trial):
            take()

    def fresh(self):
        """Return the parameters of a new fit to the memory, and its new components."""
        model, random = self.problem.model, self.random(0)
        hyper = self.state.hyper
        seed = np.random.RandomState(int(random.integers(2**31)))
        globals_ = model.initial_globals(self.X, seed, hyper, self.weight)
        trial = self.trial(globals_, hyper, 1)
        self.passes(model, trial, ALL, FRESH_PASSES, self.tempering)
        moves = self.policies.moves
        if any(left := numbers_of_moves(moves)):
            trial.moves = MoveProgress(left)
            policies = Policies(Untempered(), RobbinsMonro(), NoNoise(), moves)
            for move in run_moves(self.on(self.X, self.weight, model), policies, trial):
                move()
        globals_, is_same = model.matched(
            *trial.parameters, *self.state.parameters, self.X, self.weight
        )
        return globals_, trial.hyper, np.flatnonzero(~is_same)

    def renewed(self):
        model, state = self.problem.model, self.state
        memory = self.X, self.weight
        if state.stream.reason == "start":
            return self.fresh()
        recent = self.X[self.recent], self.weight[self.recent]
        larger, globals_, hyper = model.with_births(
            *state.parameters, self.n_births, *recent, self.random(2)
        )
        born = self.trial(globals_, hyper, 3)
        self.passes(larger, born, self.recent, BIRTH_PASSES)
        both, globals_, hyper = model.joined(
            state.globals_, state.hyper, born.globals_, *memory
        )
        trial = self.trial(globals_, hyper, 4)
        self.passes(both, trial, ALL, 1)
        globals_, hyper, is_new = model.merged(
            *trial.parameters, *state.parameters, *memory
        )
        steps = trial.progress
        trial = self.trial(globals_, hyper, 5)
        trial.progress = replace(steps, passes=0)
        self.passes(model, trial, ALL, None)
        n_rows = len(self.weight)
        # rows of the stream, in which older rows count less
        size = state.policies.learning_rate.size
        share = 1.0 - n_rows / max(n_rows, size)
        globals_ = model.blended(
            trial.globals_, trial.hyper, state.globals_, ~is_new, share
        )
        return globals_, trial.hyper, np.flatnonzero(is_new)


# -- steps on the pieces of a chunk of a stream ----------------------------------------
#: Longer gaps between rows count as this number of half-lives.  It leaves no weight to
#: earlier rows, and the age of a stream stays finite.
MOST_HALF_LIVES = 10_000


def remember(problem, rate, renewals, state):
    """Fill the memory of a stream that may follow with a sample of the rows of a fit.

    Parameters
    ----------
    problem : Problem
    rate : HalfLife
    renewals : Renewals
    state : State
    """
    n_rows, weight = len(problem.data), problem.sample_weight
    total = float(n_rows if weight is None else weight.sum())
    population = Population.after_fit(total, rate)
    stream = Stream(samples=n_rows, last=n_rows)
    if renewals.is_on:
        rows, random = np.arange(n_rows)[:, None], generator(state.seed, 0, Purpose.FIT)
        with np.errstate(divide="ignore"):
            logs = np.zeros(n_rows) if weight is None else np.log(weight)
        memory = Reservoir().with_rows(rows, logs, random, 0, renewals.memory)
        memory = Reservoir((problem.data.rows(memory.numbers),), *memory[1:])
        due = n_rows + rows_of(renewals, population.size)
        stream = replace(stream, memory=memory, due=due)
        if len(memory) >= rows_of(renewals, 0):  # large enough for usual renewals
            stream = replace(stream, reason="schedule")
    state.stream, state.policies.learning_rate = stream, population


def run_stream(run, tempering, times, size, hooks):
    """Learn a chunk of a stream with a half-life in pieces of ``size`` rows.

    Each piece is scored before it is learned.  The scores decide whether a challenger
    replaces the current parameters, and may raise an alarm.  A renewal that is due is
    made before the next piece.

    Parameters
    ----------
    run : Run
    tempering : Tempering
        Tempering of the fits that renewals make; its "auto" parameters are resolved in
        each fit.
    times : ndarray of datetime64 of shape (n_rows,) or None
        Times of the rows; not None if the half-life is a duration.
    size : int
        Largest number of rows of a step.
    hooks : FitHooks
    """
    if run.state.stream is None:
        due = min(FIRST_RENEWAL, run.policies.renewals.memory)
        run.state.stream = Stream(due=due)
        states, total = run.state.policies, run.state.progress.total_rows
        given = total, run.policies.learning_rate
        if total and not states.learning_rate.size:  # learned without a half-life
            states.learning_rate = Population.after_fit(*given)
    pieces, n_rows = _Pieces(run, tempering, times, hooks), len(run.problem.data)
    for start in range(0, n_rows, size):
        pieces.learn(slice(start, min(start + size, n_rows)))


class _Pieces:
    def __init__(self, run, tempering, times, hooks):
        self.run, self.problem, self.state = run, run.problem, run.state
        self.tempering, self.times, self.hooks = tempering, times, hooks
        self.policies, weight = run.policies, run.problem.sample_weight
        self.weight = np.ones(len(run.problem.data)) if weight is None else weight
        self.half_lives = self._half_lives(run.policies.learning_rate.unit())
        if self.policies.renewals.is_on:
            self.policies = run.policies._replace(tempering=Untempered())
        self._start_steps()

    def _half_lives(self, unit):
        """Return the age of the stream at the arrival of each row, in half-lives."""
        stream, gaps = self.state.stream, self.weight
        if not isinstance(unit, float):
            first = self.times[:1] if stream.time is None else [stream.time]
            gaps = np.diff(self.times, prepend=first) / np.timedelta64(1, "us")
            one = np.timedelta64(1, np.datetime_data(unit.dtype)[0])
            # in microseconds as an integer, a long half-life might overflow
            unit = float(unit / one) * float(one / np.timedelta64(1, "us"))
        half_lives = np.cumsum(np.minimum(gaps, MOST_HALF_LIVES * unit)) / unit
        return stream.half_lives + half_lives

    def _start_steps(self):
        self._present = Steps(self.problem, self.policies, self.state)
        challenger = self.state.stream.challenger
        self._challenging = None
        if challenger is not None:
            self._challenging = Steps(self.problem, self.policies, challenger.state)

    def learn(self, piece):
        if self.state.policies.learning_rate.share < 1.0:
            self._weigh_fit(piece)
        if self.policies.renewals.is_on:
            self._renew_if_due()
        scores, n_scored = self._scores(self._present, piece)
        stream = self._judged(self.state.stream, scores, n_scored, piece)
        total = n_scored.sum()
        score = float(scores.sum() / total) if total > 0 else math.nan
        self._step(stream, piece, score)

    def _weigh_fit(self, piece):
        """Give the statistics of a fit the weight of its rows in the stream."""
        state, population = self.state, self.state.policies.learning_rate
        rows = np.arange(piece.start, piece.stop)
        inputs, local = self._present.local_half(Batch(rows, population.size))
        # a step toward the prior, without the statistics of the piece
        target, rate = (local.statistics, 0.0, inputs.powers), 1.0 - population.share

        def commit():
            moved = self.problem.model.step(state.globals_, *target, rate, state.hyper)
            state.globals_ = moved
            state.policies.learning_rate = population._replace(share=1.0)
            self.hooks.commit(self.run)

        self.problem.workers.run_whole(commit)
        self._start_steps()

    def _scores(self, steps, piece):
        """Return the scores of rows, and the number of scored observations of each."""
        rows = np.arange(piece.start, piece.stop)
        parts = self.problem.predict(predictive_scores, steps.prepared, rows)
        scores, counts = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(counts)

    def _judged(self, stream, scores, n_scored, piece):
        """Return the stream updated by scores; install a challenger that has won."""
        renewals, counts = self.policies.renewals, n_scored > 0
        counts &= self.weight[piece] > 0
        if not (renewals.is_on and counts.any()):
            return stream
        own = scores[counts] / n_scored[counts]
        if stream.challenger is not None:
            theirs, _ = self._scores(self._challenging, piece)
            gains = theirs[counts] / n_scored[counts] - own
            challenger = stream.challenger.after(gains)
            stream = replace(stream, challenger=challenger)
            won = challenger.has_won(renewals.trial)
            if won is not None:
                stream = stream.decided(won)
                self._decide(challenger, stream)
                own = own + gains if won else own
        watch, fired = stream.watch.after(own, renewals)
        stream = replace(stream, watch=watch)
        if fired and (stream.reason != "start" or stream.samples >= stream.due):
            stream = stream.alarmed(renewals.wait, self.state.progress.steps)
            self.hooks.log_event(stream)
        return stream

    def _decide(self, challenger, stream):
        """Commit the decision about a challenger, which replaces parameters if it won.

        The last record of ``stream`` has the decision, None for a new challenger.
        """
        state = self.state

        def commit():
            if stream.renewals[-1].kept:
                state.globals_, state.hyper = challenger.state.parameters
                state.local = None
            state.stream = stream
            self.hooks.commit(self.run)

        self.problem.workers.run_whole(commit)
        self.hooks.log_event(stream)
        self._start_steps()

    def _step(self, stream, piece, score):
        """Take a step on a piece and add its rows to the memory, in one commit."""
        state, times = self.state, self.times
        age, weight = self.half_lives[piece], self.weight[piece]
        rate_state = state.policies.learning_rate
        population = rate_state.with_rows(
            float(weight.sum()), float(age[-1] - stream.half_lives)
        )
        stream = replace(
            self._remembered(stream, piece, population.size),
            samples=stream.samples + len(age),
            half_lives=float(age[-1]),
            time=stream.time if times is None else times[piece][-1],
        )
        rows = np.arange(piece.start, piece.stop)
        total = population.size
        if population.weight > 0:
            total *= len(rows) / population.weight
        batch = Batch(rows, total or 1.0)
        own = _step_of(batch, population, state, self._present, prequential_score=score)
        other, challenger = None, stream.challenger
        if challenger is not None:
            try:
                other = _step_of(batch, population, challenger.state, self._challenging)
            except IllDefined:
                stream = stream.decided(False)
        self._commit(own, other, stream, len(rows), score)

    def _commit(self, step, other, stream, n_rows, score):
        """Commit the steps on a piece; a challenger whose step fails has lost."""

        def commit():
            before = self._counts()
            step()
            own = self._with_prevalence(stream, before, score)
            try:
                if other is not None:
                    other()
            except IllDefined:
                own = own.decided(False)
            self.state.stream = own
            self.state.progress.total_rows += n_rows
            self.hooks.commit(self.run)

        self.problem.workers.run_whole(commit)
        if self.state.stream.challenger is None:
            self._challenging = None

    def _counts(self):
        """Return the number of observations per component, or None without renewals."""
        if not self.policies.renewals.is_on:
            return None
        state = self.state
        return self.problem.model.component_counts(state.globals_, state.hyper)

    def _with_prevalence(self, stream, before, score):
        if before is None:
            return stream
        population = self.state.policies.learning_rate
        kept = 1.0 - population.weight / population.size if population.size else 1.0
        counts = self._counts() - kept * before
        prevalence = stream.prevalence.after(stream.samples, stream.time, score, counts)
        return replace(stream, prevalence=prevalence)

    def _remembered(self, stream, piece, size):
        renewals = self.policies.renewals
        if not renewals.is_on:
            return stream
        first = stream.samples
        random = generator(self.state.seed, first, Purpose.STREAM)
        with np.errstate(divide="ignore"):
            logs = self.half_lives[piece] * math.log(2) + np.log(self.weight[piece])
        X = self.problem.data.rows(np.arange(piece.start, piece.stop))
        memory = stream.memory.with_rows(
            X, logs, random, first, rows_of(renewals, ROWS_PER_SIZE * size)
        )
        return replace(stream, memory=memory)

    def _renew_if_due(self):
        """Make a renewal, if one is due, and commit it.

        A renewal waits until the memory has `ROWS_OF_BIRTH` recent rows for each new
        component; fewer rows carry all weight if the half-life is short, and few new
        rows enter the memory if it is long.
        """
        state, renewals = self.state, self.policies.renewals
        stream = state.stream
        if stream.samples < stream.due or not len(stream.memory):
            return
        renewing = _Renewing(self.problem, self.policies, self.tempering, state)
        if renewing.n_recent < ROWS_OF_BIRTH * renewing.n_births:
            return
        if stream.challenger is not None:
            stream = stream.decided(stream.challenger.gain > 0)
            self._decide(state.stream.challenger, stream)
        challenger, n_steps = renewing.challenger(), state.progress.steps
        interval = rows_of(renewals, state.policies.learning_rate.size)
        stream = stream.renewed(challenger, interval, renewals.memory, n_steps)
        self._decide(challenger, stream)


def _step_of(batch, population, state, steps, **noted):
    """Return a function that commits a step, whose rate depends on ``population``."""
    before = state.policies.learning_rate
    state.policies.learning_rate = population
    try:
        return steps.commit_of(batch, **noted)
    finally:
        state.policies.learning_rate = before


#: Least effective number of recent rows for each new component of a renewal.  A
#: component that is fitted to one row is that row.
ROWS_OF_BIRTH = 2
#: Least capacity of a memory, in rows.
LEAST_CAPACITY = 1000
#: Capacity of a memory, in multiples of the effective number of rows of the stream, in
#: which older rows count less.  Some old rows improve fits while the stream is short.
ROWS_PER_SIZE = 2


def rows_of(renewals, size):
    """Return ``size`` as an int, limited to the range of capacities of a memory."""
    return min(renewals.memory, max(LEAST_CAPACITY, math.ceil(size)))
