"""The estimators of the Gaussian mixture."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from scipy import stats
from scipy.special import softmax
from sklearn.utils import check_random_state

from .._engine._data import QUIETLY, Source, matrices_of, with_weight
from .._estimator._choices import choices_of, choose
from .._estimator._conditional import component_scores, conditional
from .._estimator._constructors import Annealed, Streaming
from .._estimator._data_checks import (
    check_columns,
    check_first_columns,
    labelled_columns,
)
from .._estimator._end_of_fit import log
from .._estimator._estimator import TemperedEstimator
from .._estimator._mixtures import ChosenMoves, MixtureMixin, check_enough_samples
from .._estimator._problems import validated_weight
from .._estimator._variants import AnnealedMixin, SVIPlusMixin, training_constructor
from .._families._births import USED
from .._families._dirichlet import CONCENTRATION, WEIGHTS
from .._families._normal_wishart import COVARIANCES, CovarianceName
from .._utils._arguments import check_statistic
from .._utils._budgets import ROWS_AT_ONCE, ROWS_SAMPLED, TERMS_ALONE
from .._utils._constraints import NOT_NEGATIVE, POSITIVE, StrOptions, WholeNumber
from .._utils._docstrings import completed_by
from .._utils._frames import completed
from .._utils._linalg import tiled_matmul
from .._utils._notices import warn, warn_once
from .._utils._results import results_of_validation
from .._utils._typing import ArrayLike, Float, Int, Statistic
from .._utils._validation import check_numbers, check_values
from ..noise import GradientNoise
from ..schedules import Schedule
from ..tempering import Tempering
from ._advice import NARROW, about_discrete_columns, advice, narrow_columns
from ._choice import chosen_scores, chosen_type
from ._gaps import GappedRows
from ._low_rank import LowRankMixtureModel, Subspace, settings_of_scores
from ._model import GaussianMixtureModel
from ._priors import LEARNED, Priors
from ._starts import FLOOR, STARTS, start_and_floor

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture


# -- the estimators of the Gaussian mixture --------------------------------------------
ChosenType = Literal["low_rank"] | CovarianceName
CovarianceType = Literal["auto"] | ChosenType
WeightPrior = Literal["dirichlet_process", "dirichlet_distribution"]
Start = Literal["kmeans", "k-means++", "random", "random_from_data"]


def model_of(make, settings, n_features, dtype, others):
    """Return the model of a class ``make`` for the parameters of an estimator."""
    priors = Priors(settings, dtype)
    return make(
        settings.n_components,
        n_features,
        covariance_type=settings.covariance_type,
        weight_prior=settings.weight_concentration_prior_type,
        priors=priors,
        is_wishart=priors.is_wishart(),
        learned=priors.learned(),
        dtype=dtype,
        **others,
    )


class _GaussianMixture(MixtureMixin, TemperedEstimator):
    """Gaussian and Student-t mixtures.

    Parameters
    ----------
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Prior of the weights, as in scikit-learn: a stick-breaking process, or a
        symmetric Dirichlet distribution, nearly the same at a small concentration.
    reg_covar : float or "auto", default="auto"
        Variance added to each covariance; larger if columns are constant in clusters.
        "auto" is 1e-6 times the variance of each column, without outliers.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Initial responsibilities, as in scikit-learn, from at most 100,000 samples;
        "k-means++" and "random_from_data" are faster, and differ more between starts.
    weights_init : array-like of shape (n_components,), default=None
        Initial weights, which sum to 1; None is those of the initial responsibilities.
    means_init : array-like of shape (n_components, n_features), default=None
        Initial means, if known, in place of ``init_params``.  Each sample starts in the
        component of the nearest mean, in standard deviations of the columns.  The fit
        sorts components afterwards.
    precisions_init : array-like, default=None
        Initial precisions, if known, with the shape that `precisions_` has for the
        ``covariance_type``, which is not "auto" or "low_rank".
    """

    max_iter: Int = 100
    covariance_type: CovarianceType = "auto"
    weight_concentration_prior_type: WeightPrior = "dirichlet_process"
    mean_prior: ArrayLike | None = None
    mean_precision_prior: Float | None = None
    covariance_prior: Float | ArrayLike | None = None
    degrees_of_freedom_prior: Float | None = None
    reg_covar: Float | Literal["auto"] = "auto"
    priors: Literal["learned", "scikit-learn"] = "learned"
    init_params: Start = "kmeans"
    weights_init: ArrayLike | None = None
    means_init: ArrayLike | None = None
    precisions_init: ArrayLike | None = None
    batch_size: Int | Literal["auto"] | None = None
    verbose_interval: Int = 10

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "max_iter": [WholeNumber(0)],
        "verbose_interval": [WholeNumber(1)],
        "covariance_type": [StrOptions({*COVARIANCES, "low_rank", "auto"})],
        "priors": [StrOptions({"learned", "scikit-learn"})],
        "reg_covar": [NOT_NEGATIVE, StrOptions({"auto"})],
        "init_params": [StrOptions(set(STARTS))],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "weight_concentration_prior_type": [StrOptions(set(WEIGHTS))],
        "weight_concentration_prior": [CONCENTRATION, None],
        "mean_precision_prior": [POSITIVE, None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [POSITIVE, None],
        "covariance_prior": ["array-like", POSITIVE, None],
    }

    _input_tags = {"allow_nan": True}

    _validate = _validate_gapped = check_numbers
    conditional, _component_scores = conditional, component_scores

    _check_range = staticmethod(check_values)

    _fixed_by_fit = (
        "n_components",
        "covariance_type",
        "weight_concentration_prior_type",
        "weight_concentration_prior",
        "mean_precision_prior",
        "mean_prior",
        "degrees_of_freedom_prior",
        "covariance_prior",
        "priors",
        "reg_covar",
    )

    _min_samples = 2  # the start needs a covariance

    _check_first = check_first_columns

    def _check_enough(self, data):
        if self.precisions_init is not None and self.covariance_type not in COVARIANCES:
            raise ValueError(
                "precisions_init needs a covariance_type that says their shape: "
                f"{list(COVARIANCES)}, got {self.covariance_type!r}."
            )
        check_enough_samples(self, data)
        check_columns(self, data)
        is_full = self.covariance_type in ("full", "auto") and not _is_choice(self)
        n_rows = len(data if data.weight is None else np.flatnonzero(data.weight))
        if is_full and self.n_features_in_ > n_rows:
            warn(
                f"X has {self.n_features_in_} columns and {n_rows} rows: too few "
                'rows for full covariances. Use covariance_type="auto", "low_rank", '
                '"diag" or "spherical".'
            )

    def _inspect_training_data(self, data, fresh):
        if not fresh or self.n_components == 1:
            return
        columns = labelled_columns(data, self._names())
        message = about_discrete_columns(columns, self.n_features_in_)
        if message is not None:
            warn_once(self, "kinds", message, UserWarning)

    def _prepare_fit(self, data, sample_weight):
        """Choose the covariance type if it is "auto"."""
        is_auto, n_scores = self.covariance_type == "auto", 0
        kind = "full" if is_auto else self.covariance_type
        choose(self, chosen_type=kind, is_auto=is_auto)
        is_low_rank = self.covariance_type == "low_rank"
        if not (_is_choice(self) or is_low_rank):
            return
        sample_weight = validated_weight(sample_weight, data)
        total = len(data) if sample_weight is None else sample_weight.sum()
        X, places = data.sample(ROWS_SAMPLED)
        if sample_weight is not None:
            own = sample_weight[places]
            X, sample_weight = with_weight(X, own), with_weight(own, own)
        make = functools.partial(model_of_type, self)
        given = make, self.n_components, X, sample_weight
        report = functools.partial(log, self)
        with QUIETLY():
            if is_low_rank:
                n_scores = chosen_scores(*given, report)
            else:
                kind, n_scores = chosen_type(*given, report, _has_subspaces(self))
            choose(self, chosen_type=kind)
            if n_scores:
                choose(self, subspace=Subspace.of(X, sample_weight, total, n_scores))

    def _fixed(self):
        fixed, choices = super()._fixed(), choices_of(self)
        if self.covariance_type == "auto":
            fixed["covariance_type"] = choices.chosen_type or "full"
        subspace = choices.subspace
        return fixed if subspace is None else fixed | {"subspace": subspace}

    def _inline_limits(self):
        rows, values = super()._inline_limits()
        products = self.n_components * self.n_features_in_**2
        most = min(2 * ROWS_AT_ONCE, TERMS_ALONE // products)
        return max(rows, most), values

    @staticmethod
    def _make_model(settings, n_features, dtype):
        start, make = start_and_floor(settings, dtype), GaussianMixtureModel
        if settings.covariance_type == "low_rank":
            settings, start = settings_of_scores(settings, start)
            make, n_features = LowRankMixtureModel, settings.subspace
        model = model_of(make, settings, n_features, dtype, start)
        model.keeps_order = settings.priors == "scikit-learn"
        return model

    def _advice(self, problem, state):
        """Return a warning about the components or the priors, or None."""
        message = super()._advice(problem, state)
        message = message or _about_narrow_columns(self, problem, state)
        if message or state.moves is None or not state.moves.n_proposed:
            return message
        model, (X, weight) = problem.model, problem.counted_sample
        other = _with_learned_priors(self, model)
        remedy = 'covariance_type="low_rank"'
        if not _has_subspaces(self):
            remedy = f"AnnealedGaussianMixture({remedy})"
        elif _is_choice(self):  # the fit compared it
            remedy = None
        return advice(model, other, state, X, weight, self._names(), remedy)

    # -- what users call ---------------------------------------------------------------
    @completed_by(MixtureMixin._draw_components)
    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples from the Gaussians at the posterior means.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The samples, sorted by component.
        y : ndarray of shape (n_samples,)
            Components of the samples.
        """
        y, random = self._draw_components(n_samples)
        model, expected = self._fitted()
        covariances = model.covariance.matrices(model.own_covariances(expected))
        X = normal_draws(y, covariances.astype(np.float64), random)
        X += (expected.means + self._state().hyper.origin)[y]
        return model.completed_draws(X, random), y

    def impute(self, X: ArrayLike, statistic: Statistic = "mean") -> np.ndarray | Any:
        """Return ``X`` in which missing values are filled, given the rest of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value.
        statistic : {"mode", "mean", "median", "sample"}, default="mean"
            What fills a gap.  "mean" is the mean of the conditional means given the
            observed values and each component, weighted by the responsibilities, and
            "mode" the conditional mean of the most probable component.  "sample" draws
            the component and then the gaps of a row, with ``random_state``; several
            samples are pooled as multiple imputations.

        Returns
        -------
        X : ndarray, DataFrame or list
            A copy of ``X`` in the same container.

        Raises
        ------
        ValueError
            If ``statistic`` is unknown.
        """
        check_statistic(statistic)
        if statistic in ("mode", "mean"):
            imputed = functools.partial(_imputed, is_mode=statistic == "mode")
            rows = np.concatenate(self._map(X, imputed))
        else:
            self._check_fitted()
            parts = [self._validate(part, reset=False) for part in matrices_of(X)]
            rows = self._spread(np.concatenate(parts), statistic)
        return rows if isinstance(X, Source) else completed(X, rows, self._validate)

    def _spread(self, rows, statistic):
        """Return rows with medians, or draws, in their gaps."""
        if statistic == "sample":
            state, model = self._state(), self._fitted_model()
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            block = model.complete(
                model.take(rows, slice(None)), *state.parameters, seed
            )
            return getattr(block, "rows", block)  # not scores in a subspace
        filled = rows.astype(np.float64)
        for some, known in rows_by_pattern(rows):
            if not known.all():
                found = self.conditional(rows[some], np.flatnonzero(known))
                filled[np.ix_(some, ~known)] = found.quantiles(0.5)
        return filled

    def to_sklearn(self) -> GaussianMixture:
        """Return a fitted `sklearn.mixture.GaussianMixture`, for instance for ONNX.

        Returns
        -------
        mixture : GaussianMixture
            It has the same means, precisions, labels and responsibilities.  Its weights
            include the uncertainty of the components, so that small components have a
            smaller weight.
        """
        from sklearn.mixture import GaussianMixture  # a fit does not need it

        self._check_fitted()
        kind = self.covariance_type_
        kind = "full" if _has_matrices(self) or kind == "low_rank" else kind
        other = GaussianMixture(
            self.n_components,
            covariance_type=kind,
            reg_covar=FLOOR if self.reg_covar == "auto" else self.reg_covar,
            random_state=self.random_state,
        )
        other.weights_ = _weights_of_means(self)
        other.means_, other.covariances_ = self.means_, self.covariances_
        other.precisions_ = self.precisions_
        other.precisions_cholesky_ = self.precisions_cholesky_
        other.converged_, other.n_iter_ = True, self.n_iter_
        other.lower_bound_ = (choices_of(self).labels_and_bound or (None, np.nan))[1]
        vars(other).update(results_of_validation(self))
        return other

    def _n_parameters(self, n_classes):
        model, expected = self._fitted()
        n_covariances = n_classes if np.ndim(expected.freedom) else 1
        return model.n_parameters(n_classes, n_covariances)

    def _profiles(self, k, tails):
        model, expected = self._fitted()
        law, kappa = model.covariance.law, expected.precision[k]
        means, widths = self.means_[k], np.sqrt(model.variances_of(expected)[k])
        nu = np.broadcast_to(expected.freedom, expected.precision.shape)[k]
        freedom = (nu - law.least) * law.width  # that of the variance of one column
        spread = widths * np.sqrt(nu / ((nu - law.least) * kappa))
        ends = np.reshape(tails, (2, 1))
        intervals = stats.t.ppf(ends, freedom, means, spread)
        factors = np.sqrt(nu * law.width / stats.chi2.ppf(tails[::-1], freedom))
        for j, name in enumerate(self._names().tolist()):
            sds = widths[j] * factors
            yield name, "gaussian", "mean", float(means[j]), *intervals[:, j].tolist()
            yield name, "gaussian", "sd", float(widths[j]), *sds.tolist()

    def _conditional_columns(self, rows, others):
        names, (model, expected) = self._names(), self._fitted()
        *students, is_product = model.students(expected, self._state().hyper)
        shape = len(rows), len(students[0]), len(others)
        locations, widths, degrees = np.empty((3, *shape))
        for own, pattern in rows_by_pattern(rows):
            columns = np.flatnonzero(pattern & (not is_product))
            locations[own], widths[own], degrees[own] = _given(
                rows[own][:, columns], columns, others, students
            )
        return {
            names[j]: stats.t(degrees[..., p], locations[..., p], widths[..., p])
            for p, j in enumerate(others)
        }, {}

    # -- views of the state ------------------------------------------------------------
    def _fitted(self):
        """Return the model and the Normal-Wishart parameters of the fit."""
        state = self._state()
        model = self._fitted_model()
        return model, model.usual(state.globals_)

    @property
    def covariance_type_(self) -> ChosenType:
        """Covariance type of the fit, the one that "auto" chose."""
        return (self._state().fixed or self._fixed())["covariance_type"]

    @property
    def means_(self) -> np.ndarray:
        """Posterior means of the means, ndarray (n_components, n_features)."""
        state, (model, expected) = self._state(), self._fitted()
        means = model.in_columns(expected.means + state.hyper.origin)
        return means.astype(state.dtype)

    @property
    def covariances_(self) -> np.ndarray:
        """Inverses of the expected precisions, ndarray.

        The shape is that of scikit-learn for ``covariance_type``, and for "auto" and
        "low_rank" that of "full", (n_components, n_features, n_features).
        """
        return _shown(self, lambda model, usual: model.covariances_of(usual))

    @property
    def precisions_(self) -> np.ndarray:
        """Expected precisions, with the shape of `covariances_`."""
        return _shown(self, lambda model, usual: model.precisions_of(usual))

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        """Cholesky factors of `precisions_`, or square roots if they are diagonal."""
        return _shown(self, lambda model, usual: model.roots_of(usual))

    @property
    def mean_precision_(self) -> np.ndarray:
        """Number of samples of each mean, with its prior, ndarray (n_components,)."""
        return self._fitted()[1].precision

    @property
    def degrees_of_freedom_(self) -> np.ndarray:
        """Degrees of freedom of each covariance, ndarray, or one number if tied."""
        return self._fitted()[1].freedom

    @property
    def mean_precision_prior_(self) -> float:
        """Number of samples to which the prior mean is equivalent."""
        return self._state().hyper.mean_precision

    @property
    def mean_prior_(self) -> np.ndarray:
        """Prior mean of the components' means, ndarray (n_features,)."""
        return self._fitted_model().in_columns(self._state().hyper.mean)

    @property
    def degrees_of_freedom_prior_(self) -> float:
        """Number of samples to which the prior of the covariances is equivalent."""
        return self._state().hyper.degrees_of_freedom

    @property
    def covariance_prior_(self) -> np.ndarray | float:
        """Prior covariance times its degrees of freedom, as `covariances_` of one.

        That of "low_rank" is the prior of the scores.
        """
        covariance = self._state().hyper.covariance
        if _has_matrices(self):
            model = self._fitted_model()
            return model.covariance.matrices(np.asarray(covariance)[None])[0]
        return covariance


