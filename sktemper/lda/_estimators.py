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
from ._sizes import SizesMixin
from ._tables import TablesMixin

#: Below it 1/T times counts overflows.
LEAST_TEMPERATURE = 1e-6


def _gamma(model, block, shared, power_of_rows=None):
    """Return gamma of a block, at the power of all documents or of each."""
    prepared, power = shared
    powers = Powers(local=power if power_of_rows is None else power_of_rows)
    request = Request(powers, want=("local",))
    return model.local_step(block, prepared, request).local_parameters


class _LDA(
    TablesMixin,
    SizesMixin,
    PriorsMixin,
    ColumnsMixin,
    CountsMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """What the estimators of latent Dirichlet allocation share."""

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
        """Integer counts are computed in float32; wide floats in float64."""
        wide = X.dtype.kind == "f" and X.dtype.itemsize > 4
        return np.dtype(np.float64 if wide else np.float32)

    _end_of_fit_checks = END_OF_FIT_CHECKS
    _fixed_by_fit = ("n_components", "doc_topic_prior", "topic_word_prior")

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
        """Return alpha, or None where it comes from the data."""
        prior = self.doc_topic_prior
        if isinstance(prior, str):
            return None
        alpha = positive(
            1 / n_topics if prior is None else prior, "doc_topic_prior", [(n_topics,)]
        )
        check_prior(alpha, "doc_topic_prior")
        return np.broadcast_to(alpha, n_topics).copy()

    def _n_topics(self):
        """Return K, where it is to be found that of the fitted model."""
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
        """Return how documents are updated: "auto" samples once annealing is over."""
        if self.doc_update == "auto" and not self._tempering().cools:
            return "variational"
        return self.doc_update

    # -- what users call ---------------------------------------------------------------
    def fit(self, X, y=None, sample_weight=None, *, X_val=None):
        """Fit the model to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts; never copied whole, never changed.  All methods also take data
            in parts: a list of matrices of as many columns, whose rows follow one
            another, or a collection on disk.
        y : None
            Ignored; here by scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the documents' statistics.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Data to be scored in place of ``validation_fraction`` of ``X``, all of which
            is then trained on: after each ``evaluate_every`` passes, or after each pass
            if that is 0.  Of the kinds that ``X`` may be of.  A fit that goes on by
            ``warm_start`` must be given the same again.

        Returns
        -------
        self : object
            The best of ``n_init`` fits.  With ``warm_start=True`` an interrupted plan
            of ``max_iter`` passes was finished, or a finished one continued by as many;
            the temperature and the rate went on from where they were, and there was
            one start.

        Raises
        ------
        ValueError
            For bad data or parameters; an earlier fit is then as it was.

        Warns
        -----
        ConvergenceWarning
            If the fit ended above T=1, with much of its random start left, or with
            topics that are empty or near copies.

        Notes
        -----
        Sums over the documents are added part by part, so that other parts of the same
        data are another order of rounding.  Ctrl-C or an error leaves the last complete
        step of the first fit, and later the best of the completed fits; with
        ``n_start_components`` it leaves an earlier fit as it was, and callbacks are
        told of two fits, that of more topics and that of those left.
        """
        self._validate_params()
        continued = self.warm_start and hasattr(self, "state_")
        if not continued and self._starts_with_more():
            self._fit_with_more(X, sample_weight, X_val)
            return self
        before = {} if continued else self._without_prior_of_predictions()
        try:
            return super().fit(X, y, sample_weight, X_val=X_val)
        except BaseException:
            if vars(self).get("state_") is before.get("state_"):
                vars(self).update(before)
            raise

    def transform(self, X, *, normalize=True, temperature=1.0):
        """Return the topic weights of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to 1; otherwise the Dirichlet parameters gamma.
        temperature : float or array-like of shape (n_samples,), default=1.0
            T, positive: the likelihood is seen to the power 1/T, so that a hot
            document keeps nearer to the prior.  An array has one for each document,
            such as `temperatures` finds.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            An empty document gets the prior mean.

        Raises
        ------
        ValueError
            If temperatures are not positive and finite, or not as many as documents.
        """
        check_flag(normalize, "normalize")
        gamma = self._doc_topic(X, temperature)
        if normalize:
            gamma /= gamma.sum(axis=1, keepdims=True)
        return gamma

    def _doc_topic(self, X, temperature):
        """Return gamma of each document, optimised at its temperature."""
        with self._fitted_problem(X) as problem:
            n_rows = len(problem.data)
            temperature = positive(temperature, "temperature", [(n_rows,)])
            if np.min(temperature) < LEAST_TEMPERATURE:
                raise ValueError(f"temperature must be at least {LEAST_TEMPERATURE:g}.")
            prior = self._hyper_of_predictions()
            prepared = problem.model.prepare(self.state_.globals_, prior)
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
            Ignored; here by scikit-learn's convention.
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
            How often each document counts.

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

    Stochastic variational inference [1]_ for topics in word counts, in which the
    temperature at which the documents are seen is itself inferred [2]_, or follows
    any other policy.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``tempering`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None finds it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" goes by the
        length of the documents: ``min(0.05, 0.07 * N / n_components)``, at least 0.001,
        where N is the mean number of tokens of those that are not empty, in the data of
        `fit` or the first of a stream; for short documents and many topics, of which
        it gained .18 nats a token with 400, but on generated documents of 5 and 10
        tokens it lost up to .09.  None is ``1 / n_components``, as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, or an array of shape
        (n_features,), or (n_components, n_features) to seed topics with words.  None
        is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        How many topics `fit` starts from, at least ``n_components``.  Once the passes
        are made they are merged by evidence, see `merge_topics`, into ``n_components``
        topics or, where that is None, while the evidence rises and then while the lower
        bound of at most 2,000 documents does; and half as many passes again are made.
        Two to four times the topics find more of the true ones than a direct fit from a
        random start does.
        Not with priors that have a value for each topic.
        None starts from ``n_components``.  `partial_fit` ignores it.
    init_params : {"spectral", "random"}, default="spectral"
        Where ``components_`` start without ``init``.  "spectral" is found from at most
        4,000 documents of the data, or of the first piece of a stream: the axes of
        their correspondence analysis are rotated such that each document is near few
        of them, and each is a topic.  "random" draws what scikit-learn's
        LatentDirichletAllocation draws for the same ``random_state``; it is also used
        for topics beyond the axes, with priors that have a value for each topic, and
        where fewer than ``2 * n_components`` of those documents have tokens.  Spectral
        starts with other seeds differ by about a tenth in each entry.
    init : array-like of shape (n_components, n_features), default=None
        Where ``components_`` start; of ``n_start_components`` rows if that is given.
        None leaves it to ``init_params``.
    tempering : Tempering, "global", "local" or None, default="global"
        The temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering` as it comes: one temperature, inferred from how
          well the model fits, and never above a cap that falls to 1.  Nothing to tune;
          about as good as a good annealing schedule.
        - "local", `LocalTempering` as it comes: a temperature for each document.  For
          data with outliers, which `temperatures` then tells; costs up to three times
          as much.
        - An `Annealing`: for schedules and targets of your own; `AnnealedLDA` says it
          in fewer words, and is the first to try.
        - None, T=1: plain stochastic variational inference, the algorithm of
          scikit-learn's `LatentDirichletAllocation`, from its start with
          ``init_params="random"``.  A baseline.
    batch_size : int, "auto" or None, default="auto"
        Documents of a step.  "auto": as many as have about 30,000 tokens, but at most
        a fifth of the data; where documents are never sampled (see ``doc_update``)
        also at least a twentieth: small batches trap short documents, and the held-out
        score then falls from pass to pass.  In a stream without ``total_samples``:
        about 20,000 tokens.  None: all at once, which with
        rate 1 is coordinate ascent.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        How a step of the fit gets the topics of a document's words.  "variational" is
        mean field.  "sampled" draws the topic of each token by collapsed Gibbs sampling
        at the topics' means, as often as 10 times, and averages the last 5 [4]_: it
        does without the mean field that traps short documents, finds better topics
        for them, and takes whole counts only.  "auto" is variational while the
        temperature is above 1 and then samples the documents of at most
        ``2 * n_components`` tokens, if their counts are whole; without a tempering
        that cools it is variational.  "sampled" wants less heat than "auto": above
        T=1.3 it makes all topics equal.  `transform` and `score` are always
        variational.
    max_iter : int, default=10
        Passes of `fit` over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the documents and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per token.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    mean_change_tol : float, default=1e-3
        A document is done once the mean absolute change of its topic weights is less.
    max_doc_update_iter : int, default=100
        Most iterations on a document.
    topic_drop_tol : float, default=1e-4
        A topic that has less than this times ``doc_topic_prior`` of a document's tokens
        is left out of its iterations, and taken in again should it get some: most
        topics, most of the time.  A step changes by about 1e-7 of itself (float32) or
        1e-9 (float64).  0 leaves none out.  Short documents, several of which are
        optimised at once, leave none out either.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the documents.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the documents in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        The same with rows that sum to 1: mean word probabilities.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        The priors in use.
    prediction_prior_ : ndarray of shape (n_components,)
        The prior of documents in `transform` and `score`, if `fit_prior` found one.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the documents in the
        tempered bound of the batch, in nats per token), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all documents at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Integer counts, as vectorizers make them, are computed in float32, which agrees with
    float64 to 1e-4; float64 counts in float64.  `score` is document completion: the
    distinct words of a document, in column order, are dealt alternately to an observed
    and a held-out half; topic weights come from the first, the second is scored.

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


