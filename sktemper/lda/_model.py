"""Latent Dirichlet allocation as a `ConjugateModel`.

The symbols are the usual ones: lambda are the Dirichlet parameters of the topics, gamma
the Dirichlet parameters of a document's topic weights theta, phi the probabilities of a
word's topics, and alpha and eta the Dirichlet parameters of the priors of theta and of
the topics.
"""

import copy
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, psi, softmax

from .._families import _dirichlet
from .._families._counts import MOST_DRAWN, log_mean_powers
from .._families._critical import ROWS_ANALYSED
from .._families._mixture import worst_rows
from .._simd import special
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._cache import LastCall
from .._utils._csr import is_plain
from .._utils._linalg import entries_of_rows, tiled_matmul
from .._utils._validation import check_prior
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
from ._cells import N_SQUARES, priors_of_cells, stepped, sums_of_shares
from ._merging import LEAST_KEPT, SAME_COSINE, groups_of_topics, seeded_topics, unit
from ._priors import auto_prior, positive
from ._starts import analyse, critical_temperatures, spectral_tokens
from ._topics import Documents, Prepared, Topics, WordStatistics, split_words

# -- log normaliser of the tempered likelihood, estimated by sampling ------------------
#: Largest number of groups of exchangeable words.  With more groups each word is drawn.
MOST_WORD_GROUPS = 256
#: Words are exchangeable if the logarithms of their priors round to the same multiple
#: of this value.
GROUP_WIDTH = 0.2


#: Number of values of b at which log C of a document is computed.  The interpolation
#: error is below 1e-6 per token.
CHEBYSHEV_NODES = 8


def _interpolation(points):
    """Return Chebyshev nodes, and the weights of their values at each point.

    Returns
    -------
    nodes : ndarray of shape (CHEBYSHEV_NODES,)
    weights : ndarray of shape (CHEBYSHEV_NODES, n_points)
    """
    low, high = points.min(), points.max()
    angles = np.pi * (np.arange(CHEBYSHEV_NODES) + 0.5) / CHEBYSHEV_NODES
    unit = np.cos(angles)
    scaled = 2 * (points - low) / (high - low) - 1
    at_nodes = np.polynomial.chebyshev.chebvander(unit, CHEBYSHEV_NODES - 1)
    at_points = np.polynomial.chebyshev.chebvander(scaled, CHEBYSHEV_NODES - 1)
    weights = np.linalg.solve(at_nodes.T, at_points.T)
    return low + (high - low) * (unit + 1) / 2, weights


def complete_scores(block, prepared, gamma, power):
    """Return E log p(words, topics of words | theta, topics) of each document.

    This is equation 9 of paper 001: sum_vk n_dv phi_dvk (E log theta_dk + E log
    beta_kv), where phi has the exponent ``power``, one number or one of each document.
    """
    gamma = gamma.astype(np.float64)
    theta = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    topics = psi(prepared.topics.rows(block.words)) - prepared.digamma_totals
    document = np.repeat(np.arange(len(gamma)), np.diff(block.starts))
    power = np.broadcast_to(power, len(gamma))[document, None]
    scores = np.zeros(len(document))
    for some in slices(len(document), gamma.shape[1], VALUES_AT_ONCE):
        logs = theta[document[some]] + topics[block.slots[some]]
        scores[some] = (softmax(power[some] * logs, axis=1) * logs).sum(axis=1)
    return np.bincount(document, block.counts * scores, len(gamma))


def _of_documents(block, sums, weights):
    """Return log C of each document, interpolated between those of nodes."""
    # no BLAS here, because its rounding depends on the number of rows
    logs = sum(np.outer(*pair) for pair in zip(sums, weights, strict=True))
    return block.tokens()[:, None] * logs


def _log_power_sums(prepared, inverse_temperatures):
    """Return nodes and weights of b, and log sum_v E[beta_kv]^b of topics at nodes."""
    nodes, weights = _interpolation(np.asarray(inverse_temperatures))
    log_beta = np.log(prepared.topics.dense() / prepared.totals).T
    return nodes, weights, [_log_sum_exp(b * log_beta) for b in nodes]


