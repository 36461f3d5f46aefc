"""Regression of the topic shares of documents on covariates."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_consistent_length

from .._utils._arguments import check_interval, refuse
from .._utils._constraints import WholeNumber, check_arguments
from .._utils._frames import Tabular, check_same_rows, data_frame, frame_of_rows
from .._utils._inference import Design, Permuted, check_dense, sandwich, uncertainty
from .._utils._notices import warn
from .._utils._typing import DataFrame, DataLike, Float, Int, Seed
from ._gibbs import checked_documents, topic_draws
from ._several_fits import check_lda

#: Topics with a smaller cosine before and after the sweeps are named in a warning.
LEAST_COSINE = 0.7


@dataclass(frozen=True)
class TopicRegression(Tabular):
    """Result of `topic_regression`: topic shares as linear functions of covariates.

    Attributes
    ----------
    names : list of n_coefficients str
        "(intercept)", and the covariates.
    coef_ : ndarray of shape (n_topics, n_coefficients)
        Changes of the share of a topic for one unit of a covariate; they sum to 0 over
        topics, and the intercepts to 1.
    stderr_ : ndarray of shape (n_topics, n_coefficients)
        Standard errors.
    covariance_ : ndarray of shape (n_topics, n_coefficients, n_coefficients)
        Covariance of the coefficients of each topic.
    n_samples : int
        Number of documents with tokens.
    topic_word_ : ndarray of shape (n_topics, n_features)
        Means of the topics over the draws; rows sum to 1.
    similarity_ : ndarray of shape (n_topics,)
        Cosines of these topics with ``topic_word_`` of the fit.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import topic_regression
    >>> X = make_lda_documents(200, 50, 3, random_state=0)
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> years = [[2020.0], [2021.0]] * 100
    >>> regression = topic_regression(lda, X, years, random_state=0)
    >>> regression.names, regression.coef_.shape
    (['(intercept)', 'x0'], (3, 2))
    """

    names: list
    coef_: np.ndarray = field(repr=False)
    stderr_: np.ndarray = field(repr=False)
    covariance_: np.ndarray = field(repr=False)
    n_samples: int
    topic_word_: np.ndarray = field(repr=False)
    similarity_: np.ndarray = field(repr=False)
    _design: Design = field(repr=False)
    _covariance: np.ndarray = field(repr=False)  # in units of the design
    _permuted: Permuted = field(repr=False)

    def table(
        self, interval: Float = 0.95, output: Literal["pandas", "polars"] = "pandas"
    ) -> DataFrame:
        """Return a data frame with a row for each topic and covariate.

        Returns
        -------
        table : DataFrame
            Columns: "topic", "covariate", "coef", "stderr", "low", "high", "p_value",
            and "p_adjusted", the p-value that accounts for the number of topics
            (Holm): with a limit of .05, the probability of any false finding among
            the topics of one column is at most .05.  `tests` has one p-value of
            several columns, such as those of a spline.
        """
        n_topics, n_coefficients = self.coef_.shape
        permuted = self._permuted.of(self._design.units)
        freedom = self.n_samples - n_coefficients
        found = permuted.uncertainty(self.coef_, self.stderr_, interval, freedom)
        p_values = found["p_value"].reshape(self.coef_.shape)
        columns = {
            "topic": np.repeat(np.arange(n_topics), n_coefficients),
            "covariate": self.names * n_topics,
            "coef": self.coef_.ravel(),
            **{name: found[name] for name in ("stderr", "low", "high", "p_value")},
            "p_adjusted": _holm(p_values).ravel(),
        }
        return data_frame(output, columns)

    def tests(
        self,
        covariates: Sequence[str] | None = None,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return a test for each topic that covariates have no effect together.

        Parameters
        ----------
        covariates : list of str, default=None
            Covariates, or columns of ``names``, such as the columns of a spline; None
            tests all.

        Returns
        -------
        tests : DataFrame
            Columns: "topic", "chi2", "df", "p_value", and "p_adjusted", the p-value
            that accounts for the number of topics (Holm).
        """
        owners, tested = self._design.owners, np.zeros(len(self.names), dtype=bool)
        for name in self.names[1:] if covariates is None else covariates:
            own = [name in pair for pair in zip(self.names, owners, strict=True)]
            if name is None or not any(own):
                refuse("covariates", f"some of {self.names[1:]}", covariates)
            tested |= own
        permuted, rows = self._permuted.of(np.eye(len(tested))[tested]), []
        freedom = self.n_samples - len(tested)
        for topic, own in enumerate(np.eye(len(self.coef_))):
            coef = permuted.values[:, topic]
            covariance = self._covariance[topic][np.ix_(tested, tested)]
            chi2 = float(coef @ np.linalg.solve(covariance, coef))
            p_value = stats.f.sf(chi2 / len(coef), len(coef), freedom)
            p_value = max(p_value, permuted.of_outcomes(own[:, None]).p_value())
            rows.append((topic, chi2, len(coef), p_value))
        adjusted = _holm(np.array([row[-1:] for row in rows])).ravel().tolist()
        rows = ((*row, one) for row, one in zip(rows, adjusted, strict=True))
        names = "topic", "chi2", "df", "p_value", "p_adjusted"
        return frame_of_rows(output, names, rows)

    def shares(
        self,
        covariates: DataLike,
        interval: Float = 0.95,
        output: Literal["pandas", "polars"] = "pandas",
    ) -> DataFrame:
        """Return the mean shares of topics, with intervals, for values of covariates.

        Parameters
        ----------
        covariates : DataFrame or array-like of shape (n_rows, n_covariates)
            Values of the same covariates, such as one row for each year.

        Returns
        -------
        table : DataFrame
            Columns: "row", the row of ``covariates``; "topic", "share", "stderr",
            "low" and "high".  Shares and intervals are between 0 and 1, and shares sum
            to 1, where a linear function would not.

        Raises
        ------
        ValueError
            If the covariates differ from those of the regression, or a category does
            not occur in them.
        """
        check_interval(interval)
        Z = self._design.scaled(self._design.rows(covariates))
        share = np.maximum(Z @ self._permuted.values, 0.0)
        share /= share.sum(axis=1, keepdims=True)
        error = np.sqrt(np.einsum("ri,kij,rj->rk", Z, self._covariance, Z))
        half = self._permuted.quantile(interval, Z)
        freedom = self.n_samples - len(self.names)
        found = uncertainty(share, error, half, interval, freedom)
        columns = {
            "row": np.repeat(np.arange(len(Z)), share.shape[1]),
            "topic": np.tile(np.arange(share.shape[1]), len(Z)),
            "share": share.ravel(),
            "stderr": found["stderr"],
            "low": np.maximum(found["low"], 0.0),
            "high": np.minimum(found["high"], 1.0),
        }
        return data_frame(output, columns)


