"""Common parts of the estimators of mixtures, whose samples have one component each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from .._utils._arguments import is_integer, refuse
from .._utils._typing import ArrayLike, DataLike
from ..model import Request
from ..moves import NoMoves
from ._estimator import TemperedEstimator

#: A component is active if its total responsibility is above this value.
ACTIVE = 0.5
#: Largest number of samples that numpy can draw.
MOST_SAMPLES = np.iinfo("l").max


def check_n_samples(n_samples):
    if not is_integer(n_samples) or n_samples > MOST_SAMPLES:
        refuse("n_samples", f"an int from 1 to {MOST_SAMPLES}", n_samples)
    if n_samples < 1:
        raise ValueError(
            f"Invalid value for 'n_samples': {n_samples} . The sampling requires at "
            "least one sample."
        )


def check_enough_samples(self, data):
    """Raise if there are fewer samples than components."""
    if len(data) < self.n_components:
        raise ValueError(
            "Expected n_samples >= n_components but got n_components = "
            f"{self.n_components}, n_samples = {len(data)}"
        )


class MixtureMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin):
    """Mixin of estimators of mixtures: responsibilities and labels.

    Local parameters are responsibilities.  The model and its global parameters have an
    attribute ``weights``, see `sktemper._families`.
    """

    # DensityMixin.score does nothing
    score: Callable[..., float] = TemperedEstimator.score

    @property
    def _n_features_out(self):
        return self._fitted_model().n_components

    def _moves(self):
        """Return the policy for moves; a single component has none."""
        moves = super()._moves().validate()
        return moves if self.n_components > 1 else NoMoves()

    def _install(self, state, policies):
        super()._install(state, policies)
        self._labels_and_bound_ = None  # those of an earlier state are not valid

    def _finish(self, problem, state):
        model = problem.model
        bound = problem.bound(state.globals_, state.hyper)
        prepared = model.prepare(state.globals_, state.hyper)
        labels = np.concatenate(list(problem.map(_labels, prepared)))
        self._labels_and_bound_ = labels, bound

    def _training_results(self):
        self._state()
        results = vars(self).get("_labels_and_bound_")
        if results is None:
            raise NotFittedError(
                f"The last fit of this {type(self).__name__} was not completed: it has "
                "neither labels_ nor lower_bound_. Use predict and lower_bound(X)."
            )
        return results

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

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return self.predict_proba(X)

    def predict(self, X: DataLike) -> np.ndarray:
        """Return the most probable component of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

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

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components, as in `labels_`.
        """
        return self.fit(X, y, sample_weight=sample_weight, X_val=X_val).labels_

    @property
    def labels_(self) -> np.ndarray:
        """Component of each sample of the last `fit` or `partial_fit`, ndarray."""
        return self._training_results()[0]

    @property
    def lower_bound_(self) -> float:
        """Evidence lower bound of the training data at T=1, with all constants."""
        return self._training_results()[1]

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
        """Whether the lower bound converged, in a `fit` with ``batch_size=None``."""
        state = self._state()
        return bool(abs(state.convergence.bound_change) < self.tol)

    @property
    def lower_bounds_(self) -> list[float]:
        """Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``."""
        bounds = self.history_["lower_bound"]
        return bounds[~np.isnan(bounds)].tolist()

    @property
    def n_active_components_(self) -> int:
        """Number of components whose total responsibility is above 0.5."""
        return len(self._active())

    def _active(self):
        """Return the indices of the active components."""
        state, weights = self._state(), self._fitted_model().weights
        prior = weights.prior(state.hyper.weight_concentration)
        return np.flatnonzero(weights.counts(state.globals_.weights - prior) > ACTIVE)

    def _draw_components(self, n_samples):
        """Return the sorted components of new samples, and a random generator."""
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        shares = weights / weights.sum()
        return np.sort(random.choice(len(shares), n_samples, p=shares)), random


def _labels(model, block, prepared):
    step = model.local_step(block, prepared, Request(want=("local",)))
    return step.local_parameters.argmax(axis=1)
