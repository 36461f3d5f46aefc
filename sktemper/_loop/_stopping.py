"""Early stopping: the held-out score, and the best state so far."""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Best", "heldout_score"]


class Best(NamedTuple):
    """The best state by the held-out score.

    Attributes
    ----------
    score : float
    failures : int
        Evaluations since then.
    globals_, hyper : object
    """

    score: float
    failures: int
    globals_: Any
    hyper: Any

    @classmethod
    def of(cls, state, score):
        """Return a copy of a state with its score."""
        globals_, hyper = copy.deepcopy((state.globals_, state.hyper))
        return cls(score, 0, globals_, hyper)

    def after(self, state, score, tol):
        """Return the best of this and a state that was evaluated now."""
        if score > self.score + tol:
            return Best.of(state, score)
        return self._replace(failures=self.failures + 1)


def heldout_score(problem, state, rows):
    """Return the held-out score of some rows, NaN if nothing is held out."""
    model = problem.model
    prepared = model.prepare(state.globals_, state.hyper)
    parts = zip(*problem.map(_log_predictive, prepared, rows), strict=True)
    if problem.sample_weight is None:
        scores, n_held_out = (sum(map(np.sum, part)) for part in parts)
    else:
        weight = problem.sample_weight[rows]
        scores, n_held_out = ((weight * np.concatenate(part)).sum() for part in parts)
    return float(scores / n_held_out) if n_held_out else math.nan


def _log_predictive(model, block, prepared):
    return model.log_predictive(block, prepared)