def _holm(p_values):
    """Return p-values that are adjusted for the number of rows, in each column."""
    order = np.argsort(p_values, axis=0)
    factors = np.arange(len(p_values), 0, -1)[:, None]
    ordered = np.take_along_axis(p_values, order, axis=0) * factors
    adjusted = np.minimum(np.maximum.accumulate(ordered, axis=0), 1.0)
    return np.take_along_axis(adjusted, np.argsort(order, axis=0), axis=0)


@check_arguments(n_sweeps=[WholeNumber(10), None], random_state=["random_state"])
def topic_regression(
    lda: Any,
    X: DataLike,
    covariates: DataLike,
    *,
    n_sweeps: Int | None = None,
    random_state: Seed = None,
) -> TopicRegression:
    r"""Regress the topic shares of documents on covariates.

    The intervals contain the uncertainty of the shares of each document, which is large
    for short texts, and of the topics.  A regression of the result of ``transform``
    contains neither, and underestimates the effects for short texts.

    Parameters
    ----------
    lda : object
        A fitted LDA, such as `sktemper.AnnealedLDA`.  It does not change.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents of its fit, or of some of them; whole numbers.
        Documents without tokens are left out.
    covariates : DataFrame or array-like of shape (n_samples, n_covariates)
        Numeric covariates, such as the columns of a spline or of a formula, without an
        intercept.  Columns of text, categories or booleans of a data frame are replaced
        by an indicator for each value that occurs, except the first.
    n_sweeps : int, default=None
        Number of sweeps of Gibbs sampling over the tokens, at least 10; more if topics
        are uncertain.  None is from 130, for long documents, to 600.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling.

    Returns
    -------
    regression : TopicRegression
        Coefficients and standard errors; its methods ``table`` and ``shares`` return
        data frames with intervals.

    Raises
    ------
    ValueError
        If ``X`` has counts that are not whole, covariates have missing values or are
        linearly dependent, or there are too few documents with tokens, or topics.

    Warns
    -----
    UserWarning
        If sampling has changed a topic so much that its words in the fit do not
        describe it; see ``topic_word_`` of the result.

    See Also
    --------
    sktemper.plotting.TopicEffectsDisplay : Draws effects and shares with intervals.
    sktemper.class_regression : Regression of the classes of a mixture.

    Notes
    -----
    Given topics :math:`\beta`, the word frequencies :math:`f_d` of a document have the
    mean :math:`\beta^T \theta_d`, so that

    .. math:: \hat\theta_d = (\beta P^{-1} \beta^T)^{-1} \beta P^{-1} f_d

    is an unbiased estimate of its topic shares, for any length and without a
    distribution of shares; P is the diagonal matrix of the words' probabilities.
    Coefficients are the weighted least squares of these estimates [1]_; a document of
    :math:`N_d` tokens has the weight :math:`1 / (1 + c / N_d)`, with c the ratio of the
    variances of the estimate of one token and of shares.  Topics are drawn
    by collapsed Gibbs sampling [2]_, which starts at the fit and learns the priors; the
    posterior of mean-field inference would be biased for short texts.  The coefficients
    are the mean of those of the draws and of those for the mean topics; their biases,
    which matter for short texts only, have opposite signs.  The covariance is the sum
    of the sandwich estimator and the covariance over the draws [3]_.

    A sandwich is too certain of groups of few documents and of covariates with few
    large values.  Intervals and p-values are therefore at least as large as those of
    permuted residuals [4]_.

    The intervals are for the topics in ``topic_word_``.  If one of them is the sum of
    two true topics, as with many topics and short texts, they may miss the effects of
    both, and are too narrow: .67 of those of 95 % contained the effect.

    The fit may have used the same ``covariates``: it is only the start of the sampling,
    in which all documents have the same prior.

    References
    ----------
    .. [1] J. Wooldridge, "Econometric Analysis of Cross Section and Panel Data", MIT
       Press, 2010.
    .. [2] T. Griffiths, M. Steyvers, "Finding scientific topics", PNAS 101, 2004.
    .. [3] D. Rubin, "Multiple Imputation for Nonresponse in Surveys", Wiley, 1987.
    .. [4] D. Freedman, D. Lane, "A nonstochastic interpretation of reported
       significance levels", Journal of Business & Economic Statistics 1, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import topic_regression
    >>> X, doc_topic, _ = make_lda_documents(
    ...     400, n_components=3, return_distributions=True, random_state=0
    ... )
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> group = (doc_topic[:, [0]] > 0.5).astype(float)
    >>> regression = topic_regression(lda, X, group, random_state=0)
    >>> regression.coef_.shape, regression.names
    ((3, 2), ['(intercept)', 'x0'])
    >>> table = regression.table()
    >>> bool(table["coef"][table["covariate"] == "x0"].max() > 0.5)
    True
    """
    check_lda(lda)
    if lda.n_components_ < 2:
        raise ValueError("A regression of topic shares needs two topics or more.")
    counts, gamma = checked_documents(lda, X)
    check_dense(covariates, "covariate")
    check_consistent_length(counts, covariates)
    check_same_rows(X=X, covariates=covariates)
    used = np.flatnonzero(counts.sum(axis=1))
    if len(used) == 0:
        raise ValueError("X has no document with tokens.")
    counts, covariates = counts[used], _safe_indexing(covariates, used)
    design = Design(covariates)
    Z = design.rows(covariates)
    if len(used) <= Z.shape[1]:
        raise ValueError(
            f"{len(used)} documents with tokens are too few for {Z.shape[1]} "
            "coefficients."
        )
    documents, random = (counts, gamma[used]), check_random_state(random_state)
    draws = topic_draws(lda, documents, n_sweeps, random)
    inner, topic_word, permuted = _estimate(counts, Z, design, draws, random)
    covariance = design.units @ inner @ design.units.T
    return TopicRegression(
        names=design.names,
        coef_=(design.units @ permuted.values).T,
        stderr_=np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
        covariance_=covariance,
        n_samples=len(used),
        topic_word_=topic_word,
        similarity_=_similarity(lda.topic_word_.astype(np.float64), topic_word),
        _design=design,
        _covariance=inner,
        _permuted=permuted,
    )


