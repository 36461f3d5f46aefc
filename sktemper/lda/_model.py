"""Latent Dirichlet allocation as a `ConjugateModel`.

In the papers' letters: lambda (topics, Dirichlet), gamma (a document's topic weights,
Dirichlet), phi (a word's topic, categorical), alpha and eta the priors.
"""

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp, psi
from sklearn.utils import check_array

from .._limits import check_prior
from .._linalg import sparse_rows
from .._simd import special
from ..model import (
    NOT_FINITE,
    ConjugateModel,
    IllDefined,
    LocalStep,
    Powers,
    Stopped,
    all_finite,
)
from . import _kernels

#: Below this the decay factor of lambda is multiplied into u.
SMALLEST_DECAY = 1e-6
#: Statistics keep this many blocks apart before they are added up.
MOST_PARTS = 16
#: Priors (alpha, eta) of log C(T): what one temperature for all, capped, and one for
#: each document need by default.
PARTITION_PRIORS = {"global": (0.01, 0.01), "local": (0.02, 0.05)}
#: Sweeps of a sampled document: dropped, and averaged.
N_BURN_IN, N_KEPT = 5, 5
#: The longest document that ``doc_update="auto"`` samples, in tokens per topic.
LONGEST_SAMPLED = 2
#: The longest document, in tokens, that can be sampled: each takes four bytes.
MOST_TOKENS = 10_000_000
#: Where an annealing of sampled documents begins.
SAMPLED_START = 1.2
NOTHING_SAMPLED = np.zeros(0, dtype=np.uint8)
#: What ``batch_size="auto"`` aims at, in fits and in streams of unknown size.
TOKENS_PER_BATCH, TOKENS_PER_PIECE = 30_000, 20_000


class Documents(NamedTuple):
    """A block of documents: canonical CSR without stored zeros.

    ``slots`` says of each entry which of the sorted distinct ``words`` it is.
    """

    counts: Any
    starts: Any
    words: Any
    slots: Any

    def tokens(self):
        """Return the number of tokens of each document."""
        tokens = np.zeros(len(self.starts) - 1)
        filled = np.diff(self.starts) > 0
        if filled.any():
            starts = self.starts[:-1][filled]
            tokens[filled] = np.add.reduceat(self.counts, starts, dtype=np.float64)
        return tokens


@dataclass(frozen=True)
class WordStatistics:
    """Sum of counts * phi, for the words that occurred: blocks in their order.

    ``parts`` are pairs of words and rows; a word may occur in several.
    """

    parts: tuple
    n_features: int

    def __add__(self, other):
        total = WordStatistics(self.parts + other.parts, self.n_features)
        return total.merged() if len(total.parts) > MOST_PARTS else total

    def merged(self):
        """Return the same with each word once."""
        words = np.unique(np.concatenate([words for words, _ in self.parts]))
        rows = np.zeros((len(words), self.parts[0][1].shape[1]))
        totals = np.zeros(rows.shape[1])
        for part_words, part_rows in self.parts:
            places = np.searchsorted(words, part_words)
            _kernels.add_rows(rows, totals, places, part_rows, 1.0)
        return WordStatistics(((words, rows),), self.n_features)

    def scaled(self, factor):
        """Return ``factor`` times the statistics."""
        parts = tuple((words, factor * rows) for words, rows in self.parts)
        return WordStatistics(parts, self.n_features)

    def dense(self, n_topics):
        """Return the statistics as an array of shape (n_features, n_topics)."""
        out, totals = np.zeros((self.n_features, n_topics)), np.zeros(n_topics)
        for words, rows in self.parts:
            _kernels.add_rows(out, totals, words, rows, 1.0)
        return out


