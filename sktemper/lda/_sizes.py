"""Fitted models of LDA with merged topics, or with another vocabulary."""

import copy
import math
from dataclasses import replace

import numpy as np

from .._arguments import positive_int, refuse
from ._merging import Merging, groups_of_topics, merged_rows
from ._priors import MOST_ROWS, auto_prior_of_fewer
from ._topics import Topics

__all__ = ["SizesMixin"]

#: Largest number of rounds of merges and passes, if the number of topics is to be
#: found.  The passes may make further topics equal.
N_MERGES = 3
#: Number of pairs of topics whose merges are tried in each step of the search for the
#: number of topics.  The search ends if none of them raises the lower bound.
N_TRIALS = 3


class SizesMixin:
    """Mixin of LDA with methods that change the numbers of topics and words."""

    @property
    def n_components_(self):
        """Number of topics of the fitted model."""
        return self._state().globals_.u.shape[1]

    def merge_topics(self, n_components=None):
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
        return self._merged(tokens, groups)

    def _merged(self, tokens, groups):
        """Return a fitted estimator in which the topics of each group are merged.

        Parameters
        ----------
        tokens : ndarray of shape (n_topics, n_features)
            Expected tokens of the current topics.
        groups : ndarray of int of shape (n_topics,)
        """
        parameters = self._parameters_of_groups(groups)
        merged = self._other(parameters)
        merged._delete_prior_of_predictions()
        model = merged._make_model(self.state_.n_features, self.state_.dtype)
        topic_word = merged_rows(tokens, groups) + model.topic_word_prior
        merged._take_state(
            replace(
                self.state_,
                globals_=Topics.from_dense(topic_word.T, model.topic_word_prior.T),
                hyper=self._alpha_of_groups(model),
                best=None,
                policies=self._policies_of_other_sizes(),
                stream=None,
                history=copy.deepcopy(self.state_.history),
            )
        )
        return merged

    def _parameters_of_groups(self, groups):
        """Return the estimator's parameters for the model of merged topics."""
        fixed = dict(self.state_.fixed or self._fixed())
        fixed["n_components"] = int(groups.max()) + 1
        if np.ndim(fixed["doc_topic_prior"]) == 1:
            fixed["doc_topic_prior"] = merged_rows(
                np.asarray(fixed["doc_topic_prior"], dtype=np.float64), groups
            )
        if np.ndim(fixed["topic_word_prior"]) == 2:
            prior = np.asarray(fixed["topic_word_prior"], dtype=np.float64)
            best = np.lexsort((-prior.sum(axis=1), groups))
            first = best[np.unique(groups[best], return_index=True)[1]]
            fixed["topic_word_prior"] = prior[first]
        if self.init is not None:
            fixed["init"] = None
        return fixed

    def _alpha_of_groups(self, model):
        """Return alpha of the model of merged topics."""
        if model.doc_topic_prior is not None:
            return model.doc_topic_prior
        alpha, n_left = self.state_.hyper, model.n_topics
        fewer = auto_prior_of_fewer(float(alpha[0]), len(alpha), n_left)
        return np.full(n_left, fewer)

    # -- a fit from more topics --------------------------------------------------------
    def _starts_with_more(self):
        """Return whether a fit starts with more topics, which it then merges.

        Raises
        ------
        ValueError
            If the parameters for such a start contradict each other.
        """
        K, n_start = self.n_components, self.n_start_components
        if n_start is None:
            if K is None:
                refuse(
                    "n_components",
                    "an int of at least 1, or None with an int for n_start_components",
                    None,
                )
            return False
        if K is not None and n_start < K:
            raise ValueError(
                f"n_start_components={n_start} is less than n_components={K}: topics "
                "are merged, never split."
            )
        if np.ndim(self.doc_topic_prior) == 1 or np.ndim(self.topic_word_prior) == 2:
            raise ValueError(
                "Priors with a value for each topic cannot go with "
                "n_start_components, as it is not known which topics will be merged; "
                "fit n_components topics and use merge_topics."
            )
        return True

    def _fit_with_more(self, X, sample_weight, X_val):
        """Fit more topics, merge them, and continue the fit."""
        more = self._other(
            {"n_components": self.n_start_components, "n_start_components": None}
        )
        more._delete_prior_of_predictions()
        vars(more).pop("state_", None)
        more._end_of_fit_checks = ()  # equal topics are merged later, without a warning
        more.fit(X, None, sample_weight, X_val=X_val)
        merged = more
        for _ in range(N_MERGES if self.n_components is None else 1):
            n_before, merged = (
                merged.n_components_,
                merged.merge_topics(self.n_components),
            )
            if merged.n_components_ == n_before and merged.n_iter_ > self.max_iter:
                break
            merged._fit_on(self.max_iter, X, sample_weight, X_val)
        if self.n_components is None:
            n_before, merged = merged.n_components_, merged._distinct(X, sample_weight)
            if merged.n_components_ < n_before:
                merged._fit_on(self.max_iter, X, sample_weight, X_val)
        fitted = {k: v for k, v in vars(merged).items() if k.endswith("_")}
        self._delete_prior_of_predictions()
        vars(self).update(fitted, _warned=merged._warned)
        self._take_state(merged.state_)

    def _fit_on(self, max_iter, X, sample_weight, X_val):
        """Continue the fit for half of its usual number of passes."""
        self.set_params(warm_start=True, max_iter=math.ceil(max_iter / 2))
        self.fit(X, None, sample_weight, X_val=X_val)

    def _distinct(self, X, sample_weight):
        """Merge pairs of topics while the lower bound rises; return the estimator.

        If two topics differ only by noise, their merge need not raise the evidence of
        the words, but it raises the lower bound of the documents.
        """
        with self._fitted_problem(X, sample_weight) as problem:
            n_rows, weight = len(problem.data), problem.sample_weight
            rows = np.arange(0, n_rows, -(-n_rows // MOST_ROWS))
            data = problem.data.rows(rows)
        sample = data, None if weight is None else weight[rows], n_rows / len(rows)
        tokens = self.state_.globals_.tokens().T
        merging = Merging(tokens, self.state_.globals_.prior.T, None)
        best, bound = self, self._bound_by(*sample)
        while merging.n_left > 1:
            trials = []
            for pair in merging.cheapest_pairs(N_TRIALS):
                trial = self._merged(tokens, merging.groups(pair))
                trials.append((trial._bound_by(*sample), pair, trial))
            if not trials or (highest := max(trials, key=lambda t: t[0]))[0] <= bound:
                break
            bound, pair, best = highest
            merging.merge(*pair)
        return best

    def _bound_by(self, X, sample_weight, scale):
        """Return the lower bound of all data, estimated from a sample."""
        with self._fitted_problem(X, sample_weight) as problem:
            return problem.bound(self.state_.globals_, self.state_.hyper, scale=scale)

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