# -- what a fit decides, and how it is shown -------------------------------------------
def _is_choice(mixture):
    """Return whether a fit chooses the covariance type."""
    given = mixture.covariance_prior, mixture.degrees_of_freedom_prior
    is_learned = mixture.priors == "learned" and all(part is None for part in given)
    return mixture.covariance_type == "auto" and is_learned


def _has_subspaces(mixture):
    """Return whether "low_rank" is a covariance type of an estimator."""
    (types,) = mixture._parameter_constraints["covariance_type"]
    return "low_rank" in types.options


def model_of_type(mixture, covariance_type, n_features, subspace=None):
    """Return the model with a covariance type, for a comparison of types."""
    others = {"covariance_type": covariance_type, "subspace": subspace}
    settings = mixture._settings().replaced(**others)
    return mixture._make_model(settings, n_features, np.dtype(np.float64))


def _with_learned_priors(mixture, model):
    """Return the model with learned priors, or None if they are learned."""
    if len(model.learned) == len(LEARNED):
        return None
    free = {f"{part}_prior": None for part in LEARNED}
    settings = mixture._settings().replaced(priors="learned", **free)
    return mixture._make_model(settings, model.n_features, model.dtype)


def _about_narrow_columns(mixture, problem, state):
    """Return a warning about components whose variance is near `reg_covar`."""
    if choices_of(mixture).subspace is not None:  # reg_covar is that of scores
        return None
    model, expected = mixture._fitted()
    variances = model.variances_of(expected)
    if len(variances) > 1:
        counts = expected.precision - state.hyper.mean_precision
        # if samples have small weights, all components may be almost empty
        variances = variances[counts >= min(USED, counts.max())]
    variances, reg_covar = variances.min(axis=0), state.hyper.reg_covar
    if not (variances < NARROW * reg_covar).any():
        return None
    X, _ = problem.counted_sample
    return narrow_columns(X, variances, reg_covar, mixture._names())


