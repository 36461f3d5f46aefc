"""The prior of documents: from their length, and for predictions alone."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..model import Request

__all__ = ["PriorsMixin", "auto_prior", "auto_prior_of_fewer"]

#: alpha of "auto": at most; times the tokens of a document over K; and at least.
MOST, PER_TOKEN, LEAST = 0.05, 0.07, 1e-3
#: Rows that a prior for predictions is found by, at most.
MOST_ROWS = 2000
#: The candidates: multiples of the sum of the training prior; and powers of the topics'
#: shares of the rows, to which the prior is proportional.
MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
ASYMMETRIES = (0.0, 0.5, 1.0)
#: The least share of an even share that a topic of an asymmetric prior has.
LEAST_SHARE = 0.05


def auto_prior(X, n_topics, sample_weight=None):
    """Return alpha by the mean length of the documents that are not empty.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    n_topics : int
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    alpha : float
        ``min(.05, .07 N / K)``, at least .001.
    """
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    tokens = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    weight = np.ones(len(tokens)) if sample_weight is None else sample_weight
    weight = np.where(tokens > 0, weight, 0.0)
    total = weight.sum()
    if total == 0:
        return MOST
    return max(
        LEAST, min(MOST, PER_TOKEN * float(tokens @ (weight / total)) / n_topics)
    )


def auto_prior_of_fewer(alpha, n_topics, n_left):
    """Return alpha by the same length of documents for fewer topics."""
    return max(LEAST, min(MOST, alpha * n_topics / n_left))


class PriorsMixin:
    """Of a fitted LDA: the prior that documents are seen with."""

    def fit_prior(self, X):
        """Find another prior of the documents, for predictions only.

        Which prior is best to find topics and which is best to predict with them are
        two questions.  This one is answered by document completion: of candidates, the
        sum of the Dirichlet parameters and how far they follow the topics' shares of
        the corpus, the one by which half of a document tells most of the other half.
        The training prior is among them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of documents that the model was not fitted to; of more than
            2,000 an even sample is taken.  Those of training will do where they are
            many and long, but the topics know them already, which flatters small
            priors: see the notes.

        Returns
        -------
        self : object
            `transform`, `score` and what builds on them use ``prediction_prior_`` from
            now on.  `lower_bound` and training do not: ``doc_topic_prior_`` is as it
            was.  `partial_fit` and a `fit` that goes on by ``warm_start`` keep the
            prior that was found, for topics that it was not found for: call this again.
            A new `fit` and `merge_topics` drop it.

        Raises
        ------
        ValueError
            If nothing of ``X`` is held out to be predicted.

        Notes
        -----
        The score of the documents that it was found by is a little too good; that of
        others is honest.  In nats a token of others, with 50 topics: found from 500
        documents that were not in the fit the prior added .12 on documents of 5 words,
        .08 on documents of 10 words and .006 on package descriptions; found from
        those of training it lost .22, .07 and .004
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
        check_is_fitted(self, "state_")
        with self._fitted_problem(X) as problem:
            n_rows = len(problem.data)
            rows = np.arange(0, n_rows, -(-n_rows // MOST_ROWS))
            self.prediction_prior_ = self._best_prior(problem, rows)
        return self

    def _best_prior(self, problem, rows):
        """Return the candidate with the best score of the rows."""
        trained = self.state_.hyper
        total = trained.sum()
        tokens = (
            sum(self._maps(problem, _topic_tokens, trained, rows)) - len(rows) * trained
        )
        share = np.maximum(tokens / tokens.sum(), LEAST_SHARE / len(trained))
        best, best_score = trained, self._completion(problem, trained, rows)
        shape = trained / total
        for asymmetry in ASYMMETRIES:
            if asymmetry:
                shape = share**asymmetry / (share**asymmetry).sum()
            for multiple in MULTIPLES:
                prior = total * multiple * shape
                score = self._completion(problem, prior, rows)
                if score > best_score:
                    best, best_score = prior, score
        return np.array(best)

    def _completion(self, problem, prior, rows):
        """Return the score per held-out token of some rows by a prior."""
        parts = self._maps(problem, _predictive_scores, prior, rows)
        scores, held_out = np.sum(parts, axis=0)
        if held_out == 0:
            raise ValueError("Nothing of X is held out to be predicted.")
        return scores / held_out

    def _maps(self, problem, function, prior, rows):
        prepared = problem.model.prepare(self.state_.globals_, prior)
        return list(problem.map(function, prepared, rows=rows))

    def _without_prior_of_predictions(self):
        """Drop the prior that was found; return what to restore if no fit comes."""
        names = "prediction_prior_", "state_"
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        vars(self).pop("prediction_prior_", None)
        return before

    def _hyper_of_predictions(self):
        return vars(self).get("prediction_prior_", self.state_.hyper)

    def _check_kept(self, model):
        prior = vars(self).get("prediction_prior_")
        if prior is None:
            return
        right = isinstance(prior, np.ndarray) and prior.shape == (model.n_topics,)
        if not right or prior.dtype != np.float64 or not (prior > 0).all():
            raise ValueError("prediction_prior_ is not one of this model")
        if not np.isfinite(prior).all():
            raise ValueError("prediction_prior_ is not finite")


def _topic_tokens(model, block, prepared):
    step = model.local_step(block, prepared, Request(want=("local",)))
    return step.local_parameters.sum(axis=0, dtype=np.float64)


def _predictive_scores(model, block, prepared):
    scores, held_out = model.predictive_scores(block, prepared)
    return scores.sum(), held_out.sum()
