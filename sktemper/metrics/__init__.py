"""Measures of what a fitted model is worth, and scorers for searches."""

from ._coherence import npmi_coherence, umass_coherence
from ._completion import completion_log_likelihood, perplexity
from ._diversity import topic_diversity
from ._matching import match_components
from ._ratings import completion_rmse, heldout_rmse, interval_coverage
from ._topic_scorers import (
    completion_scorer,
    diversity_scorer,
    make_completion_scorer,
    make_diversity_scorer,
    make_npmi_scorer,
    npmi_scorer,
)

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
    "match_components",
    "npmi_coherence",
    "npmi_scorer",
    "perplexity",
    "topic_diversity",
    "umass_coherence",
]