def _has_matrices(mixture):
    """Return whether covariances are shown as matrices, but stored otherwise."""
    return choices_of(mixture).is_auto and mixture.covariance_type_ != "full"


def _shown(mixture, function):
    """Return values in the form of the covariance type; matrices if it is "auto".

    Thus code for scikit-learn's default works with any chosen type.  ``function``
    returns the values, given the model and its `Usual` parameters.
    """
    model, expected = mixture._fitted()
    values = function(model, expected)
    if _has_matrices(mixture):
        values = model.covariance.matrices(values)
    return values.astype(mixture._state().dtype)


# -- densities and draws ---------------------------------------------------------------
def _weights_of_means(mixture):
    """Return the weights with which Gaussians at posterior means have our shares.

    The expected log density of a component, less that of the Gaussian.
    """
    state, (model, expected) = mixture._state(), mixture._fitted()
    prepared = model.prepare(state.globals_, state.hyper)
    D, nu = model.n_features, expected.freedom
    gaussian = 0.5 * (D * np.log(nu / (2.0 * np.pi)) + expected.log_determinants)
    weights = softmax(prepared.log_weights + prepared.tables.constants - gaussian)
    return np.maximum(weights, np.finfo(state.dtype).tiny).astype(state.dtype)


def _imputed(model, block, prepared, is_mode=False):
    if not isinstance(block, GappedRows):
        return np.array(getattr(block, "rows", block))  # not scores in a subspace
    shares, _, _ = model.responsibilities(block, prepared)
    if is_mode:
        shares = np.eye(shares.shape[1])[shares.argmax(axis=1)]
    family = model.family_of(prepared.hyper)
    rows = family.completed(block, shares, prepared.tables)
    return rows.astype(block.dtype, copy=False)


