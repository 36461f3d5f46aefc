"""The scikit-learn face that all estimators share."""

import contextlib
import copy
import functools
import itertools
import logging
import math
import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
)

from ._limits import LARGEST_COUNT, checked_weights, validated
from .inference import (
    Policies,
    State,
    Workers,
    evidence_bound,
    is_over,
    map_blocks,
    run_moves,
    run_passes,
    run_pieces,
)
from .learning_rates import ConstantRate, RobbinsMonro, as_learning_rate
from .model import Powers
from .moves import NoMoves
from .noise import as_noise
from .policy import Slot, SlotsMixin
from .schedules import Clock, Plan
from .tempering import as_tempering

logger = logging.getLogger("sktemper")

#: Share of the random start left in the model above which `fit` warns.
LARGEST_START_SHARE = 0.1


def _has_sample_temperatures(estimator):
    """Return True, or say why there is no `TemperedEstimator.temperatures`."""
    fitted = hasattr(estimator, "state_")
    tempering = estimator.tempering_ if fitted else estimator._tempering()
    if not tempering.per_sample:
        raise AttributeError(
            f"{type(tempering).__name__} gives samples no temperatures of their own; "
            "a tempering such as sktemper.tempering.LocalTempering does."
        )
    return True


@dataclass
class _Run:
    """A fit from one start, one of ``n_init``.

    Attributes
    ----------
    state : State
    policies : Policies
    train, validation : ndarray
        Rows.
    compared : bool
        Whether early stopping, if there is any, had a score to go by.
    moves_were_hot : bool
        Whether there were moves to be made, but the temperature was not 1.
    """

    state: State
    policies: Policies
    train: np.ndarray
    validation: np.ndarray
    compared: bool = True
    moves_were_hot: bool = False


