"""Documents of each topic, and topics of the words in their texts."""

import re
from collections import Counter
from functools import cache

import numpy as np

from .._utils._notices import warn
from .._utils._words import WORD
from ._models import count_words

#: Chunks of a text without white space, which are passed to the analyzer one by one.
CHUNKS = re.compile(r"\S+")
#: The inner part of a chunk, without punctuation around it.
INNER = re.compile(r"\w(?:.*\w)?", re.DOTALL)


class Reader:
    """Finder of the positions of features in texts."""

    def __init__(self, vectorizer):
        if hasattr(vectorizer, "build_analyzer"):
            vectorizer = vectorizer.build_analyzer()
        if not (vectorizer is None or callable(vectorizer)):
            raise TypeError(
                "vectorizer must have `build_analyzer` or be a function that returns "
                f"the words of a text, got {vectorizer!r}."
            )
        self._features = cache(_default_features if vectorizer is None else vectorizer)

    def spans(self, text, known):
        """Return the positions of known features, ``(start, end, features)``, in order.

        A feature of several words takes precedence over the features inside it.
        """
        phrases = list(_phrases(text, known))
        spans = [*phrases]
        for chunk in CHUNKS.finditer(text):
            for start, end, features in self._in_chunk(chunk.group()):
                start, end = start + chunk.start(), end + chunk.start()
                found = [feature for feature in features if feature in known]
                if found and _is_free(start, end, phrases):
                    spans.append((start, end, found))
        return sorted(spans)

    def _in_chunk(self, chunk):
        """Yield the positions of features in a chunk.

        If a feature, such as a stemmed word, is not found in the chunk, one position
        without the punctuation around it has all features of the chunk.
        """
        features = list(self._features(chunk))
        lower, end, places = chunk.lower(), 0, []
        for feature in features:
            start = lower.find(str(feature).lower(), end)
            if start < 0 or len(lower) != len(chunk):
                inner = INNER.search(chunk)
                if inner is not None:
                    yield inner.start(), inner.end(), features
                return
            end = start + len(feature)
            places.append((start, end, [feature]))
        yield from places


def _default_features(text):
    return re.findall(WORD, text.lower())


def _phrases(text, known):
    """Yield the positions of features of several words, longest features first."""
    taken = []
    phrases = sorted((f for f in known if " " in f.strip()), key=len, reverse=True)
    for phrase in phrases:
        pattern = r"\W+".join(map(re.escape, phrase.split()))
        for match in re.finditer(rf"\b{pattern}\b", text, re.IGNORECASE):
            start, end = match.span()
            if _is_free(start, end, taken):
                taken.append((start, end, [phrase]))
                yield taken[-1]


def _is_free(start, end, spans):
    return all(end <= first or last <= start for first, last, _ in spans)


def coloured_pieces(text, spans, topics_of):
    """Return a text as a list of pieces.

    A piece without a topic is a str, and a piece with one is ``[str, topic, percent]``.
    The spans are those of `Reader`, and ``topics_of`` has for each feature a dict of
    the probabilities of topics.
    """
    pieces, end = [], 0
    for start, stop, features in spans:
        if start > end:
            pieces.append(text[end:start])
        sums = Counter()
        for feature in features:
            for topic, probability in topics_of[feature].items():
                sums[topic] += probability / len(features)
        topic = max(sums, key=sums.get)
        pieces.append([text[start:stop], topic, round(100 * sums[topic])])
        end = stop
    if end < len(text):
        pieces.append(text[end:])
    return pieces


# -- selection of documents ------------------------------------------------------------
#: Largest number of shown characters of a text, and of shown words of a document
#: without text.
MOST_LETTERS, MOST_WORDS = 2000, 40
#: Largest number and smallest weight of the topics in the heading of a document.
MOST_TOPICS, LEAST_WEIGHT = 4, 0.05


def shown_documents(model, rows, facts, texts, n_documents):
    """Return the part of the page's data that describes documents.

    Of each topic, ``n_documents`` are shown.  The data have "documents", the list of
    the shown documents as dicts; "documents_of_topics", for each topic a list of
    positions in "documents"; "n_largest", for each topic the number of documents in
    which it is the largest topic; and "has_texts".
    """
    filled = np.flatnonzero(facts.rows.tokens > 0)
    weights = facts.doc_topic[filled]
    orders = (np.argsort(-column, kind="stable") for column in weights.T)
    top = [filled[order[:n_documents]] for order in orders]
    numbers = np.unique(np.concatenate(top))
    X = rows.taken(numbers)
    topics_of = model.word_topics(X, facts) if len(numbers) else []
    counts = count_words(X)
    shown = [
        {
            "row": int(number),
            "name": None if texts.names is None else str(texts.names[number]),
            "n_tokens": round(float(facts.rows.tokens[number]), 1),
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


class ShownTexts:
    """Texts of documents, or their words if there are no texts."""

    def __init__(self, documents, names, vectorizer):
        self.documents, self.names = documents, names
        self._reader = Reader(vectorizer)

    def body(self, number, counts, topics_of, facts):
        if self.documents is None:
            return _word_pieces(counts, topics_of, facts)
        text = self.documents[number]
        cut = text[:MOST_LETTERS]
        topics_of = {facts.names[v]: topics for v, topics in topics_of.items()}
        spans = self._reader.spans(cut, topics_of)
        return {
            "pieces": coloured_pieces(cut, spans, topics_of),
            "of": len(text),
            "shown": len(cut),
        }

    def warn(self, shown):
        pieces = [piece for document in shown for piece in document["pieces"]]
        if self.documents is None or any(isinstance(p, list) for p in pieces):
            return
        warn(
            "No word of a shown text was counted in its row of X, so no word is "
            "coloured. Pass documents in the order of the rows of X, and the "
            "vectorizer that counted the words."
        )


def _main_topics(weights):
    """Return the main topics of a document with their weights in percent."""
    order = np.argsort(-weights, kind="stable")[:MOST_TOPICS]
    kept = [k for k in order if weights[k] >= LEAST_WEIGHT] or order[:1]
    return [[int(k), round(100 * float(weights[k]))] for k in kept]


def _word_pieces(counts, topics_of, facts):
    words = np.fromiter(topics_of, dtype=np.intp)
    times = [counts[int(v)] for v in words]
    order = np.argsort(np.log(facts.in_corpus[words]) * times, kind="stable")
    pieces = []
    for place in order[:MOST_WORDS]:
        word, count = facts.names[words[place]], times[place]
        topics = topics_of[words[place]]
        topic, probability = max(topics.items(), key=lambda pair: pair[1])
        repeated = word if count == 1 else f"{word} ×{count:g}"
        pieces += [[repeated, topic, round(100 * probability)], " "]
    return {"pieces": pieces, "of": len(words), "shown": min(len(words), MOST_WORDS)}
