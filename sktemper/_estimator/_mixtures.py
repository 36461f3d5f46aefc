"""Common parts of the estimators of mixtures, whose samples have one component each."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy
from sklearn.base import DensityMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state

from .._utils._arguments import check_interval, is_integer, refuse
from .._utils._cache import twin
from .._utils._docstrings import completed_by
from .._utils._frames import frame_of_rows, is_frame
from .._utils._results import copy_fit, new_estimator
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float
from .._utils._validation import check_prior, check_unmasked
from ..model import LocalStep, Request
from ..moves import Moves, NoMoves
from ._choices import choices_of
from ._data_checks import rows_repeat
from ._end_of_fit import has_converged
from ._estimator import Estimator, TemperedEstimator
from ._problems import check_rows, tempered_fits, weights_of_rows
from ._streams import alarms, clear_memory, renewals, stream_history

ChosenMoves = Moves | Literal["birth", "split_merge", "all"] | None
#: A component is active if its total responsibility is above this value.
ACTIVE = 0.5
#: Largest number of samples that numpy can draw.
MOST_DRAWN = np.iinfo("l").max


def check_n_samples(n_samples):
    if not is_integer(n_samples) or n_samples > MOST_DRAWN:
        refuse("n_samples", f"an int from 1 to {MOST_DRAWN}", n_samples)
    if n_samples < 1:
        raise ValueError(
            f"Invalid value for 'n_samples': {n_samples} . The sampling requires at "
            "least one sample."
        )


def _numeric_labels(labels):
    """Return labels as an array of numbers without gaps, or raise."""
    check_unmasked(labels, "labels", may_be_nan=False)
    given = np.asarray(labels)
    values = given.flat if given.dtype.kind == "O" else given.ravel()[:1]
    wrong = [v for v in values if isinstance(v, bool | np.bool_ | str | bytes)]
    if wrong:
        raise ValueError(
            "labels must be numbers, indices or probabilities of components, got "
            f"values such as {wrong[0]!r}."
        )
    labels = check_array(
        labels,
        ensure_2d=False,
        dtype="numeric",
        ensure_all_finite="allow-nan",
        input_name="labels",
    )
    if np.isnan(labels).any():
        raise ValueError(
            "labels contains NaN: if the component of a sample is unknown, use the "
            "index -1, or equal probabilities."
        )
    return labels


def check_enough_samples(self, data):
    """Raise if there are fewer samples than components."""
    if len(data) < self.n_components:
        raise ValueError(
            "Expected n_samples >= n_components but got n_components = "
            f"{self.n_components}, n_samples = {len(data)}"
        )


def model_of(make, settings, n_features, dtype, **options):
    """Return the model of a class ``make`` for parameters of a mixture."""
    if settings.feature_prior != "auto":
        check_prior(settings.feature_prior, "feature_prior")
    check_prior(settings.weight_concentration_prior, "weight_concentration_prior")
    return make(
        settings.n_components,
        n_features,
        dtype=dtype,
        feature_prior=settings.feature_prior,
        weight_concentration=settings.weight_concentration_prior,
        **options,
    )


# -- methods that mixtures share with other models whose samples have a density --------
@property
def plain_is_better(self) -> bool:
    """Whether a plain fit was better than an annealed one, and was kept."""
    return self._state().plain_is_better


def bic(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the Bayesian information criterion for data; lower is better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data as in `fit`.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts.

    Returns
    -------
    bic : float
        Criterion with `score_samples` as the log-likelihood, and `n_parameters_`.
    """
    deviance, total = _deviance(self, X, sample_weight)
    return deviance + self.n_parameters_ * float(np.log(total))


