"""Shared parts of models of users and items: labels, rankings, recommendations.

A model has a vector for each user and for each item.  The product of two vectors is a
score, and `best_items` finds the items with the highest scores exactly, with a compiled
kernel.  `RecommenderMixin` adds the methods `recommend`, `similar_items`,
`similar_users` and `explain` to an estimator.  This package does not depend on any
particular model or policy.
"""
