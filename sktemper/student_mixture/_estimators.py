"""The estimators of the Student-t mixture."""

from __future__ import annotations

from numbers import Real
from typing import Literal, Unpack

import numpy as np

from .._estimator._constructors import Annealed
from .._estimator._variants import AnnealedMixin, training_constructor
from .._families._normal_wishart import COVARIANCES, CovarianceName
from .._utils._constraints import Interval, StrOptions
from .._utils._typing import ArrayLike, Float, Int
from .._utils._validation import ON_TEXT, check_numbers
from ..gaussian_mixture._estimators import (
    ChosenMoves,
    CommonParameters,
    _GaussianMixture,
    model_of,
    normal_draws,
    rows_by_pattern,
)
from ..gaussian_mixture._priors import LEARNED
from ..gaussian_mixture._starts import start_and_floor
from ..noise import GradientNoise
from ..tempering import Tempering
from ._model import LEAST, StudentMixtureModel, log_student

#: Parameters of the Gaussian mixture that are not parameters here.
LEARNED_PRIORS = {"priors": "learned", "mean_prior": None}
LEARNED_PRIORS |= {f"{part}_prior": None for part in LEARNED}


def _absent(estimator):
    """Not available: a method of Gaussian mixtures."""
    raise AttributeError(
        f"{type(estimator).__name__} has no such method: use a Gaussian mixture for "
        "missing values and exports to scikit-learn."
    )


def _expected_scales(model, block, prepared):
    return model.scaled_rows(block, prepared.globals_, prepared.hyper).scales


class StudentMixtureParameters(CommonParameters, total=False):
    """Parameters that the estimators of the model have in common."""

    covariance_type: Literal["auto"] | CovarianceName
    degrees_of_freedom: Float | None