class _EachWord(NamedTuple):
    """Vocabulary in which every word is drawn, with concentrations for each topic."""

    concentrations: np.ndarray  # (n_topics, n_features)

    def log_sums(self, exponents, log_p, log_theta):
        """Return log sum_v p_v^b, summed over documents: (n_exponents,).

        ``log_p`` has the words' log probabilities in documents, and ``log_theta`` the
        topics' log weights, (n_documents, n_topics).
        """
        return np.array([_log_sum_exp(b * log_p).sum() for b in exponents])


class _StandIns(NamedTuple):
    """Vocabulary of groups of exchangeable words; a few of each group are drawn."""

    sizes: np.ndarray  # number of words of each group, (n_groups,)
    n_drawn: np.ndarray  # number of words that represent each group, (n_groups,)
    of_words: np.ndarray  # concentration of each word of a group, (n_topics, n_groups)

    @property
    def concentrations(self):
        """Concentrations of the words that are drawn, (n_topics, n_drawn.sum())."""
        return np.repeat(self._of_drawn(), self.n_drawn, axis=1)

    def _of_drawn(self):
        return self.of_words * (self.sizes / self.n_drawn)

    def log_sums(self, exponents, log_p, log_theta):
        """Return the same as `_EachWord.log_sums`, for all words of the groups."""
        log_weights = log_theta - np.log(self.of_words @ self.sizes)
        both = np.hstack([self.of_words, self._of_drawn()])
        of_words, of_drawn = np.split(
            log_mean_powers(exponents, log_weights, both), 2, axis=2
        )
        factors = np.exp(of_words - of_drawn) * (self.sizes / self.n_drawn)
        starts = np.cumsum(self.n_drawn) - self.n_drawn
        sums = [
            np.add.reduceat(np.exp(b * log_p), starts, axis=1) * factors[:, m]
            for m, b in enumerate(exponents)
        ]
        return np.log(np.sum(sums, axis=2)).sum(axis=1)


def _words(eta, n_features):
    """Return the vocabulary of a prior, with or without groups."""
    if n_features > MOST_DRAWN:
        sizes, of_words = _groups(eta, n_features)
        n_groups = len(sizes)
        if n_groups <= MOST_WORD_GROUPS:
            # half of the draws in proportion to group sizes, half equally over groups
            share = 0.5 * (sizes / n_features + 1 / n_groups)
            n_drawn = np.minimum(sizes, np.ceil(MOST_DRAWN * share)).astype(int)
            return _StandIns(sizes, n_drawn, of_words)
    return _EachWord(np.broadcast_to(eta, (len(eta), n_features)))


def _groups(eta, n_features):
    """Return the sizes of groups of words with similar priors, and their priors."""
    if eta.shape[1] == 1:
        return np.array([n_features]), eta
    rows = eta[:1] if (eta == eta[0]).all() else eta
    keys = np.round(np.log(rows) / GROUP_WIDTH)
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.ravel()
    sizes = np.bincount(group)
    sums = np.stack([np.bincount(group, row) for row in rows])
    return sizes, np.broadcast_to(sums / sizes, (len(eta), len(sizes)))


def _log_sum_exp(logs):
    """Return log(sum(exp(logs), axis=1)), in half the time of SciPy, with equal bits.

    The largest terms are not added to the small terms, which keep their digits in the
    function log1p.
    """
    top = logs.max(axis=1, keepdims=True)
    is_top = logs == top
    others = np.exp(logs - top)
    others[is_top] = 0.0
    n_top = is_top.sum(axis=1, dtype=float)
    return np.log1p(others.sum(axis=1) / n_top) + np.log(n_top) + top[:, 0]


def _log_matmul(a, b):
    """Return log(exp(a) @ exp(b))."""
    top_a, top_b = a.max(axis=1, keepdims=True), b.max(axis=0)
    with np.errstate(divide="ignore"):
        product = np.log(np.exp(a - top_a) @ np.exp(b - top_b))
    return product + top_a + top_b


def _trigamma(x):
    values, _ = special.evaluate("trigamma", x.ravel())
    return values.reshape(x.shape)


