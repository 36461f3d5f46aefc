"""Word counts of text for streams.

`StreamingCountVectorizer` is scikit-learn's ``CountVectorizer`` with a ``partial_fit``:
its vocabulary grows with a stream, and the column of a word never moves.
"""

from ._vectorizer import StreamingCountVectorizer

__all__ = ["StreamingCountVectorizer"]
