"""Priors of documents: derived from their lengths, and fitted for predictions."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..model import Request

__all__ = ["PriorsMixin", "auto_prior", "auto_prior_of_fewer"]

#: alpha of "auto": its largest value; the factor of the tokens of a document divided by
#: K; and its smallest value.
MOST, PER_TOKEN, LEAST = 0.05, 0.07, 1e-3
#: Largest number of rows from which a prior for predictions is found.
MOST_ROWS = 2000
#: Each candidate has a sum and a shape.  Sums are these multiples of the sum of the
#: training prior.  Shapes are proportional to these powers of the topics' shares of the
#: tokens, where the power 0 stands for the shape of the training prior.
MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
ASYMMETRIES = (0.0, 0.5, 1.0)
#: Smallest share of a topic in an asymmetric prior, in units of 1 / K.
LEAST_SHARE = 0.05


def auto_prior(X, n_topics, sample_weight=None):
    """Return alpha, derived from the mean length of nonempty documents.

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
    """Return alpha for fewer topics and documents of the same length."""
    return max(LEAST, min(MOST, alpha * n_topics / n_left))


class PriorsMixin:
    """Mixin of LDA with a prior of documents for predictions."""

    def fit_prior(self, X):
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
        check_is_fitted(self, "state_")
        with self._fitted_problem(X) as problem:
            n_rows = len(problem.data)
            rows = np.arange(0, n_rows, -(-n_rows // MOST_ROWS))
            self.prediction_prior_ = self._best_prior(problem, rows)
        return self

    def _best_prior(self, problem, rows):
        """Return the candidate with the best score."""
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
        """Return the score per held-out token of rows, with a given prior."""
        parts = self._maps(problem, _predictive_scores, prior, rows)
        scores, held_out = np.sum(parts, axis=0)
        if held_out == 0:
            raise ValueError(
                "Nothing of X is held out to be predicted: X needs documents with at "
                "least two distinct words."
            )
        return scores / held_out

    def _maps(self, problem, function, prior, rows):
        prepared = problem.model.prepare(self.state_.globals_, prior)
        return list(problem.map(function, prepared, rows=rows))

    def _delete_prior_of_predictions(self):
        vars(self).pop("prediction_prior_", None)

    def _hyper_of_predictions(self):
        return vars(self).get("prediction_prior_", self.state_.hyper)

    def _check_kept(self, model):
        prior = vars(self).get("prediction_prior_")
        if prior is None:
            return
        right = isinstance(prior, np.ndarray) and prior.shape == (model.n_topics,)
        if not right or prior.dtype != np.float64 or not (prior > 0).all():
            raise ValueError("prediction_prior_ does not fit this model")
        if not np.isfinite(prior).all():
            raise ValueError("prediction_prior_ is not finite")


def _topic_tokens(model, block, prepared):
    step = model.local_step(block, prepared, Request(want=("local",)))
    return step.local_parameters.sum(axis=0, dtype=np.float64)


def _predictive_scores(model, block, prepared):
    scores, held_out = model.predictive_scores(block, prepared)
    return scores.sum(), held_out.sum()