# -- latent Dirichlet allocation as a `ConjugateModel` ---------------------------------
#: The decay factor of lambda is multiplied into u if it is below this value.
SMALLEST_DECAY = 1e-6
#: Default priors (alpha, eta) of log C(T), for one temperature of all documents and for
#: one temperature of each document.
PARTITION_PRIORS = {"global": (0.01, 0.01), "local": (0.02, 0.05)}
#: Numbers of discarded and of averaged Gibbs sweeps of a sampled document.
N_BURN_IN, N_KEPT = 5, 5
#: Documents that ``doc_update="auto"`` samples have at most `FEW_TOKENS`, and at most
#: `MOST_PER_TOPIC` of them for each topic; or at most `LEAST_PER_TOPIC` for each topic.
FEW_TOKENS, MOST_PER_TOPIC, LEAST_PER_TOPIC = 120, 8, 2
NOTHING_SAMPLED = np.zeros(0, dtype=np.uint8)
#: Request of gamma at T=1.
AT_ONE = Request(want=())
#: Number of documents of a block; twice this number, if the values of all topics for a
#: word have at most NARROW_ROW bytes, because the block then still fits into a cache.
ROWS_OF_BLOCK, NARROW_ROW = 256, 256
#: Numbers of tokens of a batch with ``batch_size="auto"``, in fits, and in streams of
#: unknown size.
TOKENS_PER_BATCH, TOKENS_PER_PIECE = 30_000, 20_000
#: Start temperature of an annealing with sampled documents, below which "auto" samples.
SAMPLED_START = 1.2
#: Largest mean number of tokens of documents of which "auto" samples from the start.
VERY_SHORT = 15
#: Initial tokens of each word in a topic, to which the tokens of an axis are added.
START_OF_A_WORD = 0.1
#: Smallest number of rows of a correspondence analysis, per topic.
ROWS_PER_AXIS = 2
#: Number of documents per topic in `LDAModel.stream_rows`.
ROWS_PER_TOPIC = 200


def _tokens_per_row(X):
    counts = X.data if sparse.issparse(X) else X
    return float(np.sum(counts, dtype=np.float64)) / X.shape[0]


def longest_sampled(n_topics):
    """Return the largest number of tokens of documents that "auto" samples."""
    few = min(MOST_PER_TOPIC * n_topics, FEW_TOKENS)
    return max(LEAST_PER_TOPIC * n_topics, few)


