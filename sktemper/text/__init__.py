"""Tools for texts: the words that describe clusters of documents."""

from ._clusters import class_tfidf, cluster_words

__all__ = ["class_tfidf", "cluster_words"]
