"""Latent Dirichlet allocation as a `ConjugateModel`.

The symbols are the usual ones: lambda are the Dirichlet parameters of the topics, gamma
the Dirichlet parameters of a document's topic weights theta, phi the probabilities of a
word's topics, and alpha and eta the Dirichlet parameters of the priors of theta and of
the topics.
"""

import math
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.special import psi

from .._expfam import _dirichlet
from .._linalg import entries_of_rows, is_canonical
from ..model import (
    ConjugateModel,
    IllDefined,
    LocalStep,
    Powers,
    Request,
    Stopped,
    all_finite,
)
from . import _kernels
from ._checks import positive
from ._correspondence import ROWS_ANALYSED
from ._partition import log_partition
from ._renewing import RenewingMixin
from ._starts import StartsMixin
from ._topics import Documents, Prepared, Topics, WordStatistics, deal_words

#: The decay factor of lambda is multiplied into u if it is below this value.
SMALLEST_DECAY = 1e-6
#: Default priors (alpha, eta) of log C(T), for one temperature of all documents and for
#: one temperature of each document.
PARTITION_PRIORS = {"global": (0.01, 0.01), "local": (0.02, 0.05)}
#: Numbers of discarded and of averaged Gibbs sweeps of a sampled document.
N_BURN_IN, N_KEPT = 5, 5
#: Largest number of tokens, per topic, of a document that ``doc_update="auto"``
#: samples.
LONGEST_SAMPLED = 2
NOTHING_SAMPLED, NO_BOUNDS = np.zeros(0, dtype=np.uint8), np.zeros(0)
#: Number of documents of a block; a larger number, if the values of all topics for a
#: word have at most NARROW_ROW bytes, because the block then still fits into a cache.
ROWS_OF_BLOCK, MORE_ROWS, NARROW_ROW = 256, 512, 256
#: Numbers of tokens of a batch with ``batch_size="auto"``, in fits, and in streams of
#: unknown size.
TOKENS_PER_BATCH, TOKENS_PER_PIECE = 30_000, 20_000
#: Number of documents per topic in `LDAModel.stream_rows`.
ROWS_PER_TOPIC = 200


