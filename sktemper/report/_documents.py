"""The documents that have the most of each topic, with the topics of their words."""

import warnings

import numpy as np

from ._texts import Reader, tinted_pieces

__all__ = ["Texts", "shown_documents"]

#: Letters of a text, and words of a document without one, that are shown.
MOST_LETTERS, MOST_WORDS = 2000, 40
#: Topics named above a document: so many at most, and of this weight at least.
MOST_TOPICS, LEAST_WEIGHT = 4, 0.05


def shown_documents(lda, rows, facts, texts, n_documents):
    """Return what the page knows of documents.

    Parameters
    ----------
    lda : object
        The fitted LDA.
    rows : Rows
    facts : Facts
    texts : Texts
    n_documents : int
        Of each topic.

    Returns
    -------
    tables : dict
        "documents", a dict each; "documents_of_topics", a list a topic of places in
        these; "n_largest", of how many documents each topic is the largest;
        "has_texts".
    """
    filled = np.flatnonzero(facts.tokens > 0)
    weights = facts.doc_topic[filled]
    top = [filled[_largest(column, n_documents)] for column in weights.T]
    numbers = np.unique(np.concatenate(top))
    topics_of = _word_topics(lda, rows.taken(numbers), facts) if len(numbers) else []
    shown = [
        {
            "row": int(number),
            "name": None if texts.names is None else str(texts.names[number]),
            "n_tokens": round(float(facts.tokens[number]), 1),
            "topics": _main_topics(facts.doc_topic[number]),
            **texts.body(number, *of_words, facts),
        }
        for number, of_words in zip(numbers, topics_of, strict=True)
    ]
    texts.warn(shown)
    n_topics = weights.shape[1]
    return {
        "has_texts": texts.documents is not None,
        "documents": shown,
        "documents_of_topics": [np.searchsorted(numbers, d).tolist() for d in top],
        "n_largest": np.bincount(weights.argmax(axis=1), minlength=n_topics).tolist(),
    }


class Texts:
    """What there is to show of documents.

    Parameters
    ----------
    documents : list of str or None
    names : ndarray or None
    vectorizer : object, callable or None
    """

    def __init__(self, documents, names, vectorizer):
        self.documents, self.names = documents, names
        self._reader = Reader(vectorizer)

    def body(self, number, counts, topics_of, facts):
        """Return the text of a document, or its words that tell most, in pieces."""
        if self.documents is None:
            return _words_of(counts, topics_of, facts)
        text = self.documents[number]
        cut = text[:MOST_LETTERS]
        spans = self._reader.spans(cut, topics_of)
        return {
            "pieces": tinted_pieces(cut, spans, topics_of),
            "of": len(text),
            "shown": len(cut),
        }

    def warn(self, shown):
        """Warn where texts have nothing in common with the counts."""
        pieces = [piece for document in shown for piece in document["pieces"]]
        if self.documents is None or any(isinstance(p, list) for p in pieces):
            return
        warnings.warn(
            "No word of the texts shown was counted in their rows of X, so none is "
            "tinted. Are documents in the order of X, and is the vectorizer given?",
            UserWarning,
            stacklevel=4,
        )


def _largest(weights, n):
    """Return the places of the largest weights; of equal ones the first comes first."""
    if len(weights) > n:
        places = np.flatnonzero(weights >= np.partition(weights, -n)[-n])
    else:
        places = np.arange(len(weights))
    return places[np.argsort(-weights[places], kind="stable")][:n]


def _main_topics(weights):
    """Return the main topics of a document with their weights in percent."""
    order = np.argsort(-weights, kind="stable")[:MOST_TOPICS]
    kept = [k for k in order if weights[k] >= LEAST_WEIGHT] or order[:1]
    return [[int(k), round(100 * float(weights[k]))] for k in kept]


def _word_topics(lda, X, facts):
    """Return counts and topics of the words of documents, by word and document."""
    columns = [str(v) for v in range(len(facts.names))]
    table = lda.explain(X, columns)
    found = [({}, {}) for _ in range(X.shape[0])]
    fields = ("document", "word", "count", "topic", "probability")
    for d, v, count, topic, probability in zip(
        *(table[field].tolist() for field in fields), strict=True
    ):
        counts, topics_of = found[d]
        counts[int(v)] = count
        topics_of.setdefault(facts.names[int(v)], {})[topic] = probability
    return found


def _words_of(counts, topics_of, facts):
    """Return the words of a document that tell most, the first first, in pieces."""
    surprise = -np.log(facts.in_corpus[list(counts)])
    order = np.argsort(-surprise * list(counts.values()), kind="stable")
    words, pieces = list(counts), []
    for place in order[:MOST_WORDS]:
        word = facts.names[words[place]]
        count = counts[words[place]]
        topic, probability = max(topics_of[word].items(), key=lambda pair: pair[1])
        repeated = word if count == 1 else f"{word} ×{count:g}"
        pieces += [[repeated, topic, round(100 * probability)], " "]
    return {"pieces": pieces, "of": len(words), "shown": min(len(words), MOST_WORDS)}
