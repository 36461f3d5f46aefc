"""Early stopping: the held-out score, and the best state so far."""

import contextlib
import copy
import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Best", "HeldOut", "check_scorable", "heldout_score"]


class Best(NamedTuple):
    """Parameters of the state with the highest held-out score so far, and that score.

    Attributes
    ----------
    score : float
    failures : int
        Number of evaluations since the best state.
    globals_, hyper : object
    """

    score: float
    failures: int
    globals_: Any
    hyper: Any

    @classmethod
    def of(cls, state, score):
        """Return copies of the parameters of a state, with the state's score."""
        globals_, hyper = copy.deepcopy((state.globals_, state.hyper))
        return cls(score, 0, globals_, hyper)

    def after(self, state, score, tol):
        """Return the best state after another state was evaluated."""
        if score > self.score + tol:
            return Best.of(state, score)
        return self._replace(failures=self.failures + 1)


class HeldOut(NamedTuple):
    """Rows that are scored and not used for training.

    Attributes
    ----------
    problem : Problem
    rows : ndarray of int or None
        None means all rows of the problem.
    """

    problem: Any
    rows: Any = None


def heldout_score(held_out, state):
    """Return the score of held-out rows, NaN if no observation can be scored."""
    problem, rows = held_out
    model = problem.model
    prepared = model.prepare(state.globals_, state.hyper)
    parts = zip(*problem.map(_predictive_scores, prepared, rows), strict=True)
    if problem.sample_weight is None:
        scores, n_held_out = (sum(map(np.sum, part)) for part in parts)
    else:
        weight = problem.sample_weight
        weight = weight if rows is None else weight[rows]
        scores, n_held_out = ((weight * np.concatenate(part)).sum() for part in parts)
    return float(scores / n_held_out) if n_held_out else math.nan


def check_scorable(held_out, state):
    """Raise ValueError if no observation of the held-out rows can be scored.

    The check ends at the first block with such an observation.
    """
    problem, rows = held_out
    prepared = problem.model.prepare(state.globals_, state.hyper)
    parts = problem.map(_predictive_scores, prepared, rows)
    with contextlib.closing(parts):
        if any(n_held_out.any() for _, n_held_out in parts):
            return
    raise ValueError(
        "X_val cannot be scored: nothing can be held out, because each row is empty or "
        "too short to split into an observed and a held-out half. Pass rows with more "
        "observations, or no X_val."
    )


def _predictive_scores(model, block, prepared):
    return model.predictive_scores(block, prepared)
