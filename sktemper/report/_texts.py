"""Positions of features in a text."""

import re
from functools import cache

#: Words of a text, by the default pattern of scikit-learn's vectorizers.
WORDS = re.compile(r"\b\w\w+\b")
#: Chunks of a text without white space, which are passed to the analyzer one by one.
CHUNKS = re.compile(r"\S+")
#: The inner part of a chunk, without punctuation around it.
INNER = re.compile(r"\w(?:.*\w)?", re.DOTALL)


class Reader:
    """Finder of the positions of features in texts.

    Parameters
    ----------
    vectorizer : object with ``build_analyzer``, callable or None
        See `topic_report`.
    """

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

        Parameters
        ----------
        text : str
        known : container of str
            The features of the document.
        """
        spans = list(_phrases(text, known))
        taken = [(start, end) for start, end, _ in spans]
        for chunk in CHUNKS.finditer(text):
            for start, end, features in self._in_chunk(chunk.group()):
                start, end = start + chunk.start(), end + chunk.start()
                found = [feature for feature in features if feature in known]
                free = all(end <= first or last <= start for first, last in taken)
                if found and free:
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
    return WORDS.findall(text.lower())


def _phrases(text, known):
    """Yield the positions of features of several words, longest features first."""
    taken = []
    phrases = sorted((f for f in known if " " in f.strip()), key=len, reverse=True)
    for phrase in phrases:
        pattern = r"\W+".join(map(re.escape, phrase.split()))
        for match in re.finditer(rf"\b{pattern}\b", text, re.IGNORECASE):
            start, end = match.span()
            if all(end <= first or last <= start for first, last in taken):
                taken.append((start, end))
                yield start, end, [phrase]


def tinted_pieces(text, spans, topics_of):
    """Return a text as a list of pieces.

    A piece without a topic is a str, and a piece with one is ``[str, topic, percent]``.

    Parameters
    ----------
    text : str
    spans : list of (start, end, features)
    topics_of : dict of str to dict of int to float
        For each feature, the probabilities of topics.
    """
    pieces, end = [], 0
    for start, stop, features in spans:
        if start > end:
            pieces.append(text[end:start])
        sums = {}
        for feature in features:
            for topic, probability in topics_of[feature].items():
                sums[topic] = sums.get(topic, 0.0) + probability / len(features)
        topic = max(sums, key=sums.get)
        pieces.append([text[start:stop], topic, round(100 * sums[topic])])
        end = stop
    if end < len(text):
        pieces.append(text[end:])
    return pieces