@dataclass(frozen=True)
class Topics:
    """The Dirichlet parameters of the topics, so kept that a step costs what changed.

    ``lambda = decay * u + prior_share * prior + base_share``, words in rows.  A step
    scales the three numbers and touches the rows of ``u`` whose words occurred.

    Attributes
    ----------
    u : ndarray of shape (n_features, n_topics)
    u_totals : ndarray of shape (n_topics,)
        Column sums of ``u``.
    prior : ndarray of shape (1 or n_features, 1 or n_topics)
    """

    u: np.ndarray
    u_totals: np.ndarray
    prior: np.ndarray
    decay: float = 1.0
    prior_share: float = 0.0
    base_share: float = 0.0

    @classmethod
    def from_dense(cls, topic_word, prior):
        """Return the topics of an array of shape (n_features, n_topics)."""
        u = np.array(topic_word, dtype=np.float64, order="C")
        return cls(u, u.sum(axis=0), prior)

    def full_prior(self):
        """Return the prior as a view of shape (n_features, n_topics)."""
        return np.broadcast_to(self.prior, self.u.shape)

    def parts(self):
        """Return what lambda is a sum of, as kernels take it."""
        full_prior = self.full_prior()
        return self.u, full_prior, self.decay, self.prior_share, self.base_share

    def dense(self):
        """Return lambda, of shape (n_features, n_topics)."""
        dense = self.decay * self.u
        dense += self.prior_share * self.prior + self.base_share
        return dense

    def rows(self, words):
        """Return lambda of some words."""
        prior = self.full_prior()[words]
        return self.decay * self.u[words] + (self.prior_share * prior + self.base_share)

    def totals(self):
        """Return the sums of lambda over the words."""
        # not of the full prior: a step must not cost n_features * n_topics
        prior_totals = self.prior.sum(axis=0) * (len(self.u) // len(self.prior))
        return (
            self.decay * self.u_totals
            + self.prior_share * prior_totals
            + self.base_share * len(self.u)
        )


class Prepared(NamedTuple):
    """What a local step needs of the topics and priors."""

    topics: Topics
    totals: np.ndarray
    digamma_totals: np.ndarray
    doc_topic_prior: np.ndarray


class LDAModel(ConjugateModel):
    """Latent Dirichlet allocation.

    Parameters
    ----------
    n_topics, n_features : int
    doc_topic_prior : ndarray of shape (n_topics,)
        alpha.
    topic_word_prior : ndarray of shape (1 or n_topics, 1 or n_features)
        eta.
    dtype : {float32, float64}
        What kernels compute in.
    tol, max_iter : float, int
        When a document's inner loop ends.
    drop_tol : float
        Topics with less of a document than this times alpha are left out of its inner
        loop; 0 leaves none out.
    init : ndarray of shape (n_topics, n_features) or None
        Where lambda starts.
    doc_update : {"variational", "sampled", "auto"}
        Where the statistics of a step come from: phi at its optimum, or draws of the
        topics of a document's tokens.  "auto" draws at T=1, for short documents of
        whole counts.
    """

    steps_in_place = True

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
        doc_update="variational",
    ):
        super().__init__()
        self.doc_update = doc_update
        self.is_random = doc_update != "variational"
        self.local_tol = tol
        self.n_topics = n_topics
        self.n_features = n_features
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.drop_tol = drop_tol
        self.init = init

    # -- data ------------------------------------------------------------------------
    def take(self, X, rows):
        """Return ``X[rows]`` as `Documents`."""
        if sparse.issparse(X):
            block = sparse_rows(X, rows)
        else:
            block = sparse.csr_array(np.asarray(X[rows], dtype=self.dtype))
        if not (block.has_canonical_format and block.data.all()):
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        words, slots = _kernels.distinct_words(
            np.ascontiguousarray(block.indices), self.n_features
        )
        return Documents(
            np.ascontiguousarray(block.data, dtype=self.dtype),
            block.indptr.astype(np.intp),
            words,
            slots,
        )

    def auto_temperature(self, hyper):
        """Return the fourth root of the number of topics.

        Hotter is better for many topics, but where few start too hot they become all
        equal, and a short fit ends before they are told apart again.  Sampled
        documents make topics equal at 1.3 already.
        """
        if self.doc_update == "sampled":
            return SAMPLED_START
        return max(1.0, self.n_topics**0.25)

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return alpha."""
        return self.doc_topic_prior

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the start of lambda: scikit-learn's draws, or ``init``.

        It depends on no row, and on no weight.
        """
        shape = (self.n_topics, self.n_features)
        init = self.init
        if init is not None:
            init = positive(init, "init", [shape])
            check_prior(init, "init")
        else:
            init = random.gamma(100.0, 0.01, shape).astype(self.dtype, copy=False)
        return Topics.from_dense(init.T, self.topic_word_prior.T)

    def global_shapes(self, globals_):
        """Return the shapes of the parts of `Topics`; without dense copies of these."""
        shape, prior = (self.n_features, self.n_topics), self.topic_word_prior.T
        return [shape, (self.n_topics,), prior.shape, (), (), ()]

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        return [(self.n_topics,)]

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        if globals_.u.shape != (self.n_features, self.n_topics):
            raise ValueError(
                f"The fitted model has {globals_.u.shape[1]} components, but "
                f"n_components is {self.n_topics} now: fit it anew."
            )
        totals = globals_.totals()
        return Prepared(globals_, totals, psi(totals), hyper)

    def is_finite(self, globals_, hyper, prepared):
        """Return whether the sums over the words are, and the priors."""
        shares = globals_.decay, globals_.prior_share, globals_.base_share
        totals = globals_.totals() if prepared is None else prepared.totals
        return all_finite(shares, totals, hyper)

    # -- the step --------------------------------------------------------------------
    def local_step(
        self,
        block,
        prepared,
        powers,
        weights=None,
        seed=0,
        local_init=None,
        want=("statistics", "bound"),
    ):
        """Optimise gamma and phi of a block; see `ConjugateModel.local_step`."""
        n_rows = len(block.starts) - 1
        gamma = np.ones((n_rows, self.n_topics), dtype=self.dtype)
        if local_init is not None:
            gamma[...] = local_init
        bounds = np.empty(n_rows if "bound" in want else 0)
        factors = np.ones(n_rows) if weights is None else weights
        # base measure: the natural parameter of a Dirichlet is alpha - 1
        alpha = 1.0 + powers.prior * (prepared.doc_topic_prior - 1.0)
        n_iterations, rows = _kernels.local_step(
            block,
            prepared.topics.parts(),
            prepared.digamma_totals,
            alpha,
            np.atleast_1d(np.asarray(powers.local, dtype=np.float64)),
            np.ndim(powers.local) > 0,
            np.ascontiguousarray(factors * powers.statistics, dtype=np.float64),
            self.tol,
            self.max_iter,
            self.drop_tol,
            self.stop,
            self._sampled(block, powers) if "statistics" in want else NOTHING_SAMPLED,
            prepared.totals,
            prepared.doc_topic_prior,
            seed,
            N_BURN_IN,
            N_KEPT,
            gamma,
            "statistics" in want,
            bounds,
        )
        if n_iterations < 0:
            raise Stopped
        parts = () if rows is None else ((block.words, rows),)
        prior = prepared.doc_topic_prior
        bounds += powers.prior * (gammaln(prior.sum()) - gammaln(prior).sum())
        observed = block.tokens()
        scores = self._scores(block, prepared, gamma) if "score" in want else None
        return LocalStep(
            statistics=WordStatistics(parts, self.n_features),
            n_rows=n_rows,
            n_observed=float(observed.sum()),
            n_iterations=n_iterations,
            bound=float(bounds.sum()),
            score=0.0 if scores is None else float(scores.sum()),
            row_observed=observed,
            row_bounds=bounds,
            row_scores=scores,
            local_parameters=gamma if "local" in want else None,
        )

    def _sampled(self, block, powers):
        """Return which documents' statistics are sampled, if any."""
        if self.doc_update == "variational":
            return NOTHING_SAMPLED
        if self.doc_update == "sampled":
            return np.ones(len(block.starts) - 1, dtype=np.uint8)
        if np.ndim(powers.local) or powers.local != 1.0:
            return NOTHING_SAMPLED
        short = block.tokens() <= LONGEST_SAMPLED * self.n_topics
        fractional = block.counts != np.rint(block.counts)
        if fractional.any():
            document = np.repeat(np.arange(len(short)), np.diff(block.starts))
            short[document[fractional]] = False
        return short.view(np.uint8) if short.any() else NOTHING_SAMPLED

    def _scores(self, block, prepared, gamma):
        """Return sum_v n_dv log sum_k E[theta_dk] E[beta_kv] of each document."""
        scores = np.zeros(len(gamma))
        stopped = _kernels.log_predictive(
            block,
            prepared.topics.parts(),
            prepared.totals,
            self.stop,
            gamma,
            scores,
        )
        if stopped:
            raise Stopped
        return scores

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Step lambda toward ``prior + scale * statistics``: exact, O(words seen)."""
        u, totals = globals_.u, globals_.u_totals.copy()
        keep = 1.0 - rate
        decay = keep * globals_.decay
        renew = decay < SMALLEST_DECAY
        factor = rate * scale / (1.0 if renew else decay)
        added = sum(float(rows.sum()) for _, rows in statistics.parts)
        if not math.isfinite(factor * added + float(totals.sum())):
            raise IllDefined(NOT_FINITE)
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
        target = scale * statistics.dense(self.n_topics)
        target += powers.prior * (self.topic_word_prior.T - 1.0)
        return target.ravel()

    def fisher_product(self, globals_, vector):
        """Return the Fisher information of the Dirichlets times ``vector``."""
        topic_word = globals_.dense()
        vector = vector.reshape(topic_word.shape)
        product = _trigamma(topic_word)
        product *= vector
        product -= _trigamma(topic_word.sum(axis=0)) * vector.sum(axis=0)
        return product.ravel()

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(beta | eta) - E log q(beta | lambda)."""
        topic_word = globals_.dense()
        prior = globals_.full_prior()
        totals = topic_word.sum(axis=0)
        log_beta = psi(topic_word) - psi(totals)
        normaliser = (gammaln(prior.sum(axis=0)) - gammaln(prior).sum(axis=0)).sum()
        entropy = (gammaln(topic_word).sum(axis=0) - gammaln(totals)).sum()
        exponent = powers.prior * (prior - 1.0) - (topic_word - 1.0)
        return powers.prior * normaliser + entropy + (exponent * log_beta).sum()

    def log_predictive(self, block, prepared):
        """Return each document's completion score and its number of held-out tokens.

        The distinct words of a document, in column order, are dealt alternately to an
        observed and a held-out half (Hoffman et al. 2013, section 4.1): theta comes
        from the first, the second is scored.
        """
        observed, held_out = deal_words(block)
        step = self.local_step(observed, prepared, Powers(), want=("local",))
        scores = self._scores(held_out, prepared, step.local_parameters)
        return scores, held_out.tokens()

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return c(b), log C(b) per token: quenched, so a mean of logarithms.

        c(b) = E log sum_v (sum_k theta_k beta_kv)^b over theta ~ Dirichlet(alpha) and
        beta ~ Dirichlet(eta), from ``n_samples`` squared pairs of them.  ``priors`` is
        the pair (alpha, eta), which need not be the model's: it sets the temperature; a
        string is a key of `PARTITION_PRIORS`.
        """
        alpha, eta = self._partition_priors(priors, hyper)
        alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), self.n_topics)
        eta = np.broadcast_to(eta, (self.n_topics, self.n_features))
        # many topics in one draw are as good as few in many
        n_topic_draws = min(n_samples, math.ceil(n_samples**2 / self.n_topics))
        n_theta_draws = math.ceil(n_samples / n_topic_draws)
        total = np.zeros(len(inverse_temperatures))
        for _ in range(n_topic_draws):
            beta = _log_dirichlet(eta, random)
            for _ in range(n_theta_draws):
                theta = np.broadcast_to(alpha, (n_samples, self.n_topics))
                log_p = _log_matmul(_log_dirichlet(theta, random), beta)
                for m, b in enumerate(inverse_temperatures):
                    total[m] += logsumexp(b * log_p, axis=1).sum()
        return total / (n_topic_draws * n_theta_draws * n_samples)

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

    def auto_batch_size(self, X, total):
        """Return the rows of a batch: as many as have about 30,000 tokens.

        Where documents are not sampled more, a twentieth of the data, if these are
        large: small batches trap what mean field infers.  But at most a fifth.  In a
        stream of unknown size as many as have 20,000: it may end early.
        """
        data = X.data if sparse.issparse(X) else X
        tokens_per_row = max(float(np.sum(data, dtype=np.float64)) / X.shape[0], 1.0)
        if total is None:
            return max(1, round(TOKENS_PER_PIECE / tokens_per_row))
        rows = TOKENS_PER_BATCH / tokens_per_row
        if self.doc_update == "variational":
            rows = max(rows, total / 20)
        return max(1, round(min(rows, total / 5)))


def positive(value, name, shapes):
    """Return a number, or an array of one of ``shapes``, as positive float64."""
    if isinstance(value, Real):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
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


def check_samplable(X):
    """Raise where the topics of a document's tokens cannot be drawn one by one.

    Raises
    ------
    ValueError
        If counts are not whole, or a document has more than `MOST_TOKENS` tokens.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    counts = X.data if sparse.issparse(X) else X
    if counts.dtype.kind == "f" and (counts != np.rint(counts)).any():
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, so counts must be '
            'whole numbers; doc_update="auto" takes fractional counts variationally.'
        )
    if X.sum(axis=1, dtype=np.float64).max() > MOST_TOKENS:
        raise ValueError(
            'doc_update="sampled" draws the topic of each token, and a document has '
            f'more than {MOST_TOKENS:,} tokens; doc_update="auto" takes long documents '
            "variationally."
        )


