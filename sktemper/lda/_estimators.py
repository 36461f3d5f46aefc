"""The estimators of latent Dirichlet allocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, Unpack

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import psi, softmax
from sklearn.base import _fit_context
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._engine._state import State
from .._estimator import _counts
from .._estimator._choices import choices_of, choose, hyper_of_predictions
from .._estimator._constructors import Annealed, Streaming
from .._estimator._end_of_fit import warn_if_above_one
from .._estimator._estimator import Estimator, TemperedEstimator
from .._estimator._problems import ReadyModel, valid_data
from .._estimator._streams import (
    alarms,
    clear_memory,
    drop_features,
    expand_features,
    renewals,
    stream_history,
    widened_for,
)
from .._estimator._variants import AnnealedMixin, SVIPlusMixin, training_constructor
from .._utils import _words
from .._utils._arguments import check_flag, check_share, positive_int, refuse
from .._utils._budgets import TERMS_ALONE, VALUES_AT_ONCE, slices
from .._utils._constraints import NOT_NEGATIVE, POSITIVE, StrOptions, WholeNumber
from .._utils._frames import check_same_rows, data_frame, frame_library
from .._utils._notices import warn_once
from .._utils._results import portable_copy, results_of_validation
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float, Int, Seed
from .._utils._validation import check_counts, check_prior, check_sparse
from ..model import Powers, Request
from ..noise import GradientNoise
from ..schedules import Schedule
from ..tempering import Tempering
from ._cells import N_SQUARES, Cells, added, priors_of_cells, shares_of_cells
from ._common import separated
from ._consensus import fits_to_parts, recurrence
from ._end_of_fit import END_OF_FIT_CHECKS, empty_topics
from ._merging import fit_with_more, groups_of_topics, merged_topics, starts_with_more
from ._model import ROWS_OF_BLOCK, LDAModel
from ._priors import best_prior, check_samplable, positive
from ._topics import Documents, Topics


# -- tables of topics, and of the documents and words that belong to them --------------
def _as_rows(X):
    """Return a single document as a matrix of one row, and other data unchanged.

    A pandas Series, such as a row of a data frame, becomes a frame of one row.
    """
    if hasattr(X, "to_frame") and getattr(X, "ndim", 2) == 1:
        return X.to_frame().T
    if getattr(X, "ndim", 2) == 1 and (sparse.issparse(X) or isinstance(X, np.ndarray)):
        return X.reshape(1, -1)
    return X


def word_topics(model, block, prepared):
    """Return the lengths of documents, and words, counts and phi of their entries."""
    lengths = np.diff(block.starts)
    log_theta = psi(model.optimal_gamma(block, prepared).astype(np.float64))
    log_beta = psi(prepared.topics.rows(block.words)) - prepared.digamma_totals
    log_phi = np.repeat(log_theta, lengths, axis=0) + log_beta[block.slots]
    phi = softmax(log_phi, axis=1)
    return lengths, block.words[block.slots], block.counts, phi


# -- copies of fitted topic models for processes that only infer -----------------------
#: Prior of zeros for any number of words and topics, because its strides are 0.
NO_PRIOR = np.broadcast_to(np.float64(0.0), (2, 2))


@dataclass(frozen=True)
class ServedTopics(Topics):
    """Read-only topics: lambda in float32, which may be memory-mapped."""

    @classmethod
    def from_topics(cls, topics):
        u = np.ascontiguousarray(topics.dense(), dtype=np.float32)
        totals, prior = u.sum(axis=0, dtype=np.float64), np.array(topics.prior)
        return cls(u, totals, prior, cells=topics.cells)

    def block_parts(self, block):
        """Return a block, and the topics' terms for its words; see `Topics`."""
        u = self.u.take(block.words, axis=0).astype(np.float64)
        words = np.arange(len(u), dtype=np.intp)
        block = Documents(block.counts, block.starts, words, block.slots)
        return block, (u, NO_PRIOR, 1.0, 0.0, 0.0)


# -- the estimators of latent Dirichlet allocation -------------------------------------
#: Smallest temperature; below it, counts divided by T overflow.
LEAST_TEMPERATURE = 1e-6
#: The iterations of a document skip topics to which they assign fewer tokens than this
#: times alpha, which are most topics.  The relative change of a step is about 1e-7 in
#: float32 and 1e-9 in float64.
DROP_TOL = 1e-4
#: Largest limit of the iterations of a document for which the calling thread computes,
#: which cannot be interrupted in a kernel.
MOST_INLINE_ITERATIONS = 1000


def _gamma(model, block, shared, of_rows):
    """Return gamma of documents, given the powers and the cells of their rows."""
    (prepared, is_common), (powers, labels) = shared, of_rows.T
    powers = Powers(local=float(powers[0]) if is_common else powers.copy())
    prepared = model.prepared_for(prepared, labels.astype(np.intp))
    return model.optimal_gamma(block, prepared, Request(powers, want=()))


def _known_columns(estimator, X):
    """Return data without the columns that were added after the copy was made."""
    n_columns = estimator.n_features_in_
    if getattr(X, "ndim", 0) != 2 or X.shape[1] <= n_columns:
        return X
    if sparse.issparse(X):
        X = check_sparse(X).tocsr()  # not all formats have slices
    known = X.iloc[:, :n_columns] if hasattr(X, "iloc") else X[:, :n_columns]
    try:
        n_known, n_tokens = np.sum(known.sum()), np.sum(X.sum())
        is_much = n_tokens - n_known > _words.MOST_UNKNOWN * n_tokens
    except TypeError:  # not numbers; validation of the known columns follows
        return known
    if is_much:
        warn_once(
            estimator,
            "unknown",
            f"{1 - n_known / n_tokens:.0%} of the tokens are in columns that were "
            "added after this copy for serving was made, and are ignored: make a "
            "new copy by for_serving.",
            UserWarning,
        )
    return known


def _prior(settings, name, shapes):
    """Return the checked parameters of a prior; None is ``1 / n_components``."""
    prior = getattr(settings, name)
    prior = 1 / settings.n_components if prior is None else prior
    prior = positive(prior, name, shapes)
    check_prior(prior, name)
    return prior


class TemperedLDA(_words.TopWordsMixin, TemperedEstimator):
    """Topic model (latent Dirichlet allocation) with any tempering, or with none.

    Stochastic variational inference [1]_ of topics in word counts, in which the
    temperature of the documents is inferred [2]_, or given by another policy.

    Parameters
    ----------
    n_components : int or None, default=10
        Number of topics; more topics are narrower.  None estimates it, starting from
        ``n_start_components``.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each document, for data with outliers ("local"), of a policy, or 1 (None).
    max_iter : int, default=10
        Number of passes of `fit` over the data; more if the held-out score still rises,
        as for short documents.
    doc_topic_prior : float, array-like of shape (n_components,), "auto" or None, \
            default=0.05
        Dirichlet parameter alpha of a document's topic weights; smaller if documents
        have few topics.  "auto" is smaller for short documents and many topics, and
        None is ``1 / n_components``, as in scikit-learn.
    topic_word_prior : float, array-like or None, default=0.1
        Dirichlet parameter eta of a topic's words; an array of shape (n_components,
        n_features) seeds topics with words, see `sktemper.seeded_prior`.  None is ``1 /
        n_components``, as in scikit-learn.
    n_start_components : int, default=None
        Number of topics at the start of `fit`, which `merge_topics` then merges into
        ``n_components``.  Two to four times as many find more of the true topics from
        random starts.  None starts with ``n_components``.
    init_params : {"spectral", "random"}, default="spectral"
        Start if ``init`` is None: computed from a sample of the documents ("spectral"),
        which finds more topics, or for comparisons the draws of scikit-learn's
        `LatentDirichletAllocation` ("random").
    init : array-like of shape (n_components, n_features), default=None
        Initial ``components_``, if you have a good start and do not anneal.  None uses
        ``init_params``.
    batch_size : int, "auto" or None, default="auto"
        Number of documents of a step.  "auto" takes about 30,000 tokens, but at most a
        fifth of the data; small batches of short documents end in poor optima.  None
        takes all documents (coordinate ascent, with a learning rate of 1).
    learning_rate : LearningRate or float, default=None
        Size of a step, see `sktemper.learning_rates`.  None is 1 if all documents are
        one batch, and otherwise ``RobbinsMonro()``; `AdaptiveRate` suits small batches.
    doc_update : {"auto", "variational", "sampled"}, default="auto"
        Inference of the topics of a document's words: by mean field ("variational"), by
        Gibbs sampling of whole counts, which suits short documents ("sampled"), or by
        sampling short documents at T of at most 1.2 ("auto"), see the notes.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        token; smaller for later early stopping.
    mean_change_tol : float, default=1e-3
        Mean absolute change of a document's topic weights below which its iterations
        end; smaller for more exact weights.
    max_doc_update_iter : int, default=100
        Largest number of iterations of a document; more if ``mean_iterations`` in
        ``history_`` is near it.
    half_life : float, duration or None, default=None
        Number of documents after which a document counts half in `partial_fit`, for
        streams that change; or a duration such as "30D", which needs ``times``.

    Notes
    -----
    ``doc_update="auto"`` samples documents of at most 120 tokens and 8 for each topic,
    or of at most 2 for each topic; none with ``tempering="local"``.  Without a
    temperature (``tempering=None``) the start, the length and ``doc_update`` are the
    same as with annealing, so that a comparison shows the effect of the temperature.

    Integer counts are computed in float32, which agrees with float64 to 1e-4.  `score`
    is document completion: topic weights are inferred from every second distinct word
    of a document, and the other words are scored.

    References
    ----------
    .. [1] M. Hoffman, D. Blei, C. Wang, J. Paisley, "Stochastic variational inference",
       JMLR 14, 2013.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

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

    doc_topic_prior: Float | ArrayLike | Literal["auto"] | None
    topic_word_prior: Float | ArrayLike | None
    n_start_components: Int | None
    init_params: Literal["spectral", "random"]
    init: ArrayLike | None
    doc_update: Literal["auto", "variational", "sampled"]
    mean_change_tol: Float
    max_doc_update_iter: Int

    @training_constructor(Streaming)
    def __init__(
        self,
        n_components: Int | None = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        doc_topic_prior: Float | ArrayLike | Literal["auto"] | None = 0.05,
        topic_word_prior: Float | ArrayLike | None = 0.1,
        n_start_components: Int | None = None,
        init_params: Literal["spectral", "random"] = "spectral",
        init: ArrayLike | None = None,
        gradient_noise: GradientNoise | None = None,
        doc_update: Literal["auto", "variational", "sampled"] = "auto",
        mean_change_tol: Float = 1e-3,
        max_doc_update_iter: Int = 100,
        **parameters: Unpack[Streaming],
    ): ...

    expand_features, drop_features = expand_features, drop_features
    clear_memory, alarms_ = clear_memory, alarms
    stream_history_, renewals_ = stream_history, renewals
    _widened_for = widened_for
    _check_weighted = staticmethod(check_counts)
    _inspect_training_data = _counts.inspect_counts

    @property
    def prediction_prior_(self) -> np.ndarray:
        """Prior of documents in `transform` and `score`, if `fit_prior` was called."""
        return self._result_of("fit_prior", "prediction_prior")

    @property
    def recurrence_(self) -> np.ndarray:
        """Probabilities that topics return, if `fit_recurrence` was called."""
        return self._result_of("fit_recurrence", "recurrence")

    def _result_of(self, method, name):
        self._state()
        found = getattr(choices_of(self), name)
        if found is None:
            raise NotFittedError(f"There is no {name}_: call {method} first.")
        return found

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "n_components": [WholeNumber(1), None],
        "n_start_components": [WholeNumber(1), None],
        "doc_topic_prior": [POSITIVE, "array-like", StrOptions({"auto"}), None],
        "topic_word_prior": [POSITIVE, "array-like", None],
        "init": ["array-like", None],
        "init_params": [StrOptions({"spectral", "random"})],
        "doc_update": [StrOptions({"variational", "sampled", "auto"})],
        "mean_change_tol": [NOT_NEGATIVE],
        "max_doc_update_iter": [WholeNumber(1)],
    }

    _input_tags = {"sparse": True, "positive_only": True}

    def _validate_training(self, X, reset):
        if self._serves:
            raise ValueError(
                f"This {type(self).__name__} is a copy for serving, which cannot be "
                "trained: train the original estimator, or a clone of this copy."
            )
        X = _counts.validate_training_counts(self, X, reset)
        if self.doc_update == "sampled":
            check_samplable(X)
        return X

    def _check_enough(self, data):
        if not any(map(_counts.largest_count, data.validated)):
            raise ValueError("X has no tokens: all counts are 0.")

    def _compute_dtype(self, X):
        """Return float64 for wide floats, and float32 for other types."""
        wide = X.dtype.kind == "f" and X.dtype.itemsize > 4
        return np.dtype(np.float64 if wide else np.float32)

    _end_of_fit_checks = END_OF_FIT_CHECKS
    _fixed_by_fit = ("n_components", "doc_topic_prior", "topic_word_prior")

    def _inline_limits(self):
        if self.max_doc_update_iter > MOST_INLINE_ITERATIONS:
            return 0, 0
        if self.n_jobs not in (None, 1):  # several threads share a block
            return super()._inline_limits()
        n_topics = self.state_.globals_.u.shape[1]
        return ROWS_OF_BLOCK, TERMS_ALONE // n_topics

    @staticmethod
    def _make_model(settings, n_features, dtype):
        K, alpha = settings.n_components, None
        eta = _prior(settings, "topic_word_prior", [(n_features,), (K, n_features)])
        if not isinstance(settings.doc_topic_prior, str):  # "auto" needs the data
            alpha = np.full(K, _prior(settings, "doc_topic_prior", [(K,)]))
        return LDAModel(
            K,
            n_features,
            alpha,
            np.atleast_2d(eta),
            dtype=dtype,
            tol=settings.mean_change_tol,
            max_iter=settings.max_doc_update_iter,
            drop_tol=DROP_TOL,
            init=settings.init,
            init_params=settings.init_params,
            doc_update=settings.doc_update,
        )

    def _settings(self):
        settings = super()._settings()
        if self.doc_update == "auto" and self._tempering().per_sample:
            return settings.replaced(doc_update="variational")
        return settings

    def _fixed(self):
        """Return the fixed parameters, with K of the fitted model if it was None."""
        K = self.n_components
        if K is None and not hasattr(self, "state_"):
            refuse("n_components", "an int in partial_fit, which cannot find it", None)
        K = self.n_components_ if K is None else K
        return {**super()._fixed(), "n_components": K}

    # -- fitting -----------------------------------------------------------------------
    def fit(
        self: Estimator,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: DataLike | None = None,
        covariates: DataLike | None = None,
    ) -> Estimator:
        """Fit the topics to ``X``, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or data in parts: a list of arrays or sparse matrices with the
            same columns, or a collection on disk, see `sktemper.datasets.open_counts`.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Validation data, scored after each ``evaluate_every`` passes, or after each
            pass if that is 0.  ``validation_fraction`` is then ignored.  A fit that
            continues by ``warm_start`` needs the same ``X_val`` again.
        covariates : DataFrame or array-like of shape (n_samples,) or \
                (n_samples, n_covariates), default=None
            Groups of the documents, such as source or year.  Documents with the same
            values form a cell, and each cell gets its own prior of topic weights,
            see the notes.  A fit that continues by ``warm_start`` needs them again.

        Returns
        -------
        self : object
            The estimator with the best of ``n_init`` fits.  With ``warm_start=True``,
            an earlier fit continues instead: an interrupted plan of ``max_iter`` passes
            is finished, or a finished plan is extended by ``max_iter`` passes.

        Raises
        ------
        ValueError
            If data, covariates or parameters are invalid; if a covariate that is not
            text has more than 50 values, or if there are more than 1,000 cells.

        Warns
        -----
        UserWarning
            If weights leave at most one row for each component, or are all equal and
            not 1.
        ConvergenceWarning
            If the fit ended above T=1, or for another reason that the message states,
            such as equal topics.

        Notes
        -----
        With ``covariates``, the prior of a cell is ``doc_topic_prior`` times the ratios
        of the mean topic shares in the cell and in all documents, with the same sum.
        Shares of cells with few documents are shrunk toward those of all documents, as
        far as the differences between cells suggest (empirical Bayes); see
        `cell_shares_` and `cell_prior_`.  If cells do not differ, or there is only one,
        the fit is that without covariates.  Documents without covariates, such as
        ``X_val``, and those of unknown cells have the prior ``doc_topic_prior``.

        An error leaves an earlier fit as it was.  After Ctrl-C, the estimator has the
        state after the last complete step or, with ``n_init > 1``, the best of the
        completed fits if there is one.
        """
        continued = self.warm_start and hasattr(self, "state_")
        return self._fit(X, y, sample_weight, continued, X_val, covariates)

    def _fit(self, X, y, sample_weight, continued, X_val=None, labels=None):
        self._validate_params()
        if not continued and starts_with_more(self):
            fit_with_more(self, X, y, sample_weight, X_val, labels)
            return self
        return super()._fit(X, y, sample_weight, continued, X_val, labels)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self: Estimator,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        times: Any = None,
        covariates: DataLike | None = None,
    ) -> Estimator:
        """Continue the training with a chunk of a stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, a chunk of a stream.  It is cut, in order, into batches of
            ``batch_size`` rows; a smaller chunk is one batch.
        times : array-like of shape (n_samples,) or scalar, default=None
            Dates or times of the samples, which must not decrease, see
            `TemperedEstimator.partial_fit`.
        covariates : DataFrame or array-like of shape (n_samples,) or \
                (n_samples, n_covariates), default=None
            Groups of the documents, see `fit`.  Chunks may have new cells, and chunks
            without covariates age the cells like others.

        Returns
        -------
        self : object
            The estimator.  A fitted model continues at its temperature and learning
            rate.  After Ctrl-C or an error in a step it has learned the complete
            batches.

        Raises
        ------
        ValueError
            If data, covariates or parameters are invalid.
        """
        return self._partial_fit(X, sample_weight, times, covariates)

    _labels_name = "covariates"

    def _checked_labels(self, covariates, data):
        """Return the cell of each document; add new cells to those of the fit."""
        cells = choices_of(self).cells or Cells()
        cells, labels = cells.with_rows(covariates, len(data))
        choose(self, cells=cells)
        return labels

    def _labels_for_predictions(self, covariates, data):
        cells = self._fitted_cells()
        if not cells.index:
            raise ValueError(
                "covariates are given, but the fit had none, or they were lost in "
                "separate_common_words or topic_consensus."
            )
        return cells.of_rows(covariates, len(data))

    # -- what users call ---------------------------------------------------------------
    def transform(
        self,
        X: DataLike,
        *,
        normalize: bool = True,
        temperature: Float | ArrayLike = 1.0,
        covariates: DataLike | None = None,
    ) -> np.ndarray:
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
        covariates : DataFrame or array-like of shape (n_samples,) or \
                (n_samples, n_covariates), default=None
            Covariates as in `fit`.  None, and cells that did not occur in the fit,
            have the prior ``doc_topic_prior_``.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            An empty document gets the prior mean.

        Raises
        ------
        ValueError
            If temperatures are not positive and finite, if their number differs from
            the number of documents, or if covariates are invalid.
        """
        check_flag(normalize, "normalize")
        gamma = self._doc_topic(X, temperature, covariates)
        if normalize:
            gamma /= np.add.reduce(gamma, axis=1, keepdims=True)
        return gamma

    def _doc_topic(self, X, temperature, covariates=None):
        if type(temperature) is float and temperature == 1.0:
            blocks = self._map(X, LDAModel.optimal_gamma, covariates)
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        with self._fitted_problem(X, labels=covariates) as problem:
            n_rows = len(problem.data)
            temperature = positive(temperature, "temperature", [(n_rows,)])
            if np.min(temperature) < LEAST_TEMPERATURE:
                raise ValueError(f"temperature must be at least {LEAST_TEMPERATURE:g}.")
            power, labels = 1.0 / temperature, problem.labels
            labels = np.full(n_rows, -1) if labels is None else labels
            of_rows = np.column_stack([np.broadcast_to(power, n_rows), labels])
            shared = self._prepared(problem.model), np.ndim(power) == 0
            return np.concatenate(list(problem.map(_gamma, shared, values=of_rows)))

    def fit_transform(
        self, X: DataLike, y: Any = None, *, normalize: bool = True, **fit_params: Any
    ) -> np.ndarray:
        """Fit the model and return the topic weights of the same documents.

        Parameters
        ----------
        **fit_params : dict
            For `fit`; ``covariates`` also for `transform`.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            Topic weights of each document.
        """
        covariates = fit_params.get("covariates")
        self.fit(X, y, **fit_params)
        return self.transform(X, normalize=normalize, covariates=covariates)

    def score_samples(
        self, X: DataLike, *, covariates: DataLike | None = None
    ) -> np.ndarray:
        """Return each document's held-out predictive log-likelihood at T=1.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-likelihoods in nats, 0.0 for documents without held-out tokens.
        """
        return self._predictive_scores(X, covariates)[0]

    def score(
        self,
        X: DataLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: DataLike | None = None,
    ) -> float:
        """Return the held-out log-likelihood per token at T=1.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each document counts.

        Returns
        -------
        score : float
            Mean log-likelihood in nats per held-out token.  Higher is better.

        Raises
        ------
        ValueError
            If no token is held out, or covariates are invalid.
        """
        return self._mean_score(X, sample_weight, covariates)

    def perplexity(
        self,
        X: DataLike,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: DataLike | None = None,
    ) -> float:
        """Return ``exp(-score(X))``, per held-out token; lower is better.

        Returns
        -------
        perplexity : float
            At least 1.
        """
        return float(np.exp(-self._mean_score(X, sample_weight, covariates)))

    def lower_bound(
        self,
        X: DataLike,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: DataLike | None = None,
    ) -> float:
        """Return the evidence lower bound of ``X`` at T=1, with every constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The documents of the fit, which count as the whole data set.
        sample_weight : array-like of shape (n_samples,), default=None
            The sample weights of the fit.
        covariates : DataFrame or array-like of shape (n_samples,) or \
                (n_samples, n_covariates), default=None
            The covariates of the fit.  None, and cells that did not occur in the fit,
            have the prior ``doc_topic_prior_``.

        Returns
        -------
        bound : float
            Lower bound of log p(X) in nats, given the priors of documents.
        """
        with self._fitted_problem(X, sample_weight, covariates) as problem:
            return problem.bound(self.state_.globals_, self.state_.hyper)

    def to_sklearn(self) -> LatentDirichletAllocation:
        """Return a fitted `sklearn.decomposition.LatentDirichletAllocation`.

        Returns
        -------
        lda : LatentDirichletAllocation
            Topics have the same order.  Its ``score`` of the training data is about
            `lower_bound`.  A ``topic_word_prior`` that differs between words becomes
            its mean.

        Raises
        ------
        ValueError
            If the prior of the documents differs between topics.
        """
        self._check_fitted()
        prior = np.unique(self.doc_topic_prior_)
        if len(prior) > 1:
            raise ValueError(
                "scikit-learn's LatentDirichletAllocation has the same doc_topic_prior "
                "for all topics, but those of this fit differ."
            )
        other = LatentDirichletAllocation(
            self.n_components_,
            doc_topic_prior=float(prior[0]),
            topic_word_prior=float(self.topic_word_prior_.mean()),
            mean_change_tol=self.mean_change_tol,
            max_doc_update_iter=self.max_doc_update_iter,
            random_state=self.random_state,
        )
        other._init_latent_vars(self.n_features_in_, self.state_.dtype)
        vars(other).update(results_of_validation(self))
        other.components_ = self.components_
        other.exp_dirichlet_component_ = self.exp_dirichlet_component_
        other.n_iter_, other.n_batch_iter_ = self.n_iter_, self.n_batch_iter_
        return other

    # -- views of the state ------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """Dirichlet parameters of the topics, ndarray (n_components, n_features)."""
        state = self._state()
        return np.ascontiguousarray(state.globals_.dense().T, dtype=state.dtype)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        """``exp(E[log topic_word])``, ndarray of shape (n_components, n_features)."""
        state = self._state()
        topic_word = state.globals_.dense().T
        log_beta = psi(topic_word) - psi(topic_word.sum(axis=1, keepdims=True))
        return np.exp(log_beta).astype(state.dtype)

    @property
    def topic_word_(self) -> np.ndarray:
        """Mean probabilities of words in topics, ndarray; rows sum to 1."""
        components = self.components_
        return components / components.sum(axis=1, keepdims=True)

    @property
    def doc_topic_prior_(self) -> np.ndarray:
        """Dirichlet parameters of the documents' prior, ndarray (n_components,)."""
        return self._state().hyper

    @property
    def cells_(self) -> list[tuple]:
        """Combinations of ``covariates`` in the fit, a list of tuples of values."""
        return list(self._fitted_cells().index)

    @property
    def cell_prior_(self) -> np.ndarray:
        """Dirichlet parameters of the priors of `cells_`, (n_cells, n_components)."""
        return priors_of_cells(self._sums_of_cells(), self.state_.hyper)[1:]

    @property
    def cell_shares_(self) -> np.ndarray:
        """Mean topic shares of the documents of `cells_`, (n_cells, n_components).

        Small cells are shrunk toward all documents, and so are texts of few words.  For
        intervals, use `sktemper.inspection.topic_regression`.
        """
        return shares_of_cells(self._sums_of_cells(), self.state_.hyper)[1]

    def _sums_of_cells(self):
        """Return the sums of all cells, 0 if no document of the last ones was used."""
        n_cells, n_topics = len(self._fitted_cells().index), len(self.state_.hyper)
        none = np.zeros((n_cells, n_topics + N_SQUARES))
        return added(none, self.state_.globals_.cells)

    def _fitted_cells(self):
        cells = self._state().globals_.cells
        return Cells() if cells is None else choices_of(self).cells

    @property
    def topic_word_prior_(self) -> np.ndarray:
        """Dirichlet parameters of the topics' prior, broadcastable to `components_`."""
        return self._state().globals_.prior.T

    def topics(
        self,
        feature_names: ArrayLike | None = None,
        n_words: Int = 10,
        *,
        X: DataLike | None = None,
        rank_by: Literal["term_score", "probability"] | Float = "term_score",
        documents: Sequence | None = None,
        labeller: Callable | None = None,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        r"""Return the topics as a table with a row for each word of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words; None takes the column names of the training data, or column
            numbers.
        n_words : int, default=10
            Largest number of words of each topic.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Documents from which coherence and prevalence are computed.
        rank_by : {"term_score", "probability"} or float, default="term_score"
            What ranks words: the "term_score" [1]_, see the notes; their "probability"
            in the topic, with words first that all topics use; or their relevance [2]_,
            :math:`\ell \log \beta_{kv} + (1 - \ell) \log (\beta_{kv} / p_v)`, whose
            weight :math:`\ell` is a number from 0 to 1, where :math:`\beta_{kv}` is the
            probability of a word in a topic and :math:`p_v` its probability in the
            whole corpus.
        documents : sequence of str of shape (n_samples,), default=None
            Texts of the rows of ``X``, for the ``labeller``.
        labeller : callable, default=None
            Function that names a topic, for instance by a language model.  It is called
            as ``labeller(words, texts)`` with two lists of str: the words of the topic,
            and as many of ``documents``, in which it has the largest weight.
        output : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        table : DataFrame
            Columns: "topic", from 0; "rank", from 1; "word"; "weight", the probability
            of the word in the topic; "lift", its weight divided by the probability in
            the corpus; "term_score"; and "prevalence", the topic's share of the tokens
            of ``X`` or else of the training data.  With ``X`` also "coherence",
            `sktemper.metrics.npmi_coherence` of the ``n_words`` most probable words of
            the topic.  Empty topics, and words without tokens in a topic, are left out.
            With ``labeller`` also "label", and after `fit_recurrence` "recurrence", the
            probability that a fit to other documents has the topic.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or a parameter
            is out of range.
        ImportError
            If the library of the data frame is not installed.

        See Also
        --------
        top_words : Lists of the words of each topic.
        explain : Topics of the words of a document.

        Notes
        -----
        The term score is :math:`\beta_{kv} (\log u_{kv} - K^{-1} \sum_j \log u_{jv})`,
        where u are the upper ends of intervals that begin at 0 and have 95 % of the
        posterior, by its mean and standard deviation.  With the means themselves, as in
        [1]_, words that other topics lack by chance rank too high.  Words that no
        topic has more often than the others on average follow by probability.

        References
        ----------
        .. [1] D. Blei, J. Lafferty, "Topic models", in "Text mining: classification,
           clustering, and applications", 2009.
        .. [2] C. Sievert, K. Shirley, "LDAvis: a method for visualizing and
           interpreting topics", Workshop on interactive language learning,
           visualization, and interfaces, 2014.

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> table = lda.topics(n_words=3)
        >>> table.shape
        (15, 7)
        >>> table["rank"].tolist()[:6]
        [1, 2, 3, 1, 2, 3]
        """
        check_is_fitted(self, "state_")
        frame_library(output)
        names = self._names(feature_names)
        prevalence = self._prevalence(X)
        words = self._words_of_topics(prevalence)
        lists, weight = words.lists(rank_by, n_words), words.topic_word
        topic = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
        word = np.concatenate(lists)
        chosen = topic, word
        columns = {
            "topic": topic,
            "rank": np.concatenate([np.arange(1, len(own) + 1) for own in lists]),
            "word": names[word].astype(str),
            "weight": weight[chosen],
            "lift": weight[chosen] / words.in_corpus[word],
            "term_score": words.term_scores[chosen],
            "prevalence": prevalence[topic],
        }
        if (returns := choices_of(self).recurrence) is not None:
            columns["recurrence"] = returns[topic]
        if X is not None:
            from ..metrics import npmi_coherence

            n_words = max(min(n_words, len(names)), 2)
            best = np.argsort(-weight, axis=1, kind="stable")[:, :n_words]
            coherence = npmi_coherence(best, X, n_words=n_words)
            columns["coherence"] = coherence[topic]
        weights = None
        if documents is not None:
            if X is None:
                raise ValueError("documents are the texts of X: pass X, too.")
            check_same_rows(X=X, documents=documents)
            weights = self.transform(X)
            documents = _words.check_documents(documents, len(weights))
        if labeller is not None:
            given = [names[own] for own in lists], weights, documents, n_words
            columns["label"] = np.array(_words.name_topics(labeller, *given))[topic]
        return data_frame(output, columns)

    def top_documents(
        self,
        X: DataLike,
        n_documents: Int = 5,
        *,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return the documents with the largest weight of each topic, as a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        n_documents : int, default=5
            Documents of each topic.

        Returns
        -------
        table : DataFrame
            Columns: "topic", from 0; "rank", from 1; "document", the row of ``X``;
            and "weight", the weight of the topic in the document.  Empty documents are
            left out.  Documents of equal weight have the order of ``X``.

        Raises
        ------
        ValueError
            If ``n_documents`` is less than 1.
        ImportError
            If the library of the data frame is not installed.
        """
        frame_library(output)
        n_documents = positive_int(n_documents, "n_documents")
        gamma = self._doc_topic(X, 1.0)
        # the sum of gamma is the sum of the prior plus the number of tokens
        filled = np.flatnonzero(
            gamma.sum(axis=1) > 1.000001 * hyper_of_predictions(self).sum()
        )
        weight = gamma[filled] / gamma[filled].sum(axis=1, keepdims=True)
        order = np.argsort(-weight, axis=0, kind="stable")[:n_documents].T
        n_topics, n_found = order.shape
        topic = np.repeat(np.arange(n_topics), n_found)
        columns = {
            "topic": topic,
            "rank": np.tile(np.arange(1, n_found + 1), n_topics),
            "document": filled[order.ravel()],
            "weight": weight[order.ravel(), topic],
        }
        return data_frame(output, columns)

    def explain(
        self,
        X: DataLike,
        feature_names: ArrayLike | None = None,
        *,
        min_probability: Float = 0.1,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        r"""Return a table of the topics from which the words of documents came.

        The probability that a word came from a topic is computed by variational
        inference, :math:`\phi_{dvk} \propto \exp(E[\log \theta_{dk}] + E[\log
        \beta_{kv}])`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of a few documents.  A single document may have the shape
            (n_features,), such as a row of a sparse array or of a pandas DataFrame.
        min_probability : float, default=0.1
            Topics that are less probable are left out, except for the most probable
            topic of a word.

        Returns
        -------
        table : DataFrame
            Columns: "document", the row of ``X``; "word"; "count"; "topic" and its
            "probability" for this word in this document.  Words are in the order of
            their columns.  The topics of a word are in the order of their
            probabilities, largest first.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features, or
            ``min_probability`` is not between 0 and 1.
        ImportError
            If the library of the data frame is not installed.

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> lda.explain(X[[7]]).columns.tolist()
        ['document', 'word', 'count', 'topic', 'probability']
        """
        check_is_fitted(self, "state_")
        frame_library(output)
        names = self._names(feature_names)
        least = check_share(min_probability, "min_probability")
        lengths, words, counts, phi = (
            np.concatenate(part)
            for part in zip(*self._map(_as_rows(X), word_topics), strict=True)
        )
        order = np.argsort(-phi, axis=1, kind="stable")
        phi = np.take_along_axis(phi, order, axis=1)
        shown = phi >= least
        shown[:, 0] = True
        entry, place = np.nonzero(shown)
        columns = {
            "document": np.repeat(np.arange(len(lengths)), lengths)[entry],
            "word": names[words[entry]].astype(str),
            "count": counts[entry],
            "topic": order[entry, place],
            "probability": phi[entry, place],
        }
        return data_frame(output, columns)

    def similar_documents(
        self, query: DataLike, X: DataLike, n_documents: Int = 10
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the documents with the most similar topic weights.

        The distance is the Hellinger distance :math:`\sqrt{1 - \sum_k \sqrt{\theta_{qk}
        \theta_{dk}}}`, from 0 to 1.

        Parameters
        ----------
        query : {array-like, sparse matrix} of shape (n_queries, n_features)
            Word counts of documents for which similar ones are searched.  A single
            document may have the shape (n_features,).
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of the documents that are searched.
        n_documents : int, default=10
            Number of documents to find; if ``X`` has fewer, all are returned.

        Returns
        -------
        indices : ndarray of shape (n_queries, n_documents)
            Rows of ``X``, nearest first.  A query that is in ``X`` finds itself.
        distances : ndarray of shape (n_queries, n_documents)
            Distances of these documents, from 0 to 1.

        Raises
        ------
        ValueError
            If ``n_documents`` is less than 1.
        """
        n_documents = positive_int(n_documents, "n_documents")
        of_query = np.sqrt(self.transform(_as_rows(query)), dtype=np.float64)
        of_others = np.sqrt(self.transform(X), dtype=np.float64)
        found = []
        for rows in slices(len(of_query), len(of_others), VALUES_AT_ONCE):
            distance = cdist(of_query[rows], of_others) / np.sqrt(2.0)  # 0 if equal
            order = np.argsort(distance, axis=1, kind="stable")[:, :n_documents]
            found.append((order, np.take_along_axis(distance, order, axis=1)))
        indices, distances = (np.concatenate(part) for part in zip(*found, strict=True))
        return indices, distances

    # -- contents of tables ------------------------------------------------------------
    def _words_of_topics(self, prevalence=None):
        """Return the words that tables show; empty topics have none."""
        tokens = self.state_.globals_.tokens().T
        tokens[empty_topics(tokens.T)] = 0.0
        concentration = self.state_.globals_.dense().T.astype(np.float64)
        return _words.WordRanks.of_tokens(concentration, tokens, prevalence)

    def _prevalence(self, X=None):
        """Return the topics' shares of the tokens of ``X``, or of the training data."""
        if X is None:
            warn_if_above_one(self)
            tokens = self.state_.globals_.tokens().sum(axis=0)
        else:
            gamma = self._doc_topic(X, 1.0)
            of_prior = len(gamma) * hyper_of_predictions(self)
            tokens = np.maximum(gamma.sum(axis=0, dtype=np.float64) - of_prior, 0.0)
        total = tokens.sum()
        return tokens / total if total > 0 else np.full(len(tokens), 1 / len(tokens))

    @property
    def n_components_(self) -> int:
        """Number of topics of the fitted model."""
        return self._state().globals_.u.shape[1]

    _n_features_out = n_components_

    def merge_topics(self, n_components: Int | None = None) -> Self:
        r"""Return a fitted model in which similar topics are merged by the evidence.

        Repeatedly merges the pair of topics whose merge raises the evidence of their
        words most.  The merged topic has the expected tokens of both.  A fit that
        starts with about twice the number of topics, and then merges them, finds topics
        that a direct fit misses.

        Parameters
        ----------
        n_components : int, default=None
            Number of topics of the result.  None merges empty topics, and pairs of
            topics with a cosine above .3 as long as a merge raises the evidence.  Only
            distinct topics remain.

        Returns
        -------
        merged : object
            A new fitted estimator; this one does not change.  ``n_components`` is the
            new number of topics.  If priors have one value for each topic, the values
            of ``doc_topic_prior`` of merged topics are summed, and their
            ``topic_word_prior`` is the row with the largest sum.
            An array ``init`` becomes None.  `fit` with ``warm_start=True`` and
            `partial_fit` continue from the result; a few more passes improve it.

        Raises
        ------
        ValueError
            If ``n_components`` is less than 1, or more than the current number.

        See Also
        --------
        sktemper.metrics.match_components : Pairs of corresponding topics of two fits.

        Notes
        -----
        With :math:`c_k = \lambda_k - \eta` the expected tokens of a topic, the log
        evidence of its words is

        .. math:: F(c) = \log \frac{\Gamma(\sum_v \eta_v)}{\Gamma(\sum_v c_v + \eta_v)}
            + \sum_v \log \frac{\Gamma(c_v + \eta_v)}{\Gamma(\eta_v)},

        and the pair with the smallest :math:`F(c_i) + F(c_j) - F(c_i + c_j)` is merged.
        Each topic is compared with the 8 nearest ones by the Hellinger distance.  Two
        topics that ``topic_word_prior`` seeds with words are not merged.

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(6, random_state=0).fit(X)
        >>> merged = lda.merge_topics(4)
        >>> merged.n_components, merged.components_.shape[0], lda.n_components
        (4, 4, 6)
        """
        self._check_fitted()
        topics = self.state_.globals_
        n_topics = self.n_components_
        if n_components is not None:
            n_components = positive_int(n_components, "n_components")
            if n_components > n_topics:
                raise ValueError(
                    f"n_components={n_components} is more than the {n_topics} topics "
                    "of the fitted model: merging only makes fewer."
                )
        tokens = topics.tokens().T
        groups = groups_of_topics(tokens, topics.prior.T, n_components)
        return merged_topics(self, tokens, groups)

    def separate_common_words(
        self, X: DataLike, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return a fitted model with a topic of its own for the common words.

        Topic 0 of the result has the tokens that all topics had in common, and the
        other topics have the rest.  Half of the usual number of passes over the data
        follow.  Before the passes, and in the middle, two values of the prior of
        documents are learned: that of topic 0, and that of all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each document counts.

        Returns
        -------
        separated : object
            A new fitted estimator; this one does not change.  ``n_components`` is
            larger by one, and ``doc_topic_prior`` is an array.  A fit with covariates
            loses its `cells_`.

        Raises
        ------
        ValueError
            If the topics have no words in common, or topic 0 has them already.

        Notes
        -----
        Of each word, the other topics lose what they have in common: the tokens up to
        the rate in the corpus, times the smallest relative rate of the topics with the
        highest ones that have 30 % of all tokens, without one topic, and at most 1.  A
        word that a few topics own loses nothing.

        On eight generated sets of documents and five of raw texts, the held-out score
        of the result was between .06 nats per token below and .02 above that of equally
        many further passes without a separation.

        Examples
        --------
        >>> import numpy as np
        >>> from sktemper import AnnealedLDA
        >>> rng = np.random.default_rng(0)
        >>> topics = np.hstack([np.full((6, 2), 0.2), np.kron(np.eye(6), [0.06] * 10)])
        >>> X = rng.multinomial(40, np.repeat(topics, 50, axis=0))
        >>> lda = AnnealedLDA(6, random_state=0).fit(X)
        >>> sorted(lda.separate_common_words(X).top_words(n_words=2)[0])
        ['0', '1']
        """
        check_is_fitted(self, "state_")
        return separated(self, X, sample_weight)

    # -- other words -------------------------------------------------------------------
    def _parameters_on(self, places):
        """Return the parameters that have a value for each word, for new columns.

        Words without a former column get the smallest value.
        """
        prior = (self.state_.fixed or self._fixed())["topic_word_prior"]
        if np.ndim(prior) == 0:
            return {}
        prior = np.asarray(prior, dtype=np.float64)
        least = prior.min(axis=-1, keepdims=True)
        return {"topic_word_prior": np.where(places < 0, least, prior[..., places])}

    def fit_prior(self, X: DataLike) -> Self:
        """Fit the prior of documents for predictions only.

        The prior that is best for training need not be best for predictions.  This
        method chooses the prior with the best score of document completion.  Candidates
        differ in the sum of the Dirichlet parameters, and in how far these follow the
        topics' shares of the corpus.  The training prior is one of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents that were not used for training.  With more than
            2,000 documents, an even sample is used.  Training documents are sufficient
            if they are many and long; otherwise they prefer priors that are too small,
            see the notes.

        Returns
        -------
        self : object
            The estimator itself.  `transform`, `score` and methods that call them use
            ``prediction_prior_`` from now on; `lower_bound` and training use
            ``doc_topic_prior_`` as before.  `partial_fit` and a `fit` with
            ``warm_start`` keep the fitted prior, although they change the topics: call
            this method again.  A new `fit` and `merge_topics` delete it.

        Raises
        ------
        ValueError
            If ``X`` has no held-out tokens.

        Notes
        -----
        The score of the documents from which the prior was found is a little too high.
        With 50 topics and 500 documents that were not used for training, the prior
        improved the score of other documents by .12 nats per token for documents of 5
        words, by .08 for 10 words, and by .006 for package descriptions.  A prior from
        training documents lowered it by .22, .07 and .004
        (``benchmarks/results/topics.md``).

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=400, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X[:300])
        >>> before = lda.score(X[300:])
        >>> bool(lda.fit_prior(X[300:]).score(X[300:]) >= before)
        True
        """
        with self._fitted_problem(X) as problem:
            prior = best_prior(problem, self.state_)
        choices = replace(choices_of(self), prediction_prior=prior)
        self.state_ = replace(self.state_, choices=choices)
        return self

    def fit_recurrence(
        self,
        X: DataLike,
        *,
        sample_weight: ArrayLike | None = None,
        n_splits: Int = 2,
        random_state: Seed = None,
    ) -> Self:
        """Estimate the probability that a fit to other documents has a topic.

        The method `topics` and reports show it.  Fits with other seeds do not tell it:
        they agree with each other, because they have the same documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training data, with four documents or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each document counts.
        n_splits : int, default=2
            Number of random splits of the documents into halves.  One more is into
            quarters.  Each takes about the time of a fit.
        random_state : int, RandomState instance or None, default=None
            Seed of the splits.

        Returns
        -------
        self : object
            The estimator itself; its topics do not change.  A fit that continues keeps
            the probabilities: call this method again.

        Raises
        ------
        ValueError
            If ``X`` has fewer than four documents, or a parameter is out of range.

        See Also
        --------
        sktemper.inspection.topic_consensus : Topics that more fits have in common.

        Notes
        -----
        Topics of two fits are matched one to one.  One returns if it has half of its
        ten most probable words in common with the other.  Their expected number is
        between two levels: that of halves, which is too high, because halves share
        documents with the fit, and that of both halves of a split, which is too low,
        because halves are small.  It is the mean of the middle of both levels, and of
        what exceeds the second as halves exceed quarters.  The number is normal, with
        the variance between fits.

        On fourteen corpora that were not used to choose this rule, the mean of the
        probabilities differed by .03 on average, and by .08 at most, from the share of
        topics that returned in a fit to as many other documents
        (``benchmarks/results/topic_recurrence.md``).

        Examples
        --------
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(n_samples=400, n_components=5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> table = lda.fit_recurrence(X, random_state=0).topics(n_words=1)
        >>> table["recurrence"].tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
        """
        self._check_fitted()
        n_splits = positive_int(n_splits, "n_splits")
        valid_data(self, X)  # has the columns of the fit
        parts = fits_to_parts(self, X, sample_weight, n_splits, random_state)
        found = recurrence(self.topic_word_, *parts)
        choices = replace(choices_of(self), recurrence=found)
        self.state_ = replace(self.state_, choices=choices)
        return self

    def _check_kept(self, model):
        choices, shape = choices_of(self), (model.n_topics,)
        if choices.recurrence is not None and np.shape(choices.recurrence) != shape:
            raise ValueError("recurrence_ does not fit this model")
        if (prior := choices.prediction_prior) is not None:
            positive(np.atleast_1d(prior), "prediction_prior_", [shape])

    _serves = False

    def for_serving(self) -> Self:
        """Return a copy for processes that only infer topics of documents.

        The copy has the topics in float32, and no data that only training needs
        (history, documents, state of the learning rate).  The copy does not change
        while the estimator is trained further, so that other threads can use it
        meanwhile.  Save the copy by ``joblib.dump(copy, path)`` and load it by
        ``joblib.load(path, mmap_mode="r")``: all processes of a machine then share the
        topics in memory.

        Returns
        -------
        copy : object
            Fitted estimator of the same class.  `transform`, `score`, `top_words` and
            all other methods that do not train work as before, up to rounding to
            float32; `fit` and `partial_fit` raise an error.  The copy also accepts data
            with more columns, for instance from a vectorizer whose vocabulary has grown
            meanwhile: the additional columns are ignored, with a warning if they have
            more than 5 % of the tokens.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        Call this method in the thread that trains, or while no thread trains.  The file
        is a pickle: load only files that you trust.

        Examples
        --------
        >>> import os, tempfile
        >>> import joblib
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(300, 80, 5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "topics.joblib")
        ...     _ = joblib.dump(lda.for_serving(), path)
        ...     served = joblib.load(path, mmap_mode="r")
        ...     doc_topic = served.transform(X[:2])
        ...     del served
        >>> doc_topic.shape
        (2, 5)
        """
        check_is_fitted(self, "state_")
        state = self.state_
        served = State(
            globals_=ServedTopics.from_topics(state.globals_),
            hyper=np.array(state.hyper),
            seed=state.seed,
            dtype=np.dtype(np.float32),
            n_features=state.n_features,
            fixed=state.fixed,
            progress=replace(state.progress),
            policies=replace(state.policies, learning_rate=None),
            choices=replace(choices_of(self), lengths=None),
        )
        own = {"state_": served, "_warned": {}, "_ready": ReadyModel()}
        other = portable_copy(self, own)
        other._serves = True
        return other

    def _validate(self, X, reset):
        if self._serves:
            X = _known_columns(self, X)
        return _counts.validate_counts(self, X, reset)


class LDAParameters(Streaming, total=False):
    """Parameters that the estimators of the model have in common."""

    doc_topic_prior: Float | ArrayLike | Literal["auto"] | None
    topic_word_prior: Float | ArrayLike | None
    n_start_components: Int | None
    init_params: Literal["spectral", "random"]
    init: ArrayLike | None
    doc_update: Literal["auto", "variational", "sampled"]
    mean_change_tol: Float
    max_doc_update_iter: Int


class AnnealedLDAParameters(Annealed, LDAParameters, total=False):
    """Parameters of the annealed estimator of the model."""


class AnnealedLDA(AnnealedMixin, TemperedLDA):
    """Topic model (latent Dirichlet allocation) fitted by deterministic annealing.

    Stochastic variational inference [1]_ that starts at a high temperature, which
    flattens poor optima, and cools to T=1 [2]_.  The start comes from the data
    (``init_params``), and short documents are sampled at last (``doc_update``).

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
        n_components: Int | None = 10,
        **parameters: Unpack[AnnealedLDAParameters],
    ): ...


class SVIPlusLDA(SVIPlusMixin, TemperedLDA):
    """Topic model (latent Dirichlet allocation) with tunable gradient noise (SVI+).

    Stochastic variational inference [1]_ with large batches that have the gradient
    noise of smaller ones [2]_.  The noise is meant to leave poor optima; it can be
    combined with a temperature.

    Parameters
    ----------
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of documents, or a schedule of these.  Smaller
        values add more noise, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of documents: "gaussian" weights, those of
        the paper, can be negative, see `sktemper.noise.SVIPlusNoise`.

    References
    ----------
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".

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
        n_components: Int | None = 10,
        *,
        effective_batch_size: Float | Schedule | Callable = 0.5,
        tempering: Tempering | Literal["global", "local"] | None = None,
        noise_distribution: Literal["dirichlet", "gaussian"] = "dirichlet",
        **parameters: Unpack[LDAParameters],
    ): ...
