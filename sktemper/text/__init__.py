"""Tools for text: word counts of streams, and words that describe clusters.

`StreamingCountVectorizer` is scikit-learn's ``CountVectorizer`` with ``partial_fit``.
Its vocabulary grows with a stream, and the column of a word does not change.
"""

from ._clusters import class_tfidf, cluster_words
from ._vectorizer import StreamingCountVectorizer

__all__ = ["StreamingCountVectorizer", "class_tfidf", "cluster_words"]
