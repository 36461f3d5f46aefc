"""Contrasts of groups of documents in the words of each topic."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, ndtr

from .._utils._arguments import check_interval, positive_int
from .._utils._evidence import FALSE_ALARM_RATE
from .._utils._frames import Tabular, check_same_rows, frame_of_rows
from .._utils._typing import ArrayLike, DataFrame, DataLike, Float, Int
from ..lda._cells import Cells
from ..lda._estimators import word_topics
from ..lda._model import LDAModel
from ._several_fits import check_lda

#: Standard deviations of log ratios in the prior, except for 0.
SCALES = np.array([0.1, 0.2, 0.4, 0.8, 1.6])
#: Prior weight of 0 relative to that of each scale, before the first step of EM.
ODDS_OF_EQUAL = 20.0
#: Number of words without differences that are added to those of a topic.
ADDED_EQUAL = 1.0
#: Fewer expected tokens of a word in a topic and a group are taken as none.
FEW_TOKENS = 1e-3
#: Words of fewer effective tokens in a topic have the ratio 1.
LEAST_TOKENS = 2.0
#: A group and all others need so many documents of a topic, in effect, to compare its
#: words: the variance over fewer documents is unknown.
LEAST_DOCUMENTS = 10.0
TINY = np.finfo(float).tiny
#: Smallest share of the tokens of a topic that are not in a document, for its variance.
LEAST_REST = 1e-3
#: Columns of tables.
COLUMNS = "topic", "group", "word", "ratio", "low", "high", "probability", "q_value"
#: Numbers of Newton steps, of steps of EM, and of bisections.  With more steps of EM,
#: intervals cover less, and more words of permuted groups differ.
N_NEWTON, N_EM, N_HALVES = 12, 30, 40


# -- expected tokens of groups ---------------------------------------------------------
def _sums(model, block, prepared, leverage):
    """Return words, sums over documents for each word, and of squares of tokens.

    With expected tokens n = c phi of a word, and their sum N over the words of a
    document, the sums are those of n, c phi^2, and, for the variance, n^2 and n N, by
    topic.  ``leverage`` is the share of each document in the tokens of topics.
    """
    lengths, words, counts, phi = word_topics(model, block, prepared)
    n, entries = counts[:, None] * phi, np.arange(len(words))
    document = np.repeat(np.arange(len(lengths)), lengths)
    ones = np.ones(len(words))
    tokens = sparse.csr_array((ones, (document, entries)), (len(lengths), len(words)))
    tokens = tokens @ n
    factor = 1.0 / np.maximum(1.0 - leverage, LEAST_REST) ** 2
    scaled = factor[document] * n
    shape = len(block.words), len(words)
    places = sparse.csr_array((ones, (block.slots, entries)), shape)
    sums = places @ np.hstack([n, n * phi, n * scaled, scaled * tokens[document]])
    return block.words, sums, (factor * tokens**2).sum(axis=0)


def _expected_tokens(lda, X, covariates):
    """Return groups, and what `_words_of_topics` takes.

    These are tokens of words in each group, their sums, information, variance, and
    whether there are enough documents, with a column for each topic.
    """
    check_same_rows(X=X, covariates=covariates)
    with lda._fitted_problem(X) as problem:
        model, prepared = problem.model, lda._prepared(problem.model)
        cells, labels = Cells().with_rows(covariates, len(problem.data))
        if len(cells.index) < 2:
            raise ValueError("covariates has the same values everywhere.")
        if (size := np.bincount(labels).max()) < LEAST_DOCUMENTS:
            raise ValueError(
                f"The largest group has {size} documents, too few to compare its words "
                "with those of others. Divide the range of a number into a few groups."
            )
        gamma = np.concatenate(list(problem.map(LDAModel.optimal_gamma, prepared)))
        tokens = np.maximum(gamma - prepared.doc_topic_prior[0], 0.0)
        by_word, by_topic, information, variance = [], [], 0.0, 0.0
        enough = _have_documents(tokens, labels)
        for group in range(len(cells.index)):
            sums, squares = np.zeros((model.n_features, 4 * model.n_topics)), 0.0
            rows = np.flatnonzero(labels == group)
            leverage = tokens[rows] / np.maximum(tokens[rows].sum(axis=0), TINY)
            for words, part, square in problem.map(_sums, prepared, rows, leverage):
                sums[words] += part
                squares += square
            n, own, square, product = np.hsplit(sums, 4)
            mean = n / np.maximum(n.sum(axis=0), TINY)
            information += own
            variance += square - 2.0 * mean * product + mean**2 * squares
            by_topic.append(n.sum(axis=0))
            by_word.append(sparse.csc_array(np.where(n < FEW_TOKENS, 0.0, n)))
    groups = [group[0] if len(group) == 1 else group for group in cells.index]
    return groups, by_word, np.array(by_topic), information, variance, enough


def _have_documents(tokens, labels):
    """Return whether each group, and all others, have documents of each topic."""
    is_member = labels == np.arange(labels.max() + 1)[:, None]
    enough = True
    for chosen in (is_member, ~is_member):
        total, square = (chosen.astype(float) @ part for part in (tokens, tokens**2))
        enough &= total**2 > LEAST_DOCUMENTS * square
    return enough


class _Words(NamedTuple):
    """Words of a topic of which the documents tell something, and their tokens."""

    columns: np.ndarray  # (n_words,)
    size: np.ndarray  # effective number of tokens, or 0, (n_groups, n_words)
    shares: np.ndarray  # of the groups among these, (n_groups, n_words)
    log_odds: np.ndarray  # of the groups among all tokens of the topic, (n_groups, 1)


def _words_of_topics(by_word, by_topic, information, variance, enough):
    """Yield the `_Words` of each topic.

    Newton's step from equal words gives their shares.  A word may differ in the topic
    and, by a second number, in all others, from which it may come.
    """
    expected = by_topic / np.maximum(by_topic.sum(axis=0), TINY)
    expected = np.clip(expected, 1e-6, 1.0 - 1e-6)
    tokens = sum(by_word).toarray()
    surplus = np.stack([n.sum(axis=1) for n in by_word]) - expected @ tokens.T
    for topic, own in enumerate(information.T):
        mixed = tokens[:, topic] - own
        others = np.maximum(tokens.sum(axis=1) - tokens[:, topic] - mixed, 0.0)
        slope = np.divide(mixed, others, out=np.zeros_like(own), where=others > 0)
        known = own - slope * mixed
        size = known * own / np.maximum(np.maximum(variance[:, topic], own), TINY)
        columns = np.flatnonzero(size >= LEAST_TOKENS)
        n = np.stack([part[:, [topic]].toarray()[columns, 0] for part in by_word])
        share = expected[:, [topic]]
        excess = n - share * tokens[columns, topic]
        excess -= slope[columns] * (surplus[:, columns] - excess)
        shares = np.clip(share + excess / known[columns], 0.0, 1.0)
        log_odds = np.log(share / (1.0 - share))
        size = enough[:, [topic]] * size[columns]
        yield _Words(columns, size, shares / shares.sum(axis=0), log_odds)


# -- log ratios ------------------------------------------------------------------------
class _LogRatios(NamedTuple):
    """Normal distributions of log ratios for each scale of the prior."""

    mean: np.ndarray  # (n_scales, n_groups, n_words)
    stderr: np.ndarray
    log_evidence: np.ndarray  # relative to equal words

    @classmethod
    def of_words(cls, words):
        """Return Laplace approximations."""
        total, offset = words.size, words.log_odds
        inside = total * words.shares
        precision = 1.0 / SCALES[:, None, None] ** 2
        r = np.zeros((len(SCALES), *inside.shape))
        for _ in range(N_NEWTON):
            p = expit(offset + r)
            slope = inside - total * p - precision * r
            r += np.clip(slope / (total * p * (1.0 - p) + precision), -1.0, 1.0)
        p = expit(offset + r)
        curvature = total * p * (1.0 - p) + precision
        gain = np.logaddexp(0.0, offset + r) - np.logaddexp(0.0, offset)
        evidence = inside * r - total * gain - 0.5 * precision * r**2
        evidence += 0.5 * np.log(precision / curvature)
        return cls(r, curvature**-0.5, evidence)

    def weights(self, prior):
        """Return the posterior weights of the scales, the first for equal words."""
        equal = np.zeros((1, *self.mean.shape[1:]))
        logs = np.concatenate([equal, self.log_evidence])
        weights = np.exp(logs - logs.max(axis=0)) * prior[:, None, None]
        return weights / weights.sum(axis=0)

    def best_prior(self, informs):
        """Return the weights of the scales with the largest evidence.

        ``informs`` is where there are tokens.
        """
        prior = np.append(ODDS_OF_EQUAL, np.ones_like(SCALES))
        prior /= prior.sum()
        for _ in range(N_EM):
            prior = self.weights(prior)[:, informs].sum(axis=1)
            prior[0] += ADDED_EQUAL
            prior /= prior.sum()
        return prior


class _Posterior(NamedTuple):
    """Mixtures of normal distributions, the first of which is the number 0."""

    weights: np.ndarray  # (1 + n_scales, ...)
    mean: np.ndarray  # (n_scales, ...)
    stderr: np.ndarray

    def at(self, *chosen):
        return _Posterior(*(part[:, *chosen] for part in self))

    def expectation(self, function):
        rest = (self.weights[1:] * function(self.mean)).sum(axis=0)
        return self.weights[0] * function(0.0) + rest

    def below(self, value):
        """Return the probability of values that are smaller."""
        parts = self.weights[1:] * ndtr((value - self.mean) / self.stderr)
        return parts.sum(axis=0) + self.weights[0] * (value > 0)

    def wrong(self):
        """Return the probability that the sign is not the more probable one."""
        below = self.below(0.0)
        return 1.0 - np.maximum(below, 1.0 - self.weights[0] - below)

    def quantile(self, level):
        reach = 10.0 * self.stderr
        low, high = (self.mean - reach).min(axis=0), (self.mean + reach).max(axis=0)
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        for _ in range(N_HALVES):
            middle = 0.5 * (low + high)
            is_below = self.below(middle) < level
            low = np.where(is_below, middle, low)
            high = np.where(is_below, high, middle)
        below = self.below(0.0)
        is_equal = (below <= level) & (level <= below + self.weights[0])
        return np.where(is_equal, 0.0, high)


def _posterior(words, prior):
    ratios = _LogRatios.of_words(words)
    return _Posterior(ratios.weights(prior), ratios.mean, ratios.stderr)


def _q_values(wrong):
    """Return the mean of all probabilities that are not larger, for each of them."""
    # two groups have the same probabilities, except for rounding
    values, places, numbers = np.unique(
        wrong.round(12), return_inverse=True, return_counts=True
    )
    return (np.cumsum(values * numbers) / np.cumsum(numbers))[places]


@dataclass(frozen=True)
class WordContrasts(Tabular):
    """Result of `word_contrasts`: words of topics that groups use more or less.

    Attributes
    ----------
    groups : list
        The groups, in the order in which they occur: values of the covariate, or tuples
        of values of several covariates.
    tokens_ : ndarray of shape (n_groups, n_topics)
        Expected numbers of tokens.
    prior_ : ndarray of shape (n_topics, 6)
        Estimated weights of the standard deviations 0, .1, .2, .4, .8 and 1.6 of the
        log ratios of a topic; a first weight of 1 means that no word differs.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import word_contrasts
    >>> X = make_lda_documents(200, 50, 3, random_state=0)
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> contrasts = word_contrasts(lda, X, ["old", "new"] * 100)
    >>> contrasts.groups, contrasts.tokens_.shape
    (['old', 'new'], (2, 3))
    """

    groups: list
    tokens_: np.ndarray = field(repr=False)
    prior_: np.ndarray = field(repr=False)
    _names: np.ndarray = field(repr=False)
    _topic_word: np.ndarray = field(repr=False)
    _words: list = field(repr=False)
    _q_values: list = field(repr=False)

    def table(
        self,
        n_words: Int | None = 10,
        interval: Float = 0.95,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return a data frame of the words with the largest ratios, by topic and group.

        Parameters
        ----------
        n_words : int, default=10
            Number of words of each topic and group, those with the largest ratios; None
            returns all words of which the documents have at least two tokens.
        interval : float, default=0.95
            Probability of the intervals, between 0 and 1.

        Returns
        -------
        table : DataFrame
            Columns: "topic"; "group", as text if there are several covariates; "word";
            "ratio", how many times as frequent the word is in the topic in this group
            as in the other groups; "low" and "high", the ends of its interval;
            "probability" of the direction, that the ratio is above 1 if it is, and else
            below 1; and "q_value", the expected share of wrong directions among the
            words of all topics and groups that are not less certain.
        """
        check_interval(interval)
        if n_words is not None:
            n_words = positive_int(n_words, "n_words")
        labels = [
            ", ".join(map(str, group)) if isinstance(group, tuple) else group
            for group in self.groups
        ]
        rows = self._rows(n_words, interval, 1.0)
        rows = ((topic, labels[group], *own) for topic, group, *own in rows)
        return frame_of_rows(output, COLUMNS, rows)

    def _rows(self, n_words, interval, most_wrong):
        """Yield the rows of a table, with indices of groups."""
        for topic, words in enumerate(self._words):
            posterior, ends = self._posterior(topic), 0.5 * interval
            log_ratio = posterior.expectation(lambda r: r)
            for group in range(len(self.groups)):
                q = self._q_values[topic][group]
                best = np.argsort(-log_ratio[group], kind="stable")
                best = best[q[best] <= most_wrong][:n_words]
                shown = posterior.at(group, best)
                low, high = shown.quantile(0.5 - ends), shown.quantile(0.5 + ends)
                mean = np.clip(log_ratio[group, best], low, high)
                numbers = *np.exp([mean, low, high]), 1.0 - shown.wrong(), q[best]
                parts = (part.tolist() for part in numbers)
                names = self._names[words.columns[best]].tolist()
                for row in zip(names, *parts, strict=True):
                    yield topic, group, *row

    def top_words(self, n_words: Int = 10) -> list[dict]:
        """Return the words that each group uses more in each topic.

        Parameters
        ----------
        n_words : int, default=10
            Largest number of words of each topic and group.

        Returns
        -------
        words : list of n_topics dicts
            For each group a list of words, largest ratio first.  About 5 % of the words
            of all lists are expected to be wrong: their q-values are at most .05.
        """
        words = [{group: [] for group in self.groups} for _ in self._words]
        for row in self._found(positive_int(n_words, "n_words"), 0.95):
            words[row["topic"]][self.groups[row["group"]]].append(row["word"])
        return words

    def _found(self, n_words, interval):
        """Return rows of the table, as dicts, for the words of `top_words`."""
        rows = self._rows(n_words, interval, FALSE_ALARM_RATE)
        rows = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
        return [row for row in rows if row["ratio"] > 1.0]

    def topic_word(self, group: Any) -> np.ndarray:
        """Return the probabilities of words in the topics for a group.

        Parameters
        ----------
        group : object
            One of ``groups``.

        Returns
        -------
        topic_word : ndarray of shape (n_topics, n_features)
            Rows sum to 1.

        Raises
        ------
        ValueError
            If there is no such group.
        """
        if group not in self.groups:
            raise ValueError(f"group must be one of {self.groups}, got {group!r}.")
        place, topic_word = self.groups.index(group), self._topic_word.copy()
        for topic, words in enumerate(self._words):
            share = expit(words.log_odds[place])
            posterior = self._posterior(topic).at(place)
            topic_word[topic, words.columns] *= posterior.expectation(
                lambda r, share=share: 1.0 / (share + (1.0 - share) * np.exp(-r))
            )
        return topic_word / topic_word.sum(axis=1, keepdims=True)

    def _posterior(self, topic):
        return _posterior(self._words[topic], self.prior_[topic])


def word_contrasts(
    lda: Any,
    X: DataLike,
    covariates: DataLike,
    feature_names: ArrayLike | None = None,
) -> WordContrasts:
    r"""Find the words of each topic that groups of documents use more or less.

    Two groups may write about the same topic in other words.  For each topic, word and
    group, the ratio of the word's frequency to that in the other groups is estimated;
    words that do not differ, or of which there are too few tokens, have ratios near 1.

    Parameters
    ----------
    lda : object
        A fitted LDA, such as `sktemper.AnnealedLDA`.  It does not change.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents of its fit, or of others.
    covariates : DataFrame or array-like of shape (n_samples,) or (n_samples, n)
        Groups of the documents, as in the fit: documents with the same values are a
        group.
    feature_names : array-like of shape (n_features,), default=None
        The words; None takes the column names of the training data, or column numbers.

    Returns
    -------
    contrasts : WordContrasts
        Its methods ``table`` and ``top_words`` return words with ratios, intervals and
        q-values, and ``topic_word`` the topics of a group.

    Raises
    ------
    ValueError
        If data or covariates are invalid, see `fit` of the model, or there is only one
        group.

    See Also
    --------
    topic_regression : How the shares of topics depend on covariates.
    sktemper.plotting.WordContrastsDisplay : Draws the words of a topic by group.

    Notes
    -----
    The topics of the tokens are inferred once, with the topics of the fit.  This finds
    only a part of a difference if the topics of a word's tokens are uncertain; a step
    of Newton's method from there gives the share :math:`s_{gkv}` of group g in the
    tokens of a word in a topic.  The log ratio

    .. math:: r_{gkv} = \log (s_{gkv} / (1 - s_{gkv})) - \log (N_{gk} / (N_k - N_{gk})),

    where N are tokens of the topic, has a binomial likelihood.  Its number of tokens is
    smaller if their topics are uncertain, or if few documents have most of them.  The
    prior of the log ratios of a topic is a mixture of 0 and normal distributions with
    five scales, whose weights are estimated (empirical Bayes) [1]_.

    A word does not differ where a group, or all others together, have fewer than ten
    documents of the topic, in effect: ten of equal lengths, or more.

    If groups have no topic in common, because the fit has one for each group, the words
    of these topics do not differ.  Documents by the same author are taken as
    independent, as in `topic_regression`.

    References
    ----------
    .. [1] M. Stephens, "False discovery rates: a new deal", Biostatistics 18, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import word_contrasts
    >>> X = make_lda_documents(400, 50, 3, random_state=0).toarray()
    >>> place = np.repeat(["here", "there"], 200)
    >>> X[:200, 7] += X[:200, 8]  # here, word 7 replaces word 8
    >>> X[:200, 8] = 0
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> table = word_contrasts(lda, X, place).table()
    >>> table.loc[table["ratio"].idxmax(), ["group", "word"]].tolist()
    ['there', '8']
    """
    check_lda(lda)
    names = lda._names(feature_names)
    groups, *tokens = _expected_tokens(lda, X, covariates)
    words = list(_words_of_topics(*tokens))
    priors = [_LogRatios.of_words(own).best_prior(own.size > 0) for own in words]
    wrong = [_posterior(*pair).wrong() for pair in zip(words, priors, strict=True)]
    ends = np.cumsum([part.size for part in wrong])[:-1]
    q = np.split(_q_values(np.concatenate([part.ravel() for part in wrong])), ends)
    return WordContrasts(
        groups=groups,
        tokens_=tokens[1],
        prior_=np.array(priors),
        _names=names.astype(str),
        _topic_word=lda.topic_word_.astype(np.float64),
        _words=words,
        _q_values=[a.reshape(b.shape) for a, b in zip(q, wrong, strict=True)],
    )