class LDAModel(ConjugateModel):
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
        of a document's tokens.  "auto" draws for short documents with whole counts, at
        temperatures of at most `SAMPLED_START`.
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
        self._correspondence = LastCall()
        self._power_sums = LastCall()
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
        self.max_iter = max_iter
        self.drop_tol = drop_tol
        self.init = init
        self.init_params = init_params
        self.products_per_value = 2 * n_topics * (N_BURN_IN + N_KEPT)
        is_narrow = n_topics * np.dtype(dtype).itemsize <= NARROW_ROW
        self.block_size = 2 * ROWS_OF_BLOCK if is_narrow else ROWS_OF_BLOCK

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        if not sparse.issparse(X):
            X = sparse.csr_array(np.asarray(X[rows], dtype=self.dtype))
            rows = slice(None)
        starts, columns, counts = entries_of_rows(X, rows)
        if not (counts.all() and is_plain(starts, columns, self.n_features)):
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
        shapes = [shape, (self.n_topics,), prior.shape, (), (), ()]
        if globals_.cells is not None:
            shapes.append((len(globals_.cells), self.n_topics + N_SQUARES))
        return shapes

    def hyper_shapes(self):
        return [(self.n_topics,)]

    def prepare(self, globals_, hyper):
        totals = globals_.totals()
        priors = hyper[None]
        if globals_.cells is not None:
            priors = priors_of_cells(globals_.cells, hyper)
        normaliser = _dirichlet.log_normaliser(priors)
        return Prepared(globals_, totals, psi(totals), priors, normaliser)

    def prepared_for(self, prepared, labels):
        """Return prepared values in which documents have the priors of their cells."""
        priors = prepared.doc_topic_prior
        if (priors == priors[0]).all():
            return prepared
        rows = np.where(labels < len(priors) - 1, labels + 1, 0)
        return prepared._replace(prior_rows=rows.astype(np.intp, copy=False))

    def is_finite(self, globals_, hyper, prepared):
        shares = globals_.decay + globals_.prior_share + globals_.base_share
        totals = globals_.totals() if prepared is None else prepared.totals
        return all_finite(shares, totals, hyper, globals_.cells)

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        if request.labels is not None:
            prepared = self.prepared_for(prepared, request.labels)
        tokens = block.tokens()
        sampled = self._sampled(block, tokens, request)
        gamma, bounds, n_iterations, rows = self._optimise(
            block, prepared, request, sampled
        )
        parts = () if rows is None else ((block.words, rows),)
        if len(bounds):
            bounds += request.powers.prior * prepared.log_normalisers()
        scores = None
        if "complete" in request.want:
            scores = complete_scores(block, prepared, gamma, request.powers.local)
        elif "score" in request.want:
            scores = self._scores(block, prepared, gamma)
        return LocalStep.of_rows(
            statistics=WordStatistics(
                parts,
                self.n_features,
                self.n_topics,
                self._sums_of_cells(prepared, request, gamma, sampled),
            ),
            row_observed=tokens,
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=n_iterations,
            local_parameters=gamma if "local" in request.want else None,
        )

    def _sums_of_cells(self, prepared, request, gamma, sampled):
        """Return the sums of the documents' topic shares by cell, or None."""
        if request.labels is None or "statistics" not in request.want:
            return None
        alpha = self._tempered_priors(prepared, request)
        rows = prepared.prior_rows if len(prepared.prior_rows) else slice(1)
        alpha = alpha[rows]
        if len(sampled):  # gamma of these documents has the prior at T = 1
            is_sampled = sampled.view(bool)[:, None]
            alpha = np.where(is_sampled, prepared.doc_topic_prior[rows], alpha)
        factors = request.factors(len(gamma))
        return sums_of_shares(gamma, alpha, factors, request.labels)

    def _tempered_priors(self, prepared, request):
        power = request.powers.prior
        # The tempered natural parameter is power * (alpha - 1).  This form does not
        # lose the digits of a small alpha.
        return power * prepared.doc_topic_prior + (1.0 - power)

    def optimal_gamma(self, block, prepared, request=AT_ONE):
        """Return the optimal gamma of each document, as `local_step` does."""
        return self._optimise(block, prepared, request)[0]

    def _optimise(self, block, prepared, request, sampled=NOTHING_SAMPLED):
        """Return the optimal gamma, bounds, the iterations and the statistics."""
        n_rows, powers = len(block.starts) - 1, request.powers
        gamma = np.ones((n_rows, self.n_topics), dtype=self.dtype)
        if request.local_init is not None:
            gamma[...] = request.local_init
        bounds = np.empty(n_rows if "bound" in request.want else 0)
        documents, topics = prepared.topics.block_parts(block)
        alpha = self._tempered_priors(prepared, request)
        inverse_temperatures = np.array(powers.local, dtype=np.float64, ndmin=1)
        n_iterations, rows = _kernels.local_step(
            documents,
            (*topics, prepared.totals, prepared.digamma_totals),
            (alpha, prepared.doc_topic_prior, prepared.prior_rows),
            (inverse_temperatures, np.ndim(powers.local) > 0),
            (self.local_tol, self.max_iter, self.drop_tol),
            (sampled, request.seed, N_BURN_IN, N_KEPT),
            self.stop,
            request.factors(n_rows),
            "statistics" in request.want,
            gamma,
            bounds,
        )
        if n_iterations < 0:
            raise Stopped
        return gamma, bounds, n_iterations, rows

    def _sampled(self, block, tokens, request):
        """Return flags of the documents that are sampled; an empty array for none."""
        if self.doc_update == "variational" or "statistics" not in request.want:
            return NOTHING_SAMPLED
        if self.doc_update == "sampled":
            return np.ones(len(tokens), dtype=np.uint8)
        if np.ndim(request.powers.local) or SAMPLED_START * request.powers.local < 1.0:
            return NOTHING_SAMPLED
        short = tokens <= longest_sampled(self.n_topics)
        fractional = block.counts != np.rint(block.counts)
        if fractional.any():
            document = np.repeat(np.arange(len(short)), np.diff(block.starts))
            short[document[fractional]] = False
        return short.view(np.uint8) if short.any() else NOTHING_SAMPLED

    def _scores(self, block, prepared, gamma):
        """Return sum_v n_dv log sum_k E[theta_dk] E[beta_kv] of each document."""
        scores = np.zeros(len(gamma))
        stopped = _kernels.log_predictive(
            *prepared.topics.block_parts(block),
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
            cells=stepped(globals_.cells, statistics.cells, rate, scale),
        )

    def within_domain(self, statistics):
        """Return statistics in which no topic has less than 0 tokens of a word.

        The target of each entry of lambda is then at least its prior.  If entries fell
        nearly to 0, a topic would lose words that a few documents of the batch have.
        """
        merged = statistics.merged()
        ((words, rows),) = merged.parts
        return replace(merged, parts=((words, np.maximum(rows, 0.0)),))

    def is_valid(self, globals_):
        return bool((globals_.dense() > 0).all())

    def on_features(self, globals_, hyper, places, start_share):
        """Return the topics for other words, and the unchanged prior of documents."""
        prior = self.topic_word_prior.T
        return globals_.select_words(places, prior, start_share), hyper

    # -- dense vectors ---------------------------------------------------------------
    def natural_parameters(self, globals_):
        """Return lambda - 1, words in rows, as a vector."""
        return globals_.dense().ravel() - 1.0

    def from_natural_parameters(self, vector):
        shape = (self.n_features, self.n_topics)
        return Topics.from_dense(vector.reshape(shape) + 1.0, self.topic_word_prior.T)

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return ``power * (eta - 1) + scale * statistics`` as a vector."""
        target = scale * statistics.dense()
        target += powers.prior * (self.topic_word_prior.T - 1.0)
        return target.ravel()

    def fisher_product(self, globals_, vector):
        topic_word = globals_.dense()
        change = vector.reshape(topic_word.shape)
        return _dirichlet.fisher_product(topic_word, change, 0, _trigamma).ravel()

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
        observed, held_out = split_words(block)
        gamma = self.optimal_gamma(observed, prepared)
        return self._scores(held_out, prepared, gamma), held_out.tokens()

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return the log normaliser per token, c(b), at inverse temperatures b.

        It is c(b) = E log sum_v (sum_k theta_k beta_kv)^b over theta ~ Dirichlet(alpha)
        and beta ~ Dirichlet(eta), estimated from ``n_samples ** 2`` pairs of draws.
        ``priors`` is a pair (alpha, eta), which may differ from the priors of the
        model, or a key of `PARTITION_PRIORS`.
        """
        (alpha, eta), K = self._partition_priors(priors, hyper), self.n_topics
        words = _words(np.broadcast_to(eta, (K, eta.shape[1])), self.n_features)
        # one draw of many topics is as precise as many draws of few topics
        n_topic_draws = min(n_samples, math.ceil(n_samples**2 / K))
        n_theta_draws = math.ceil(n_samples / n_topic_draws)
        total = np.zeros(len(inverse_temperatures))
        theta = np.broadcast_to(alpha, (n_samples, K))
        for _ in range(n_topic_draws):
            beta = _dirichlet.log_draws(words.concentrations, random)
            for _ in range(n_theta_draws):
                log_theta = _dirichlet.log_draws(theta, random)
                log_p = _log_matmul(log_theta, beta)
                total += words.log_sums(inverse_temperatures, log_p, log_theta)
        return total / (n_topic_draws * n_theta_draws * n_samples)

    def map_partition(self, inverse_temperatures, hyper, priors=None):
        """Return log C(b) per token at the means of theta and of the topics.

        The mode of a Dirichlet's natural parameters, log theta, is at its mean.  The
        sign is that of equation A.2 of paper 001; its equation 15 has the opposite one.
        """
        alpha, eta = self._partition_priors(priors, hyper)
        eta = np.broadcast_to(eta, (self.n_topics, self.n_features))
        topics = eta / eta.sum(axis=1, keepdims=True)
        log_p = np.log(alpha @ topics / alpha.sum())
        return logsumexp(np.multiply.outer(inverse_temperatures, log_p), axis=1)

    def complete_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return E log sum_k theta_k^b sum_v beta_kv^b per token.

        The draws and ``priors`` are those of `log_partition`.  A topic is drawn at a
        time, because all words of a long vocabulary may be drawn.
        """
        (alpha, eta), K = self._partition_priors(priors, hyper), self.n_topics
        eta = np.broadcast_to(eta, (K, eta.shape[1]))
        n_draws, b, total = math.ceil(n_samples**2 / K), inverse_temperatures, 0.0
        for _ in range(n_draws):
            sums = []
            for row in eta:
                words = _words(row[None], self.n_features)
                beta = _dirichlet.log_draws(words.concentrations, random)
                sums.append(words.log_sums(b, beta, np.zeros((1, 1))))
            log_theta = _dirichlet.log_draws(alpha, random)[:, None]
            total += logsumexp(b * log_theta + sums, axis=0)
        return total / n_draws

    def complete_current(self, inverse_temperatures, block, prepared, local_parameters):
        """Return N_d log sum_kv (E[theta_dk] E[beta_kv])^b of each document.

        This normalises equation 10 of paper 001.  Values of b are interpolated as in
        `current_partition`, and the sums over words are the same for all documents.
        """
        gamma = np.asarray(local_parameters, dtype=np.float64)
        log_theta = np.log(gamma / gamma.sum(axis=1, keepdims=True))
        nodes, weights, logs = self._power_sums.result(
            _log_power_sums, prepared, inverse_temperatures
        )
        pairs = zip(nodes, logs, strict=True)
        sums = [_log_sum_exp(b * log_theta + of_topics) for b, of_topics in pairs]
        return _of_documents(block, sums, weights)

    def current_partition(
        self, inverse_temperatures, block, prepared, local_parameters
    ):
        """Return N_d log sum_v (sum_k E[theta_dk] E[beta_kv])^b of each document.

        The sum over words is computed at `CHEBYSHEV_NODES` values of b, between which
        its logarithm is interpolated.
        """
        gamma = np.asarray(local_parameters, dtype=np.float64)
        theta = gamma / gamma.sum(axis=1, keepdims=True)
        topics = (prepared.topics.dense() / prepared.totals).T
        log_p = np.log(tiled_matmul(theta, np.ascontiguousarray(topics)))
        nodes, weights = _interpolation(np.asarray(inverse_temperatures))
        sums = [_log_sum_exp(b * log_p) for b in nodes]
        return _of_documents(block, sums, weights)

    def _partition_priors(self, priors, hyper):
        """Return alpha of each topic, and eta with two axes."""
        K, V = self.n_topics, self.n_features
        if priors is None:
            return hyper, self.topic_word_prior
        if isinstance(priors, str):
            priors = PARTITION_PRIORS[priors]
        if len(priors) != 2:
            raise ValueError(
                "partition_priors must be a pair, alpha and eta; it has "
                f"{len(priors)} parts."
            )
        alpha = positive(priors[0], "partition_priors[0]", [(K,)])
        eta = positive(priors[1], "partition_priors[1]", [(V,), (K, V)])
        return np.broadcast_to(alpha, K), np.atleast_2d(eta)

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
        tokens_per_row = max(_tokens_per_row(X), 1.0)
        if total is None:
            return max(1, round(TOKENS_PER_PIECE / tokens_per_row))
        rows = TOKENS_PER_BATCH / tokens_per_row
        if self.doc_update == "variational":
            rows = max(rows, total / 20)
        return max(1, round(min(rows, total / 5)))

    def auto_temperature(self, hyper, X):
        """Return the fourth root of the number of topics.

        A fit of many topics needs a high start temperature.  If the start temperature
        is too high for few topics, they become equal, and a short fit ends before they
        differ again.  If documents are sampled, topics become equal at a temperature of
        1.3.  Mean field at higher temperatures loses the start of very short documents.
        """
        if self.doc_update == "sampled":
            return SAMPLED_START
        if self.doc_update == "auto" and _tokens_per_row(X) <= VERY_SHORT:
            counts = X.data if sparse.issparse(X) else X
            if (counts == np.rint(counts)).all():
                return SAMPLED_START
        return max(1.0, self.n_topics**0.25)

    def initial_hyper(self, X, sample_weight=None):
        """Return alpha; if none is given, it follows from the documents' lengths."""
        if self.doc_topic_prior is None:
            alpha = auto_prior(X, self.n_topics, sample_weight)
            return np.full(self.n_topics, alpha)
        return self.doc_topic_prior

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the initial lambda: ``init``, or random draws, or spectral topics.

        The draws are those of scikit-learn.  A spectral start multiplies them by the
        topics that a correspondence analysis of the documents finds.  If the analysis
        finds too few topics, the remaining topics start at the draws.  If the values of
        alpha differ, larger topics get larger values.
        """
        shape = (self.n_topics, self.n_features)
        if self.init is not None:
            init = positive(self.init, "init", [shape])
            check_prior(init, "init")
            return Topics.from_dense(init.T, self.topic_word_prior.T)
        found = tokens = None
        if self.init_params == "spectral":
            found = self._analysed(X, sample_weight)
        if found is not None:  # before the draws, to limit memory
            alpha = self.initial_hyper(X, sample_weight) if hyper is None else hyper
            by_size = bool((alpha != alpha[0]).any())
            tokens = spectral_tokens(found, self.n_topics, by_size)
        init = random.gamma(100.0, 0.01, shape).astype(self.dtype, copy=False)
        if tokens is not None:
            init = init.astype(np.float64, copy=False)
            tokens += START_OF_A_WORD
            places = np.argsort(-alpha, kind="stable")
            for number, place in enumerate(places[: len(tokens)]):
                init[place] *= tokens[number]  # in place: topics are large
            del tokens
        return Topics.from_dense(init.T, self.topic_word_prior.T)

    def critical_temperatures(self, X, hyper, sample_weight=None):
        found = self._analysed(X, sample_weight)
        if found is None:
            return None
        eigenvalues = np.zeros(self.n_topics - 1)
        of_data = found.eigenvalues_without_sampling_noise()
        eigenvalues[: len(of_data)] = of_data
        return critical_temperatures(
            eigenvalues, found.tokens_per_row, self.n_topics, float(np.median(hyper))
        )

    def _analysed(self, X, sample_weight):
        """Return the correspondence analysis, or None if it cannot show topics.

        The analysis cannot show topics if their priors of words differ, or if there are
        few documents.
        """
        alike = (self.topic_word_prior == self.topic_word_prior[:1]).all()
        if not alike or self.n_topics == 1:
            return None
        found = self._correspondence.result(
            analyse, X, sample_weight, self.n_topics - 1
        )
        if found is None or found.n_rows < ROWS_PER_AXIS * self.n_topics:
            return None
        return found

    @property
    def n_components(self):
        """Number of topics."""
        return self.n_topics

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a model with ``n_births`` additional topics.

        The current topics are the prior of the model's first topics.
        """
        model, hyper = self._larger(n_births, hyper)
        model.topic_word_prior[: self.n_topics] += globals_.tokens().T
        start = model.topic_word_prior.copy()
        start[self.n_topics :] = self._births(globals_, hyper, n_births, X, random)
        return model, Topics.from_dense(start.T, model.topic_word_prior.T), hyper

    def _births(self, globals_, hyper, n_births, X, random):
        """Return the start of new topics, computed from the rows that fit worst."""
        block = self.take(X, slice(0, X.shape[0]))
        prepared = self.prepare(globals_, hyper[: self.n_topics])
        scores, tokens = self.predictive_scores(block, prepared)
        worst = worst_rows(scores, tokens, n_births)
        model = copy.copy(self)
        model.n_topics, model.init, model.init_params = n_births, None, "spectral"
        model.topic_word_prior = self.topic_word_prior[:1]
        seed = np.random.RandomState(int(random.integers(2**31)))
        return model.initial_globals(X[worst], seed, hyper[:n_births]).dense().T

    def joined(self, globals_, hyper, born, X, row_weight):
        """Return a model of the current topics and the new topics of `with_births`."""
        tokens = globals_.tokens()
        new = born.tokens()[:, self.n_topics :]
        model, hyper = self._larger(new.shape[1], hyper)
        topic_word = np.hstack([tokens, new]) + model.topic_word_prior.T
        return model, Topics.from_dense(topic_word, model.topic_word_prior.T), hyper

    def _larger(self, n_births, hyper):
        """Return the model and alpha of more topics, with each word's least eta."""
        model = copy.copy(self)  # the stop flag is shared
        model.n_topics = self.n_topics + n_births
        model.init, model.init_params = None, "random"
        eta = np.broadcast_to(self.topic_word_prior, (self.n_topics, self.n_features))
        model.topic_word_prior = np.vstack([eta, *[eta.min(axis=0)] * n_births])
        hyper = np.concatenate([hyper, np.full(n_births, np.median(hyper))])
        if model.doc_topic_prior is not None:
            model.doc_topic_prior = hyper
        return model, hyper

    def merged(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Merge the topics of `joined` to the number of topics of this model.

        A group of merged topics gets the index of its largest current topic.  A group
        of new topics gets an index that has become free, and is new.  A group with the
        index of a current topic is new, too, if most of its tokens come from new topics
        and it differs from the current topic.
        """
        K, tokens = self.n_topics, globals_.tokens().T
        groups = groups_of_topics(tokens, globals_.prior.T, K)
        column_of = np.full(groups.max() + 1, -1)
        has_seeds = seeded_topics(self.topic_word_prior, K)
        rank = np.lexsort((-tokens[:K].sum(axis=1), ~has_seeds))
        present_groups, first = np.unique(groups[rank], return_index=True)
        column_of[present_groups] = rank[first]
        free = np.setdiff1d(np.arange(K), column_of)
        new = np.flatnonzero(column_of < 0)
        column_of[new] = free[: len(new)]
        topic_word = np.zeros((K, self.n_features))
        np.add.at(topic_word, column_of[groups], tokens)
        of_new = np.bincount(column_of[groups[K:]], tokens[K:].sum(axis=1), K)
        cosine = (unit(topic_word.T) * unit(present.tokens())).sum(axis=0)
        is_new = (of_new > topic_word.sum(axis=1) / 2) & (cosine <= SAME_COSINE)
        is_new[column_of[new]] = True
        topic_word += self.topic_word_prior
        globals_ = Topics.from_dense(topic_word.T, self.topic_word_prior.T)
        return globals_, present_hyper, is_new

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Reorder topics of a new fit such that similar topics keep their indices.

        A new and a current topic are similar if their cosine is above `SAME_COSINE`.
        Topics keep their order if some have seeds.
        """
        cosines = unit(present.tokens()).T @ unit(globals_.tokens())
        rows = columns = np.arange(self.n_topics)
        if not seeded_topics(self.topic_word_prior, self.n_topics).any():
            _, columns = linear_sum_assignment(-cosines)
            topic_word = globals_.dense()[:, columns]
            globals_ = Topics.from_dense(topic_word, self.topic_word_prior.T)
        is_same = cosines[rows, columns] > SAME_COSINE
        return globals_.with_cells(present.cells, is_same), is_same

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Replace new topics by weighted means with similar current topics.

        The weight of the current topics is ``share``, but at least `LEAST_KEPT`.  If
        the memory lacks documents, new topics are first scaled to all documents.  A new
        topic does not change if it differs from the current topic with the same index.
        """
        tokens, old = globals_.tokens(), present.tokens()
        cosine = unit(tokens) * unit(old)
        same = may_be_same & (cosine.sum(axis=0) > SAME_COSINE)
        kept = max(share, LEAST_KEPT)
        tokens[:, same] *= (1.0 - kept) / (1.0 - share)
        tokens[:, same] += kept * old[:, same]
        prior = self.topic_word_prior.T
        return Topics.from_dense(tokens + prior, prior).with_cells(present.cells, same)

    def component_counts(self, globals_, hyper):
        """Return the number of expected tokens of each topic."""
        return globals_.tokens().sum(axis=0)