def deal_words(block):
    """Deal the entries of each document alternately to two blocks."""
    lengths = np.diff(block.starts)
    position = np.arange(len(block.counts)) - np.repeat(block.starts[:-1], lengths)
    halves = []
    for chosen in (position % 2 == 0, position % 2 == 1):
        starts = np.concatenate([[0], np.cumsum(chosen)])[block.starts]
        halves.append(
            Documents(
                block.counts[chosen],
                starts.astype(np.intp),
                block.words,
                block.slots[chosen],
            )
        )
    return halves


def _trigamma(x):
    values, _ = special.evaluate("trigamma", x.ravel())
    return values.reshape(x.shape)


def _log_dirichlet(alpha, random):
    """Draw the logarithm of a Dirichlet variable for each row of ``alpha``.

    Gamma(a) = Gamma(a + 1) U^(1/a): exact, and without underflow for tiny a.
    """
    draws = np.log(random.standard_gamma(alpha + 1.0))
    draws += np.log(random.uniform(size=alpha.shape)) / alpha
    return draws - logsumexp(draws, axis=1, keepdims=True)


def _log_matmul(a, b):
    """Return log(exp(a) @ exp(b))."""
    top_a, top_b = a.max(axis=1, keepdims=True), b.max(axis=0)
    with np.errstate(divide="ignore"):
        product = np.log(np.exp(a - top_a) @ np.exp(b - top_b))
    return product + top_a + top_b
