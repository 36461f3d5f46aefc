"""The estimators of the mixtures of multinomials and of Bernoullis."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    TemperedEstimator,
    check_n_samples,
    check_weighted_counts,
    drop_features,
    expand_features,
    inspect_counts,
    validate_counts,
    validate_training_counts,
    warn_once,
    widened_for,
)
from .._families import LEAST_CONCENTRATION
from .._utils._arguments import Interval, positive_int
from .._utils._limits import check_prior
from .._utils._typing import ArrayLike, DataLike, Duration, Float, Int, Seed
from .._utils._validation import check_data
from ..learning_rates import LearningRate
from ..moves import Moves
from ..noise import GradientNoise
from ..renewals import Renewals
from ..schedules import Schedule
from ..tempering import Tempering
from ._model import BernoulliMixtureModel, MultinomialMixtureModel


class _DiscreteMixture(
    MixtureMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """Base of the estimators of both mixtures."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "feature_prior": [Interval(Real, LEAST_CONCENTRATION, None, closed="left")],
        "weight_concentration_prior": [
            Interval(Real, LEAST_CONCENTRATION, None, closed="left"),
            None,
        ],
    }
    _fixed_by_fit = (
        "n_components",
        "feature_prior",
        "weight_concentration_prior",
    )
    expand_features, drop_features = expand_features, drop_features
    _widened_for = widened_for
    _model = None
    #: Shape of the options of each feature.
    _options = ()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @classmethod
    def _make_model(cls, settings, n_features, dtype, **options):
        if settings.feature_prior != "auto":
            check_prior(settings.feature_prior, "feature_prior")
        check_prior(settings.weight_concentration_prior, "weight_concentration_prior")
        return cls._model(
            settings.n_components,
            n_features,
            dtype=dtype,
            feature_prior=settings.feature_prior,
            weight_concentration=settings.weight_concentration_prior,
            **options,
        )

    def _check_enough(self, data):
        if len(data) < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {len(data)}"
            )

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
        return super().predict_proba(X).astype(self.state_.dtype, copy=False)

    def _drawn(self, n_samples):
        """Return components, their feature probabilities, and a random generator."""
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        y = np.sort(random.choice(len(weights), n_samples, p=weights / weights.sum()))
        return y, self.components_.astype(np.float64)[y], random

    # -- views of the state ------------------------------------------------------------
    @property
    def feature_prior_(self) -> float:
        """Concentration of the components' prior of the fit."""
        return float(np.asarray(self._state().hyper.component).flat[0] + 1.0)

    @property
    def concentration_(self) -> np.ndarray:
        """Parameters of the components' posteriors, Dirichlet or Beta."""
        components = np.asarray(self._state().globals_.components)
        shape = len(components), self.n_features_in_, *self._options
        return components.reshape(shape) + 1.0


class _MultinomialMixture(_DiscreteMixture):
    """Base of the estimators of the mixture of multinomials."""

    _validate, _validate_training = validate_counts, validate_training_counts
    _check_weighted = check_weighted_counts
    _inspect_training_data = inspect_counts

    _model = MultinomialMixtureModel
    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "feature_prior": [
            *_DiscreteMixture._parameter_constraints["feature_prior"],
            StrOptions({"auto"}),
        ],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def sample(
        self, n_samples: Int = 1, doc_length: Int = 50
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw documents from the components at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of documents.
        doc_length : int, default=50
            Number of tokens of each document.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Word counts.
        y : ndarray of shape (n_samples,)
            Components of the samples.

        Raises
        ------
        ValueError
            If ``n_samples`` or ``doc_length`` is not an integer of at least 1.
        """
        doc_length = positive_int(doc_length, "doc_length")
        y, probabilities, random = self._drawn(n_samples)
        rows = [random.multinomial(doc_length, p / p.sum()) for p in probabilities]
        return np.stack(rows), y

    def perplexity(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
        """Return ``exp(-score(X))``, per token; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each document counts.

        Returns
        -------
        perplexity : float
            At least 1.
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))

    def top_words(
        self, feature_names: ArrayLike | None = None, n_words: Int = 10
    ) -> list[list[str]]:
        """Return the most probable words of each component.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words.  None uses the column names of the training data, or else column
            numbers.
        n_words : int, default=10
            Number of words of each component.

        Returns
        -------
        words : list of n_components lists of str
            The most probable word first.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or if
            ``n_words`` is not an integer of at least 1.
        """
        return self._top_words(feature_names, n_words)

    @property
    def components_(self) -> np.ndarray:
        """Posterior means of the components' word probabilities; rows sum to 1."""
        concentration = self.concentration_
        means = concentration / concentration.sum(axis=1, keepdims=True)
        return means.astype(self.state_.dtype)