def _estimate(counts, Z, design, draws, random):
    """Return covariances by topic, the mean topics, and coefficients as `Permuted`.

    Coefficients and covariances are in the units of the design.
    """
    lengths = counts.sum(axis=1).astype(np.float64)
    coefs, topic_word, shares = [], 0.0, 0.0
    for draw in draws:
        estimator, variance = _estimator_of_shares(draw.topic_word, draw.shares)
        if not coefs:
            weight = lengths / (lengths + _ratio(variance, draw))
            scaled = design.standardized(Z, weight)
            bread = np.linalg.inv((scaled * weight[:, None]).T @ scaled)
            sums = counts.T @ (scaled * (weight / lengths)[:, None])
        coefs.append((bread @ (estimator @ sums).T).T)
        topic_word, shares = topic_word + draw.topic_word, shares + draw.shares
    coefs, topic_word = np.stack(coefs), topic_word / len(coefs)
    # The noise of draws makes effects a few percent too small for short texts, and the
    # mean topics, which are smoother than the true ones, make them as much too large.
    estimator, _ = _estimator_of_shares(topic_word, shares / len(coefs))
    coef = 0.5 * (coefs.mean(axis=0) + (bread @ (estimator @ sums).T).T)
    residuals = counts @ estimator.T / lengths[:, None] - scaled @ coef.T
    root = np.sqrt(weight)[:, None]  # residuals have equal variances times this
    loadings, residuals = root * scaled @ bread, root * residuals
    change = coefs - coefs.mean(axis=0)
    noise = np.einsum("mki,mkj->kij", change, change) / (len(coefs) - 1)
    noise *= 1.0 + 1.0 / len(coefs)
    covariance = noise + sandwich(loadings, residuals, root * scaled)
    permuted = Permuted.of_rows(coef.T, loadings, residuals, random, noise=noise)
    return covariance, topic_word, permuted