class LDAModel(RenewingMixin, StartsMixin, ConjugateModel):
    """Latent Dirichlet allocation.

    Parameters
    ----------
    n_topics, n_features : int
    doc_topic_prior : ndarray of shape (n_topics,) or None
        alpha; None derives it from the lengths of the documents.
    topic_word_prior : ndarray of shape (1 or n_topics, 1 or n_features)
        eta.
    dtype : {float32, float64}
        Dtype of the computations of kernels.
    tol, max_iter : float, int
        Tolerance and largest number of iterations of a document.
    drop_tol : float
        The iterations of a document skip topics to which they assign fewer tokens than
        this value times alpha; 0 skips no topics.
    init : ndarray of shape (n_topics, n_features) or None
        Initial lambda.
    init_params : {"spectral", "random"}
        Method for the initial lambda if ``init`` is None.
    doc_update : {"variational", "sampled", "auto"}
        Source of the statistics of a step: phi at its optimum, or draws of the topics
        of a document's tokens.  "auto" draws at T=1, for short documents with whole
        counts.
    """

    steps_in_place = True
    max_start_rows = ROWS_ANALYSED

    def __init__(
        self,
        n_topics,
        n_features,
        doc_topic_prior,
        topic_word_prior,
        *,
        dtype=np.float64,
        tol=1e-3,
        max_iter=100,
        drop_tol=0.0,
        init=None,
        init_params="spectral",
        doc_update="variational",
    ):
        super().__init__()
        self.doc_update = doc_update
        self.is_random = doc_update != "variational"
        self.local_tol = tol
        # with one topic, theta is constant
        self.has_continuous_local = n_topics > 1
        self.n_topics = n_topics
        self.n_features = n_features
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.drop_tol = drop_tol
        self.init = init
        self.init_params = init_params
        is_narrow = n_topics * np.dtype(dtype).itemsize <= NARROW_ROW
        self.block_size = MORE_ROWS if is_narrow else ROWS_OF_BLOCK

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as `Documents`."""
        if not sparse.issparse(X):
            X = sparse.csr_array(np.asarray(X[rows], dtype=self.dtype))
            rows = slice(None)
        starts, columns, counts = entries_of_rows(X, rows)
        if not (counts.all() and is_canonical(starts, columns)):
            shape = len(starts) - 1, self.n_features
            block = sparse.csr_array((counts, columns, starts), shape=shape)
            block = block.astype(self.dtype)  # a sum may exceed the dtype of X
            block.sum_duplicates()
            block.eliminate_zeros()
            starts, columns, counts = block.indptr, block.indices, block.data
        columns = np.ascontiguousarray(columns)
        words, slots = _kernels.distinct_words(columns, self.n_features)
        return Documents(
            np.ascontiguousarray(counts, dtype=self.dtype),
            starts.astype(np.intp, copy=False),
            words,
            slots,
        )

    # -- the state of a fit ----------------------------------------------------------
    def global_shapes(self, globals_):
        """Return the shapes of the parts of `Topics`, without making dense arrays."""
        shape, prior = (self.n_features, self.n_topics), self.topic_word_prior.T
        return [shape, (self.n_topics,), prior.shape, (), (), ()]

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        return [(self.n_topics,)]

    def prepare(self, globals_, hyper):
        """Return the arguments that all local steps of a step share."""
        totals = globals_.totals()
        normaliser = _dirichlet.log_normaliser(hyper)
        return Prepared(globals_, totals, psi(totals), hyper, normaliser)

    def is_finite(self, globals_, hyper, prepared):
        """Return whether sums of lambda over words, and the priors, are finite."""
        shares = globals_.decay + globals_.prior_share + globals_.base_share
        totals = globals_.totals() if prepared is None else prepared.totals
        return all_finite(shares, totals, hyper)

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        """Optimise gamma and phi of a block; see `ConjugateModel.local_step`."""
        n_rows = len(block.starts) - 1
        gamma = np.ones((n_rows, self.n_topics), dtype=self.dtype)
        if request.local_init is not None:
            gamma[...] = request.local_init
        bounds = np.empty(n_rows if "bound" in request.want else 0)
        tokens = block.tokens()
        sampled = self._sampled(block, tokens, request)
        n_iterations, rows = self._optimise(
            block, prepared, request, sampled, gamma, bounds
        )
        parts = () if rows is None else ((block.words, rows),)
        bounds += request.powers.prior * prepared.log_normaliser
        wanted = "score" in request.want
        scores = self._scores(block, prepared, gamma) if wanted else None
        return LocalStep.of_rows(
            statistics=WordStatistics(parts, self.n_features, self.n_topics),
            row_observed=tokens,
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=n_iterations,
            local_parameters=gamma if "local" in request.want else None,
        )

    def optimal_gamma(self, block, prepared, request):
        """Return the optimal gamma of each document, as `local_step` does."""
        gamma = np.ones((len(block.starts) - 1, self.n_topics), dtype=self.dtype)
        self._optimise(block, prepared, request, NOTHING_SAMPLED, gamma, NO_BOUNDS)
        return gamma

    def _optimise(self, block, prepared, request, sampled, gamma, bounds):
        """Optimise gamma in place; return the iterations and the statistics."""
        powers, alpha = request.powers, prepared.doc_topic_prior
        if powers.prior != 1.0:
            # The tempered natural parameter is powers.prior * (alpha - 1).  This form
            # does not lose the digits of a small alpha.
            alpha = powers.prior * alpha + (1.0 - powers.prior)
        n_iterations, rows = _kernels.local_step(
            *prepared.topics.on_block(block),
            prepared.digamma_totals,
            alpha,
            np.array(powers.local, dtype=np.float64, ndmin=1),
            np.ndim(powers.local) > 0,
            request.factors(len(gamma)),
            self.tol,
            self.max_iter,
            self.drop_tol,
            self.stop,
            sampled,
            prepared.totals,
            prepared.doc_topic_prior,
            request.seed,
            N_BURN_IN,
            N_KEPT,
            gamma,
            "statistics" in request.want,
            bounds,
        )
        if n_iterations < 0:
            raise Stopped
        return n_iterations, rows

    def _sampled(self, block, tokens, request):
        """Return flags of the documents that are sampled; an empty array for none."""
        if self.doc_update == "variational" or "statistics" not in request.want:
            return NOTHING_SAMPLED
        if self.doc_update == "sampled":
            return np.ones(len(tokens), dtype=np.uint8)
        if np.ndim(request.powers.local) or request.powers.local != 1.0:
            return NOTHING_SAMPLED
        short = tokens <= LONGEST_SAMPLED * self.n_topics
        fractional = block.counts != np.rint(block.counts)
        if fractional.any():
            document = np.repeat(np.arange(len(short)), np.diff(block.starts))
            short[document[fractional]] = False
        return short.view(np.uint8) if short.any() else NOTHING_SAMPLED

    def _scores(self, block, prepared, gamma):
        """Return sum_v n_dv log sum_k E[theta_dk] E[beta_kv] of each document."""
        scores = np.zeros(len(gamma))
        stopped = _kernels.log_predictive(
            *prepared.topics.on_block(block),
            prepared.totals,
            self.stop,
            gamma,
            scores,
        )
        if stopped:
            raise Stopped
        return scores

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step lambda toward ``prior + scale * statistics``, see `Topics`."""
        u, totals = globals_.u, globals_.u_totals.copy()
        keep = 1.0 - rate
        decay = keep * globals_.decay
        renew = decay < SMALLEST_DECAY
        factor = rate * scale / (1.0 if renew else decay)
        added = sum(float(rows.sum()) for _, rows in statistics.parts)
        if not math.isfinite(factor * added + float(totals.sum())):
            raise IllDefined()
        if renew:
            u *= decay
            totals = u.sum(axis=0)
            decay = 1.0
        for words, rows in statistics.parts:
            _kernels.add_rows(u, totals, words, rows, factor)
        return replace(
            globals_,
            u_totals=totals,
            decay=decay,
            prior_share=keep * globals_.prior_share + rate * powers.prior,
            base_share=keep * globals_.base_share + rate * (1.0 - powers.prior),
        )

    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which an entry of lambda would become 0."""
        ((words, rows),) = statistics.merged().parts
        prior = powers.prior * (globals_.full_prior()[words] - 1.0) + 1.0
        target = prior + scale * rows[:, : self.n_topics]
        topic_word = globals_.rows(words)
        leaving = target < 0
        if not leaving.any():
            return math.inf
        topic_word, target = topic_word[leaving], target[leaving]
        return float((topic_word / (topic_word - target)).min())

    def is_valid(self, globals_):
        """Return whether all of lambda is positive."""
        return bool((globals_.dense() > 0).all())

    def on_features(self, globals_, hyper, places, start_share):
        """Return the topics for other words, and the unchanged prior of documents."""
        prior = self.topic_word_prior.T
        return globals_.on_words(places, prior, start_share), hyper

    # -- dense vectors ---------------------------------------------------------------
    def natural_parameters(self, globals_):
        """Return lambda - 1, words in rows, as a vector."""
        return globals_.dense().ravel() - 1.0

    def from_natural_parameters(self, vector):
        """Return the topics of a vector."""
        shape = (self.n_features, self.n_topics)
        return Topics.from_dense(vector.reshape(shape) + 1.0, self.topic_word_prior.T)

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return ``power * (eta - 1) + scale * statistics`` as a vector."""
        target = scale * statistics.dense()
        target += powers.prior * (self.topic_word_prior.T - 1.0)
        return target.ravel()

    def fisher_product(self, globals_, vector):
        """Return the Fisher information of the Dirichlets times ``vector``."""
        return globals_.fisher_product(vector)

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(beta | eta) - E log q(beta | lambda)."""
        topic_word, prior = globals_.dense(), globals_.full_prior()
        return _dirichlet.bound(topic_word, prior, powers.prior, axis=0)

    def predictive_scores(self, block, prepared):
        """Return each document's completion score and its number of held-out tokens.

        The distinct words of a document, in column order, are assigned alternately to
        an observed and a held-out half (Hoffman et al. 2013, section 4.1).  Theta is
        inferred from the observed half, and the held-out half is scored.
        """
        observed, held_out = deal_words(block)
        step = self.local_step(observed, prepared, Request(want=("local",)))
        scores = self._scores(held_out, prepared, step.local_parameters)
        return scores, held_out.tokens()

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return the log normaliser per token, c(b), at inverse temperatures b.

        It is c(b) = E log sum_v (sum_k theta_k beta_kv)^b over theta ~ Dirichlet(alpha)
        and beta ~ Dirichlet(eta), estimated from ``n_samples ** 2`` pairs of draws.
        ``priors`` is a pair (alpha, eta), which may differ from the priors of the
        model, or a key of `PARTITION_PRIORS`.
        """
        alpha, eta = self._partition_priors(priors, hyper)
        alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), self.n_topics)
        eta, V = np.atleast_2d(np.asarray(eta, dtype=np.float64)), self.n_features
        return log_partition(inverse_temperatures, alpha, eta, V, random, n_samples)

    def _partition_priors(self, priors, hyper):
        if priors is None:
            return hyper, self.topic_word_prior
        if isinstance(priors, str):
            return PARTITION_PRIORS[priors]
        if len(priors) != 2:
            raise ValueError(
                "partition_priors must be a pair, alpha and eta; it has "
                f"{len(priors)} parts."
            )
        K, V = self.n_topics, self.n_features
        alpha = positive(priors[0], "partition_priors[0]", [(K,)])
        return alpha, positive(priors[1], "partition_priors[1]", [(V,), (K, V)])

    @property
    def stream_rows(self):
        """Largest number of documents that a batch of an unknown stream represents.

        Posteriors of more documents lower the held-out score, because the first steps
        are then noisy, and because the prior keeps rare words probable.
        """
        return ROWS_PER_TOPIC * self.n_topics

    def auto_batch_size(self, X, total):
        """Return the number of documents that have about 30,000 tokens.

        The batch size is at most a fifth of the data.  If documents are not sampled, it
        is at least a twentieth of the data, because with small batches the mean-field
        approximation finds poor optima.  In a stream of unknown size, which may end
        early, documents of a batch have about 20,000 tokens.
        """
        data = X.data if sparse.issparse(X) else X
        tokens_per_row = max(float(np.sum(data, dtype=np.float64)) / X.shape[0], 1.0)
        if total is None:
            return max(1, round(TOKENS_PER_PIECE / tokens_per_row))
        rows = TOKENS_PER_BATCH / tokens_per_row
        if self.doc_update == "variational":
            rows = max(rows, total / 20)
        return max(1, round(min(rows, total / 5)))