@completed_by(bic)
def aic(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the Akaike information criterion for data; lower is better.

    Returns
    -------
    aic : float
        Criterion with `score_samples` as the log-likelihood, and `n_parameters_`.
    """
    return _deviance(self, X, sample_weight)[0] + 2.0 * self.n_parameters_


def _deviance(estimator, X, sample_weight):
    """Return minus twice the log-likelihood, and the number of samples."""
    check_rows(estimator, X, sample_weight)
    scores = estimator.score_samples(X)
    weight = weights_of_rows(sample_weight, scores)
    return float(-2.0 * (weight @ scores)), float(weight.sum())


# -- mixtures -------------------------------------------------------------------------
#: With more components than this, some should stay empty.
FEW_COMPONENTS = 5


def about_components(estimator, run):
    """Return the warning that `_finish` has stored, or one if no component is empty."""
    n_components, moves = estimator.n_components, run.state.moves
    if run.advice is not None or moves is None or not moves.n_proposed:
        return run.advice
    n_active = estimator.n_active_components_
    if n_components <= FEW_COMPONENTS or n_active < n_components:
        return None
    return (
        f"All {n_components} components are in use, so that the data may have more "
        "clusters: raise n_components until some components stay empty. If this never "
        f"happens, {estimator._other_distributions}."
    )


class MixtureMixin(TransformerMixin, DensityMixin):
    """Mixin of estimators of mixtures: responsibilities and labels.

    Local parameters are responsibilities.  The model and its global parameters have an
    attribute ``weights``.  The page :doc:`/own_model` has an example.

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components, more than you expect: unneeded ones stay empty.
    weight_concentration_prior : float, default=None
        Concentration of the Dirichlet prior of the weights, at least 1e-12; smaller for
        fewer components.  None is ``1 / n_components``.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.
    """

    weight_concentration_prior: Float | None = None
    moves: ChosenMoves = None

    _end_of_fit_checks = (about_components,)
    #: What to do if no number of components is enough.
    _other_distributions = "clusters do not have these distributions"
    plain_is_better_ = plain_is_better
    clear_memory, alarms_ = clear_memory, alarms
    stream_history_, renewals_ = stream_history, renewals

    def _moves(self):
        """Return the policy for moves; a single component has none."""
        moves = super()._moves()
        if self.n_components > 1:
            return moves
        moves.validate()
        return NoMoves()

    def fit(
        self: Estimator,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: DataLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Estimator:
        """Fit the mixture to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, or data in parts: a list of arrays or sparse matrices with
            the same columns, or a collection on disk, see
            `sktemper.datasets.open_counts`.
        y : None
            Ignored, except that callbacks get it, and searches score by it.
        labels : array-like of shape (n_samples,) or (n_samples, n_components), \
                default=None
            Known components of samples: indices, -1 if unknown, or probabilities,
            which multiply the prior weights.  Components without labels are free.  A
            fit that continues by ``warm_start`` needs the same labels again.  The
            refits of ``bootstrap_profiles``, ``bootstrap_n_components`` and
            ``bootstrap_lrt`` have no labels.

        Raises
        ------
        ValueError
            If data, labels or parameters are invalid.

        Warns
        -----
        UserWarning
            If weights leave at most one row for each component, or are all equal and
            not 1.
        ConvergenceWarning
            If the fit ended above T=1, or for another reason that the message states.

        Notes
        -----
        At the end, components are sorted by size, the largest first, also after a start
        at ``means_init``, but not with ``priors="scikit-learn"``.  With ``labels``,
        component k is that of label k instead, and samples with a label stay in their
        component, also in moves.  A fit that extends a finished plan by ``warm_start``
        keeps the order, except for moves, which may exchange components.

        An error leaves an earlier fit as it was.  After Ctrl-C, the estimator has the
        state after the last complete step or, with ``n_init > 1``, the best of the
        completed fits if there is one.
        """
        continued = self.warm_start and hasattr(self, "state_")
        return self._fit(X, y, sample_weight, continued, X_val, labels)

    def _checked_labels(self, labels, data):
        """Return valid labels of `Data`, indices or probabilities; None if unknown."""
        labels = _numeric_labels(labels)
        n_samples, K = len(data), self.n_components
        if labels.shape not in ((n_samples,), (n_samples, K)):
            raise ValueError(
                f"labels has shape {labels.shape}; expected ({n_samples},), or "
                f"({n_samples}, {K}) for probabilities."
            )
        if labels.ndim == 2:
            labels = labels.astype(np.float64, copy=False)
            if (labels < 0).any() or not np.allclose(labels.sum(axis=1), 1.0):
                raise ValueError(
                    "labels with a column for each component are probabilities: they "
                    "must not be negative, and rows must sum to 1."
                )
            return labels if np.ptp(labels, axis=1).any() else None
        indices = labels.astype(np.intp)
        if (indices != labels).any() or indices.min() < -1 or indices.max() >= K:
            raise ValueError(
                f"labels must be indices of components, from 0 to {K - 1}, or -1."
            )
        return indices if (indices >= 0).any() else None

    def _finish(self, problem, state):
        model, known = problem.model, problem.labels
        prepared = self._prepared(model)
        found = problem.sum(_labels_and_bounds, prepared, values=known)
        labels, bounds = map(np.concatenate, zip(*found.kept, strict=True))
        bound = found.bound
        if problem.row_weight is not None or known is not None:
            bound = problem.weighted_sum(bounds)
        bound = float(bound + model.global_bound(state.globals_, state.hyper))
        state.choices = twin(state.choices, labels_and_bound=(labels, bound))

    def _advice(self, problem, state):
        return rows_repeat(self, problem)

    def predict_proba(self, X: DataLike) -> np.ndarray:
        """Return the responsibility of each component for each sample, a probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return self._local_parameters(X).astype(self.state_.dtype, copy=False)

    def transform(self, X: DataLike) -> np.ndarray:
        """Return the responsibilities of the components, for pipelines.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return self.predict_proba(X)

    def predict(self, X: DataLike) -> np.ndarray:
        """Return the most probable component of each sample.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components.
        """
        return self.predict_proba(X).argmax(axis=1)

    def fit_predict(
        self,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: DataLike | None = None,
        labels: ArrayLike | None = None,
    ) -> np.ndarray:
        """Fit the mixture and return the labels of the same samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            As in `fit`.
        labels : array-like of shape (n_samples,) or (n_samples, n_components), \
                default=None
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components, as in `labels_`.
        """
        parameters = {"sample_weight": sample_weight, "X_val": X_val, "labels": labels}
        return self.fit(X, y, **parameters).labels_

    # DensityMixin.score does nothing
    score: Callable[..., float] = TemperedEstimator.score

    @property
    def labels_(self) -> np.ndarray:
        """Component of each sample of the last `fit` or `partial_fit`, ndarray."""
        return _training_results(self)[0]

    @property
    def lower_bound_(self) -> float:
        """Evidence lower bound of the training data at T=1, with all constants."""
        return _training_results(self)[1]

    @property
    def weights_(self) -> np.ndarray:
        """Posterior means of the weights, ndarray (n_components,)."""
        state, weights = self._state(), self._fitted_model().weights
        return weights.mean(state.globals_.weights).astype(state.dtype)

    @property
    def weight_concentration_(self) -> np.ndarray | tuple:
        """Dirichlet parameters, or a tuple of the two Beta parameters of the sticks."""
        weights = self._fitted_model().weights
        return weights.concentration(self._state().globals_.weights)

    @property
    def weight_concentration_prior_(self) -> float:
        """Concentration of the prior of the weights."""
        return self._state().hyper.weight_concentration

    @property
    def converged_(self) -> bool:
        """Whether more passes would raise the lower bound by at most ``tol`` per row.

        It is known after a `fit` with ``batch_size=None``.
        """
        return self._has_converged(self._state())

    def _has_converged(self, state):
        # a slow rise may end with fewer components
        return has_converged(self, state, state.convergence.gain_left)

    @property
    def lower_bounds_(self) -> list[float]:
        """Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``."""
        bounds = self.history_["lower_bound"]
        return bounds[~np.isnan(bounds)].tolist()

    @property
    def n_active_components_(self) -> int:
        """Number of components whose total responsibility is above 0.5."""
        return len(active_components(self))

    # -- profiles of classes -----------------------------------------------------------
    def profiles(
        self, interval: Float = 0.95, output: Literal["pandas", "polars"] = "pandas"
    ) -> DataFrame:
        """Return a table of the answers of each class.

        Parameters
        ----------
        interval : float, default=0.95
            Posterior probability of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        profiles : DataFrame
            A row for each class, column of the data, and option.  "class" is the index
            of the component, "size" its weight, "item" the column, and "kind" the kind
            of the column.  "option" is a category or an interval, "mean" or "sd" of
            numbers, "median" of numbers and "log sd" of their logarithms, "rate" of
            counts of events, or "share" of a word.  "mean" is the posterior mean of the
            probability or number, and "low" and "high" are the ends of its interval.
            Components without samples have no rows.

        Notes
        -----
        The intervals do not include the uncertainty of the classes of samples.
        Therefore they are too narrow if classes overlap.
        `sktemper.model_selection.bootstrap_profiles` includes this uncertainty.
        """
        self._check_fitted()
        check_interval(interval)
        tails = 0.5 * (1.0 - interval), 0.5 * (1.0 + interval)
        weights = self.weights_
        names = "class", "size", "item", "kind", "option", "mean", "low", "high"
        rows = [
            (k, float(weights[k]), *one)
            for k in active_components(self).tolist()
            for one in self._profiles(k, tails)
        ]
        return frame_of_rows(output, names, rows)

    def _profiles(self, k, tails):
        """Yield item, kind, option, mean and ends of the interval, for a class."""
        raise NotImplementedError(f"{type(self).__name__} has no _profiles.")

    def _refitted(self, X, sample_weight, seed, **same):
        """Return a mixture of the same type fitted to weighted rows.

        ``same`` has attributes that it takes over from this mixture.
        """
        other = new_estimator(clone(self), random_state=seed, **same)
        return other.fit(X, sample_weight=sample_weight)

    _tempered_fits = tempered_fits

    # -- criteria ----------------------------------------------------------------------
    bic, aic = bic, aic

    def entropy_r2(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
        """Return how well the classes are separated, from 0 to 1.

        Returns
        -------
        entropy_r2 : float
            One minus the mean entropy of the class probabilities of samples, divided by
            the logarithm of the number of classes with samples; 1.0 for one class.
        """
        entropy, total = _entropy(self, X, sample_weight)
        n_classes = self.n_active_components_
        return 1.0 if n_classes < 2 else 1.0 - entropy / (total * np.log(n_classes))

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters of the classes that have samples."""
        n_classes = self.n_active_components_
        return int(self._n_parameters(n_classes)) + n_classes - 1

    def _n_parameters(self, n_classes):
        """Return the number of free parameters of the distributions of classes."""
        raise NotImplementedError(f"{type(self).__name__} has no _n_parameters.")

    def icl(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the integrated completed likelihood criterion; lower is better.

        Returns
        -------
        icl : float
            `bic` plus twice the sum of the entropies of the class probabilities.  It
            prefers classes that are well separated.
        """
        return self.bic(X, sample_weight) + 2.0 * _entropy(self, X, sample_weight)[0]

    # -- samples -----------------------------------------------------------------------
    def _drawn_rows(self, X, seed):
        source = copy_fit(self, random_state=seed)
        rows, _ = source.sample(X.shape[0])
        if not is_frame(rows):  # a sample has no names to be checked
            vars(source).pop("feature_names_in_", None)
        return np.array(source._validate(rows, reset=False))

    def _draw_components(self, n_samples):
        """Return the sorted components of new samples, and a random generator.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.
        """
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        shares = weights / weights.sum()
        return np.sort(random.choice(len(shares), n_samples, p=shares)), random


def active_components(mixture):
    """Return the indices of the active components."""
    state, weights = mixture._state(), mixture._fitted_model().weights
    prior = weights.prior(state.hyper.weight_concentration)
    return np.flatnonzero(weights.counts(state.globals_.weights - prior) > ACTIVE)


def _training_results(mixture):
    mixture._state()
    results = choices_of(mixture).labels_and_bound
    if results is None:
        raise NotFittedError(
            f"The last fit of this {type(mixture).__name__} was not completed: it has "
            "neither labels_ nor lower_bound_. Use predict and lower_bound(X)."
        )
    return results


def _entropy(mixture, X, sample_weight):
    """Return the sum of the entropies of samples, and their number."""
    check_rows(mixture, X, sample_weight)
    shares = mixture.predict_proba(X).astype(np.float64)
    weight = weights_of_rows(sample_weight, shares)
    return float(-weight @ xlogy(shares, shares).sum(axis=1)), weight.sum()


def _labels_and_bounds(model, block, prepared, labels=None):
    request = Request(want=("bound", "local"), labels=labels)
    step = model.local_step(block, prepared, request)
    of_rows = step.local_parameters.argmax(axis=1), step.row_bounds
    return LocalStep(0.0, bound=step.bound, kept=(of_rows,))
