"""Streams of documents whose subjects change, with held-out documents and true topics.

Generated streams have 40 topics, 2,000 words, and 60 tokens per document.  At each
change 5 topics are replaced by new ones; half of the tokens of a new topic are of 25
words that did not occur before.  A real stream is the Debian corpus of the package.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from zoo.measures import FOUND, unit

from sktemper.datasets import load_debian_descriptions

N_TOPICS, N_WORDS, N_TURN, N_OWN = 40, 2000, 5, 25
N_HELD_OUT = 2000


@dataclass
class Stream:
    """Documents in their order, held-out documents and true topics.

    The stream consists of phases: the topics change between two phases.

    Attributes
    ----------
    X : CSR
    ends : list of int
        Number of documents before the end of each phase.
    held_out : list of CSR
        Documents of the distribution at the end of each phase.
    topics : list of ndarray, or None
        True topics of each phase; the topics that are new in the phase are last.
    n_new : list of int
        Number of topics that are new in each phase, or that come back.
    chunk, half_life : int
    """

    X: Any
    ends: list
    held_out: list
    topics: Any = None
    n_new: list = field(default_factory=list)
    chunk: int = 500
    half_life: int = 10_000


# -- generated streams -----------------------------------------------------------------
def documents(random, prior, topics, n, n_tokens=60):
    """Return ``n`` documents; ``prior`` is common to all or has a row for each."""
    gammas = random.standard_gamma(np.broadcast_to(prior, (n, len(topics)))) + 1e-300
    words = gammas @ topics
    words /= words.sum(axis=1, keepdims=True)
    lengths = np.maximum(random.poisson(n_tokens, n), 2)
    return sparse.csr_array(random.multinomial(lengths, words).astype(np.int32))


class World:
    """Topics of a generated stream, and their prevalences while they are present."""

    def __init__(self, seed, n_changes):
        self.random = random = np.random.default_rng(1000 + seed)
        n_new = N_TURN * n_changes
        n_old = N_WORDS - N_OWN * n_new
        self.topics = np.zeros((N_TOPICS + n_new, N_WORDS))
        self.topics[:N_TOPICS, :n_old] = random.dirichlet(
            np.full(n_old, 0.05), N_TOPICS
        )
        for number in range(n_new):
            own = slice(n_old + N_OWN * number, n_old + N_OWN * (number + 1))
            topic = self.topics[N_TOPICS + number]
            topic[:n_old] = 0.5 * random.dirichlet(np.full(n_old, 0.05))
            topic[own] = 0.5 * random.dirichlet(np.full(N_OWN, 0.5))
        self.prevalence = random.lognormal(0.0, 0.5, len(self.topics))
        self.dying = random.permutation(N_TOPICS)[:n_new]

    def prior(self, alive):
        """Return the Dirichlet prior of documents with the topics ``alive``."""
        prior = np.zeros(len(self.topics))
        prior[alive] = self.prevalence[alive]
        return prior * (0.1 * N_TOPICS / prior.sum())

    def lives(self, phase):
        """Return the indices of the topics of a phase, with new topics last."""
        new = N_TOPICS + np.arange(N_TURN * phase)
        return np.append(np.setdiff1d(np.arange(N_TOPICS), self.dying[: len(new)]), new)

    def documents(self, prior, n):
        """Return documents, drawn 1,000 at a time."""
        prior = np.atleast_2d(prior)
        parts = []
        for start in range(0, n, 1000):
            own = prior if len(prior) == 1 else prior[start : start + 1000]
            size = min(1000, n - start)
            parts.append(documents(self.random, own, self.topics, size))
        return sparse.vstack(parts, "csr")

    def stream(self, phases, length, between=None):
        """Return a stream; each phase is given by the indices of its topics."""
        parts, held_out = [], []
        for number, alive in enumerate(phases):
            prior = self.prior(alive)
            held_out.append(self.documents(prior, N_HELD_OUT))
            if between and number:
                share = np.linspace(0, 1, length)[:, None]
                prior = (1 - share) * self.prior(phases[number - 1]) + share * prior
            parts.append(self.documents(prior, length))
        ends = [length * (number + 1) for number in range(len(phases))]
        topics = [self.topics[alive] for alive in phases]
        n_new = [0] + [N_TURN] * (len(phases) - 1)
        return Stream(sparse.vstack(parts, "csr"), ends, held_out, topics, n_new)


def changing(seed, folder, between=False, n_phases=6, length=20_000):
    """Return a stream whose topics change suddenly, or gradually with ``between``."""
    world = World(seed, n_phases - 1)
    return world.stream([world.lives(p) for p in range(n_phases)], length, between)


# -- real streams ----------------------------------------------------------------------
def kind_of_package(name):
    """Return an index of the kind: application, library, or group of languages."""
    ecosystem = name.split("-")[0]
    if ecosystem in ("librust", "golang", "libghc"):
        return 2
    languages = ("python3", "python", "ruby", "node", "php", "r", "libjs", "elpa")
    if ecosystem in languages or name.endswith("-perl"):
        return 3
    return 1 if name.startswith("lib") else 0


def descriptions(seed, folder, shuffled=False):
    """Return descriptions of packages, sorted by kind or shuffled.

    The order is: half of the applications, libraries, packages of two groups of
    languages, and the other half of the applications.
    """
    debian = load_debian_descriptions()
    X, random = sparse.csr_array(debian.data), np.random.default_rng(seed)
    order = random.permutation(X.shape[0])
    test, train = order[:5000], order[5000:]
    if shuffled:
        return Stream(X[train], [len(train)], [X[test]])
    kinds = np.array([kind_of_package(name) for name in debian.document_names])
    later = (kinds == 0) & (random.random(len(kinds)) < 0.5)
    kinds[later] = 4
    phases = [train[kinds[train] == kind] for kind in range(5)]
    held_out = [X[test[kinds[test] == kind]] for kind in range(5)]
    ends = np.cumsum([len(phase) for phase in phases]).tolist()
    return Stream(X[np.concatenate(phases)], ends, held_out)


CHANGES = "Five times, 5 of the 40 topics of a generated stream are replaced: "
DEBIAN = "The corpus of the package, "
#: For each stream, a function that returns it, its number of documents, and a text.
STREAMS = {
    "S1": (changing, 120_000, CHANGES + "suddenly."),
    "S3": (descriptions, 47_189, DEBIAN + "sorted by kind of Debian package."),
    "S4": (
        functools.partial(descriptions, shuffled=True),
        47_189,
        DEBIAN + "in random order.",
    ),
    "S2": (functools.partial(changing, between=True), 120_000, CHANGES + "gradually."),
}


def found_topics(components, topics):
    """Return a mask of the true topics that are found by different components."""
    cosines = unit(topics) @ unit(components).T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    found = np.zeros(len(topics), dtype=bool)
    found[rows] = cosines[rows, columns] > FOUND
    return found
