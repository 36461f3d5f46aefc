"""Errors, coverage and use of `sktemper.inspection.word_contrasts`.

    python benchmarks/word_contrasts.py          # generated texts
    python benchmarks/word_contrasts.py debian   # package descriptions

Half of the topics of generated texts have other words in the second of two groups.  The
groups are also permuted.  A gain is that of the held-out score, in nats per token, by
the words of each group.  The results are in ``benchmarks/results/word_contrasts.md``.
Times are CPU times of one thread.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import sys
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.inspection import _word_contrasts, word_contrasts
from sktemper.lda._topics import Topics
from sktemper.metrics import match_components

#: Share of words that differ and standard deviation of log ratios, texts, words.
SETTINGS = [(0.1, 1.0, 4_000, 50), (1.0, 0.35, 4_000, 50), (0.1, 1.0, 20_000, 10)]
N_TOPICS, N_WORDS, N_SETS, FIRST_SEED, LIMIT = 10, 1_000, 4, 20_000, 0.05
SUFFIXES = {"-perl": "Perl", "-dev": "C", "-doc": "documentation"}


def texts(share, spread, n_texts, length, seed):
    """Return counts, groups and topics, (2, n_topics, n_words)."""
    random = np.random.default_rng(seed)
    topics = np.tile(random.dirichlet(np.full(N_WORDS, 0.1), N_TOPICS), (2, 1, 1))
    changed = topics[1, : N_TOPICS // 2]
    differs = random.random(changed.shape) < share
    changed *= np.exp(differs * random.normal(scale=spread, size=changed.shape))
    topics /= topics.sum(axis=2, keepdims=True)
    group = random.integers(0, 2, n_texts)
    doc_topic = random.dirichlet(np.full(N_TOPICS, 0.1), n_texts)
    p = np.einsum("dk,dkv->dv", doc_topic, topics[group])
    counts = [random.multinomial(length, row / row.sum()) for row in p]
    return sparse.csr_array(np.array(counts)), group, topics


def gain(lda, X, group, topic_word):
    """Return the gain of the score by topics of groups, a dict of arrays."""
    totals, scores = lda.components_.sum(axis=1), np.zeros(2)
    with lda._fitted_problem(X) as problem:
        for name, words in topic_word.items():
            topics = Topics.from_dense(words.T * totals, lda.state_.globals_.prior)
            prepared = problem.model.prepare(topics, lda.doc_topic_prior_)
            rows = np.flatnonzero(group == name)
            scores += np.sum(
                [
                    np.sum(pair, axis=1)
                    for pair in problem.map(
                        lambda m, b, p: m.predictive_scores(b, p), prepared, rows=rows
                    )
                ],
                axis=0,
            )
    return scores[0] / scores[1] - lda.score(X)


def dirichlet_topics(lda, X, group):
    """Return posterior means with Dirichlet priors around the topics of the fit."""
    groups, by_word, *_ = _word_contrasts._expected_tokens(lda, X, group)
    topic_word = {name: lda.topic_word_.astype(float) for name in groups}
    counts = np.stack([n.toarray() for n in by_word])
    for topic, mean in enumerate(lda.topic_word_.astype(float)):
        n = counts[:, :, topic]
        tokens = n.sum(axis=1)

        def loss(log_a, n=n, mean=mean, tokens=tokens):
            a = np.exp(log_a)
            evidence = (gammaln(a * mean + n) - gammaln(a * mean)).sum()
            return (gammaln(a + tokens) - gammaln(a)).sum() - evidence

        a = np.exp(minimize_scalar(loss, bounds=(0.0, 16.0), method="bounded").x)
        for own, name in zip(n, groups, strict=True):
            topic_word[name][topic] = (a * mean + own) / (a + own.sum())
    return topic_word


def topics_of(contrasts):
    return {name: contrasts.topic_word(name) for name in contrasts.groups}


def n_found(contrasts):
    return int((contrasts.table(None)["q_value"] <= LIMIT).sum())


def one_set(share, spread, n_texts, length, seed):
    """Return figures of a generated set of texts."""
    X, group, topics = texts(share, spread, n_texts, length, seed)
    train, rest = slice(0, n_texts // 2), slice(n_texts // 2, n_texts)
    lda = AnnealedLDA(N_TOPICS, random_state=0).fit(X[train])
    start = time.process_time()
    contrasts = word_contrasts(lda, X[train], group[train])
    seconds = time.process_time() - start
    order, _ = match_components(topics.mean(axis=0), lda.topic_word_)
    truth = np.empty(topics.shape[1:])
    truth[order] = np.log(topics[1] / topics[0])
    table = contrasts.table(None)
    table = table[table["group"] == 1]
    truth = truth[table["topic"], table["word"].astype(int)]
    ratio, low, high = np.log(table[["ratio", "low", "high"]].to_numpy()).T
    found = (table["q_value"] <= LIMIT).to_numpy()
    wrong = (np.sign(ratio) != np.sign(truth)) | (np.abs(truth) < 0.02)
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    permuted = np.random.default_rng(seed).permutation(group)
    none = word_contrasts(lda, X[train], permuted[train])
    return [
        found.sum(),
        (wrong & found).sum(),
        inside.mean(),
        inside[found].mean(),
        (truth @ ratio) / (ratio @ ratio),
        gain(lda, X[rest], group[rest], topics_of(contrasts)),
        gain(lda, X[rest], group[rest], dirichlet_topics(lda, X[train], group[train])),
        n_found(none),
        gain(lda, X[rest], permuted[rest], topics_of(none)),
        seconds,
    ]


def debian(n_documents=16_000, n_topics=30, n_permutations=10):
    """Print the gains and the numbers of words of groups by the ends of names."""
    data = load_debian_descriptions()
    X, names = data.data[:n_documents], data.document_names[:n_documents]
    group = np.full(n_documents, "other", dtype=object)
    for suffix, name in SUFFIXES.items():
        group[[text.endswith(suffix) for text in names]] = name
    half = n_documents // 2
    train, rest = slice(0, half), slice(half, n_documents)
    lda = AnnealedLDA(n_topics, random_state=0).fit(X[train])
    for number in range(-1, n_permutations):
        random, own = np.random.default_rng(number + 1), group
        if number >= 0:
            own = random.permutation(group)
        start = time.process_time()
        contrasts = word_contrasts(lda, X[train], own[train])
        cells = [number, n_found(contrasts), len(contrasts.table(None))]
        seconds = time.process_time() - start
        cells.append(f"{gain(lda, X[rest], own[rest], topics_of(contrasts)):.4f}")
        print("|", " | ".join(map(str, cells)), f"| {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    if sys.argv[1:] == ["debian"]:
        debian()
    else:
        for setting in SETTINGS:
            seeds = range(FIRST_SEED, FIRST_SEED + N_SETS)
            sets = np.array([one_set(*setting, seed) for seed in seeds])
            for row in (sets.mean(axis=0), sets.min(axis=0), sets.max(axis=0)):
                cells = [*setting, *(f"{value:.3f}" for value in row)]
                print("|", " | ".join(map(str, cells)), "|", flush=True)