def _estimator_of_shares(topic_word, shares):
    """Return the matrix that maps word frequencies to shares of topics.

    Also returned is the second moment of the estimates of documents of one token, by
    topic.
    """
    p = shares @ topic_word
    ratios = np.divide(topic_word, p, out=np.zeros_like(topic_word), where=p > 0)
    inverse = np.linalg.inv(ratios @ topic_word.T)
    return inverse @ ratios, np.diagonal(inverse)


def _ratio(moment, draw):
    """Return the ratio c of the variance that a token adds to that of the shares.

    The variance of Dirichlet shares is q (1 - q) / (1 + sum of alpha).  The median over
    topics is not changed by a few similar topics.
    """
    q = draw.shares
    variance = (moment - q**2) * (1.0 + draw.concentration) / (q * (1.0 - q))
    return max(float(np.median(variance)) - 1.0, 0.0)


def _similarity(fitted, drawn):
    """Return the cosine of each topic before and after; warn if some are small."""
    norms = np.linalg.norm(fitted, axis=1) * np.linalg.norm(drawn, axis=1)
    similarity = (fitted * drawn).sum(axis=1) / norms
    changed = np.flatnonzero(similarity < LEAST_COSINE)
    if len(changed):
        warn(
            f"Sampling has changed the topics {changed.tolist()}, of which these "
            "documents tell little: the words of the fit do not describe them. Their "
            "words are in topic_word_ of the result; fit fewer topics, or more passes."
        )
    return similarity
