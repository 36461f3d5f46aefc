"""Selection of the documents of each topic, and of the topics of their words."""

import warnings

import numpy as np
from scipy import sparse

from ._order import largest
from ._texts import Reader, tinted_pieces

#: Largest number of shown characters of a text, and of shown words of a document
#: without text.
MOST_LETTERS, MOST_WORDS = 2000, 40
#: Largest number and smallest weight of the topics in the heading of a document.
MOST_TOPICS, LEAST_WEIGHT = 4, 0.05


def shown_documents(model, rows, facts, texts, n_documents):
    """Return the part of the page's data that describes documents.

    Parameters
    ----------
    model : LDA or Mixture
    rows : Rows
    facts : Facts
    texts : Texts
    n_documents : int
        Number of shown documents of each topic.

    Returns
    -------
    tables : dict
        "documents", the list of the shown documents as dicts; "documents_of_topics",
        for each topic a list of positions in "documents"; "n_largest", for each topic
        the number of documents in which it is the largest topic; and "has_texts".
    """
    filled = np.flatnonzero(facts.tokens > 0)
    weights = facts.doc_topic[filled]
    top = [filled[largest(column, n_documents)] for column in weights.T]
    numbers = np.unique(np.concatenate(top))
    X = rows.taken(numbers)
    topics_of = model.word_topics(X, facts) if len(numbers) else []
    counts = _counts_of(X)
    shown = [
        {
            "row": int(number),
            "name": None if texts.names is None else str(texts.names[number]),
            "n_tokens": round(float(facts.tokens[number]), 1),
            "topics": _main_topics(facts.doc_topic[number]),
            **texts.body(number, in_row, of_words, facts),
        }
        for number, in_row, of_words in zip(numbers, counts, topics_of, strict=True)
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
    """Texts of documents, or their words if there are no texts.

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
        if self.documents is None:
            return _words_of(counts, topics_of, facts)
        text = self.documents[number]
        cut = text[:MOST_LETTERS]
        topics_of = {facts.names[v]: topics for v, topics in topics_of.items()}
        spans = self._reader.spans(cut, topics_of)
        return {
            "pieces": tinted_pieces(cut, spans, topics_of),
            "of": len(text),
            "shown": len(cut),
        }

    def warn(self, shown):
        pieces = [piece for document in shown for piece in document["pieces"]]
        if self.documents is None or any(isinstance(p, list) for p in pieces):
            return
        warnings.warn(
            "No word of a shown text was counted in its row of X, so no word is "
            "coloured. Pass documents in the order of the rows of X, and the "
            "vectorizer that counted the words.",
            UserWarning,
            stacklevel=4,
        )


def _main_topics(weights):
    """Return the main topics of a document with their weights in percent."""
    order = np.argsort(-weights, kind="stable")[:MOST_TOPICS]
    kept = [k for k in order if weights[k] >= LEAST_WEIGHT] or order[:1]
    return [[int(k), round(100 * float(weights[k]))] for k in kept]


def _counts_of(X):
    X = sparse.csr_matrix(X)
    X.sum_duplicates()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in ends
    ]


def _words_of(counts, topics_of, facts):
    words = np.fromiter(topics_of, dtype=np.intp)
    times = [counts[int(v)] for v in words]
    order = np.argsort(np.log(facts.in_corpus[words]) * times, kind="stable")
    pieces = []
    for place in order[:MOST_WORDS]:
        word, count, topics = (
            facts.names[words[place]],
            times[place],
            topics_of[words[place]],
        )
        topic, probability = max(topics.items(), key=lambda pair: pair[1])
        repeated = word if count == 1 else f"{word} ×{count:g}"
        pieces += [[repeated, topic, round(100 * probability)], " "]
    return {"pieces": pieces, "of": len(words), "shown": min(len(words), MOST_WORDS)}
