"""The estimators of the factorial mixture."""

from __future__ import annotations

import functools
from numbers import Real
from typing import Any, Literal, Unpack

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._estimator._constructors import Annealed, Training
from .._estimator._data_checks import check_columns
from .._estimator._estimator import TemperedEstimator
from .._estimator._mixtures import ACTIVE, aic, bic, check_n_samples, plain_is_better
from .._estimator._variants import AnnealedMixin, training_constructor
from .._utils._constraints import POSITIVE, SHARE, Interval, StrOptions
from .._utils._frames import completed
from .._utils._linalg import tiled_matmul
from .._utils._typing import ArrayLike, Float, Int
from .._utils._validation import check_init, check_numbers, check_variances
from ..moves import Moves
from ..noise import GradientNoise
from ..tempering import Tempering
from ._births import STARTS
from ._inference import check_range, filled, inclusion_probabilities
from ._model import FactorialMixtureModel

#: Initial value of learned inclusion probabilities.  It is well below 1/2, where a
#: feature and its absence are exchangeable.
INITIAL_INCLUSION = 0.2


class TemperedFactorialMixture(TemperedEstimator):
    """Binary latent features (factorial mixture) with any tempering, or with none.

    Each sample is the sum of the components whose features the sample has, plus noise:
    a factorial mixture, the finite form of the Indian buffet process [1]_, [2]_.

    Parameters
    ----------
    n_components : int, default=10
        Number of features K, more than you expect: unneeded ones are switched off.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each sample, for data with outliers ("local"), of a policy, or 1 (None).
    inclusion_probability : float, array-like or None, default=None
        Prior probability that a sample has a feature, in (0, 1), if known: one number,
        or one for each feature.  None starts at 0.2 and learns one for each.
    noise_variance : float, default=None
        Variance sigma^2 of the noise of each value; the papers give its square root.
        None starts at the variance of the data and learns it; set it if it is known.
    component_variance : float, default=None
        Prior variance of each entry of a component, if known.  With None, the expected
        number of features explains the mean square of the data.
    posterior : {"structured", "factorized"}, default="structured"
        Posterior of the components: with correlations between them ("structured"), or
        without, for comparisons with the papers ("factorized").
    init : {"random", "data", "ica", "nmf"} or array-like, default="random"
        Initial components: draws from their prior, samples, results of FastICA or NMF,
        or an array of shape (n_components, n_features).
    moves : Moves, "birth" or None, default=None
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step; None takes all (coordinate ascent).  "auto" is
        faster for large data: a tenth, at least 100 and at most 1,000.
    local_cooling : float > 1 or None, default=2.0
        Factor by which the temperature of a sample falls in each sweep of its local
        step, from one at which all features are undecided.  None disables this, as in
        the papers; similar features are then confused more often.

    Notes
    -----
    NaN is a missing value: `transform` and scores leave it out, and `fit` and
    `lower_bound` treat it as a latent variable.  Centre data whose zero has no meaning,
    because noise and components have prior mean zero.

    `score_samples` is a lower bound of log p(x) under the posterior of the components,
    and `score` is its mean over the samples.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, equation 12 and appendix C.
    .. [2] F. Doshi-Velez, K. Miller, J. Van Gael, Y. W. Teh, "Variational inference for
       the Indian buffet process", AISTATS 2009.

    Examples
    --------
    >>> from sktemper import TemperedFactorialMixture
    >>> from sktemper.datasets import make_factorial_mixture
    >>> X = make_factorial_mixture(500, random_state=0)
    >>> mixture = TemperedFactorialMixture(8, random_state=0).fit(X)
    >>> mixture.transform(X).shape
    (500, 8)
    """

    inclusion_probability: Float | ArrayLike | None
    noise_variance: Float | None
    component_variance: Float | None
    posterior: Literal["structured", "factorized"]
    init: Literal["random", "data", "ica", "nmf"] | ArrayLike
    moves: Moves | Literal["birth"] | None
    local_cooling: Float | None

    @training_constructor(Training)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        max_iter: Int = 100,
        inclusion_probability: Float | ArrayLike | None = None,
        noise_variance: Float | None = None,
        component_variance: Float | None = None,
        posterior: Literal["structured", "factorized"] = "structured",
        init: Literal["random", "data", "ica", "nmf"] | ArrayLike = "random",
        moves: Moves | Literal["birth"] | None = None,
        batch_size: Int | Literal["auto"] | None = None,
        gradient_noise: GradientNoise | None = None,
        local_cooling: Float | None = 2.0,
        **parameters: Unpack[Training],
    ): ...

    bic, aic, plain_is_better_ = bic, aic, plain_is_better
    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "inclusion_probability": [SHARE, "array-like", None],
        "noise_variance": [POSITIVE, None],
        "component_variance": [POSITIVE, None],
        "posterior": [StrOptions({"structured", "factorized"})],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "local_cooling": [Interval(Real, 1, None, closed="neither"), None],
    }

    _input_tags = {"allow_nan": True}

    _validate, _check_enough = check_numbers, check_columns

    def _check_range(self, X, dtype, training=False):
        fresh = not hasattr(self, "state_")
        noise = self.noise_variance if fresh else self.state_.hyper.noise_variance
        check_range(X, dtype, noise)

    _fixed_by_fit = (
        "n_components",
        "inclusion_probability",
        "noise_variance",
        "component_variance",
        "posterior",
    )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        K, inclusion = settings.n_components, settings.inclusion_probability
        is_learned = inclusion is None
        check_variances(settings.noise_variance, dtype, "noise_variance")
        check_variances(settings.component_variance, dtype, "component_variance")
        return FactorialMixtureModel(
            K,
            n_features,
            noise_variance=settings.noise_variance,
            component_variance=settings.component_variance,
            inclusion_probability=inclusion_probabilities(
                INITIAL_INCLUSION if is_learned else inclusion,
                K,
                "inclusion_probability",
            ),
            learn_noise_variance=settings.noise_variance is None,
            learn_inclusion_probability=is_learned,
            structured=settings.posterior == "structured",
            dtype=dtype,
            init=functools.partial(_start, settings.init, K),
            local_cooling=settings.local_cooling,
        )

    # -- what users call ---------------------------------------------------------------
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the probabilities that samples have the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value, which is left out.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            The posterior inclusion probabilities nu, at T=1.
        """

        def probabilities(model, block, prepared):
            return model.observed_step(block, prepared).local_parameters

        return np.concatenate(self._map(X, probabilities))

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return the expected values of samples with given features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features, or their probabilities, such as the result of `transform`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        self._check_fitted()
        X = check_array(X, dtype=[np.float64, np.float32])
        components = self.components_
        if X.shape[1] != len(components):
            raise ValueError(
                f"X has {X.shape[1]} features, but there are {len(components)} "
                "components."
            )
        return tiled_matmul(X, components)

    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples at the posterior means of the components.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Sums of the components of the drawn features, plus noise.
        features : ndarray of shape (n_samples, n_components)
            Features of the samples, 0 or 1.
        """
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        shape, dtype = (n_samples, self._n_features_out), self.state_.dtype
        features = random.uniform(size=shape) < self.inclusion_probability_
        X = features @ self.components_.astype(np.float64)
        X += random.normal(scale=np.sqrt(self.noise_variance_), size=X.shape)
        return X.astype(dtype), features.astype(dtype)

    def impute(self, X: ArrayLike) -> np.ndarray | Any:
        """Return ``X`` in which expected values replace missing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value.

        Returns
        -------
        X : ndarray, DataFrame or list
            A copy of ``X`` in the same container, in which values that were not missing
            are unchanged.
        """
        return completed(X, self.inverse_transform(self.transform(X)), self._validate)

    # -- views of the state ------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """Mean components, ndarray of shape (n_components, n_features)."""
        state = self._state()
        return state.globals_.means().astype(state.dtype)

    @property
    def components_covariance_(self) -> np.ndarray:
        """Posterior covariance of the components, the same in each column.

        An ndarray of shape (n_components, n_components).
        """
        state = self._state()
        return self._fitted_model().covariance(state.globals_)

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise, float; given or learned."""
        return self._state().hyper.noise_variance

    @property
    def component_variance_(self) -> float:
        """Prior variance of the components, float; given or computed from the data."""
        return self._state().hyper.component_variance

    @property
    def inclusion_probability_(self) -> np.ndarray:
        """Prior probabilities of the features, ndarray of shape (n_components,)."""
        return self._state().hyper.inclusion_probability

    @property
    def n_parameters_(self) -> int:
        """Number of learned parameters: of the features that samples have, and noise.

        A feature counts if more than 0.5 samples are expected to have it.
        """
        precision, hyper = self._state().globals_.precision, self._state().hyper
        counts = np.diag(precision) - 1.0 / hyper.component_variance
        n_active = int((hyper.noise_variance * counts > ACTIVE).sum())
        model = self._fitted_model()
        per_feature = self.n_features_in_ + model.learn_inclusion_probability
        return n_active * per_feature + model.learn_noise_variance


def _start(init, n_components, X, hyper, random):
    """Return the initial means, of shape (n_components, n_features)."""
    if isinstance(init, str):
        return STARTS[init](filled(X), n_components, hyper, random)
    means = check_init(init, n_components, X.shape[1])
    check_range(means, np.dtype(X.dtype), hyper.noise_variance, name="init")
    return means


class FactorialMixtureParameters(Annealed, Training, total=False):
    """Parameters that the estimators of the model have in common."""

    inclusion_probability: Float | ArrayLike | None
    noise_variance: Float | None
    component_variance: Float | None
    posterior: Literal["structured", "factorized"]
    init: Literal["random", "data", "ica", "nmf"] | ArrayLike
    local_cooling: Float | None


class AnnealedFactorialMixture(AnnealedMixin, TemperedFactorialMixture):
    """Binary latent features (factorial mixture) fitted by annealing and moves.

    Each sample is the sum of the components whose features the sample has, plus noise:
    a factorial mixture, the finite form of the Indian buffet process [1]_, [2]_.  The
    fit starts at a high temperature, which falls to 1 [3]_, and then moves superfluous
    components to samples that fit badly.

    Parameters
    ----------
    moves : Moves, "birth" or None, default="birth"
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.

    References
    ----------
    .. [2] F. Doshi-Velez, K. Miller, J. Van Gael, Y. W. Teh, "Variational inference for
       the Indian buffet process", AISTATS 2009.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.

    Examples
    --------
    >>> from sktemper import AnnealedFactorialMixture
    >>> from sktemper.datasets import make_factorial_mixture
    >>> X = make_factorial_mixture(500, random_state=0)
    >>> mixture = AnnealedFactorialMixture(8, random_state=0).fit(X)
    >>> mixture.transform(X).shape
    (500, 8)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        moves: Moves | Literal["birth"] | None = "birth",
        **parameters: Unpack[FactorialMixtureParameters],
    ): ...