class TemperedEstimator(CallbackSupportMixin, SlotsMixin, BaseEstimator):
    """Fit, stream and score a `ConjugateModel` under any policies.

    A subclass says which model its parameters and the data make (`_make_model`), how
    data are validated (`_validate`), and, where its name fixes a policy, which
    (`_tempering`).
    """

    _slots = {
        "tempering": Slot(as_tempering, True, "sktemper.tempering.Annealing()"),
        "learning_rate": Slot(lambda value: as_learning_rate(value, RobbinsMonro())),
        "gradient_noise": Slot(as_noise, True, "sktemper.noise.SVIPlusNoise()"),
    }
    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tempering": "no_validation",
        "learning_rate": "no_validation",
        "gradient_noise": "no_validation",
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "total_samples": [Interval(Integral, 1, None, closed="left"), None],
        "evaluate_every": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # -- what a subclass says ----------------------------------------------------------
    def _make_model(self, n_features, dtype):
        """Return the `ConjugateModel` of these parameters."""
        raise NotImplementedError

    def _validate(self, X, reset):
        """Return ``X`` as the model takes it; raise as scikit-learn would."""
        raise NotImplementedError

    def _validate_training(self, X, reset):
        """Return ``X`` as the model takes it to be trained on."""
        return self._validate(X, reset)

    def _check_enough(self, X):
        """Raise if a `fit` cannot start from ``X``; the first of a stream may."""

    def _finish(self, model, state, workers, X, sample_weight):
        """Keep what a fit to ``X`` tells of its rows."""

    def _compute_dtype(self, X):
        """Return the dtype of kernels and public arrays for these data."""
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _tempering(self):
        """Return the tempering policy, not yet resolved."""
        return as_tempering(self.tempering)

    def _noise(self):
        """Return the noise policy, not yet resolved."""
        return as_noise(self.gradient_noise)

    def _moves(self):
        """Return the policy for moves: of a model that can make some."""
        return NoMoves()

    # -- fitting -----------------------------------------------------------------------
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the model to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; never copied whole, never changed.
        y : None
            Ignored; here by scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' statistics.

        Returns
        -------
        self : object
            The best of ``n_init`` fits.  With ``warm_start=True`` an interrupted plan
            of ``max_iter`` passes was finished, or a finished one continued by as many;
            the temperature and the rate went on from where they were, and there was
            one start.

        Raises
        ------
        ValueError
            For bad data or parameters; an earlier fit is then as it was.

        Warns
        -----
        ConvergenceWarning
            If the fit ended above T=1, or with much of its random start left.

        Notes
        -----
        With ``n_init > 1`` the fits run one after another.  What stops a fit early, a
        callback or ``n_iter_no_change``, ends that one, and the next begins.  Ctrl-C
        or an error leaves the last complete step of the first fit, and later the best
        of the completed fits.
        """
        continued = self.warm_start and hasattr(self, "state_")
        with self._as_before_if_it_raises():
            X = self._validate_training(X, reset=not continued)
            if not continued:
                self._check_enough(X)
            sample_weight = self._validate_weight(sample_weight, X)
            dtype = self.state_.dtype if continued else self._compute_dtype(X)
            model = self._make_model(X.shape[1], dtype)
            if continued:
                starts, n_runs = iter([copy.copy(self.state_)]), 1
            else:
                starts, n_runs = self._starts(model, X, sample_weight), self.n_init
            run = self._run_fits(model, starts, n_runs, X, sample_weight)
        self._warn_of_the_end(run)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Take the steps that a piece of a stream is good for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Cut into pieces of ``batch_size`` rows in their order; fewer rows are one
            step.  With ``batch_size="auto"`` the pieces are of even size.  Unless
            ``total_samples`` is given, all rows of the call count as known from its
            first piece on, so that other chunks are another fit.
        y : None
            Ignored; here by scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' statistics.

        Returns
        -------
        self : object
            A model that was fitted before goes on at its temperature and rate.  A new
            one has one start, whatever ``n_init`` is.
        """
        fresh = not hasattr(self, "state_")
        with self._as_before_if_it_raises():
            X = self._validate_training(X, reset=fresh)
            sample_weight = self._validate_weight(sample_weight, X)
            dtype = self._compute_dtype(X) if fresh else self.state_.dtype
            model = self._make_model(X.shape[1], dtype)
            state = (
                next(self._starts(model, X, sample_weight))
                if fresh
                else copy.copy(self.state_)
            )
            if fresh or self.batch_size != "auto":
                state.batch_size = self._resolve_batch_size(
                    model, X, self.total_samples
                )
            if fresh:
                state.plan = self._plan_of_stream(model, state)
            policies = self._resolve_policies(state, RobbinsMonro())
            self._start_policies(state, policies, model)
            state.best = None
            with self._workers(model) as workers:
                run_pieces(
                    model,
                    policies,
                    state,
                    workers,
                    X,
                    self._size_of_pieces(state, X.shape[0]),
                    total_samples=self.total_samples,
                    sample_weight=sample_weight,
                    on_commit=lambda: self._install(state, policies),
                )
                self._finish(model, state, workers, X, sample_weight)
        return self

    def _starts(self, model, X, sample_weight):
        """Yield new states, all from the same stream of random numbers."""
        random = check_random_state(self.random_state)
        hyper = model.initial_hyper(X, sample_weight)
        for _ in range(self.n_init):
            yield State(
                globals_=model.initial_globals(X, random, hyper, sample_weight),
                hyper=hyper,
                seed=int(random.randint(2**31 - 1)),
                dtype=model.dtype,
            )

    def _run_fits(self, model, starts, n_runs, X, sample_weight):
        """Fit from each start; install and return the best of the runs."""
        runs = (self._planned_run(model, state, X) for state in starts)
        run = next(runs)
        context = self._init_callback_context(
            max_subtasks=n_runs * self._tasks_left(run.state)
        )
        context.call_on_fit_task_begin(**self._hooks(X))
        with self._workers(model) as workers:
            fit_one = functools.partial(
                self._run_fit, model, workers, X, sample_weight, context
            )
            if n_runs == 1:
                fit_one(run)
            else:
                runs = itertools.chain([run], runs)
                run = self._best_run(model, workers, X, sample_weight, runs, fit_one)
            self._finish(model, run.state, workers, X, sample_weight)
        context.call_on_fit_task_end(**self._hooks(X), **self._snapshot())
        return run

    def _best_run(self, model, workers, X, sample_weight, runs, fit_one):
        """Fit each of the runs; whatever ends this, the best completed one stays."""
        best, best_bound = None, -math.inf
        for number, run in enumerate(runs, 1):
            try:
                fit_one(run)
                globals_, hyper = run.state.globals_, run.state.hyper
                bound = evidence_bound(
                    model, globals_, hyper, workers, X, sample_weight
                )
                self._log("fit %d of %d: lower bound %.10g", number, self.n_init, bound)
                if best is None or bound > best_bound:
                    best, best_bound = run, bound
            finally:
                if best is not None:
                    workers.run_whole(
                        functools.partial(self._install, best.state, best.policies)
                    )
        return best

    def _planned_run(self, model, state, X):
        """Return the run that goes on from ``state``."""
        train, validation = self._split(X.shape[0], state.seed)
        state.batch_size = min(
            self._resolve_batch_size(model, X, len(train)), len(train)
        )
        if state.steps == 0:
            per_pass = math.ceil(len(train) / state.batch_size)
            state.plan = Plan(
                per_pass * self.max_iter, per_pass, model.auto_temperature(state.hyper)
            )
        everything = self.batch_size is None
        policies = self._resolve_policies(
            state, ConstantRate(1.0) if everything else RobbinsMonro()
        )
        self._start_policies(state, policies, model)
        for phase in policies.moves.phases():
            phase.check(model)
        self._plan_passes(state, X.shape[0], policies.moves)
        return _Run(state, policies, train, validation)

    def _tasks_left(self, state):
        """Return how many passes and moves the plan still has."""
        return state.planned_passes - state.passes + sum(state.moves_left)

    def _run_fit(self, model, workers, X, sample_weight, context, run):
        task, stopped = None, False

        def begin(name):
            nonlocal task
            task = context.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self._hooks(X))

        def end():
            nonlocal stopped
            stopped = task.call_on_fit_task_end(**self._hooks(X), **self._snapshot())
            return stopped

        def after_pass():
            over = self._evaluate(model, run, workers, X)
            self._log_pass(run.state)
            if abs(state.bound_change) < self.tol:
                state.planned_passes = state.passes  # converged
            return end() or over

        def after_move(bound, kept):
            self._log("move: %s, lower bound %.10g", "kept" if kept else "no", bound)
            return end()

        state, policies = run.state, run.policies
        if state.planned_passes == 0:  # max_iter=0
            workers.run_whole(functools.partial(self._install, state, policies))
            return
        loop = model, policies, state, workers, X, run.train
        shared = {
            "sample_weight": sample_weight,
            "on_commit": lambda: self._install(state, policies),
        }
        run_passes(
            *loop,
            shuffle=self.shuffle,
            total=self.total_samples,
            before_pass=lambda: begin("pass"),
            after_pass=after_pass,
            **shared,
        )
        self._keep_the_best_state(run)
        hot = state.temperature != 1.0
        run.moves_were_hot = any(state.moves_left) and hot and not stopped
        if not stopped and not hot:
            run_moves(
                *loop,
                total=self.total_samples or len(run.train),
                least_gain=self.tol,
                before_move=lambda: begin("move"),
                after_move=after_move,
                **shared,
            )
        if not self._tasks_left(state):
            state.local = None  # of use only to an unfinished plan

    def _hooks(self, X):
        """Return what every hook of a callback may ask for."""
        return {"estimator": self, "X": X, "y": lambda: np.zeros(X.shape[0])}

    def _snapshot(self):
        """Return what makes a copy of the estimator as it is now."""
        return {
            "reconstruction_attributes": lambda: {"state_": copy.deepcopy(self.state_)}
        }

    def _keep_the_best_state(self, run):
        """End a fit that was evaluated: its best state is the model, its plan over."""
        state = run.state
        if self.n_iter_no_change is None:
            return
        if state.best is None:
            run.compared = False
            return
        state.globals_, state.hyper = state.best["globals_"], state.best["hyper"]
        if state.best["failures"] >= self.n_iter_no_change:
            state.planned_passes = state.passes
        state.best = None

    def _evaluate(self, model, run, workers, X):
        """Note the held-out score if it is due; return whether to stop early."""
        state, tempering = run.state, run.policies.tempering
        if len(run.validation) == 0 or state.passes % max(self.evaluate_every, 1):
            return False
        prepared = model.prepare(state.globals_, state.hyper)
        parts = map_blocks(
            model,
            workers,
            X,
            lambda block: model.log_predictive(block, prepared),
            run.validation,
        )
        scores, n_held_out = (
            sum(map(np.sum, part)) for part in zip(*parts, strict=True)
        )
        score = float(scores / n_held_out) if n_held_out else math.nan
        state.history.add_score(score)
        if self.n_iter_no_change is None:
            return False
        clock = state.clock(self.total_samples or len(run.train))
        settled = tempering.is_settled(state.tempering, clock)
        return is_over(
            state,
            score,
            settled and (state.temperature == 1.0 or not tempering.cools),
            self.n_iter_no_change,
            self.tol,
        )

    def _resolve_batch_size(self, model, X, total):
        if self.batch_size is None:
            return X.shape[0]
        if self.batch_size == "auto":
            return model.auto_batch_size(X, total)
        return self.batch_size

    def _plan_of_stream(self, model, state):
        temperature = model.auto_temperature(state.hyper)
        if self.total_samples is None:
            return Plan(temperature=temperature)
        per_pass = math.ceil(self.total_samples / state.batch_size)
        return Plan(per_pass, per_pass, temperature)

    def _size_of_pieces(self, state, n_rows):
        """Return the rows of a step: with "auto" a chunk is cut evenly."""
        if self.batch_size != "auto":
            return state.batch_size
        return math.ceil(n_rows / max(1, round(n_rows / state.batch_size)))

    def _plan_passes(self, state, n_rows, moves):
        """Plan `max_iter` passes, and moves, unless there is an unfinished plan.

        Moves that were planned, but are others now, or found the model hot, are not
        unfinished.
        """
        phases = moves.phases()
        if len(state.moves_left) != len(phases):
            state.moves_left = (0,) * len(phases)
        state.moves_left = tuple(
            min(left, phase.n_moves)
            for left, phase in zip(state.moves_left, phases, strict=True)
        )
        moves_wait = any(state.moves_left) and state.temperature == 1.0
        if state.passes >= state.planned_passes and not moves_wait:
            state.planned_passes = state.passes + self.max_iter
            state.moves_left = tuple(phase.n_moves for phase in moves.phases())
        if n_rows != state.total_rows:
            state.total_rows, state.batches_into_pass = n_rows, 0

    def _resolve_policies(self, state, default_rate):
        return Policies(
            self._tempering().validate().resolved(state.plan),
            as_learning_rate(self.learning_rate, default_rate).validate(),
            self._noise().validate().resolved(state.plan),
            self._moves().validate(),
        )

    def _start_policies(self, state, policies, model):
        """Give each policy a state of its own, unless it can go on from the present."""
        random = np.random.default_rng(
            np.random.SeedSequence(state.seed, spawn_key=(0, 2))
        )
        tempering, learning_rate = policies.tempering, policies.learning_rate
        if not tempering.knows(state.tempering):
            state.tempering = tempering.initial_state(model, state.hyper, random)
        if not learning_rate.knows(state.learning_rate):
            state.learning_rate = learning_rate.initial_state()

    def _install(self, state, policies):
        """Make a step visible: the last thing that a commit does."""
        self.state_ = state
        self.tempering_, self.learning_rate_, self.gradient_noise_ = policies[:3]
        self.batch_size_ = state.batch_size

    def _split(self, n_rows, seed):
        """Return the rows to train on and those to validate on, maybe none."""
        rows = np.arange(n_rows)
        if self.evaluate_every == 0 and self.n_iter_no_change is None:
            return rows, rows[:0]
        n_validation = max(1, round(self.validation_fraction * n_rows))
        if n_validation >= n_rows:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves none of "
                f"{n_rows} samples to train on."
            )
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 3)))
        held_out = np.sort(random.permutation(n_rows)[:n_validation])
        return np.delete(rows, held_out), held_out

    @contextlib.contextmanager
    def _as_before_if_it_raises(self):
        """Undo what validation wrote if no step of a new fit was completed."""
        before = {k: v for k, v in vars(self).items() if k.endswith("_")}
        try:
            yield
        except BaseException:
            if vars(self).get("state_") is before.get("state_"):
                for name in [k for k in vars(self) if k.endswith("_")]:
                    delattr(self, name)
                vars(self).update(before)
            raise

    def _validate_weight(self, sample_weight, X):
        if sample_weight is None:
            return None
        return checked_weights(
            _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        )

    def _workers(self, model):
        return Workers(effective_n_jobs(self.n_jobs), model.stop)

    def _warn_of_the_end(self, run):
        state = run.state
        if state.steps == 0:  # as was asked for
            return
        if not run.compared:
            warnings.warn(
                "n_iter_no_change had nothing to compare: no held-out score was taken "
                "at a settled temperature of 1. Raise max_iter or end the schedule at "
                "1.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if self.tempering_.cools and state.temperature > 1.0 + 1e-9:
            clock = state.clock(self.total_samples or state.total_rows)
            remedy = self.tempering_.remedy(state.tempering, clock)
            warnings.warn(
                f"The fit ended at temperature {state.temperature:.3g}, above 1, after "
                f"{state.steps} steps. {remedy}",
                ConvergenceWarning,
                stacklevel=5,
            )
        if run.moves_were_hot and not self.tempering_.cools:
            warnings.warn(
                "No moves were made: they wait for a temperature of 1, and the fit "
                f"ended at {state.temperature:.3g}.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if not self._noise_acted(run):
            warnings.warn(
                f"The effective batch size is at least that of the batch, "
                f"{state.batch_size}, at every step: the weights are 1 and the fit was "
                "plain.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if state.start_share > LARGEST_START_SHARE:
            warnings.warn(
                f"{state.start_share:.0%} of the start is left in the model after "
                f"{state.steps} steps. Raise max_iter, make batch_size smaller, or "
                "lower the offset of the learning rate.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if not self._came_to_rest(run):
            warnings.warn(
                f"The lower bound still changed by {state.bound_change:.3g} in the "
                f"last of {state.passes} passes: the fit did not converge. Raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _came_to_rest(self, run):
        """Return whether a fit converged, or need not."""
        return True

    def _noise_acted(self, run):
        """Return whether the largest of a pass's batches ever had weights but 1."""
        n_rows, total = len(run.train), self.total_samples or len(run.train)
        per_pass = math.ceil(n_rows / run.state.batch_size)
        clocks = (
            Clock(t, t * n_rows // per_pass, total) for t in range(run.state.steps)
        )
        return run.policies.gradient_noise.acts(math.ceil(n_rows / per_pass), clocks)

    def _log(self, message, *values):
        if not self.verbose:
            return
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
        logger.info(message, *values)

    def _log_pass(self, state):
        if not self.verbose or state.passes % getattr(self, "verbose_interval", 1):
            return
        history = self.history_
        score = history["heldout_score"][-1]
        self._log(
            "pass %d of %d: %d steps, %.1f s, temperature %.3g, rate %.3g, "
            "bound per observation %.4f%s",
            state.passes,
            state.planned_passes,
            state.steps,
            state.seconds,
            state.temperature,
            history["learning_rate"][-1],
            history["batch_bound"][-1],
            "" if np.isnan(score) else f", held-out score {score:.4f}",
        )

    # -- after fitting -----------------------------------------------------------------
    @contextlib.contextmanager
    def _at_work(self, X):
        """Yield the fitted model, threads, and ``X`` as the model takes it."""
        check_is_fitted(self, "state_")
        X = self._validate(X, reset=False)
        model = self._make_model(self.n_features_in_, self.state_.dtype)
        with self._workers(model) as workers:
            yield model, workers, X

    def _map(self, X, function):
        """Return ``function(model, block, prepared)`` of each block of ``X``."""
        with self._at_work(X) as (model, workers, X):
            prepared = model.prepare(self.state_.globals_, self.state_.hyper)
            return list(
                map_blocks(
                    model, workers, X, lambda block: function(model, block, prepared)
                )
            )

    def _local_parameters(self, X):
        """Return each row's local parameters at T=1."""
        return np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: (
                    model.local_step(
                        block, prepared, Powers(), want=("local",)
                    ).local_parameters
                ),
            )
        )

    def _log_predictive(self, X):
        parts = self._map(
            X, lambda model, block, prepared: model.log_predictive(block, prepared)
        )
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def score_samples(self, X):
        """Return each row's held-out predictive log-likelihood at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; 0.0 where nothing is held out.
        """
        return self._log_predictive(X)[0]

    def score(self, X, y=None):
        """Return the held-out log-likelihood per held-out unit at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Ignored; here by scikit-learn's convention.

        Returns
        -------
        score : float
            In nats per token, sample or rating: comparable between data sets of
            different size; higher is better.

        Raises
        ------
        ValueError
            If nothing at all is held out.
        """
        scores, n_held_out = self._log_predictive(X)
        total = n_held_out.sum()
        if total == 0:
            raise ValueError(
                "Nothing is held out to be scored: no row of X has enough to split "
                "into an observed and a held-out half, or has a value at all."
            )
        return float(scores.sum() / total)

    @available_if(_has_sample_temperatures)
    def temperatures(self, X):
        """Return each sample's temperature, inferred under the fitted model.

        The worse the model explains a sample, the hotter it is: outliers are hottest.
        Only for a tempering that gives samples temperatures of their own, such as
        `sktemper.tempering.LocalTempering`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            1 / b_d, from 1 to the top of ``tempering_.ladder()``; for a sample of
            which nothing is observed that of the prior over temperatures.

        Raises
        ------
        AttributeError
            If the tempering has no temperatures of samples.
        """
        check_is_fitted(self, "state_")
        tempering, state = self.tempering_, self.state_.tempering
        return np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: tempering.sample_temperatures(
                    model, block, prepared, state
                ),
            )
        )

    def lower_bound(self, X):
        """Return the evidence lower bound of ``X`` at T=1, with every constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Taken as all of the data: pass what the model was fitted to.

        Returns
        -------
        bound : float
            In nats, a bound on log p(X): what a better optimum has more of.
        """
        with self._at_work(X) as (model, workers, valid):
            state = self.state_
            return evidence_bound(model, state.globals_, state.hyper, workers, valid)

    # -- views of the state ------------------------------------------------------------
    @property
    def n_iter_(self):
        """Passes over the data completed by `fit`."""
        return self._state().passes

    @property
    def n_batch_iter_(self):
        """Steps completed."""
        return self._state().steps

    @property
    def n_samples_seen_(self):
        """Samples seen, repeats included."""
        return self._state().samples

    @property
    def temperature_(self):
        """Temperature of the last step."""
        return self._state().temperature

    @property
    def history_(self):
        """What happened, as a dict of arrays; see `sktemper.inference.History`."""
        return self._state().history.to_dict()

    def _state(self):
        try:
            return vars(self)["state_"]
        except KeyError:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet."
            ) from None


def validate_counts(estimator, X, reset):
    """Validate a matrix of counts, CSR or dense; integers stay integers."""
    X = validated(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype="numeric",
        ensure_non_negative=True,
    )
    counts = X.data if issparse(X) else X
    if X.dtype.kind == "f" and float(counts.max(initial=0)) > LARGEST_COUNT:
        raise ValueError(
            f"{type(estimator).__name__} takes no counts above {LARGEST_COUNT:g}."
        )
    return X
