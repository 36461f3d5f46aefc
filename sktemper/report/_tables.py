"""Tables of the words of topics, and of their prevalence over dates and by group."""

import numpy as np

from .._utils._words import largest_groups
from ..plotting import topic_shares

#: Relevances that the slider of the page offers.
RELEVANCES = np.linspace(0.0, 1.0, 21)
#: Number of most frequent words that the search finds, in addition to words of topics.
MOST_WORDS = 20_000
#: Largest number and smallest share of the topics that the search shows for a word.
MOST_TOPICS, LEAST_SHARE = 10, 0.02


def word_tables(facts, n_words):
    """Return the part of the page's data that describes words.

    Parameters
    ----------
    facts : Facts
    n_words : int
        Number of words of a topic that are shown at once.

    Returns
    -------
    tables : dict
        "words", the names of words; "counts", the number of occurrences of each word;
        "topics_of_words", for each word the flattened pairs of a topic and its
        probability in thousandths; "words_of_topics", for each topic the flattened
        quadruples of a word (its position in "words"), its log probability, its log
        lift and its term score.  The words of a topic are the ``n_words`` most relevant
        words for each of `RELEVANCES`, and those with the largest term scores and class
        TF-IDF.
    """
    chosen = _top_words(facts, n_words)
    frequent = np.argsort(-facts.rows.counts, kind="stable")[:MOST_WORDS]
    known = np.unique(np.concatenate([frequent, *chosen]))
    return {
        "words": [facts.names[v] for v in known],
        "counts": [round(float(count), 1) for count in facts.rows.counts[known]],
        "topics_of_words": _topics_of_words(facts, known),
        "words_of_topics": [
            _interleave(
                np.searchsorted(known, words).tolist(),
                np.log(facts.topic_word[k, words]).round(7).tolist(),
                facts.log_lift(k)[words].round(7).tolist(),
                facts.rank(k, "term_score")[words].round(9).tolist(),
            )
            for k, words in enumerate(chosen)
        ],
    }


def _top_words(facts, n_words):
    """Return for each topic the words that are at the top of a ranking of the page."""
    rankings = *RELEVANCES, "term_score", "class_tfidf"
    lists = [facts.lists(ranking, n_words) for ranking in rankings]
    return [np.unique(np.concatenate(own)) for own in zip(*lists, strict=True)]


def _topics_of_words(facts, known):
    """Return the probabilities of topics given each word, in thousandths."""
    shares = facts.topics_given(known)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_TOPICS]
    shares = np.take_along_axis(shares, order, axis=1)
    lengths = np.maximum((shares >= LEAST_SHARE).sum(axis=1), 1)
    thousandths = np.rint(1000 * shares).astype(int)
    return [
        _interleave(row[:length].tolist(), share[:length].tolist())
        for row, share, length in zip(order, thousandths, lengths, strict=True)
    ]


def _interleave(*lists):
    """Interleave lists: the first items of all lists, then the second ones, ..."""
    return [value for values in zip(*lists, strict=True) for value in values]


# -- prevalence over dates and by group ------------------------------------------------
def line_table(facts, dates):
    """Return the topics' shares over dates or numbers; None if there are no dates."""
    if dates is None:
        return None
    shares, places = topic_shares(facts.doc_topic, facts.rows.tokens, dates)
    if len(places) == 0:
        return None
    labels, are_dates = places, places.dtype.kind == "M"
    if are_dates:
        labels = places.astype("datetime64[D]")
        places = 1000 * places.astype("datetime64[s]").astype(np.int64)
    return {
        "are_dates": are_dates,
        "places": places.tolist(),
        "labels": [str(label) for label in labels],
        "shares": shares.round(5).tolist(),
    }


def group_table(facts, groups):
    """Return the topics' shares by group, largest group first; None without groups."""
    if groups is None:
        return None
    names, sizes, order = largest_groups(groups, facts.rows.tokens)
    shares, _ = topic_shares(facts.doc_topic, facts.rows.tokens, groups.astype(str))
    return {
        "names": names[order].tolist(),
        "n_tokens": sizes[order].round(1).tolist(),
        "n_groups": len(names),
        "shares": shares[:, order].round(5).tolist(),
    }