def normal_draws(y, covariances, random):
    """Return a draw with mean 0 and the covariance of its component for each of y."""
    X = random.normal(size=(len(y), covariances.shape[1]))
    for k, root in enumerate(np.linalg.cholesky(covariances)):
        X[y == k] = X[y == k] @ root.T
    return X


def rows_by_pattern(rows):
    """Yield the rows whose missing values are in the same columns, and the others.

    Rows and columns are masks.
    """
    patterns, group = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield group.ravel() == number, pattern


def _given(values, columns, others, students):
    """Return locations, widths and degrees of freedom of columns given others.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)
        Values of the given ``columns``.
    students : tuple of ndarray
        Means, scale matrices and degrees of freedom of multivariate Student-t
        distributions, one for each component.
    """
    means, scales, freedom = students
    inner = scales[:, columns][:, :, columns]
    outer = scales[:, columns][:, :, others]
    slopes = np.linalg.solve(inner, outer)
    whitening = np.linalg.inv(np.linalg.cholesky(inner))
    deviations = values - means[:, None, columns]
    # no BLAS for rows, because its rounding depends on their number
    locations = means[:, None, others] + list(map(tiled_matmul, deviations, slopes))
    white = list(map(tiled_matmul, deviations, np.swapaxes(whitening, 1, 2)))
    squares = np.square(white).sum(axis=2)
    variances = scales[:, others, others] - (outer * slopes).sum(axis=1)
    degrees = freedom + len(columns)
    factors = (freedom[:, None] + squares) / degrees[:, None]
    widths = np.sqrt(factors[:, :, None] * variances[:, None])
    degrees = np.broadcast_to(degrees[:, None, None], widths.shape)
    return tuple(np.swapaxes(part, 0, 1) for part in (locations, widths, degrees))


