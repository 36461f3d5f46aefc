"""Shared parts of models of users and items: labels, rankings, recommendations.

A model has a vector of each user and of each item, whose product is a score; of these
`Ranking` finds the best, exactly, by a kernel of its own.  `RecommenderMixin` is what
its estimator shows: `recommend`, `similar_items`, `explain`.  Nothing here knows a
model, and nothing a policy.
"""
