"""Checks at the end of a fit of topics.  Each check returns a warning or None."""

import numpy as np

from .._estimator import LARGEST_START_SHARE, is_above_one
from ..schedules import Clock
from ._merging import LARGEST_EMPTY

#: Two topics are near copies if the cosine of their word weights is above this.
LEAST_COSINE = 0.95
#: Number of most probable words of a topic; near copies have half of them in common.
N_WORDS = 20
#: A word is common if it occurs in more than this share of documents.  Common words are
#: named if they make half of the cosine of near copies, but are at most `MOST_COMMON`
#: of all words.
COMMON, MOST_COMMON = 0.3, 0.1
#: Largest number of documents in which words are counted.
MOST_ROWS = 5000
#: Largest start temperature that is not reported as too high, as a multiple of the
#: first critical temperature.
FAR_TOO_HOT = 1.5
#: Largest number of topics that a message names.
MOST_NAMED = 5


def topics_are_empty(estimator, run):
    if not _is_final(estimator, run):
        return None
    tokens = run.state.globals_.tokens().sum(axis=0)
    empty = np.flatnonzero(tokens < LARGEST_EMPTY * tokens.mean())
    if len(empty) == 0:
        return None
    return (
        f"Empty topics: {_named(empty)}; {len(empty)} of {len(tokens)}. They have "
        f"almost no words. {_advice(estimator, run)}"
    )


def topics_are_copies(estimator, run):
    if not _is_final(estimator, run):
        return None
    topic_word = run.state.globals_.tokens().T
    pairs = near_copies(topic_word)
    if not pairs:
        return None
    words = _common_words(topic_word, pairs, run.problem.sample[0])
    if len(words):
        advice = (
            f"Most of what they share are words of more than {COMMON:.0%} of the "
            f"documents: {_named(estimator._names()[words])}. Leave common words out, "
            f"as with CountVectorizer(max_df={COMMON}) or its stop_words."
        )
    else:
        advice = _advice(estimator, run)
    return (
        "Topics that are near copies: "
        f"{_named(f'{i} and {j}' for i, j in pairs)} (cosine above {LEAST_COSINE}). "
        f"{advice}"
    )


def _common_words(topic_word, pairs, X):
    """Return the common words of near copies, most probable first; none if few."""
    X = X[:: -(-X.shape[0] // MOST_ROWS)]
    frequency = np.asarray((X != 0).sum(axis=0)).ravel() / X.shape[0]
    common = np.flatnonzero(frequency > COMMON)
    if len(common) > MOST_COMMON * X.shape[1]:
        return common[:0]
    shared = np.zeros(X.shape[1])
    for pair in pairs[:MOST_NAMED]:
        a, b = topic_word[list(pair)].astype(np.float64)
        shared += (a / a.max()) * (b / b.max())  # the terms of the cosine
    if shared[common].sum() < shared.sum() / 2:
        return common[:0]
    return common[np.argsort(-shared[common])]


def _advice(estimator, run):
    """Return advice about empty or equal topics.

    The advice depends on the start of the fit.  If the start was computed from the
    data, empty or equal topics show that the data support fewer topics, and another
    start does not help.
    """
    if estimator.init is None and estimator.init_params == "spectral":
        advice = (
            "The data do not distinguish this many topics: lower n_components, or "
            "merge superfluous topics with merge_topics()."
        )
    else:
        advice = (
            "Use a start that is computed from the data (init=None and "
            "init_params='spectral'), lower n_components, or use merge_topics()."
        )
    temperature = _start_beside_the_critical_temperatures(run)
    return advice if temperature is None else f"{temperature} {advice}"


def _start_beside_the_critical_temperatures(run):
    """Return advice about a start temperature that is far too high or too low."""
    schedule = run.policies.tempering.schedule_of_temperatures()
    plan = run.state.policies.plan
    critical = plan.critical_temperatures
    if schedule is None or not critical:
        return None
    start = schedule.at(Clock(total=len(run.train)))
    if start > FAR_TOO_HOT * critical[0]:
        return (
            f"The fit began at temperature {start:.3g}; above {critical[0]:.3g}, the "
            "first critical temperature of the data, all topics become equal. Leave "
            "the start of the schedule at 'auto'."
        )
    if start < min(critical[-1], plan.start()):
        return (
            f"The fit began at temperature {start:.3g}; below {critical[-1]:.3g}, the "
            "last critical temperature of the data, nothing was annealed. Leave the "
            "start of the schedule at 'auto'."
        )
    return None


#: The checks, in the order of their warnings.
END_OF_FIT_CHECKS = (topics_are_empty, topics_are_copies)


def near_copies(topic_word):
    """Return the pairs of topics that are near copies.

    Only pairs that have half of their most probable words in common are compared in
    full, because a comparison of all pairs would take too long.
    """
    n_topics, n_features = topic_word.shape
    filled = topic_word.any(axis=1)
    n_words = min(N_WORDS, n_features)
    has = np.zeros(topic_word.shape, dtype=np.float32)
    top = np.argpartition(topic_word, n_features - n_words, axis=1)[:, -n_words:]
    np.put_along_axis(has, top, 1.0, axis=1)
    seen = np.flatnonzero(has.any(axis=0))
    common = has[:, seen] @ has[:, seen].T
    lower, upper = np.nonzero(np.triu(common >= n_words / 2, 1))
    return [
        (int(i), int(j))
        for i, j in zip(lower, upper, strict=True)
        if filled[i]
        and filled[j]
        and _cosine(topic_word[i], topic_word[j]) > LEAST_COSINE
    ]


def _cosine(a, b):
    a, b = a / a.max(), b / b.max()  # no square overflows
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _is_final(estimator, run):
    """Return whether topics are final: T=1, and their start has little weight left."""
    return (
        not is_above_one(estimator)
        and run.state.convergence.start_share <= LARGEST_START_SHARE
    )


def _named(names):
    names = [str(name) for name in names]
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