class CommonParameters(Streaming, total=False):
    """Parameters that Gaussian and Student-t mixtures have in common."""

    weight_concentration_prior_type: WeightPrior
    weight_concentration_prior: Float | None
    reg_covar: Float | Literal["auto"]
    init_params: Start
    weights_init: ArrayLike | None
    means_init: ArrayLike | None
    precisions_init: ArrayLike | None
    moves: ChosenMoves


class GaussianMixtureParameters(CommonParameters, total=False):
    """Parameters that the estimators of the model have in common."""

    covariance_type: CovarianceType
    mean_prior: ArrayLike | None
    mean_precision_prior: Float | None
    covariance_prior: Float | ArrayLike | None
    degrees_of_freedom_prior: Float | None
    priors: Literal["learned", "scikit-learn"]
    verbose_interval: Int


class TemperedGaussianMixture(_GaussianMixture):
    """Gaussian mixture with any tempering, or with none.

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`, but with fewer poor optima [2]_ and
    with mini-batches.

    Parameters
    ----------
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each sample, for data with outliers ("local"), of a policy, or 1 (None).
    max_iter : int, default=100
        Largest number of passes of `fit`, more if it warns; 0 keeps the start.
    covariance_type : {"auto", "full", "low_rank", "tied", "diag", "spherical"}, \
            default="auto"
        Form of the covariances, as in scikit-learn; those of "low_rank" differ in a few
        directions only, for many columns.  "auto" has the highest evidence.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12; smaller for fewer
        components.  None is ``1 / n_components``, or less for many samples if priors
        are learned.
    mean_prior : array-like of shape (n_features,), default=None
        Prior mean of the components' means, if known; None is the mean of the data.
    mean_precision_prior : float, default=None
        Number of samples to which the prior mean is equivalent; larger to hold means
        near it.  None learns it.
    covariance_prior : float or array-like, default=None
        Expected covariance of a component, times the degrees of freedom of the prior.
        None learns it.
    degrees_of_freedom_prior : float, default=None
        Number of samples to which ``covariance_prior`` is equivalent, above
        ``n_features - 1`` (above 0 for Gamma distributions).  None learns it.
    priors : {"learned", "scikit-learn"}, default="learned"
        Priors that are None: learned in each step, or for comparisons those of
        scikit-learn, which merge clusters if there are many columns.  Fits with
        the latter do not sort components by size.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step; None takes all (coordinate ascent).  "auto" is
        faster for millions: a tenth, at least 20 per component and at most 10,000.
    verbose_interval : int, default=10
        Number of passes between the lines that ``verbose`` logs; larger for long fits.

    Notes
    -----
    Parameters and attributes include those of `BayesianGaussianMixture`; with
    ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"``, results are the
    same too.  `score_samples` is the exact posterior predictive density, a mixture of
    Student-t distributions.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import TemperedGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = TemperedGaussianMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    @training_constructor(GaussianMixtureParameters, _GaussianMixture)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[GaussianMixtureParameters],
    ): ...


class AnnealedGaussianMixtureParameters(
    Annealed, GaussianMixtureParameters, total=False
):
    """Parameters of the annealed estimator of the model."""


class AnnealedGaussianMixture(AnnealedMixin, TemperedGaussianMixture):
    """Gaussian mixture fitted by deterministic annealing and moves.

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`.  The fit starts at a higher
    temperature, which falls to 1 [2]_, and then makes moves that split, merge and
    replace clusters [3]_.  The result hardly depends on the start.

    Parameters
    ----------
    moves : Moves, "birth", "split_merge", "all" or None, default="all"
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.

    References
    ----------
    .. [3] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import AnnealedGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = AnnealedGaussianMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    >>> mixture.n_active_components_
    3
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        moves: ChosenMoves = "all",
        **parameters: Unpack[AnnealedGaussianMixtureParameters],
    ): ...


class SVIPlusGaussianMixture(SVIPlusMixin, TemperedGaussianMixture):
    """Gaussian mixture with tunable gradient noise (SVI+).

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`.  Steps have the noise of a smaller
    batch [2]_.

    Parameters
    ----------
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of samples, or a schedule of these.  Smaller values
        add more noise, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of samples: "gaussian" weights, those of the
        paper, can be negative, see `sktemper.noise.SVIPlusNoise`.

    References
    ----------
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import SVIPlusGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = SVIPlusGaussianMixture(8, batch_size=100, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        effective_batch_size: Float | Schedule | Callable = 0.5,
        tempering: Tempering | Literal["global", "local"] | None = None,
        noise_distribution: Literal["dirichlet", "gaussian"] = "dirichlet",
        **parameters: Unpack[GaussianMixtureParameters],
    ): ...