class AnnealedLDA(AnnealedMixin, _LDA):
    """Topic model (latent Dirichlet allocation) fitted by deterministic annealing.

    Stochastic variational inference [1]_ whose documents are first seen at a high
    temperature, which flattens the poor optima of the plain algorithm, and then cooled
    to T=1 [2]_, [3]_.  On real text it ends at topics that predict held-out words
    better than plain inference does in any number of passes, most of all for short
    documents.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``schedule`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None finds it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" goes by the
        length of the documents: ``min(0.05, 0.07 * N / n_components)``, at least 0.001,
        where N is the mean number of tokens of those that are not empty, in the data of
        `fit` or the first of a stream; for short documents and many topics, of which
        it gained .18 nats a token with 400, but on generated documents of 5 and 10
        tokens it lost up to .09.  None is ``1 / n_components``, as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, or an array of shape
        (n_features,), or (n_components, n_features) to seed topics with words.  None
        is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        How many topics `fit` starts from, at least ``n_components``.  Once the passes
        are made they are merged by evidence, see `merge_topics`, into ``n_components``
        topics or, where that is None, while the evidence rises and then while the lower
        bound of at most 2,000 documents does; and half as many passes again are made.
        Two to four times the topics find more of the true ones than a direct fit from a
        random start does.
        Not with priors that have a value for each topic.
        None starts from ``n_components``.  `partial_fit` ignores it.
    init_params : {"spectral", "random"}, default="spectral"
        Where ``components_`` start without ``init``.  "spectral" is found from at most
        4,000 documents of the data, or of the first piece of a stream: the axes of
        their correspondence analysis are rotated such that each document is near few
        of them, and each is a topic.  "random" draws what scikit-learn's
        LatentDirichletAllocation draws for the same ``random_state``; it is also used
        for topics beyond the axes, with priors that have a value for each topic, and
        where fewer than ``2 * n_components`` of those documents have tokens.  Spectral
        starts with other seeds differ by about a tenth in each entry.
    init : array-like of shape (n_components, n_features), default=None
        Where ``components_`` start; of ``n_start_components`` rows if that is given.
        None leaves it to ``init_params``.
    schedule : Schedule or callable, default=None
        The temperature at each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`.
    batch_size : int, "auto" or None, default="auto"
        Documents of a step.  "auto": as many as have about 30,000 tokens, but at most
        a fifth of the data; where documents are never sampled (see ``doc_update``)
        also at least a twentieth: small batches trap short documents, and the held-out
        score then falls from pass to pass.  In a stream without ``total_samples``:
        about 20,000 tokens.  None: all at once, which with
        rate 1 is coordinate ascent.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        How a step of the fit gets the topics of a document's words.  "variational" is
        mean field.  "sampled" draws the topic of each token by collapsed Gibbs sampling
        at the topics' means, as often as 10 times, and averages the last 5 [4]_: it
        does without the mean field that traps short documents, finds better topics
        for them, and takes whole counts only.  "auto" is variational while the
        temperature is above 1 and then samples the documents of at most
        ``2 * n_components`` tokens, if their counts are whole; without a tempering
        that cools it is variational.  "sampled" wants less heat than "auto": above
        T=1.3 it makes all topics equal.  `transform` and `score` are always
        variational.
    max_iter : int, default=10
        Passes of `fit` over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the documents and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per token.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    mean_change_tol : float, default=1e-3
        A document is done once the mean absolute change of its topic weights is less.
    max_doc_update_iter : int, default=100
        Most iterations on a document.
    topic_drop_tol : float, default=1e-4
        A topic that has less than this times ``doc_topic_prior`` of a document's tokens
        is left out of its iterations, and taken in again should it get some: most
        topics, most of the time.  A step changes by about 1e-7 of itself (float32) or
        1e-9 (float64).  0 leaves none out.  Short documents, several of which are
        optimised at once, leave none out either.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the documents.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the documents in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        The same with rows that sum to 1: mean word probabilities.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        The priors in use.
    prediction_prior_ : ndarray of shape (n_components,)
        The prior of documents in `transform` and `score`, if `fit_prior` found one.
    schedule_ : Schedule
        The schedule in use, with its length resolved.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the documents in the
        tempered bound of the batch, in nats per token), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all documents at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Integer counts, as vectorizers make them, are computed in float32, which agrees with
    float64 to 1e-4; float64 counts in float64.  `score` is document completion: the
    distinct words of a document, in column order, are dealt alternately to an observed
    and a held-out half; topic weights come from the first, the second is scored.

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


class SVIPlusLDA(SVIPlusMixin, _LDA):
    """Topic model (latent Dirichlet allocation) with tunable gradient noise (SVI+).

    Stochastic variational inference [1]_ with large mini-batches and added noise [2]_:
    the gradient has the noise of mini-batches of ``effective_batch_size`` documents,
    see `sktemper.noise.SVIPlusNoise`.  The noise is meant to leave poor
    optima; it can be combined with a temperature [3]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init``); temperature and step (``effective_batch_size`` to
    ``doc_update``); length of the fit (``max_iter`` to ``topic_drop_tol``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics K.  None finds it, see ``n_start_components``.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights.  "auto" goes by the
        length of the documents: ``min(0.05, 0.07 * N / n_components)``, at least 0.001,
        where N is the mean number of tokens of those that are not empty, in the data of
        `fit` or the first of a stream; for short documents and many topics, of which
        it gained .18 nats a token with 400, but on generated documents of 5 and 10
        tokens it lost up to .09.  None is ``1 / n_components``, as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words: a number, or an array of shape
        (n_features,), or (n_components, n_features) to seed topics with words.  None
        is ``1 / n_components``, as in scikit-learn.
    n_start_components : int, default=None
        How many topics `fit` starts from, at least ``n_components``.  Once the passes
        are made they are merged by evidence, see `merge_topics`, into ``n_components``
        topics or, where that is None, while the evidence rises and then while the lower
        bound of at most 2,000 documents does; and half as many passes again are made.
        Two to four times the topics find more of the true ones than a direct fit from a
        random start does.
        Not with priors that have a value for each topic.
        None starts from ``n_components``.  `partial_fit` ignores it.
    init_params : {"spectral", "random"}, default="spectral"
        Where ``components_`` start without ``init``.  "spectral" is found from at most
        4,000 documents of the data, or of the first piece of a stream: the axes of
        their correspondence analysis are rotated such that each document is near few
        of them, and each is a topic.  "random" draws what scikit-learn's
        LatentDirichletAllocation draws for the same ``random_state``; it is also used
        for topics beyond the axes, with priors that have a value for each topic, and
        where fewer than ``2 * n_components`` of those documents have tokens.  Spectral
        starts with other seeds differ by about a tenth in each entry.
    init : array-like of shape (n_components, n_features), default=None
        Where ``components_`` start; of ``n_start_components`` rows if that is given.
        None leaves it to ``init_params``.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        M: a share of the batch, a number of documents, or a number at each step; see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Of the weights of documents, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1.
    batch_size : int, "auto" or None, default="auto"
        Documents of a step.  "auto": as many as have about 30,000 tokens, but at most
        a fifth of the data; where documents are never sampled (see ``doc_update``)
        also at least a twentieth: small batches trap short documents, and the held-out
        score then falls from pass to pass.  In a stream without ``total_samples``:
        about 20,000 tokens.  None: all at once, which with
        rate 1 is coordinate ascent.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        How a step of the fit gets the topics of a document's words.  "variational" is
        mean field.  "sampled" draws the topic of each token by collapsed Gibbs sampling
        at the topics' means, as often as 10 times, and averages the last 5 [4]_: it
        does without the mean field that traps short documents, finds better topics
        for them, and takes whole counts only.  "auto" is variational while the
        temperature is above 1 and then samples the documents of at most
        ``2 * n_components`` tokens, if their counts are whole; without a tempering
        that cools it is variational.  "sampled" wants less heat than "auto": above
        T=1.3 it makes all topics equal.  `transform` and `score` are always
        variational.
    max_iter : int, default=10
        Passes of `fit` over the data.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the documents and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per token.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    mean_change_tol : float, default=1e-3
        A document is done once the mean absolute change of its topic weights is less.
    max_doc_update_iter : int, default=100
        Most iterations on a document.
    topic_drop_tol : float, default=1e-4
        A topic that has less than this times ``doc_topic_prior`` of a document's tokens
        is left out of its iterations, and taken in again should it get some: most
        topics, most of the time.  A step changes by about 1e-7 of itself (float32) or
        1e-9 (float64).  0 leaves none out.  Short documents, several of which are
        optimised at once, leave none out either.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the documents.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the documents in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters lambda of the topics, in the dtype of the data.
    topic_word_ : ndarray of shape (n_components, n_features)
        The same with rows that sum to 1: mean word probabilities.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        ``exp(E[log topic_word])``.
    n_components_ : int
        Number of topics of the fitted model.
    doc_topic_prior_, topic_word_prior_ : ndarray
        The priors in use.
    prediction_prior_ : ndarray of shape (n_components,)
        The prior of documents in `transform` and `score`, if `fit_prior` found one.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the documents in the
        tempered bound of the batch, in nats per token), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all documents at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Integer counts, as vectorizers make them, are computed in float32, which agrees with
    float64 to 1e-4; float64 counts in float64.  `score` is document completion: the
    distinct words of a document, in column order, are dealt alternately to an observed
    and a held-out half; topic weights come from the first, the second is scored.

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
