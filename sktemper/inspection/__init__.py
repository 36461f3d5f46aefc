"""Analyses of fitted topic models: covariates, words of groups, and several fits."""

from ._several_fits import topic_consensus, topic_tree
from ._topic_regression import TopicRegression, topic_regression
from ._word_contrasts import WordContrasts, word_contrasts

__all__ = [
    "TopicRegression",
    "WordContrasts",
    "topic_consensus",
    "topic_regression",
    "topic_tree",
    "word_contrasts",
]
