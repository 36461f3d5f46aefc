"""Measures of what a fitted model is worth."""

from ._coherence import npmi_coherence, umass_coherence
from ._completion import completion_log_likelihood, perplexity
from ._matching import match_components
from ._ranking import ndcg_at_k, precision_at_k, ranking_report, recall_at_k
from ._ratings import completion_rmse, heldout_rmse, interval_coverage
from ._scorers import ranking_scorer

__all__ = [
    "completion_log_likelihood",
    "completion_rmse",
    "heldout_rmse",
    "interval_coverage",
    "match_components",
    "ndcg_at_k",
    "npmi_coherence",
    "perplexity",
    "precision_at_k",
    "ranking_report",
    "ranking_scorer",
    "recall_at_k",
    "umass_coherence",
]
