"""Analyses of fitted topic models: effects of covariates on topics."""

from ._topic_regression import TopicRegression, topic_regression

__all__ = ["TopicRegression", "topic_regression"]
