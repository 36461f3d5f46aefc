"""The base class of all estimators: parameters, `fit` and `partial_fit`."""

import copy
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval, WholeNumber
from .._data import data_of
from .._loop import QUIETLY, InlineWorkers, Problem, State, Workers, threads_for
from .._policy import Slot, SlotsMixin
from .._sklearn import CallbackSupportMixin, with_callbacks
from ..learning_rates import RobbinsMonro, as_learning_rate
from ..model import IllDefined, all_finite
from ..moves import as_moves
from ..noise import as_noise
from ..renewals import as_renewals
from ..tempering import as_tempering
from ._end_of_fit import largest_final_change, warn_of_the_end
from ._fit_runs import run_fits
from ._fitted_methods import FittedMethodsMixin
from ._pickles import NOT_PICKLED, PicklesMixin, writable
from ._ready import ReadyModel
from ._streams import StreamsMixin

__all__ = ["TemperedEstimator"]

#: Largest integer up to which floats represent every integer.
MOST_SAMPLES = 2**53


class TemperedEstimator(
    FittedMethodsMixin,
    StreamsMixin,
    PicklesMixin,
    CallbackSupportMixin,
    SlotsMixin,
    BaseEstimator,
):
    """Base of estimators that fit a `ConjugateModel` under any policies.

    A subclass defines `_make_model`, which builds the model, and `_validate`, which
    validates data.  A subclass with a fixed policy also defines the method of this
    policy, such as `_tempering`.  A constructor may omit parameters if it does not need
    values other than the defaults below.
    """

    # defaults of parameters that a constructor may omit
    tempering = learning_rate = gradient_noise = moves = None
    n_init, max_iter, batch_size, total_samples = 1, 10, "auto", None
    shuffle, evaluate_every, validation_fraction = True, 0, 0.1
    n_iter_no_change, tol = None, 1e-3
    half_life, renewals = None, "auto"
    warm_start, n_jobs, random_state, verbose = False, None, None, 0

    _slots = {
        "tempering": Slot(as_tempering, True, "sktemper.tempering.Annealing()"),
        "learning_rate": Slot(lambda value: as_learning_rate(value, RobbinsMonro())),
        "gradient_noise": Slot(as_noise, True, "sktemper.noise.SVIPlusNoise()"),
        "moves": Slot(as_moves, True, "sktemper.moves.BirthMoves()"),
        "renewals": Slot(as_renewals, True, "sktemper.renewals.Renewals()"),
    }
    _parameter_constraints: dict = {
        "n_components": [WholeNumber(1)],
        "tempering": "no_validation",
        "learning_rate": "no_validation",
        "gradient_noise": "no_validation",
        "moves": "no_validation",
        "half_life": "no_validation",
        "renewals": "no_validation",
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "total_samples": [Interval(Integral, 1, MOST_SAMPLES, closed="both"), None],
        "evaluate_every": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # -- for subclasses ----------------------------------------------------------------
    #: Names of the parameters that define the model.  A fit cannot continue after one
    #: of these parameters changed, and a fitted model keeps the values of its fit.
    _fixed_by_fit = ()

    def _make_model(self, n_features, dtype):
        """Return the `ConjugateModel` of these parameters."""
        raise NotImplementedError

    def _validate(self, X, reset):
        """Return ``X`` in the form that the model needs, or raise an error."""
        raise NotImplementedError

    def _validate_training(self, X, reset):
        """Return training data in the form that the model needs, or raise an error."""
        return self._validate(X, reset)

    #: Further checks at the end of a fit, see `_end_of_fit`.
    _end_of_fit_checks = ()

    #: Least number of samples of a fit, or of the first chunk of a stream.
    _min_samples = 1

    def _check_enough(self, data):
        """Raise if the `Data` of a `fit` are too few; not called for a stream."""

    def _prepare_fit(self, data, sample_weight):
        """Choose parameters from the `Data` of a `fit`; not called for a stream."""

    def _check_weighted(self, X, sample_weight):
        """Raise if valid data cannot have these weights."""

    def _finish(self, problem, state):
        """Store results for the training rows, at the end of a fit."""

    def _inspect_training_data(self, data, fresh):
        """Warn if training data look wrong, alone or in comparison to earlier data."""

    def _is_logged(self, passes):
        """Return whether a verbose fit logs a line after this number of passes."""
        return True

    def _largest_final_change(self, run):
        """Return the largest last change of the lower bound of a converged fit."""
        return largest_final_change(self, run)

    def _compute_dtype(self, X):
        """Return the dtype of kernels and public arrays for these data."""
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _dtype_for(self, X, reset):
        """Return the dtype of computations with data during their validation."""
        if reset:
            return self._compute_dtype(X)
        dtype = vars(self).get("training_dtype_")
        return self.state_.dtype if dtype is None else dtype

    def _tempering(self):
        """Return the tempering policy, in which "auto" is not yet resolved."""
        return as_tempering(self.tempering)

    def _noise(self):
        """Return the noise policy, in which "auto" is not yet resolved."""
        return as_noise(self.gradient_noise)

    def _moves(self):
        """Return the policy for moves."""
        return as_moves(self.moves)

    # -- fitting -----------------------------------------------------------------------
    def fit(self, X, y=None, sample_weight=None, *, X_val=None):
        """Fit the model to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, which are never changed and never copied as a whole.  All
            methods also accept data in parts: a list of arrays or sparse matrices with
            the same columns, or a collection on disk, see
            `sktemper.datasets.open_counts`.
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their statistics are multiplied.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Validation data, of any kind that ``X`` may have.  They are scored after
            each ``evaluate_every`` passes, or after each pass if that is 0.  All of
            ``X`` is then used for training, and ``validation_fraction`` is ignored.  A
            fit that continues by ``warm_start`` needs the same ``X_val`` again.

        Returns
        -------
        self : object
            The estimator with the best of ``n_init`` fits.  With ``warm_start=True``,
            an earlier fit continues instead: an interrupted plan of ``max_iter`` passes
            is finished, or a finished plan is extended by ``max_iter`` passes.  The
            temperature and the learning rate continue too.

        Raises
        ------
        ValueError
            If data or parameters are invalid.  An earlier fit is then left unchanged.

        Warns
        -----
        ConvergenceWarning
            If the fit ended above T=1, if much of its random start is left, or for
            another reason that the message states, such as empty or equal topics.

        Notes
        -----
        Sums over the samples are computed part by part, so that results for the same
        data in other parts differ by rounding.  The start of a fit to data in parts is
        computed from at most 100,000 rows, taken at even distances.

        With ``n_init > 1`` the fits run one after another.  If a callback or
        ``n_iter_no_change`` stops a fit, the next fit starts.  After Ctrl-C or an error
        in the first fit, the estimator has the state after the last complete step.  In
        a later fit, it has the best of the completed fits.
        """
        continued = self.warm_start and hasattr(self, "state_")
        return self._fit(X, sample_weight, continued, X_val)

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, sample_weight, continued, X_val=None):
        """Start a fit, or continue an earlier fit."""
        other = self._apart()
        other._warned = {"hot": True}  # callbacks may use a model above T=1
        try:
            data = other._training_data(X, not continued, sample_weight)
            if not continued:
                other._check_enough(data)
                other._prepare_fit(data, sample_weight)
            problem = other._problem(data, sample_weight, fresh=not continued)
            problem = other._with_validation(problem, X_val, fresh=not continued)
            if continued:
                state = other._state_to_go_on_from()
                # a score may be added before the first step is committed
                state.history = copy.deepcopy(state.history)
                starts, n_runs = iter([state]), 1
            else:
                starts, n_runs = other._starts(problem), self.n_init
            other._forgetting_rate()
            run = run_fits(self, other, problem, starts, n_runs)
            other._remember_fit(problem, run.state)
            self._publish(other)
        except BaseException:
            other._warned.clear()
            raise
        warn_of_the_end(other, run)
        return self

    def _apart(self):
        """Return a copy, in which a fit sets its attributes before it publishes them.

        Until then, this estimator is unchanged: after an error, and for other threads.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def _publish(self, other):
        """Take the fitted attributes of a copy, all at once; the end of a commit."""
        kept = {k: v for k, v in vars(self).items() if not _is_fitted(k)}
        theirs = {k: v for k, v in vars(other).items() if _is_fitted(k)}
        # one assignment, so that two threads never leave parts of two fits
        self.__dict__ = kept | theirs

    def _training_data(self, X, fresh, sample_weight):
        """Return validated training `Data`."""
        data = data_of(X, self._validation(X, "_validate_training", reset=fresh))
        if fresh:
            self._names_ = data.feature_names
        else:
            self._check_names(data)
        if fresh and len(data) < self._min_samples:
            raise ValueError(
                f"Found array with {len(data)} sample(s) (shape={data.shape}) while a "
                f"minimum of {self._min_samples} is required by "
                f"{type(self).__name__}."
            )
        self._inspect_training_data(data, fresh)
        return data

    def _problem(self, data, sample_weight, fresh, inline=False):
        """Return the `Problem` of validated data.

        If ``inline`` is True, the calling thread computes, with the cached model for
        calls with few rows.
        """
        sample_weight = self._validate_weight(sample_weight, data)
        for matrix in data.validated:
            self._check_weighted(matrix, sample_weight)
        if not fresh:
            self._check_fixed()
        dtype = self._compute_dtype(data) if fresh else self.state_.dtype
        ready = vars(self).get("_ready") if inline else None
        if ready is None:
            model = self._make_model(data.shape[1], dtype)
        else:
            model = ready.model(self)
        return Problem(
            model,
            data,
            self._workers(model, data, InlineWorkers if inline else Workers),
            sample_weight,
            total_samples=self.total_samples,
        )

    def _with_validation(self, problem, X_val, fresh):
        """Return the problem with the validation data of the user, if given."""
        if X_val is None:
            return problem
        other = object.__new__(type(self))
        vars(other).update(vars(self), training_dtype_=problem.model.dtype)
        if fresh:  # an earlier fit does not restrict the validation data
            vars(other).pop("state_", None)
        try:
            data = data_of(X_val, other._validation(X_val, "_validate", reset=False))
            other._check_names(data)
            for matrix in data.validated:
                self._check_weighted(matrix, None)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"X_val cannot be scored: {error}") from error
        workers = self._workers(problem.model, data)
        return replace(problem, validation=Problem(problem.model, data, workers))

    def _fixed(self):
        """Return the current values of the parameters that define the model."""
        return {name: getattr(self, name) for name in self._fixed_by_fit}

    def _check_fixed(self):
        """Raise if a parameter that defines the model changed since the fit began."""
        now, then = self._fixed(), self.state_.fixed or {}
        changed = [name for name in then if not np.array_equal(now[name], then[name])]
        if changed:
            raise ValueError(
                f"{', '.join(changed)} changed since the model was fitted, and cannot "
                "change in a fit that continues: restore the earlier value, or start a "
                "new fit with warm_start=False."
            )

    def _state_to_go_on_from(self):
        """Return a copy of the state in which no array is read-only."""
        state = self.state_.copied()
        return writable(state) if self._loaded else state

    def _starts(self, problem):
        """Yield the states of new starts, from the same stream of random numbers."""
        model, (X, sample_weight) = problem.model, problem.sample
        random = check_random_state(self.random_state)
        with QUIETLY():
            hyper = model.initial_hyper(X, sample_weight)
        if not all_finite(hyper):
            raise IllDefined()
        for _ in range(self.n_init):
            with QUIETLY():
                globals_ = model.initial_globals(X, random, hyper, sample_weight)
            yield State(
                globals_=globals_,
                hyper=hyper,
                seed=int(random.randint(2**31 - 1)),
                dtype=model.dtype,
                n_features=problem.data.shape[1],
                fixed=copy.deepcopy(self._fixed()),
            )

    def _install(self, state, policies):
        """Set the attributes of a fit; `_publish` follows."""
        self.state_ = state
        vars(self).pop("_loaded", None)
        vars(self).setdefault("_ready", ReadyModel())
        self.tempering_, self.learning_rate_, self.gradient_noise_ = policies[:3]
        self.batch_size_ = state.policies.batch_size

    def _workers(self, model, data, threads=Workers):
        n_jobs = 1 if threads is InlineWorkers else effective_n_jobs(self.n_jobs)
        return data.workers(threads, threads_for(n_jobs, model, data), model.stop)


def _is_fitted(name):
    """Return whether a fit sets the attribute of this name."""
    return name.endswith("_") or name in NOT_PICKLED
