"""The estimators of latent Dirichlet allocation."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from scipy.special import psi
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval, WholeNumber, check_flag, refuse
from .._estimator import (
    AnnealedMixin,
    ColumnsMixin,
    CountsMixin,
    SVIPlusMixin,
    TemperedEstimator,
)
from .._limits import check_prior
from ..model import Powers, Request
from ._checks import check_samplable, positive
from ._end_of_fit import END_OF_FIT_CHECKS
from ._model import LDAModel
from ._priors import PriorsMixin
from ._serving import ServingMixin
from ._sizes import SizesMixin
from ._tables import TablesMixin

#: Smallest temperature; below it, counts divided by T overflow.
LEAST_TEMPERATURE = 1e-6


def _gamma(model, block, shared, power_of_rows=None):
    """Return gamma of a block, at one power for all documents or one for each."""
    prepared, power = shared
    powers = Powers(local=power if power_of_rows is None else power_of_rows)
    return model.optimal_gamma(block, prepared, Request(powers, want=()))


def _gamma_at_one(model, block, prepared):
    """Return gamma of a block at T=1."""
    return _gamma(model, block, (prepared, 1.0))


class _LDA(
    TablesMixin,
    SizesMixin,
    PriorsMixin,
    ServingMixin,
    ColumnsMixin,
    CountsMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """Common parts of the estimators of latent Dirichlet allocation."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "n_components": [WholeNumber(1), None],
        "n_start_components": [WholeNumber(1), None],
        "doc_topic_prior": [
            Interval(Real, 0, None, closed="neither"),
            "array-like",
            StrOptions({"auto"}),
            None,
        ],
        "topic_word_prior": [
            Interval(Real, 0, None, closed="neither"),
            "array-like",
            None,
        ],
        "init": ["array-like", None],
        "init_params": [StrOptions({"spectral", "random"})],
        "doc_update": [StrOptions({"variational", "sampled", "auto"})],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
        "topic_drop_tol": [Interval(Real, 0, None, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate_training(self, X, reset):
        self._check_trains()
        X = super()._validate_training(X, reset)
        if self.doc_update == "sampled":
            check_samplable(X)
        return X

    def _check_enough(self, data):
        validated = (
            matrix.data if sparse.issparse(matrix) else matrix
            for matrix in data.validated
        )
        if not any(values.any() for values in validated):
            raise ValueError("X has no tokens: all counts are 0.")

    def _compute_dtype(self, X):
        """Return float64 for wide floats, and float32 for other types."""
        wide = X.dtype.kind == "f" and X.dtype.itemsize > 4
        return np.dtype(np.float64 if wide else np.float32)

    _end_of_fit_checks = END_OF_FIT_CHECKS
    _fixed_by_fit = ("n_components", "doc_topic_prior", "topic_word_prior")
    _iteration_limit = "max_doc_update_iter"

    def _make_model(self, n_features, dtype):
        K = self._n_topics()
        alpha = self._alpha(K)
        eta = positive(
            1 / K if self.topic_word_prior is None else self.topic_word_prior,
            "topic_word_prior",
            [(n_features,), (K, n_features)],
        )
        check_prior(eta, "topic_word_prior")
        return LDAModel(
            K,
            n_features,
            alpha,
            np.atleast_2d(eta),
            dtype=dtype,
            tol=self.mean_change_tol,
            max_iter=self.max_doc_update_iter,
            drop_tol=self.topic_drop_tol,
            init=self.init,
            init_params=self.init_params,
            doc_update=self._doc_update(),
        )

    def _alpha(self, n_topics):
        """Return alpha, or None if it depends on the data."""
        prior = self.doc_topic_prior
        if isinstance(prior, str):
            return None
        alpha = positive(
            1 / n_topics if prior is None else prior, "doc_topic_prior", [(n_topics,)]
        )
        check_prior(alpha, "doc_topic_prior")
        return np.broadcast_to(alpha, n_topics).copy()

    def _n_topics(self):
        """Return K; if ``n_components`` is None, return K of the fitted model."""
        if self.n_components is not None:
            return self.n_components
        if not hasattr(self, "state_"):
            refuse(
                "n_components",
                "an int of at least 1 in partial_fit, as None finds it in fit",
                None,
            )
        return self.n_components_

    def _fixed(self):
        return {**super()._fixed(), "n_components": self._n_topics()}

    def _doc_update(self):
        """Return ``doc_update``; "auto" becomes "variational" without cooling."""
        if self.doc_update == "auto" and not self._tempering().cools:
            return "variational"
        return self.doc_update

    # -- fitting -----------------------------------------------------------------------
    def _fit(self, X, sample_weight, continued, X_val=None):
        self._validate_params()
        if not continued and self._starts_with_more():
            self._fit_with_more(X, sample_weight, X_val)
            return self
        return super()._fit(X, sample_weight, continued, X_val)

    def _prepare_fit(self, data, sample_weight):
        """Delete the prior for predictions of an earlier fit."""
        self._delete_prior_of_predictions()

    # -- what users call ---------------------------------------------------------------
    def transform(self, X, *, normalize=True, temperature=1.0):
        """Return the topic weights of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows are normalized to sum 1; otherwise they are the Dirichlet
            parameters gamma.
        temperature : float or array-like of shape (n_samples,), default=1.0
            Positive temperature T; the likelihood has the exponent 1/T, so that a
            higher temperature moves topic weights toward the prior.  An array has one
            temperature for each document, such as the result of `temperatures`.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            An empty document gets the prior mean.

        Raises
        ------
        ValueError
            If temperatures are not positive and finite, or if their number differs from
            the number of documents.
        """
        check_flag(normalize, "normalize")
        gamma = self._doc_topic(X, temperature)
        if normalize:
            gamma /= np.add.reduce(gamma, axis=1, keepdims=True)
        return gamma

    def _doc_topic(self, X, temperature):
        """Return gamma of each document, optimised at its temperature."""
        if type(temperature) is float and temperature == 1.0:
            blocks = self._map(X, _gamma_at_one)
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        with self._fitted_problem(X) as problem:
            n_rows = len(problem.data)
            temperature = positive(temperature, "temperature", [(n_rows,)])
            if np.min(temperature) < LEAST_TEMPERATURE:
                raise ValueError(f"temperature must be at least {LEAST_TEMPERATURE:g}.")
            prepared = self._prepared(problem.model)
            of_rows, shared = None, (prepared, 1.0 / temperature)
            if np.ndim(temperature):
                of_rows, shared = 1.0 / temperature, (prepared, None)
            return np.concatenate(list(problem.map(_gamma, shared, values=of_rows)))

    def fit_transform(self, X, y=None, *, normalize=True, **fit_params):
        """Fit the model and return the topic weights of the same documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        y : None
            Ignored, for compatibility with scikit-learn.
        normalize : bool, default=True
            As in `transform`.
        **fit_params : dict
            For `fit`.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            Topic weights of each document.
        """
        return self.fit(X, y, **fit_params).transform(X, normalize=normalize)

    def perplexity(self, X, sample_weight=None):
        """Return ``exp(-score(X))``, per held-out token; lower is better.

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

    # -- views of the state ------------------------------------------------------------
    @property
    def components_(self):
        """Dirichlet parameters of the topics, ndarray (n_components, n_features)."""
        state = self._state()
        return np.ascontiguousarray(state.globals_.dense().T, dtype=state.dtype)

    @property
    def exp_dirichlet_component_(self):
        """``exp(E[log topic_word])``, ndarray of shape (n_components, n_features)."""
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
        """Dirichlet parameters of the topics' prior, broadcastable to `components_`."""
        return self._state().globals_.prior.T

    @property
    def _n_features_out(self):
        return self._state().globals_.u.shape[1]


class TemperedLDA(_LDA):
    """Topic model (latent Dirichlet allocation) with any tempering, or with none.

    Stochastic variational inference [1]_ of topics in word counts, in which the
    temperature of the documents is inferred [2]_, or given by another policy.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``tempering`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None estimates it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" depends on the
        mean number of tokens N of nonempty documents, in the data of `fit` or in the
        first chunk of a stream: it is ``min(0.05, 0.07 * N / n_components)``, at least
        0.001.  It suits short documents and many topics.  None is ``1 / n_components``,
        as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, an array of shape
        (n_features,), or one of shape (n_components, n_features), which can seed topics
        with words.  None is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        Number of topics at the start of `fit`, at least ``n_components``.  After the
        passes, topics are merged by evidence into ``n_components`` topics, see
        `merge_topics`; half as many passes follow.  If ``n_components`` is None, topics
        are merged while the evidence rises, and then while the lower bound of at most
        2,000 documents rises.  With two to four times the number of topics, a fit finds
        more of the true ones than a direct fit from a random start.  Priors must not
        have a value for each topic.  Callbacks are called in two fits, before and after
        the merge, and Ctrl-C or an error leaves an earlier fit unchanged.  None starts
        with ``n_components``.  `partial_fit` ignores this parameter.
    init_params : {"spectral", "random"}, default="spectral"
        Method for the initial ``components_`` if ``init`` is None.  "spectral" makes a
        correspondence analysis of at most 4,000 documents of the data, or of the first
        chunk of a stream.  Its axes, rotated such that each document is near few of
        them, are the topics.  Starts with different seeds differ by about a tenth in
        each entry.  "random" makes the same draws as scikit-learn's
        LatentDirichletAllocation for the same ``random_state``.  Random draws are also
        used for topics beyond the number of axes, for priors that have a value for each
        topic, and if fewer than ``2 * n_components`` of those documents have tokens.
    init : array-like of shape (n_components, n_features), default=None
        Initial ``components_``, with ``n_start_components`` rows if that is given.
        None uses ``init_params``.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering()`: one temperature, inferred from the data,
          below a cap that falls to 1.  It has no parameters to tune, and is about as
          good as a good annealing schedule.
        - "local", `LocalTempering()`: a temperature for each document.  It suits data
          with outliers, whose temperatures `temperatures` returns.  A fit takes up to
          three times as long.
        - An `Annealing`, with a schedule and a target of your choice; `AnnealedLDA`
          is a shorter way to set these, and the first estimator to try.
        - None: plain stochastic variational inference at T=1.  With
          ``init_params="random"`` it is the algorithm and the start of scikit-learn's
          `LatentDirichletAllocation`, a baseline.
    batch_size : int, "auto" or None, default="auto"
        Number of documents of a step.  "auto" takes documents with about 30,000 tokens,
        but at most a fifth of the data.  If documents are not sampled (see
        ``doc_update``), it takes at least a twentieth of the data, because with small
        batches the held-out score of short documents falls from pass to pass.  In a
        stream without ``total_samples`` it takes documents with about 20,000 tokens.
        None takes all documents, which is coordinate ascent with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        Inference of the topics of a document's words in a step of the fit.
        "variational" is the mean-field approximation.  "sampled" makes 10 sweeps of
        collapsed Gibbs sampling of the topics of all tokens, given the means of the
        topics, and averages the last 5 [4]_.  It avoids the mean-field approximation,
        which traps short documents, and finds better topics for them.  Counts must be
        whole numbers.  "auto" is variational while the temperature is above 1, and then
        samples documents of at most ``2 * n_components`` tokens with whole counts; if
        the tempering does not cool, it is variational.  "sampled" needs lower
        temperatures than "auto", because above T=1.3 all topics become equal.
        `transform` and `score` are always variational.
    max_iter : int, default=10
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the documents and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        token.
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
    mean_change_tol : float, default=1e-3
        The iterations of a document end when the mean absolute change of its topic
        weights is below this value.
    max_doc_update_iter : int, default=100
        Largest number of iterations of a document.
    topic_drop_tol : float, default=1e-4
        The iterations of a document skip topics to which they assign fewer tokens than
        this value times ``doc_topic_prior``.  Most topics are skipped.  A skipped
        topic is used again if it gets more tokens.  The relative change of a step is
        about 1e-7 in float32 and 1e-9 in float64.  0 skips no topics.  Iterations of
        short documents, several of which are optimised together, skip no topics.
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
        of `fit`, plus rows of later `partial_fit` calls.  In a stream without `fit`,
        None is the number of rows so far, but at least the rows of 25 batches, and at
        most 200 rows per topic.
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
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        Posterior means of the topics' word probabilities; rows sum to 1.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        Priors of the fit.
    prediction_prior_ : ndarray of shape (n_components,)
        Prior of documents in `transform` and `score`, if `fit_prior` was called.
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
        documents in the tempered bound of the batch, in nats per token),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (time
        of the last row before it, or None), "reason" ("start", "schedule" or "alarm"),
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
    Integer counts, such as those of vectorizers, are computed in float32, which agrees
    with float64 to 1e-4; float64 counts are computed in float64.  `score` is document
    completion: the distinct words of a document, in column order, are assigned
    alternately to an observed and a held-out half.  Topic weights are inferred from the
    first half, and the second half is scored.

    References
    ----------
    .. [1] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational inference",
       JMLR 14, 2013.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] D. Mimno, M. Hoffman, D. Blei, "Sparse stochastic inference for latent
       Dirichlet allocation", ICML 2012.

    Examples
    --------
    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.tempering import Annealing
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> lda = TemperedLDA(5, tempering=Annealing(target="likelihood"), random_state=0)
    >>> lda.fit_transform(X).shape
    (300, 5)
    """

    _parameter_constraints = _LDA._parameter_constraints

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=0.05,
        topic_word_prior=0.1,
        n_start_components=None,
        init_params="spectral",
        init=None,
        tempering="global",
        batch_size="auto",
        learning_rate=None,
        gradient_noise=None,
        doc_update="auto",
        max_iter=10,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        topic_drop_tol=1e-4,
        random_state=None,
        n_jobs=None,
        verbose=0,
        shuffle=True,
        total_samples=None,
        half_life=None,
        renewals="auto",
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_start_components = n_start_components
        self.init_params = init_params
        self.init = init
        self.tempering = tempering
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.doc_update = doc_update
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.topic_drop_tol = topic_drop_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class AnnealedLDA(AnnealedMixin, _LDA):
    """Topic model (latent Dirichlet allocation) fitted by deterministic annealing.

    Stochastic variational inference [1]_ that starts at a high temperature, which
    flattens poor optima, and cools to T=1 [2]_, [3]_.  For documents that are not
    sampled, topics then predict held-out words better, most of all in short documents.
    Short documents are sampled at T=1 (``doc_update``), and the start comes from the
    data (``init_params``); where both apply, the temperature adds little to them.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``schedule`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None estimates it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" depends on the
        mean number of tokens N of nonempty documents, in the data of `fit` or in the
        first chunk of a stream: it is ``min(0.05, 0.07 * N / n_components)``, at least
        0.001.  It suits short documents and many topics.  None is ``1 / n_components``,
        as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, an array of shape
        (n_features,), or one of shape (n_components, n_features), which can seed topics
        with words.  None is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        Number of topics at the start of `fit`, at least ``n_components``.  After the
        passes, topics are merged by evidence into ``n_components`` topics, see
        `merge_topics`; half as many passes follow.  If ``n_components`` is None, topics
        are merged while the evidence rises, and then while the lower bound of at most
        2,000 documents rises.  With two to four times the number of topics, a fit finds
        more of the true ones than a direct fit from a random start.  Priors must not
        have a value for each topic.  Callbacks are called in two fits, before and after
        the merge, and Ctrl-C or an error leaves an earlier fit unchanged.  None starts
        with ``n_components``.  `partial_fit` ignores this parameter.
    init_params : {"spectral", "random"}, default="spectral"
        Method for the initial ``components_`` if ``init`` is None.  "spectral" makes a
        correspondence analysis of at most 4,000 documents of the data, or of the first
        chunk of a stream.  Its axes, rotated such that each document is near few of
        them, are the topics.  Starts with different seeds differ by about a tenth in
        each entry.  "random" makes the same draws as scikit-learn's
        LatentDirichletAllocation for the same ``random_state``.  Random draws are also
        used for topics beyond the number of axes, for priors that have a value for each
        topic, and if fewer than ``2 * n_components`` of those documents have tokens.
    init : array-like of shape (n_components, n_features), default=None
        Initial ``components_``, with ``n_start_components`` rows if that is given.
        None uses ``init_params``.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    batch_size : int, "auto" or None, default="auto"
        Number of documents of a step.  "auto" takes documents with about 30,000 tokens,
        but at most a fifth of the data.  If documents are not sampled (see
        ``doc_update``), it takes at least a twentieth of the data, because with small
        batches the held-out score of short documents falls from pass to pass.  In a
        stream without ``total_samples`` it takes documents with about 20,000 tokens.
        None takes all documents, which is coordinate ascent with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        Inference of the topics of a document's words in a step of the fit.
        "variational" is the mean-field approximation.  "sampled" makes 10 sweeps of
        collapsed Gibbs sampling of the topics of all tokens, given the means of the
        topics, and averages the last 5 [4]_.  It avoids the mean-field approximation,
        which traps short documents, and finds better topics for them.  Counts must be
        whole numbers.  "auto" is variational while the temperature is above 1, and then
        samples documents of at most ``2 * n_components`` tokens with whole counts; if
        the tempering does not cool, it is variational.  "sampled" needs lower
        temperatures than "auto", because above T=1.3 all topics become equal.
        `transform` and `score` are always variational.
    max_iter : int, default=10
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the documents and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        token.
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
    mean_change_tol : float, default=1e-3
        The iterations of a document end when the mean absolute change of its topic
        weights is below this value.
    max_doc_update_iter : int, default=100
        Largest number of iterations of a document.
    topic_drop_tol : float, default=1e-4
        The iterations of a document skip topics to which they assign fewer tokens than
        this value times ``doc_topic_prior``.  Most topics are skipped.  A skipped
        topic is used again if it gets more tokens.  The relative change of a step is
        about 1e-7 in float32 and 1e-9 in float64.  0 skips no topics.  Iterations of
        short documents, several of which are optimised together, skip no topics.
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
        of `fit`, plus rows of later `partial_fit` calls.  In a stream without `fit`,
        None is the number of rows so far, but at least the rows of 25 batches, and at
        most 200 rows per topic.
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
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        Posterior means of the topics' word probabilities; rows sum to 1.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        Priors of the fit.
    prediction_prior_ : ndarray of shape (n_components,)
        Prior of documents in `transform` and `score`, if `fit_prior` was called.
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
        documents in the tempered bound of the batch, in nats per token),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (time
        of the last row before it, or None), "reason" ("start", "schedule" or "alarm"),
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
    Integer counts, such as those of vectorizers, are computed in float32, which agrees
    with float64 to 1e-4; float64 counts are computed in float64.  `score` is document
    completion: the distinct words of a document, in column order, are assigned
    alternately to an observed and a held-out half.  Topic weights are inferred from the
    first half, and the second half is scored.

    References
    ----------
    .. [1] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational inference",
       JMLR 14, 2013.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] D. Mimno, M. Hoffman, D. Blei, "Sparse stochastic inference for latent
       Dirichlet allocation", ICML 2012.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> lda = AnnealedLDA(5, random_state=0).fit(X)
    >>> lda.transform(X[:2]).shape
    (2, 5)
    >>> lda.temperature_
    1.0
    """

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=0.05,
        topic_word_prior=0.1,
        n_start_components=None,
        init_params="spectral",
        init=None,
        schedule=None,
        target="local_step",
        batch_size="auto",
        learning_rate=None,
        gradient_noise=None,
        doc_update="auto",
        max_iter=10,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        topic_drop_tol=1e-4,
        random_state=None,
        n_jobs=None,
        verbose=0,
        shuffle=True,
        total_samples=None,
        half_life=None,
        renewals="auto",
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_start_components = n_start_components
        self.init_params = init_params
        self.init = init
        self.schedule = schedule
        self.target = target
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.doc_update = doc_update
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.topic_drop_tol = topic_drop_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals


class SVIPlusLDA(SVIPlusMixin, _LDA):
    """Topic model (latent Dirichlet allocation) with tunable gradient noise (SVI+).

    Stochastic variational inference [1]_ with large batches that have the gradient
    noise of smaller ones [2]_, see `sktemper.noise.SVIPlusNoise`.  The noise is meant
    to leave poor optima.  It can be combined with a temperature [3]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``effective_batch_size`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``renewals``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None estimates it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" depends on the
        mean number of tokens N of nonempty documents, in the data of `fit` or in the
        first chunk of a stream: it is ``min(0.05, 0.07 * N / n_components)``, at least
        0.001.  It suits short documents and many topics.  None is ``1 / n_components``,
        as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, an array of shape
        (n_features,), or one of shape (n_components, n_features), which can seed topics
        with words.  None is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        Number of topics at the start of `fit`, at least ``n_components``.  After the
        passes, topics are merged by evidence into ``n_components`` topics, see
        `merge_topics`; half as many passes follow.  If ``n_components`` is None, topics
        are merged while the evidence rises, and then while the lower bound of at most
        2,000 documents rises.  With two to four times the number of topics, a fit finds
        more of the true ones than a direct fit from a random start.  Priors must not
        have a value for each topic.  Callbacks are called in two fits, before and after
        the merge, and Ctrl-C or an error leaves an earlier fit unchanged.  None starts
        with ``n_components``.  `partial_fit` ignores this parameter.
    init_params : {"spectral", "random"}, default="spectral"
        Method for the initial ``components_`` if ``init`` is None.  "spectral" makes a
        correspondence analysis of at most 4,000 documents of the data, or of the first
        chunk of a stream.  Its axes, rotated such that each document is near few of
        them, are the topics.  Starts with different seeds differ by about a tenth in
        each entry.  "random" makes the same draws as scikit-learn's
        LatentDirichletAllocation for the same ``random_state``.  Random draws are also
        used for topics beyond the number of axes, for priors that have a value for each
        topic, and if fewer than ``2 * n_components`` of those documents have tokens.
    init : array-like of shape (n_components, n_features), default=None
        Initial ``components_``, with ``n_start_components`` rows if that is given.
        None uses ``init_params``.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size M of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of documents, or a schedule of such values, see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of documents, see
        `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    batch_size : int, "auto" or None, default="auto"
        Number of documents of a step.  "auto" takes documents with about 30,000 tokens,
        but at most a fifth of the data.  If documents are not sampled (see
        ``doc_update``), it takes at least a twentieth of the data, because with small
        batches the held-out score of short documents falls from pass to pass.  In a
        stream without ``total_samples`` it takes documents with about 20,000 tokens.
        None takes all documents, which is coordinate ascent with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        Inference of the topics of a document's words in a step of the fit.
        "variational" is the mean-field approximation.  "sampled" makes 10 sweeps of
        collapsed Gibbs sampling of the topics of all tokens, given the means of the
        topics, and averages the last 5 [4]_.  It avoids the mean-field approximation,
        which traps short documents, and finds better topics for them.  Counts must be
        whole numbers.  "auto" is variational while the temperature is above 1, and then
        samples documents of at most ``2 * n_components`` tokens with whole counts; if
        the tempering does not cool, it is variational.  "sampled" needs lower
        temperatures than "auto", because above T=1.3 all topics become equal.
        `transform` and `score` are always variational.
    max_iter : int, default=10
        Number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the documents and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        token.
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
    mean_change_tol : float, default=1e-3
        The iterations of a document end when the mean absolute change of its topic
        weights is below this value.
    max_doc_update_iter : int, default=100
        Largest number of iterations of a document.
    topic_drop_tol : float, default=1e-4
        The iterations of a document skip topics to which they assign fewer tokens than
        this value times ``doc_topic_prior``.  Most topics are skipped.  A skipped
        topic is used again if it gets more tokens.  The relative change of a step is
        about 1e-7 in float32 and 1e-9 in float64.  0 skips no topics.  Iterations of
        short documents, several of which are optimised together, skip no topics.
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
        of `fit`, plus rows of later `partial_fit` calls.  In a stream without `fit`,
        None is the number of rows so far, but at least the rows of 25 batches, and at
        most 200 rows per topic.
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
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        Posterior means of the topics' word probabilities; rows sum to 1.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        Priors of the fit.
    prediction_prior_ : ndarray of shape (n_components,)
        Prior of documents in `transform` and `score`, if `fit_prior` was called.
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
        documents in the tempered bound of the batch, in nats per token),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    renewals_ : dict of ndarrays
        Renewals of a stream with a half-life.  Each array has an entry for each
        renewal: "sample" and "step" (numbers of rows and steps before it), "time" (time
        of the last row before it, or None), "reason" ("start", "schedule" or "alarm"),
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
    Integer counts, such as those of vectorizers, are computed in float32, which agrees
    with float64 to 1e-4; float64 counts are computed in float64.  `score` is document
    completion: the distinct words of a document, in column order, are assigned
    alternately to an observed and a held-out half.  Topic weights are inferred from the
    first half, and the second half is scored.

    References
    ----------
    .. [1] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational inference",
       JMLR 14, 2013.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [4] D. Mimno, M. Hoffman, D. Blei, "Sparse stochastic inference for latent
       Dirichlet allocation", ICML 2012.

    Examples
    --------
    >>> from sktemper import SVIPlusLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> SVIPlusLDA(5, effective_batch_size=0.25, random_state=0).fit_transform(X).shape
    (300, 5)
    """

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=0.05,
        topic_word_prior=0.1,
        n_start_components=None,
        init_params="spectral",
        init=None,
        effective_batch_size=0.5,
        noise_distribution="dirichlet",
        tempering=None,
        batch_size="auto",
        learning_rate=None,
        doc_update="auto",
        max_iter=10,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        topic_drop_tol=1e-4,
        random_state=None,
        n_jobs=None,
        verbose=0,
        shuffle=True,
        total_samples=None,
        half_life=None,
        renewals="auto",
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_start_components = n_start_components
        self.init_params = init_params
        self.init = init
        self.effective_batch_size = effective_batch_size
        self.noise_distribution = noise_distribution
        self.tempering = tempering
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.doc_update = doc_update
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.topic_drop_tol = topic_drop_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.shuffle = shuffle
        self.total_samples = total_samples
        self.half_life = half_life
        self.renewals = renewals
