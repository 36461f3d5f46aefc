"""A sweep of collapsed Gibbs sampling of LDA over all tokens."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, intptr_t

cdef intptr_t _draw(const double[::1] p, double uniform) noexcept nogil:
    """Return k with probability p[k] / sum(p); the length of p is a multiple of 4."""
    cdef intptr_t k, g, n_groups = p.shape[0] // 4
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, rest
    for g in range(n_groups):  # four sums, which do not wait for each other
        a += p[4 * g]
        b += p[4 * g + 1]
        c += p[4 * g + 2]
        d += p[4 * g + 3]
    rest = uniform * (a + b + c + d)
    for g in range(n_groups):
        a = p[4 * g] + p[4 * g + 1] + p[4 * g + 2] + p[4 * g + 3]
        if rest < a:
            break
        rest -= a
    for k in range(4 * g, 4 * g + 4):
        if rest < p[k]:
            return k
        rest -= p[k]
    while k > 0 and p[k] == 0.0:  # rounding: return the last topic that is possible
        k -= 1
    return k


def sweep(
    const int32_t[::1] words,
    const int64_t[::1] starts,
    const double[::1] uniforms,
    const double[:, ::1] doc_prior,
    int32_t[::1] topics,
    double[:, ::1] word_topic,
    double[::1] totals,
    double[::1] tables,
):
    """Draw the topic of each token, given the topics of all other tokens.

    Parameters
    ----------
    words : ndarray of int32 of shape (n_tokens,)
    starts : ndarray of int64 of shape (n_documents + 1,)
        Position of the first token of each document.
    uniforms : ndarray of shape (n_tokens,)
        Random numbers from 0 to 1.
    doc_prior : ndarray of shape (1 or n_documents, width)
        alpha, of all documents or of each.  The width is the number of topics rounded
        up to a multiple of 4; other columns are 0.
    topics : ndarray of int32 of shape (n_tokens,)
        The topics, which change in place; -1 if a token has none yet.
    word_topic : ndarray of shape (n_words, width)
        eta plus the counts of the topics of each word, which change in place.
    totals : ndarray of shape (width,)
        Sums of ``word_topic``, not 0, which change in place.
    tables : ndarray of shape (width,)
        Is increased by alpha * (psi(n + alpha) - psi(alpha)), summed over documents,
        with n the tokens of the topic in a document.
    """
    cdef intptr_t d, i, k, n = word_topic.shape[1], row = 0
    cdef intptr_t n_documents = starts.shape[0] - 1
    cdef double[::1] weight = np.zeros(n), inverse = np.zeros(n), p = np.zeros(n)
    with nogil:
        for k in range(n):
            inverse[k] = 1.0 / totals[k]
        for d in range(n_documents):
            row = d if doc_prior.shape[0] > 1 else 0
            for k in range(n):
                weight[k] = doc_prior[row, k]
            for i in range(starts[d], starts[d + 1]):
                if topics[i] >= 0:
                    weight[topics[i]] += 1.0
            for i in range(starts[d], starts[d + 1]):
                k = topics[i]
                if k >= 0:
                    weight[k] -= 1.0
                    word_topic[words[i], k] -= 1.0
                    totals[k] -= 1.0
                    inverse[k] = 1.0 / totals[k]
                for k in range(n):
                    p[k] = weight[k] * word_topic[words[i], k] * inverse[k]
                k = _draw(p, uniforms[i])
                topics[i] = <int32_t>k
                weight[k] += 1.0
                word_topic[words[i], k] += 1.0
                totals[k] += 1.0
                inverse[k] = 1.0 / totals[k]
            for k in range(n):
                weight[k] = doc_prior[row, k]
            for i in range(starts[d], starts[d + 1]):
                k = topics[i]
                tables[k] += doc_prior[row, k] / weight[k]
                weight[k] += 1.0
