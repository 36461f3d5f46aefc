"""Figures of merit, computed by the same code for all methods."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, psi
from sklearn.metrics import adjusted_rand_score

from sktemper.metrics import completion_log_likelihood, npmi_coherence, topic_diversity

#: Cosine above which a true topic counts as found.
FOUND = 0.8
#: Share of the rows above which a component counts as large.
LARGE = 0.02
#: Numbers of words of a topic for coherence and for diversity.
N_COHERENT, N_DIVERSE = 10, 25


def n_found(topics, truth, least=FOUND):
    """Return the number of true topics that have a fitted topic with a large cosine.

    Cosines must be above ``least``.  True and fitted topics are matched one to one,
    with the largest sum of cosines.
    """
    cosine = unit(np.asarray(truth)) @ unit(np.asarray(topics)).T
    return int((cosine[linear_sum_assignment(cosine, maximize=True)] > least).sum())


def unit(rows):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


class Judge:
    """Topics whose weights in documents are inferred by plain mean-field inference.

    The words of topics are fixed probabilities, and the weights of a document have a
    Dirichlet prior.  Nothing here depends on how the topics were fitted, nor on the
    inference of any package.

    Parameters
    ----------
    topics : array-like of shape (n_topics, n_features)
        Nonnegative numbers; each row is scaled to sum to 1.
    doc_topic_prior : float or array-like of shape (n_topics,)
    """

    def __init__(self, topics, doc_topic_prior, max_iter=100, tol=1e-3):
        topics = np.asarray(topics, dtype=np.float64)
        self.components_ = topics / topics.sum(axis=1, keepdims=True)
        prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.prior = np.broadcast_to(prior, len(topics))
        self.max_iter, self.tol = max_iter, tol

    def transform(self, X):
        """Return the posterior means of the weights of topics in documents."""
        X = sparse.csr_array(X).astype(np.float64)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        word_topic = np.ascontiguousarray(self.components_.T)[X.indices]
        lengths = np.asarray(X.sum(axis=1)).ravel()
        gamma = self.prior + np.outer(
            lengths / len(self.prior), np.ones(len(self.prior))
        )
        for _ in range(self.max_iter):
            weight = np.exp(psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))
            norms = np.einsum("nk,nk->n", weight[rows], word_topic)
            shares = sparse.csr_array((X.data / norms, X.indices, X.indptr), X.shape)
            new = self.prior + weight * (shares @ self.components_.T)
            change = np.abs(new - gamma).mean(axis=1).max(initial=0.0)
            gamma = new
            if change < self.tol:
                break
        return gamma / gamma.sum(axis=1, keepdims=True)


def completion_score(topics, doc_topic_prior, X):
    """Return the held-out score by document completion, in nats per token."""
    return completion_log_likelihood(Judge(topics, doc_topic_prior), X)


def coherence_and_diversity(topics, X):
    """Return the mean NPMI of the topics' first words in ``X``, and the diversity."""
    words = np.argsort(-np.asarray(topics), axis=1, kind="stable")[:, :N_DIVERSE]
    npmi = npmi_coherence(words.tolist(), X, n_words=N_COHERENT).mean()
    return npmi, topic_diversity(words.tolist(), n_words=N_DIVERSE)


def partition_figures(labels, truth=None):
    """Return figures of merit of a partition of rows.

    Negative labels mean that a row has no component.  Negative values of ``truth`` mean
    that a row has no class; the Rand index leaves these rows out.  ``exact`` is whether
    the number of components in use is the number of classes.
    """
    labels = np.asarray(labels)
    used, counts = np.unique(labels[labels >= 0], return_counts=True)
    found = {"used": len(used), "large": int((counts > LARGE * len(labels)).sum())}
    if truth is not None:
        known = truth >= 0
        found["ari"] = adjusted_rand_score(truth[known], labels[known])
        found["exact"] = float(len(used) == len(np.unique(truth[known])))
    return found


# -- held-out densities of discrete mixtures -------------------------------------------


def categorical_log_density(weights, probabilities, X, question=None):
    """Return the mean log probability of rows of counts under a mixture.

    Parameters
    ----------
    weights : array-like of shape (n_components,)
    probabilities : array-like of shape (n_components, n_features)
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    question : array-like of shape (n_features,), default=None
        Index of a question for each column, if columns are one-hot answers.
        Probabilities are then scaled to sum to 1 for each question.  None: they sum to
        1 over all columns.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    group = np.zeros(p.shape[1], dtype=int) if question is None else question
    member = np.equal.outer(np.arange(np.max(group) + 1), group).astype(np.float64)
    p = p / ((p @ member.T) @ member)
    return _mixed(weights, X @ np.log(p).T)


def bernoulli_log_density(weights, probabilities, X):
    """Return the mean log probability of rows of 0 and 1 under a mixture."""
    p = np.asarray(probabilities, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    return _mixed(weights, X @ np.log(p).T + (1 - X) @ np.log1p(-p).T)


def _mixed(weights, log_likelihoods):
    weights = np.asarray(weights, dtype=np.float64)
    scaled = np.log(weights / weights.sum())
    return float(logsumexp(np.asarray(log_likelihoods) + scaled, axis=1).mean())