class TemperedStudentMixture(_GaussianMixture):
    """Mixture of Student-t distributions with any tempering, or with none.

    A robust `TemperedGaussianMixture`: variational inference for a mixture of at most
    ``n_components`` multivariate Student-t distributions [1]_, which describe clusters
    with outliers or heavy tails.  Degrees of freedom are learned for each component.

    Parameters
    ----------
    tempering : Tempering or None, default=None
        Temperature of a fit, such as ``Annealing()``, see `sktemper.tempering`; None is
        1.  Temperatures are not inferred, because powers of Student-t densities may
        have infinite integrals.
    max_iter : int, default=100
        Largest number of passes of `fit`, more if it warns; 0 keeps the start.
    covariance_type : {"auto", "full", "tied", "diag", "spherical"}, default="auto"
        Form of the covariances, as in scikit-learn.  "auto" is "diag" or "spherical" if
        their evidence is higher, as for few samples, and otherwise "full".
    degrees_of_freedom : float, default=None
        Degrees of freedom of all components, at least 1: few for heavy tails, 1,000 is
        nearly Gaussian.  None learns those of each component.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12; smaller for fewer
        components.  None is ``1 / n_components``, or less for many samples.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step; None takes all (coordinate ascent).  "auto" is
        faster for millions: a tenth, at least 20 per component and at most 10,000.

    Notes
    -----
    Given a component, a sample has a latent scale u with the distribution
    Gamma(nu / 2, nu / 2), and is Gaussian with the precision of the component times u.
    `covariances_` are the inverses of these precisions; the covariance of samples is
    nu / (nu - 2) times as large.  `score_samples` integrates the predictive density
    over u numerically.  Missing values need a Gaussian mixture.

    References
    ----------
    .. [1] M. Svensen, C. Bishop, "Robust Bayesian mixture modelling", Neurocomputing
       64, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import TemperedStudentMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = TemperedStudentMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    degrees_of_freedom: Float | None

    @training_constructor(StudentMixtureParameters, _GaussianMixture)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | None = None,
        degrees_of_freedom: Float | None = None,
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[StudentMixtureParameters],
    ): ...

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in _GaussianMixture._parameter_constraints.items()
            if name not in (*LEARNED_PRIORS, "verbose_interval")
        },
        "covariance_type": [StrOptions({*COVARIANCES, "auto"})],
        "degrees_of_freedom": [Interval(Real, LEAST, None, closed="left"), None],
    }
    _fixed_by_fit = (
        *(x for x in _GaussianMixture._fixed_by_fit if x not in LEARNED_PRIORS),
        "degrees_of_freedom",
    )
    impute = to_sklearn = property(_absent)

    _input_tags = {"allow_nan": False}

    def _validate(self, X, reset):
        advice = ON_TEXT | {"contains NaN": "Gaussian mixtures take missing values."}
        return check_numbers(self, X, reset, advice, ensure_all_finite=True)

    @staticmethod
    def _make_model(settings, n_features, dtype):
        settings = settings.replaced(**LEARNED_PRIORS)
        others = start_and_floor(settings, dtype)
        others["degrees_of_freedom"] = settings.degrees_of_freedom
        return model_of(StudentMixtureModel, settings, n_features, dtype, others)

    def _profiles(self, k, tails):
        for item, _, option, *numbers in super()._profiles(k, tails):
            yield item, "student", option.replace("sd", "scale"), *numbers

    # -- distributions of some columns given others ------------------------------------
    def _component_scores(self, rows):
        state, (model, expected) = self._state(), self._fitted()
        means, scales, freedom, _ = model.students(expected, state.hyper)
        logs = np.empty((len(rows), len(means)))
        for own, pattern in rows_by_pattern(rows):
            scale = scales[:, pattern][:, :, pattern]
            for k, (mean, nu) in enumerate(zip(means, freedom, strict=True)):
                moved = rows[own][:, pattern] - mean[pattern]
                logs[own, k] = log_student(moved, scale[k], nu)
        return logs + model.weights.log_mean(state.globals_.weights)

    # -- what users call ---------------------------------------------------------------
    def expected_scales(self, X: ArrayLike) -> np.ndarray:
        """Return the expected scale of each sample, which is small for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scales : ndarray of shape (n_samples,)
            Weights of the samples in means and covariances.  Given a component with nu
            degrees of freedom, a sample at the squared distance d has the expected
            scale ``(nu + n_features) / (nu + d)``: about 1 in the middle of a
            component, and 0 far away.  Components with less than a tenth of the mean
            number of samples are left out, because they may consist of outliers.
        """
        return np.concatenate(self._map(X, _expected_scales))

    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples from the Student-t distributions at the posterior means."""
        y, random = self._draw_components(n_samples)
        model, expected = self._fitted()
        given = expected, self._state().hyper
        means, covariances, freedom, _ = model.students(*given)
        X = normal_draws(y, covariances, random)
        halves = 0.5 * freedom[y]
        X /= np.sqrt(random.gamma(halves) / halves)[:, None]
        return X + means[y], y

    # -- views of the state ------------------------------------------------------------
    @property
    def degrees_of_freedom_(self) -> np.ndarray:
        """Degrees of freedom of each component, ndarray (n_components,)."""
        model, hyper = self._fitted_model(), self._state().hyper
        return model.freedom_of(hyper)


class AnnealedStudentMixtureParameters(Annealed, StudentMixtureParameters, total=False):
    """Parameters of the annealed estimator of the model."""


class AnnealedStudentMixture(AnnealedMixin, TemperedStudentMixture):
    """Mixture of Student-t distributions fitted by deterministic annealing and moves.

    A robust `AnnealedGaussianMixture`: variational inference for a mixture of at most
    ``n_components`` multivariate Student-t distributions [1]_, which describe clusters
    with outliers or heavy tails.  Degrees of freedom are learned for each component.
    The fit starts at a higher temperature, which falls to 1 [2]_, and then makes moves
    that split, merge and replace clusters [3]_.

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
    >>> from sktemper import AnnealedStudentMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = AnnealedStudentMixture(8, random_state=0).fit(X)
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
        **parameters: Unpack[AnnealedStudentMixtureParameters],
    ): ...