class _BernoulliMixture(_DiscreteMixture):
    """Base of the estimators of the mixture of Bernoullis."""

    _model = BernoulliMixtureModel
    _options = (2,)
    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }
    _fixed_by_fit = (*_DiscreteMixture._fixed_by_fit, "binarize")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _validate(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if self.binarize is None:
            check_binary(X, type(self).__name__)
        return X

    def _validate_training(self, X, reset):
        X = super()._validate_training(X, reset)
        if self.binarize == 0.0 and not issparse(X):
            self._warn_of_codes(X)
        return X

    def _warn_of_codes(self, X):
        """Warn of whole numbers other than 0 and 1, which may be codes of answers."""
        known = X[~np.isnan(X)]
        are_codes = (known == np.rint(known)).all()
        if not are_codes or ((known == 0) | (known == 1)).all():
            return
        warn_once(
            self,
            "codes",
            f"X has values other than 0 and 1, from {known.min():.4g} to "
            f"{known.max():.4g}. Values above binarize=0.0, "
            f"{(known > 0).mean():.0%} of all, count as 1, and other values as 0. If "
            "this is intended, pass X > 0. Otherwise set a threshold, such as "
            "binarize=1.5 for answers coded 1 and 2, or use OneHotEncoder for more "
            "than two categories.",
            UserWarning,
        )

    @classmethod
    def _make_model(cls, settings, n_features, dtype):
        threshold = 0.5 if settings.binarize is None else settings.binarize
        return super()._make_model(settings, n_features, dtype, threshold=threshold)

    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples from the components at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Values 0 and 1.
        y : ndarray of shape (n_samples,)
            Components of the samples.

        Raises
        ------
        ValueError
            If ``n_samples`` is less than 1.
        """
        y, probabilities, random = self._drawn(n_samples)
        drawn = random.uniform(size=probabilities.shape) < probabilities
        return drawn.astype(self.state_.dtype), y

    @property
    def components_(self) -> np.ndarray:
        """Posterior means of the probabilities that a feature is 1."""
        concentration = self.concentration_
        means = concentration[..., 0] / concentration.sum(axis=-1)
        return means.astype(self.state_.dtype)


def check_binary(X, name):
    """Raise ValueError unless all values are 0, 1 or NaN."""
    values = X.data if hasattr(X, "indptr") else X
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise ValueError(
            f"{name} with binarize=None takes values of 0 and 1, and NaN for missing "
            "values. Set the threshold above which a value counts as 1, or use "
            "sklearn.preprocessing.OneHotEncoder for categories."
        )


class TemperedMultinomialMixture(_MultinomialMixture):
    """Mixture of multinomials (one topic per document), with any tempering, or none.

    It suits very short texts, which rarely have several topics, and clusters of
    documents [1]_.

    The fit can use any tempering [4]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``tempering`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    feature_prior : float or "auto", default="auto"
        Concentration of the Dirichlet prior of the word probabilities of a component.
        "auto" estimates the concentration from the share of pairs of equal tokens in
        rows.  The estimate is small for documents that repeat few words, and 1 for
        one-hot answers, which have no such pairs.  It is limited to values from 0.1 to
        1 with which the prior has at most a tenth of the tokens of a component.  It is
        0.1 if no row has two tokens, or if values are not whole.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`: "global" is
        `GlobalTempering()`, "local" is `LocalTempering()`, and None is plain
        variational inference at T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 documents if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the documents and in noise.  A `fit` that continues with
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
        Seed of the start and of the order of the documents.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the documents in a new random order.
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
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' word probabilities.
    concentration_ : ndarray of shape (n_components, n_features)
        Parameters of the components' posteriors.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    feature_prior_ : float
        The ``feature_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
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
        documents in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
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
    `score_samples` returns the logarithm of the posterior predictive probability of the
    sequence of a document's tokens, which is a mixture of Dirichlet-multinomials.
    `score` is the sum of these logarithms, divided by the number of tokens.

    References
    ----------
    .. [1] J. Yin, J. Wang, "A Dirichlet multinomial mixture model-based
       approach for short text clustering", KDD 2014.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper import TemperedMultinomialMixture
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=100, n_components=5, random_state=0)
    >>> TemperedMultinomialMixture(5, random_state=0).fit(X).predict(X).shape
    (100,)
    """

    _parameter_constraints = _MultinomialMixture._parameter_constraints

    def __init__(
        self,
        n_components: Int = 10,
        *,
        feature_prior: Float | Literal["auto"] = "auto",
        weight_concentration_prior: Float | None = None,
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
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.feature_prior = feature_prior
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class AnnealedMultinomialMixture(AnnealedMixin, _MultinomialMixture):
    """Mixture of multinomials (one topic per document), by annealing and moves.

    It suits very short texts, which rarely have several topics, and clusters of
    documents [1]_.

    The fit starts at a high temperature, which falls to 1 [3]_, and then splits and
    merges components.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``schedule`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    feature_prior : float or "auto", default="auto"
        Concentration of the Dirichlet prior of the word probabilities of a component.
        "auto" estimates the concentration from the share of pairs of equal tokens in
        rows.  The estimate is small for documents that repeat few words, and 1 for
        one-hot answers, which have no such pairs.  It is limited to values from 0.1 to
        1 with which the prior has at most a tenth of the tokens of a component.  It is
        0.1 if no row has two tokens, or if values are not whole.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 documents if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the documents and in noise.  A `fit` that continues with
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
        Seed of the start and of the order of the documents.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the documents in a new random order.
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
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' word probabilities.
    concentration_ : ndarray of shape (n_components, n_features)
        Parameters of the components' posteriors.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    feature_prior_ : float
        The ``feature_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
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
        documents in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
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
    `score_samples` returns the logarithm of the posterior predictive probability of the
    sequence of a document's tokens, which is a mixture of Dirichlet-multinomials.
    `score` is the sum of these logarithms, divided by the number of tokens.

    References
    ----------
    .. [1] J. Yin, J. Wang, "A Dirichlet multinomial mixture model-based
       approach for short text clustering", KDD 2014.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper import AnnealedMultinomialMixture
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> AnnealedMultinomialMixture(5, random_state=0).fit(X).predict(X).shape
    (300,)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        feature_prior: Float | Literal["auto"] = "auto",
        weight_concentration_prior: Float | None = None,
        schedule: Schedule | Callable | None = None,
        target: Literal["local_step", "likelihood", "posterior"] = "local_step",
        moves: Moves | Literal["birth", "split_merge", "all"] | None = "split_merge",
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
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.feature_prior = feature_prior
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class TemperedBernoulliMixture(_BernoulliMixture):
    """Mixture of Bernoullis (latent class analysis), with any tempering, or none.

    Features are independent given the class of a sample [1]_; missing values are
    left out.  Sparse data are made dense, some rows at a time.

    The fit can use any tempering [4]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``tempering`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    feature_prior : float, default=1.0
        Both concentrations of the Beta prior of the probability that a feature is 1,
        with the same value for all features.
    binarize : float or None, default=0.0
        Threshold: values above it count as 1 and other values as 0, as in
        scikit-learn's `BernoulliNB`.  NaN is a missing value.  With None, values must
        be 0 or 1.  Answers coded 1 and 2 need the threshold 1.5.  With 0.0 all of them
        would count as 1; a fit to such dense whole numbers warns.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`: "global" is
        `GlobalTempering()`, "local" is `LocalTempering()`, and None is plain
        variational inference at T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
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
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the probabilities that a feature is 1.
    concentration_ : ndarray of shape (n_components, n_features, 2)
        Parameters of the components' posteriors.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    feature_prior_ : float
        The ``feature_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
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
        samples in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
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
    NaN is a missing value, and is assumed to be missing at random.  `score_samples`
    returns the logarithm of the posterior predictive probability of the values that are
    not missing, and `score` is the mean of these logarithms.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedBernoulliMixture
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> TemperedBernoulliMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    _parameter_constraints = _BernoulliMixture._parameter_constraints

    def __init__(
        self,
        n_components: Int = 10,
        *,
        feature_prior: Float = 1.0,
        binarize: Float | None = 0.0,
        weight_concentration_prior: Float | None = None,
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
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.feature_prior = feature_prior
        self.binarize = binarize
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class AnnealedBernoulliMixture(AnnealedMixin, _BernoulliMixture):
    """Mixture of Bernoullis (latent class analysis), by annealing and moves.

    Features are independent given the class of a sample [1]_; missing values are
    left out.  Sparse data are made dense, some rows at a time.

    The fit starts at a high temperature, which falls to 1 [3]_, and then splits and
    merges components.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``schedule`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.
    feature_prior : float, default=1.0
        Both concentrations of the Beta prior of the probability that a feature is 1,
        with the same value for all features.
    binarize : float or None, default=0.0
        Threshold: values above it count as 1 and other values as 0, as in
        scikit-learn's `BernoulliNB`.  NaN is a missing value.  With None, values must
        be 0 or 1.  Answers coded 1 and 2 need the threshold 1.5.  With 0.0 all of them
        would count as 1; a fit to such dense whole numbers warns.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
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
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the probabilities that a feature is 1.
    concentration_ : ndarray of shape (n_components, n_features, 2)
        Parameters of the components' posteriors.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    feature_prior_ : float
        The ``feature_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
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
        samples in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
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
    NaN is a missing value, and is assumed to be missing at random.  `score_samples`
    returns the logarithm of the posterior predictive probability of the values that are
    not missing, and `score` is the mean of these logarithms.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedBernoulliMixture
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> AnnealedBernoulliMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        feature_prior: Float = 1.0,
        binarize: Float | None = 0.0,
        weight_concentration_prior: Float | None = None,
        schedule: Schedule | Callable | None = None,
        target: Literal["local_step", "likelihood", "posterior"] = "local_step",
        moves: Moves | Literal["birth", "split_merge", "all"] | None = "split_merge",
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
        shuffle: bool = True,
        total_samples: Int | None = None,
        half_life: Float | Duration | None = None,
        renewals: Renewals | Literal["auto"] | None = "auto",
    ):
        self.n_components = n_components
        self.feature_prior = feature_prior
        self.binarize = binarize
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals
