"""The estimators of the Gaussian mixture."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from .._engine import QUIETLY
from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
    check_n_samples,
    log,
    validated_weight,
)
from .._families import LEAST_CONCENTRATION, USED, WEIGHTS
from .._utils._arguments import Interval
from .._utils._frames import completed
from .._utils._limits import check_values, check_variances
from .._utils._notices import warn
from .._utils._typing import ArrayLike, Duration, Float, Int, Seed
from .._utils._validation import check_data
from ..learning_rates import LearningRate
from ..moves import Moves
from ..noise import GradientNoise
from ..renewals import Renewals
from ..schedules import Schedule
from ..tempering import Tempering
from ._advice import NARROW, advice, narrow_columns
from ._choice import chosen_type
from ._empirical import LEARNED
from ._gaps import GappedRows
from ._model import COVARIANCE_TYPES, GaussianMixtureModel
from ._priors import Priors
from ._starts import ROWS_LOOKED_AT, STARTS

# -- clusters of components, for clusters that are not Gaussian ------------------------
# Two normal densities on a line add up to a density with a single mode, for any
# weights, if their means differ by at most twice the smaller standard deviation
# (Behboodian, On the modes of a mixture of two normal distributions, Technometrics 12,
# 1970).  Two components are linked if this condition holds on the line of Fisher's
# discriminant, along which they are separated best.  Linked components form a cluster,
# as in section 5 of Hennig, Methods for merging Gaussian mixture components, 2010.


def clusters_of(means, covariances, counts):
    """Return the cluster of each component, an ndarray of int of shape (n_components,).

    Parameters
    ----------
    means : ndarray of shape (n_components, n_features)
    covariances : ndarray of shape (n_components, n_features, n_features) or \
            (n_components, n_features)
        Covariance matrices, or their diagonals.
    counts : ndarray of shape (n_components,)
        Numbers of samples of the components.
    """
    n_components, n_features = means.shape
    links = np.eye(n_components, dtype=bool)
    for i in range(1, n_components):
        shifts, both = means[:i] - means[i], covariances[:i] + covariances[i]
        lengths = (shifts**2).sum(axis=1)
        if both.ndim == 3:
            product = (shifts * (both @ shifts[:, :, None])[:, :, 0]).sum(axis=1)
        else:
            product = (shifts**2 * both).sum(axis=1)
        # if this lower bound of the distance exceeds the limit, `_are_one` is False
        limit = 2.0 + n_features * (1.0 / counts[:i] + 1.0 / counts[i])
        for j in np.flatnonzero(lengths**2 <= limit * product):
            pair = covariances[[i, j]], counts[[i, j]]
            links[i, j] = _are_one(shifts[j], *pair)
    return connected_components(csr_array(links), directed=False)[1]


def _are_one(shift, covariances, counts):
    """Return whether two components have a single mode on the line between them.

    Errors of the means increase the squared distance of the means by ``noise`` on
    average, which is subtracted.
    """
    errors = (covariances.T / counts).sum(axis=-1).T
    if covariances.ndim == 3:
        inverse = np.linalg.inv(covariances.sum(axis=0))
        line = inverse @ shift
        variances = covariances @ line @ line
    else:
        inverse = 1.0 / covariances.sum(axis=0)
        line = inverse * shift
        variances = covariances @ line**2
    distance, noise = shift @ line, (inverse * errors).sum()
    return distance * (distance - noise) <= 4.0 * variances.min()


# -- the estimators of the Gaussian mixture --------------------------------------------
def about_components(estimator, run):
    """Return a warning about missing components or priors that merge clusters."""
    return estimator._advice_


class _GaussianMixture(
    MixtureMixin,
    TemperedEstimator,
):
    """Common parts of the estimators of the Gaussian mixture."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({*COVARIANCE_TYPES, "auto"})],
        "priors": [StrOptions({"learned", "scikit-learn"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "init_params": [StrOptions(set(STARTS))],
        "weight_concentration_prior_type": [StrOptions(set(WEIGHTS))],
        "weight_concentration_prior": [
            Interval(Real, LEAST_CONCENTRATION, None, closed="left"),
            None,
        ],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither"), None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_prior": [
            "array-like",
            Interval(Real, 0, None, closed="neither"),
            None,
        ],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X, reset):
        return self._checked(X, reset, training=False)

    def _validate_training(self, X, reset):
        return self._checked(X, reset, training=reset)

    def _checked(self, X, reset, training):
        X = check_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        check_values(X, self._dtype_for(X, reset), training=training)
        return X

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
    )

    _end_of_fit_checks = (about_components,)
    _min_samples = 2  # the start needs a covariance

    def _check_enough(self, data):
        if len(data) < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {len(data)}"
            )
        is_full = self._default_type() == "full" and not self._is_choice()
        if is_full and self.n_features_in_ > len(data):
            warn(
                f"X has {self.n_features_in_} columns and {len(data)} rows: too few "
                'rows for full covariances. Use covariance_type="diag" or "spherical", '
                "or fewer columns, such as principal components."
            )

    def _prepare_fit(self, data, sample_weight):
        """Choose the covariance type if it is "auto"."""
        self._chosen_type_ = self._default_type()
        self._is_auto_ = self.covariance_type == "auto"
        if not self._is_choice():
            return
        sample_weight = validated_weight(sample_weight, data)
        X, places = data.sample(ROWS_LOOKED_AT)
        if sample_weight is not None:
            sample_weight = sample_weight[places]
        with QUIETLY():
            self._chosen_type_ = chosen_type(
                self._model_of_type,
                self.n_components,
                X,
                sample_weight,
                functools.partial(log, self),
            )

    def _model_of_type(self, covariance_type, n_features):
        """Return the model with a covariance type, for a comparison of types."""
        settings = self._settings().replaced(covariance_type=covariance_type)
        return self._make_model(settings, n_features, np.dtype(np.float64))

    def _is_choice(self):
        """Return whether `fit` chooses the covariance type."""
        given = self.covariance_prior, self.degrees_of_freedom_prior
        is_learned = self.priors == "learned" and all(part is None for part in given)
        return self.covariance_type == "auto" and is_learned

    def _default_type(self):
        """Return the covariance type, with "full" in place of "auto"."""
        return "full" if self.covariance_type == "auto" else self.covariance_type

    def _type(self):
        """Return the covariance type, with the type that `fit` chose for "auto"."""
        if self.covariance_type != "auto":
            return self.covariance_type
        known = vars(self)
        if "_chosen_type_" in known:
            return known["_chosen_type_"]
        fixed = known["state_"].fixed if "state_" in known else None
        return (fixed or {}).get("covariance_type", "full")

    def _fixed(self):
        return super()._fixed() | {"covariance_type": self._type()}

    @staticmethod
    def _make_model(settings, n_features, dtype):
        check_variances(max(settings.reg_covar, 1.0), dtype, "reg_covar")
        priors = Priors(settings, dtype)
        return GaussianMixtureModel(
            settings.n_components,
            n_features,
            covariance_type=settings.covariance_type,
            weight_prior=settings.weight_concentration_prior_type,
            priors=priors,
            init=STARTS[settings.init_params],
            reg_covar=settings.reg_covar,
            is_wishart=priors.is_wishart(),
            learned=priors.learned(),
            dtype=dtype,
        )

    def _finish(self, problem, state):
        """Store results, and a warning about the data, the components or the priors."""
        super()._finish(problem, state)
        self._advice_ = self._advice_about_narrow_columns(problem)
        if self._advice_ is None and state.moves is not None and state.moves.n_proposed:
            model, (X, weight) = problem.model, problem.sample
            other = self._with_learned_priors(model)
            self._advice_ = advice(model, other, state, X, weight)

    def _advice_about_narrow_columns(self, problem):
        """Return a warning about components whose variance is near `reg_covar`."""
        model, expected = self._fitted()
        variances = expected.inverse_scale / model.covariance.widened(expected.freedom)
        if model.covariance.products:
            variances = np.diagonal(variances, axis1=-2, axis2=-1)
        variances = variances.reshape(np.size(expected.freedom), -1)
        if len(variances) > 1:
            variances = variances[self._are_used(expected)]
        variances = variances.min(axis=0)
        if not (variances < NARROW * self.reg_covar).any():
            return None
        variances = np.broadcast_to(variances, model.n_features)
        X, _ = problem.sample
        return narrow_columns(X, variances, self.reg_covar, self._names())

    def _with_learned_priors(self, model):
        """Return the model with learned priors; None if they are learned, or tied."""
        settings = self._settings()
        is_tied = settings.covariance_type == "tied"
        if is_tied or len(model.learned) == len(LEARNED):
            return None
        free = {f"{part}_prior": None for part in LEARNED}
        settings = settings.replaced(priors="learned", **free)
        return self._make_model(settings, model.n_features, model.dtype)

    def _largest_final_change(self, run):
        """Return ``tol``, so that `converged_` means the same as in scikit-learn."""
        return self.tol

    def _is_logged(self, passes):
        return passes % self.verbose_interval == 0

    # -- what users call ---------------------------------------------------------------
    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples from the Gaussians at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The samples, sorted by component.
        y : ndarray of shape (n_samples,)
            Components of the samples.

        Raises
        ------
        ValueError
            If ``n_samples`` is less than 1.
        """
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        counts = random.multinomial(n_samples, weights / weights.sum())
        model, _ = self._fitted()
        covariances = self.covariances_
        if not self._has_matrices():
            covariances = model.covariance.matrices(covariances)
        X = [
            random.multivariate_normal(mean, covariance, int(count))
            for mean, covariance, count in zip(
                self.means_, covariances, counts, strict=True
            )
        ]
        return np.vstack(X), np.repeat(np.arange(len(counts)), counts)

    def impute(self, X: ArrayLike) -> np.ndarray | Any:
        """Return ``X`` in which expected values replace missing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        X : ndarray, DataFrame or list
            A copy of ``X`` in the same container.  A missing value is replaced by the
            mean of its conditional means given the observed values and each component,
            weighted by the responsibilities.
        """
        return completed(X, np.concatenate(self._map(X, _imputed)), self._validate)

    def predict_clusters(self, X: ArrayLike) -> np.ndarray:
        """Return the most probable cluster of each sample, see `component_clusters_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of clusters, from 0 to ``n_clusters_ - 1``.  The probability of a
            cluster is the sum of the probabilities of its components.
        """
        clusters = self.component_clusters_
        used = clusters >= 0
        return (self.predict_proba(X)[:, used] @ _one_hot(clusters[used])).argmax(1)

    # -- views of the state ------------------------------------------------------------
    def _fitted(self):
        """Return the model and the Normal-Wishart parameters of the fit."""
        state = self._state()
        model = self._fitted_model()
        return model, model.usual(state.globals_)

    @property
    def covariance_type_(self) -> Literal["full", "tied", "diag", "spherical"]:
        """Covariance type of the fit."""
        return (self._state().fixed or self._fixed())["covariance_type"]

    @property
    def means_(self) -> np.ndarray:
        """Posterior means of the components' means, (n_components, n_features)."""
        state = self._state()
        _, expected = self._fitted()
        return (expected.means + state.hyper.origin).astype(state.dtype)

    @property
    def covariances_(self) -> np.ndarray:
        """Inverses of the expected precisions, in the form of `covariance_type`."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        return self._shown(model, expected.inverse_scale / freedom)

    @property
    def precisions_(self) -> np.ndarray:
        """Expected precisions, with the shape of `covariances_`."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        scale = model.covariance.scale(expected.inverse_scale)
        return self._shown(model, freedom * scale)

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        """Cholesky factors of `precisions_`, or square roots if they are diagonal."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        roots = model.covariance.roots(expected.inverse_scale)
        return self._shown(model, np.sqrt(freedom) * roots)

    def _shown(self, model, values):
        """Return values in the form of the covariance type; matrices if it is "auto".

        Thus code for scikit-learn's default works with any chosen type.
        """
        if self._has_matrices():
            values = model.covariance.matrices(values)
        return values.astype(self._state().dtype)

    def _has_matrices(self):
        """Return whether covariances are shown as matrices, but stored otherwise."""
        is_auto = vars(self).get("_is_auto_", False)
        return is_auto and self.covariance_type_ != "full"

    def _are_used(self, expected):
        """Return whether each component has samples."""
        counts = expected.precision - self._state().hyper.mean_precision
        # if samples have small weights, all components may be almost empty
        return counts >= min(USED, counts.max())

    @property
    def component_clusters_(self) -> np.ndarray:
        """Cluster of each component, ndarray (n_components,) of int; -1 if empty."""
        model, expected = self._fitted()
        counts = expected.precision - self._state().hyper.mean_precision
        used, shape = self._are_used(expected), expected.means.shape
        freedom = model.covariance.widened(expected.freedom)
        covariances = expected.inverse_scale / freedom
        if covariances.ndim == 1:
            covariances = np.repeat(covariances[:, None], shape[1], axis=1)
        if np.ndim(expected.freedom) == 0:  # tied
            covariances = np.broadcast_to(covariances, (*shape, shape[1]))
        clusters = np.full(len(counts), -1)
        clusters[used] = clusters_of(
            expected.means[used], covariances[used], counts[used]
        )
        return clusters

    @property
    def n_clusters_(self) -> int:
        """Number of clusters of components."""
        return int(self.component_clusters_.max()) + 1

    @property
    def mean_precision_(self) -> np.ndarray:
        """Kappa of each component, ndarray (n_components,)."""
        return self._fitted()[1].precision

    @property
    def degrees_of_freedom_(self) -> np.ndarray:
        """Nu of each component, ndarray (n_components,); one number if tied."""
        return self._fitted()[1].freedom

    @property
    def mean_precision_prior_(self) -> float:
        """Prior precision of the means."""
        return self._state().hyper.mean_precision

    @property
    def mean_prior_(self) -> np.ndarray:
        """Prior mean."""
        return self._state().hyper.mean

    @property
    def degrees_of_freedom_prior_(self) -> float:
        """Prior degrees of freedom."""
        return self._state().hyper.degrees_of_freedom

    @property
    def covariance_prior_(self) -> np.ndarray | float:
        """Prior covariance, in the form of `covariance_type`."""
        covariance = self._state().hyper.covariance
        if self._has_matrices():
            model = self._fitted_model()
            return model.covariance.matrices(np.asarray(covariance)[None])[0]
        return covariance


def _imputed(model, block, prepared):
    if not isinstance(block, GappedRows):
        return np.array(block)
    shares, _, _ = model.responsibilities(block, prepared)
    family = model.family_of(prepared.hyper)
    rows = family.completed(block, shares, prepared.tables)
    return rows.astype(block.dtype, copy=False)


def _one_hot(labels):
    return np.eye(labels.max(initial=-1) + 1)[labels]


class TemperedGaussianMixture(_GaussianMixture):
    """Gaussian mixture with any tempering, or with none.

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`, but with fewer poor optima and with
    mini-batches.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step (``tempering`` to
    ``gradient_noise``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default="auto"
        Form of the covariances: a matrix for each component ("full"), one matrix for
        all components ("tied"), a diagonal matrix for each component ("diag"), or a
        variance for each component ("spherical").  "auto" is "full", but `fit` uses
        "diag" or "spherical" if its evidence is higher by more than 0.05 nats per
        sample, if there are more than 150 columns, or if there are fewer than two
        samples per column.  `covariance_type_` is the chosen type.  The evidence is
        computed from merged k-means clusters of at most 5,000 to 20,000 samples, after
        a few iterations.  "auto" is always "full" in `partial_fit` without an earlier
        `fit`, and in a `fit` with ``covariance_prior``, ``degrees_of_freedom_prior`` or
        ``priors="scikit-learn"``.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [4]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.  With
        ``priors="learned"``, None is ``exp(-n_samples / 100)`` if this is less, but at
        least 1e-12.  An additional component is then used only if it gains 0.01 nats
        per sample, or 28 nats in all.
    mean_prior : array-like of shape (n_features,), default=None
        Prior mean of the components' means.  None is the mean of the data.
    mean_precision_prior : float, default=None
        Number of samples to which the prior mean is equivalent.  None starts at 1 and
        learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts at the covariance of the data, in the form
        of ``covariance_type``, times the degrees of freedom, and learns the value.  If
        ``covariance_type`` is "tied", None is the covariance of the data.
        ``reg_covar`` is added to the diagonal of a singular covariance.
    degrees_of_freedom_prior : float, default=None
        Number of samples to which ``covariance_prior`` is equivalent.  It must exceed
        ``n_features - 1`` if the prior is a Wishart distribution, and otherwise 0.
        None starts at 3 above this limit and learns the value.  If ``covariance_type``
        is "tied", None is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        Values of priors that are None, and distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to values that maximise the
          lower bound of the nonempty components, if there are at least two of them
          (empirical Bayes).  If ``covariance_type`` is "diag", the precision of each
          feature has a Gamma distribution; if it is "spherical", the common precision
          of all features has one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Diagonal and spherical precisions have the Wishart
          distribution of a full matrix.  With many features, even distant components
          are then merged.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Initial responsibilities, as in scikit-learn: the clusters of k-means, the
        clusters of its initial centres, random numbers, or the clusters of random
        samples.  With more than 100,000 samples, a random 100,000 are used.  The start
        does not depend on the order of the samples, and the weight of a sample has the
        effect of repeating it.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering()`: one temperature, inferred from the data,
          below a cap that falls to 1.
        - "local", `LocalTempering()`: a temperature for each sample.  Outliers get a
          high temperature and have less influence; `temperatures` returns the
          temperatures.
        - An `Annealing`, with a schedule and a target of your choice;
          `AnnealedGaussianMixture` is a shorter way to set these, and the first
          estimator to try.
        - None: plain variational inference at T=1, the algorithm of scikit-learn's
          `BayesianGaussianMixture`, a baseline.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 20
        samples per component and at most 10,000.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data; 0 keeps the start.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    verbose_interval : int, default=10
        Number of passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.
    half_life : float, duration or None, default=None
        Number of samples after which a sample counts half in `partial_fit`, for streams
        that change.  It sets the learning rate and the scale of the statistics
        (`sktemper.learning_rates.HalfLife`) and turns renewals on, so that
        ``learning_rate`` and ``total_samples`` must be None.  A duration, such as
        "30D", "12h" or a `datetime.timedelta`, counts time instead, and `partial_fit`
        then needs ``times``.  With None, old samples keep their weights.  `fit` ignores
        this parameter, except that it keeps a sample of its data as the memory of a
        later stream.
    renewals : Renewals, "auto" or None, default="auto"
        Renewals in a stream with a half-life: fits of new components to recent rows,
        see `sktemper.renewals.Renewals`.  "auto" is ``Renewals()``; None makes no
        renewals.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariance_type_ : {"full", "tied", "diag", "spherical"}
        Covariance type of the fit.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Inverses of the expected precisions, the expected precisions, and their Cholesky
        factors.  The shape is (n_components,) if ``covariance_type`` is "spherical",
        (n_features, n_features) if "tied", (n_components, n_features) if "diag", and
        (n_components, n_features, n_features) if "full" or "auto".
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Parameters of the Normal-Wishart distributions; if ``covariance_type`` is
        "tied", ``degrees_of_freedom_`` is one number.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        Priors of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    component_clusters_ : ndarray of int of shape (n_components,)
        Cluster of each component; -1 for an empty component.  A cluster that is not
        Gaussian consists of several components.  Two components are in the same cluster
        if, on the line that separates them best, their means differ by at most twice
        the smaller standard deviation, so that the sum of their densities has a single
        mode there.  They are also in the same cluster if a chain of such components
        connects them.
    n_clusters_ : int
        Number of clusters in ``component_clusters_``.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
        (NaN without an evaluation) and "mean_iterations" (mean number of local
        iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (the
        last known time before it, or None), "reason" ("start", "schedule" or "alarm"),
        "kept" (whether its result replaced the parameters; None while this is not
        decided), "decided" (number of rows before the decision), "gain" (mean gain of
        the rows that decided, in nats per observation) and "columns" (tuple of the
        indices of new components).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    Parameters and attributes include those of scikit-learn's `BayesianGaussianMixture`.
    With ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"``, fits from the
    same initial responsibilities have the same results, except for rounding errors and
    perhaps one more step.  The same ``random_state`` gives the same responsibilities if
    rows are sorted, distinct and unweighted.  With ``init_params`` "k-means++" or
    "random_from_data", a tied covariance starts from the chosen samples; in
    scikit-learn it starts from all samples.  `score_samples` returns the logarithm of
    the exact posterior predictive density, a mixture of Student-t distributions, and
    `score` is the mean over the samples.  ``lower_bound_`` has all constants.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import TemperedGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = TemperedGaussianMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    _parameter_constraints = _GaussianMixture._parameter_constraints

    def __init__(
        self,
        n_components: Int = 10,
        *,
        covariance_type: Literal["auto", "full", "tied", "diag", "spherical"] = "auto",
        weight_concentration_prior_type: Literal[
            "dirichlet_process", "dirichlet_distribution"
        ] = "dirichlet_process",
        weight_concentration_prior: Float | None = None,
        mean_prior: ArrayLike | None = None,
        mean_precision_prior: Float | None = None,
        covariance_prior: Float | ArrayLike | None = None,
        degrees_of_freedom_prior: Float | None = None,
        reg_covar: Float = 1e-6,
        priors: Literal["learned", "scikit-learn"] = "learned",
        init_params: Literal[
            "kmeans", "k-means++", "random", "random_from_data"
        ] = "kmeans",
        tempering: Tempering | Literal["global", "local"] | None = "global",
        moves: Moves | Literal["birth", "split_merge", "all"] | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        gradient_noise: GradientNoise | None = None,
        max_iter: Int = 100,
        n_init: Int = 1,
        tol: Float = 1e-3,
        n_iter_no_change: Int | None = None,
        evaluate_every: Int = 0,
        validation_fraction: Float = 0.1,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: Int | None = None,
        verbose: Int = 0,
        verbose_interval: Int = 10,
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class AnnealedGaussianMixture(AnnealedMixin, _GaussianMixture):
    """Gaussian mixture fitted by deterministic annealing and moves.

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`.  The fit starts at a higher
    temperature, which falls to 1 [3]_, and then makes moves that split, merge and
    replace clusters [5]_.  The result hardly depends on the start.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step (``schedule`` to
    ``gradient_noise``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default="auto"
        Form of the covariances: a matrix for each component ("full"), one matrix for
        all components ("tied"), a diagonal matrix for each component ("diag"), or a
        variance for each component ("spherical").  "auto" is "full", but `fit` uses
        "diag" or "spherical" if its evidence is higher by more than 0.05 nats per
        sample, if there are more than 150 columns, or if there are fewer than two
        samples per column.  `covariance_type_` is the chosen type.  The evidence is
        computed from merged k-means clusters of at most 5,000 to 20,000 samples, after
        a few iterations.  "auto" is always "full" in `partial_fit` without an earlier
        `fit`, and in a `fit` with ``covariance_prior``, ``degrees_of_freedom_prior`` or
        ``priors="scikit-learn"``.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [4]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.  With
        ``priors="learned"``, None is ``exp(-n_samples / 100)`` if this is less, but at
        least 1e-12.  An additional component is then used only if it gains 0.01 nats
        per sample, or 28 nats in all.
    mean_prior : array-like of shape (n_features,), default=None
        Prior mean of the components' means.  None is the mean of the data.
    mean_precision_prior : float, default=None
        Number of samples to which the prior mean is equivalent.  None starts at 1 and
        learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts at the covariance of the data, in the form
        of ``covariance_type``, times the degrees of freedom, and learns the value.  If
        ``covariance_type`` is "tied", None is the covariance of the data.
        ``reg_covar`` is added to the diagonal of a singular covariance.
    degrees_of_freedom_prior : float, default=None
        Number of samples to which ``covariance_prior`` is equivalent.  It must exceed
        ``n_features - 1`` if the prior is a Wishart distribution, and otherwise 0.
        None starts at 3 above this limit and learns the value.  If ``covariance_type``
        is "tied", None is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        Values of priors that are None, and distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to values that maximise the
          lower bound of the nonempty components, if there are at least two of them
          (empirical Bayes).  If ``covariance_type`` is "diag", the precision of each
          feature has a Gamma distribution; if it is "spherical", the common precision
          of all features has one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Diagonal and spherical precisions have the Wishart
          distribution of a full matrix.  With many features, even distant components
          are then merged.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Initial responsibilities, as in scikit-learn: the clusters of k-means, the
        clusters of its initial centres, random numbers, or the clusters of random
        samples.  With more than 100,000 samples, a random 100,000 are used.  The start
        does not depend on the order of the samples, and the weight of a sample has the
        effect of repeating it.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "birth", "split_merge", "all" or None, default="all"
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 20
        samples per component and at most 10,000.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data; 0 keeps the start.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    verbose_interval : int, default=10
        Number of passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.
    half_life : float, duration or None, default=None
        Number of samples after which a sample counts half in `partial_fit`, for streams
        that change.  It sets the learning rate and the scale of the statistics
        (`sktemper.learning_rates.HalfLife`) and turns renewals on, so that
        ``learning_rate`` and ``total_samples`` must be None.  A duration, such as
        "30D", "12h" or a `datetime.timedelta`, counts time instead, and `partial_fit`
        then needs ``times``.  With None, old samples keep their weights.  `fit` ignores
        this parameter, except that it keeps a sample of its data as the memory of a
        later stream.
    renewals : Renewals, "auto" or None, default="auto"
        Renewals in a stream with a half-life: fits of new components to recent rows,
        see `sktemper.renewals.Renewals`.  "auto" is ``Renewals()``; None makes no
        renewals.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariance_type_ : {"full", "tied", "diag", "spherical"}
        Covariance type of the fit.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Inverses of the expected precisions, the expected precisions, and their Cholesky
        factors.  The shape is (n_components,) if ``covariance_type`` is "spherical",
        (n_features, n_features) if "tied", (n_components, n_features) if "diag", and
        (n_components, n_features, n_features) if "full" or "auto".
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Parameters of the Normal-Wishart distributions; if ``covariance_type`` is
        "tied", ``degrees_of_freedom_`` is one number.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        Priors of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    component_clusters_ : ndarray of int of shape (n_components,)
        Cluster of each component; -1 for an empty component.  A cluster that is not
        Gaussian consists of several components.  Two components are in the same cluster
        if, on the line that separates them best, their means differ by at most twice
        the smaller standard deviation, so that the sum of their densities has a single
        mode there.  They are also in the same cluster if a chain of such components
        connects them.
    n_clusters_ : int
        Number of clusters in ``component_clusters_``.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    schedule_ : Schedule
        Schedule of the fit, with "auto" replaced by numbers.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
        (NaN without an evaluation) and "mean_iterations" (mean number of local
        iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (the
        last known time before it, or None), "reason" ("start", "schedule" or "alarm"),
        "kept" (whether its result replaced the parameters; None while this is not
        decided), "decided" (number of rows before the decision), "gain" (mean gain of
        the rows that decided, in nats per observation) and "columns" (tuple of the
        indices of new components).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    Parameters and attributes include those of scikit-learn's `BayesianGaussianMixture`.
    With ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"``, fits from the
    same initial responsibilities have the same results, except for rounding errors and
    perhaps one more step.  The same ``random_state`` gives the same responsibilities if
    rows are sorted, distinct and unweighted.  With ``init_params`` "k-means++" or
    "random_from_data", a tied covariance starts from the chosen samples; in
    scikit-learn it starts from all samples.  `score_samples` returns the logarithm of
    the exact posterior predictive density, a mixture of Student-t distributions, and
    `score` is the mean over the samples.  ``lower_bound_`` has all constants.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
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
        covariance_type: Literal["auto", "full", "tied", "diag", "spherical"] = "auto",
        weight_concentration_prior_type: Literal[
            "dirichlet_process", "dirichlet_distribution"
        ] = "dirichlet_process",
        weight_concentration_prior: Float | None = None,
        mean_prior: ArrayLike | None = None,
        mean_precision_prior: Float | None = None,
        covariance_prior: Float | ArrayLike | None = None,
        degrees_of_freedom_prior: Float | None = None,
        reg_covar: Float = 1e-6,
        priors: Literal["learned", "scikit-learn"] = "learned",
        init_params: Literal[
            "kmeans", "k-means++", "random", "random_from_data"
        ] = "kmeans",
        schedule: Schedule | Callable | None = None,
        target: Literal["local_step", "likelihood", "posterior"] = "local_step",
        moves: Moves | Literal["birth", "split_merge", "all"] | None = "all",
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        gradient_noise: GradientNoise | None = None,
        max_iter: Int = 100,
        n_init: Int = 1,
        tol: Float = 1e-3,
        n_iter_no_change: Int | None = None,
        evaluate_every: Int = 0,
        validation_fraction: Float = 0.1,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: Int | None = None,
        verbose: Int = 0,
        verbose_interval: Int = 10,
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.schedule = schedule
        self.target = target
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class SVIPlusGaussianMixture(SVIPlusMixin, _GaussianMixture):
    """Gaussian mixture with tunable gradient noise (SVI+).

    Variational inference for a mixture of at most ``n_components`` components [1]_, as
    in scikit-learn's `BayesianGaussianMixture`.  Steps have the noise of a smaller
    batch [4]_, see `sktemper.noise.SVIPlusNoise`.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step
    (``effective_batch_size`` to ``learning_rate``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default="auto"
        Form of the covariances: a matrix for each component ("full"), one matrix for
        all components ("tied"), a diagonal matrix for each component ("diag"), or a
        variance for each component ("spherical").  "auto" is "full", but `fit` uses
        "diag" or "spherical" if its evidence is higher by more than 0.05 nats per
        sample, if there are more than 150 columns, or if there are fewer than two
        samples per column.  `covariance_type_` is the chosen type.  The evidence is
        computed from merged k-means clusters of at most 5,000 to 20,000 samples, after
        a few iterations.  "auto" is always "full" in `partial_fit` without an earlier
        `fit`, and in a `fit` with ``covariance_prior``, ``degrees_of_freedom_prior`` or
        ``priors="scikit-learn"``.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [4]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.  With
        ``priors="learned"``, None is ``exp(-n_samples / 100)`` if this is less, but at
        least 1e-12.  An additional component is then used only if it gains 0.01 nats
        per sample, or 28 nats in all.
    mean_prior : array-like of shape (n_features,), default=None
        Prior mean of the components' means.  None is the mean of the data.
    mean_precision_prior : float, default=None
        Number of samples to which the prior mean is equivalent.  None starts at 1 and
        learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts at the covariance of the data, in the form
        of ``covariance_type``, times the degrees of freedom, and learns the value.  If
        ``covariance_type`` is "tied", None is the covariance of the data.
        ``reg_covar`` is added to the diagonal of a singular covariance.
    degrees_of_freedom_prior : float, default=None
        Number of samples to which ``covariance_prior`` is equivalent.  It must exceed
        ``n_features - 1`` if the prior is a Wishart distribution, and otherwise 0.
        None starts at 3 above this limit and learns the value.  If ``covariance_type``
        is "tied", None is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        Values of priors that are None, and distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to values that maximise the
          lower bound of the nonempty components, if there are at least two of them
          (empirical Bayes).  If ``covariance_type`` is "diag", the precision of each
          feature has a Gamma distribution; if it is "spherical", the common precision
          of all features has one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Diagonal and spherical precisions have the Wishart
          distribution of a full matrix.  With many features, even distant components
          are then merged.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Initial responsibilities, as in scikit-learn: the clusters of k-means, the
        clusters of its initial centres, random numbers, or the clusters of random
        samples.  With more than 100,000 samples, a random 100,000 are used.  The start
        does not depend on the order of the samples, and the weight of a sample has the
        effect of repeating it.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size M of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of samples, or a schedule of such values, see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of samples, see
        `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.  "auto" takes a tenth of the data, at least 20
        samples per component and at most 10,000.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data; 0 keeps the start.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    verbose_interval : int, default=10
        Number of passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.
    half_life : float, duration or None, default=None
        Number of samples after which a sample counts half in `partial_fit`, for streams
        that change.  It sets the learning rate and the scale of the statistics
        (`sktemper.learning_rates.HalfLife`) and turns renewals on, so that
        ``learning_rate`` and ``total_samples`` must be None.  A duration, such as
        "30D", "12h" or a `datetime.timedelta`, counts time instead, and `partial_fit`
        then needs ``times``.  With None, old samples keep their weights.  `fit` ignores
        this parameter, except that it keeps a sample of its data as the memory of a
        later stream.
    renewals : Renewals, "auto" or None, default="auto"
        Renewals in a stream with a half-life: fits of new components to recent rows,
        see `sktemper.renewals.Renewals`.  "auto" is ``Renewals()``; None makes no
        renewals.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariance_type_ : {"full", "tied", "diag", "spherical"}
        Covariance type of the fit.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Inverses of the expected precisions, the expected precisions, and their Cholesky
        factors.  The shape is (n_components,) if ``covariance_type`` is "spherical",
        (n_features, n_features) if "tied", (n_components, n_features) if "diag", and
        (n_components, n_features, n_features) if "full" or "auto".
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Parameters of the Normal-Wishart distributions; if ``covariance_type`` is
        "tied", ``degrees_of_freedom_`` is one number.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        Priors of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    component_clusters_ : ndarray of int of shape (n_components,)
        Cluster of each component; -1 for an empty component.  A cluster that is not
        Gaussian consists of several components.  Two components are in the same cluster
        if, on the line that separates them best, their means differ by at most twice
        the smaller standard deviation, so that the sum of their densities has a single
        mode there.  They are also in the same cluster if a chain of such components
        connects them.
    n_clusters_ : int
        Number of clusters in ``component_clusters_``.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per sample), "heldout_score"
        (NaN without an evaluation) and "mean_iterations" (mean number of local
        iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (the
        last known time before it, or None), "reason" ("start", "schedule" or "alarm"),
        "kept" (whether its result replaced the parameters; None while this is not
        decided), "decided" (number of rows before the decision), "gain" (mean gain of
        the rows that decided, in nats per observation) and "columns" (tuple of the
        indices of new components).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    Parameters and attributes include those of scikit-learn's `BayesianGaussianMixture`.
    With ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"``, fits from the
    same initial responsibilities have the same results, except for rounding errors and
    perhaps one more step.  The same ``random_state`` gives the same responsibilities if
    rows are sorted, distinct and unweighted.  With ``init_params`` "k-means++" or
    "random_from_data", a tied covariance starts from the chosen samples; in
    scikit-learn it starts from all samples.  `score_samples` returns the logarithm of
    the exact posterior predictive density, a mixture of Student-t distributions, and
    `score` is the mean over the samples.  ``lower_bound_`` has all constants.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

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
        covariance_type: Literal["auto", "full", "tied", "diag", "spherical"] = "auto",
        weight_concentration_prior_type: Literal[
            "dirichlet_process", "dirichlet_distribution"
        ] = "dirichlet_process",
        weight_concentration_prior: Float | None = None,
        mean_prior: ArrayLike | None = None,
        mean_precision_prior: Float | None = None,
        covariance_prior: Float | ArrayLike | None = None,
        degrees_of_freedom_prior: Float | None = None,
        reg_covar: Float = 1e-6,
        priors: Literal["learned", "scikit-learn"] = "learned",
        init_params: Literal[
            "kmeans", "k-means++", "random", "random_from_data"
        ] = "kmeans",
        effective_batch_size: Float | Schedule | Callable = 0.5,
        noise_distribution: Literal["dirichlet", "gaussian"] = "dirichlet",
        tempering: Tempering | Literal["global", "local"] | None = None,
        moves: Moves | Literal["birth", "split_merge", "all"] | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        learning_rate: LearningRate | Float | None = None,
        max_iter: Int = 100,
        n_init: Int = 1,
        tol: Float = 1e-3,
        n_iter_no_change: Int | None = None,
        evaluate_every: Int = 0,
        validation_fraction: Float = 0.1,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: Int | None = None,
        verbose: Int = 0,
        verbose_interval: Int = 10,
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.effective_batch_size = effective_batch_size
        self.noise_distribution = noise_distribution
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals
