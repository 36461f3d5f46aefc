"""The estimators of latent Dirichlet allocation."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_is_fitted

from ..base import TemperedEstimator, validate_counts
from ..model import Powers
from ..policy import Slot
from ..schedules import as_schedule
from ..tempering import Annealing
from .model import LDAModel


class _LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TemperedEstimator):
    """What the estimators of latent Dirichlet allocation share."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "doc_topic_prior": [
            Interval(Real, 0, None, closed="neither"),
            "array-like",
            None,
        ],
        "topic_word_prior": [
            Interval(Real, 0, None, closed="neither"),
            "array-like",
            None,
        ],
        "init": ["array-like", None],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X, reset):
        return validate_counts(self, X, reset)

    def _compute_dtype(self, X):
        """Integer counts are computed in float32; wide floats in float64."""
        wide = X.dtype.kind == "f" and X.dtype.itemsize > 4
        return np.dtype(np.float64 if wide else np.float32)

    def _make_model(self, n_features, dtype):
        K = self.n_components
        alpha = _positive(self.doc_topic_prior, "doc_topic_prior", 1 / K, [(K,)])
        eta = _positive(
            self.topic_word_prior,
            "topic_word_prior",
            1 / K,
            [(n_features,), (K, n_features)],
        )
        init = self.init
        if init is not None:
            init = _positive(init, "init", None, [(K, n_features)])
        return LDAModel(
            K,
            n_features,
            np.broadcast_to(alpha, K).copy(),
            np.atleast_2d(eta),
            dtype=dtype,
            tol=self.mean_change_tol,
            max_iter=self.max_doc_update_iter,
            init=init,
        )

    # -- what users call -----------------------------------------------------------------
    def transform(self, X, *, normalize=True):
        """Return the topic weights of documents, at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to 1; otherwise the Dirichlet parameters gamma.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            An empty document gets the prior mean.
        """
        gamma = np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: (
                    model.local_step(
                        block, prepared, Powers(), want=("local",)
                    ).local_parameters
                ),
            )
        )
        if normalize:
            gamma /= gamma.sum(axis=1, keepdims=True)
        return gamma

    def perplexity(self, X):
        """Return ``exp(-score(X))``, per held-out token; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.

        Returns
        -------
        perplexity : float
        """
        return float(np.exp(-self.score(X)))

    def top_words(self, feature_names=None, n_words=10):
        """Return the most probable words of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words, as a vectorizer's ``get_feature_names_out`` has them; None takes
            the column names of the training data, or column numbers.
        n_words : int, default=10

        Returns
        -------
        topics : list of n_components lists of str
            The most probable word first.

        Raises
        ------
        ValueError
            If there are not as many names as features.
        """
        check_is_fitted(self, "state_")
        if feature_names is None:
            feature_names = getattr(
                self, "feature_names_in_", np.arange(self.n_features_in_)
            )
        names = np.asarray(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names has shape {names.shape}, but the model was fitted to "
                f"{self.n_features_in_} features."
            )
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n_words]
        return [[str(word) for word in names[row]] for row in order]

    # -- views of the state --------------------------------------------------------------
    @property
    def components_(self):
        """Dirichlet parameters of the topics, ndarray (n_components, n_features)."""
        state = self._state()
        return np.ascontiguousarray(state.globals_.dense().T, dtype=state.dtype)

    @property
    def exp_dirichlet_component_(self):
        """``exp(E[log topic_word])``, ndarray of shape (n_components, n_features)."""
        from scipy.special import psi

        state = self._state()
        topic_word = state.globals_.dense().T
        log_beta = psi(topic_word) - psi(topic_word.sum(axis=1, keepdims=True))
        return np.exp(log_beta).astype(state.dtype)

    @property
    def topic_word_(self):
        """Mean probabilities of words in topics, ndarray; rows sum to 1."""
        components = self.components_
        return components / components.sum(axis=1, keepdims=True)

    @property
    def doc_topic_prior_(self):
        """Dirichlet parameters of the documents' prior, ndarray (n_components,)."""
        return self._state().hyper

    @property
    def topic_word_prior_(self):
        """Dirichlet parameters of the topics' prior, broadcastable to components_."""
        return self._state().globals_.prior.T

    @property
    def _n_features_out(self):
        return self.n_components


def _positive(value, name, default, shapes):
    """Return a prior or start as float64, of one of ``shapes`` or a scalar."""
    if value is None:
        return np.float64(default)
    if isinstance(value, Real):
        return np.float64(value)
    array = check_array(
        value, dtype=np.float64, ensure_2d=False, allow_nd=False, input_name=name
    )
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}.")
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive everywhere.")
    return array


class TemperedLDA(_LDA):
    """Latent Dirichlet allocation under any tempering."""

    _parameter_constraints = _LDA._parameter_constraints

    def __init__(
        self,
        n_components=10,
        *,
        tempering=None,
        learning_rate=None,
        doc_topic_prior=None,
        topic_word_prior=None,
        init=None,
        max_iter=10,
        batch_size="auto",
        shuffle=True,
        total_samples=None,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.tempering = tempering
        self.learning_rate = learning_rate
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class AnnealedLDA(_LDA):
    """Latent Dirichlet allocation by deterministic annealing."""

    _slots = {
        "schedule": Slot(as_schedule),
        "learning_rate": _LDA._slots["learning_rate"],
    }
    _parameter_constraints = {
        **{k: v for k, v in _LDA._parameter_constraints.items() if k != "tempering"},
        "schedule": "no_validation",
        "target": Annealing._parameter_constraints["target"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        schedule=None,
        target="local_step",
        learning_rate=None,
        doc_topic_prior=None,
        topic_word_prior=None,
        init=None,
        max_iter=10,
        batch_size="auto",
        shuffle=True,
        total_samples=None,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.schedule = schedule
        self.target = target
        self.learning_rate = learning_rate
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _tempering(self):
        return Annealing(self.schedule, self.target)

    @property
    def schedule_(self):
        """The schedule in use, its length resolved."""
        self._state()
        return self.tempering_.schedule
