"""Metrics of topics, components and predicted ratings."""

from ._coherence import npmi_coherence, umass_coherence
from ._completion import completion_log_likelihood, perplexity
from ._matching import match_components
from ._ratings import completion_rmse, heldout_rmse, interval_coverage

__all__ = [
    "completion_log_likelihood",
    "completion_rmse",
    "heldout_rmse",
    "interval_coverage",
    "match_components",
    "npmi_coherence",
    "perplexity",
    "umass_coherence",
]
