"""Checks at the end of a fit of topics.  Each check returns a warning or None."""

import numpy as np

from .._estimator._choices import choices_of
from .._estimator._end_of_fit import LARGEST_START_SHARE, is_above_one
from .._families._births import USED
from .._utils._notices import listed
from ..schedules import Clock
from ._common import common_tokens
from ._merging import Merging, cosine, most_probable

#: Two topics are near copies if the cosine of their word weights is above this, and
#: that of the roots, which is large only if nearly all tokens have the same words.
COPY_COSINE, COPY_OF_ROOTS = 0.95, 0.9
#: Number of most probable words of a topic; near copies have half of them in common.
N_WORDS = 20
#: Common words have half of their tokens in common.  They are named if they have most
#: of all tokens and are at most this share of the words: topics that are not yet
#: distinct have more words in common.
MOST_WORDS = 0.2
#: Value of ``max_df`` of CountVectorizer that leaves most common words out.
MAX_DF = 0.3
#: Largest start temperature that is not reported as too high, as a multiple of the
#: first critical temperature.
FAR_TOO_HOT = 1.5


def topics_are_empty(estimator, run):
    if not _is_final(estimator, run):
        return None
    empty = empty_topics(run.state.globals_.tokens())
    if len(empty) == 0:
        return None
    n_left = max(estimator.n_components - len(empty), 1)
    return (
        f"Empty topics: {listed(empty)}; {len(empty)} of {estimator.n_components}. "
        "No word has many tokens there, and tables leave them out. "
        f"{_advice(estimator, run, f'lower n_components, as to {n_left}')}"
    )


def topics_are_copies(estimator, run):
    if not _is_final(estimator, run):
        return None
    topics = run.state.globals_
    copies = pairs = near_copies(tokens := topics.tokens().T)
    if not pairs:
        return None
    # cheaper merges, as of small topics, may precede those of the copies
    merging = Merging(tokens, topics.prior.T, None)
    while copies:
        before = merging.n_left
        merging.merge_down_to(before - len({j for _, j in copies}), any_gain=True)
        merged = merging.tokens[np.unique(merging.representative)]
        copies = near_copies(merged) if merging.n_left < before else None
    remedy = f"lower n_components, or call merge_topics({merging.n_left})"
    return (
        "Topics that are near copies: "
        f"{listed(f'{i} and {j}' for i, j in pairs)} (cosine above {COPY_COSINE}). "
        f"{_advice(estimator, run, remedy)}"
    )


def words_are_common(estimator, run):
    if not _is_final(estimator, run) or choices_of(estimator).has_common_topic:
        return None
    tokens = run.state.globals_.tokens()
    if tokens.shape[1] == 1 or not tokens.any():
        return None
    common, of_word = common_tokens(tokens).sum(axis=1), tokens.sum(axis=1)
    is_common = (common >= 0.5 * of_word) & (of_word > 0.0)
    share = of_word[is_common].sum() / of_word.sum()
    if share <= 0.5 or is_common.sum() > MOST_WORDS * (of_word > 0.0).sum():
        return None
    columns = np.argsort(-common, kind="stable")
    words = listed(estimator._names()[columns[is_common[columns]]])
    return (
        f"{share:.0%} of the tokens are words that all topics have in common: {words}. "
        f"Leave them out when you count words, as with CountVectorizer(max_df={MAX_DF})"
        " or its stop_words, or call separate_common_words(X)."
    )


def _advice(estimator, run, remedy):
    """Return advice about empty or equal topics, with the remedy for good starts.

    The advice depends on the start of the fit.  If the start was computed from the
    data, empty or equal topics show that the data support fewer topics, and another
    start does not help.
    """
    if estimator.init is None and estimator.init_params == "spectral":
        advice = f"The data do not distinguish this many topics: {remedy}."
    else:
        advice = (
            "Use a start that is computed from the data (init=None and "
            f"init_params='spectral'), or {remedy}."
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
        found = f"above {critical[0]:.3g}, the first", "all topics become equal"
    elif start < min(critical[-1], plan.start()):
        found = f"below {critical[-1]:.3g}, the last", "nothing was annealed"
    else:
        return None
    return (
        f"The fit began at temperature {start:.3g}; {found[0]} critical temperature of "
        f"the data, {found[1]}. Leave the start of the schedule at 'auto'."
    )


#: The checks, in the order of their warnings.
END_OF_FIT_CHECKS = (topics_are_empty, topics_are_copies, words_are_common)


def empty_topics(tokens):
    """Return the topics that have no word.

    A topic has a word if it has half of a token of it, and half as many tokens as the
    topic with the most.  Empty topics have small fractions of tokens.

    Parameters
    ----------
    tokens : ndarray of shape (n_features, n_topics)
    """
    least = np.maximum(tokens.max(axis=1), 2 * USED) / 2
    return np.flatnonzero(~(tokens >= least[:, None]).any(axis=0))


def near_copies(topic_word):
    """Return the pairs of topics that are near copies.

    Only pairs that have half of their most probable words in common are compared in
    full, because a comparison of all pairs would take too long.
    """
    n_words = min(N_WORDS, topic_word.shape[1])
    has = most_probable(topic_word, n_words)
    common = (has @ has.T).toarray()
    pairs = np.argwhere(np.triu(common >= n_words / 2, 1)).tolist()
    return [
        pair
        for pair in pairs
        if cosine(*topic_word[pair]) > COPY_COSINE
        and cosine(*np.sqrt(topic_word[pair])) > COPY_OF_ROOTS
    ]


def _is_final(estimator, run):
    """Return whether topics are final: T=1, and their start has little weight left."""
    return (
        not is_above_one(estimator)
        and run.state.convergence.start_share <= LARGEST_START_SHARE
    )
