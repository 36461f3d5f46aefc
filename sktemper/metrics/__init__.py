"""Metrics of topics, components, rankings and ratings, and scorers for searches."""

from ._completion import completion_log_likelihood, perplexity
from ._ranking import (
    make_ranking_scorer,
    ndcg_at_k,
    precision_at_k,
    ranking_report,
    ranking_scorer,
    recall_at_k,
)
from ._ratings import completion_rmse, heldout_rmse, interval_coverage
from ._topic_scorers import (
    completion_scorer,
    diversity_scorer,
    make_completion_scorer,
    make_diversity_scorer,
    make_npmi_scorer,
    npmi_scorer,
)
from ._topics import match_components, npmi_coherence, topic_diversity, umass_coherence

__all__ = [
    "completion_log_likelihood",
    "completion_rmse",
    "completion_scorer",
    "diversity_scorer",
    "heldout_rmse",
    "interval_coverage",
    "make_completion_scorer",
    "make_diversity_scorer",
    "make_npmi_scorer",
    "make_ranking_scorer",
    "match_components",
    "ndcg_at_k",
    "npmi_coherence",
    "npmi_scorer",
    "perplexity",
    "precision_at_k",
    "ranking_report",
    "ranking_scorer",
    "recall_at_k",
    "topic_diversity",
    "umass_coherence",
]
