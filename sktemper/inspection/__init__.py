"""Analyses of fitted topic models: effects of covariates, and several fits."""

from ._several_fits import combine_fits, topic_consensus, topic_tree
from ._topic_regression import TopicRegression, topic_regression

__all__ = [
    "TopicRegression",
    "combine_fits",
    "topic_consensus",
    "topic_regression",
    "topic_tree",
]
