"""All that changes during a fit."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..schedules import Clock, Plan
from ._history import History

__all__ = ["MoveProgress", "State"]


class MoveProgress(NamedTuple):
    """How far the moves of a fit have come.

    Attributes
    ----------
    left : tuple of int
        Proposals that the plan still has, of each kind of moves.
    made : int
        Proposals so far.
    failed : int
        Proposals in a row that were not kept.
    refused : frozenset
        The keys of those.
    on_part : bool
        Whether a move was kept for what it does to some of the rows, and no step on all
        of them was taken since.
    """

    left: tuple = ()
    made: int = 0
    failed: int = 0
    refused: frozenset = frozenset()
    on_part: bool = False

    def after(self, policy, number, proposal, kept):
        """Return how far they have come after a proposal by the policy ``number``."""
        left = list(self.left)
        left[number] -= 1
        failed, refused = self.failed, self.refused
        if kept:
            failed, refused = 0, frozenset()
        elif proposal is not None:
            failed, refused = failed + 1, refused | {proposal.key}
        if proposal is None or failed >= policy.patience:
            left[number] = 0
        if not left[number]:
            failed, refused = 0, frozenset()
        return self._replace(
            left=tuple(left), made=self.made + 1, failed=failed, refused=refused
        )


@dataclass
class State:
    """All that changes during a fit: pickle it, and the fit goes on from there.

    Steps reuse the memory of `globals_` and `history`: to keep a state while its fit
    goes on, take a `copy.deepcopy`.

    Attributes
    ----------
    globals_, hyper : object
        Values of the model.
    seed : int
        Step t draws from ``SeedSequence(seed, spawn_key=(t,))``, pass p its order
        from ``SeedSequence(seed, spawn_key=(p, 1))``: nothing else random is stored.
    dtype : numpy.dtype
        Of kernels and public arrays.
    n_features : int
        Columns of the data.
    fixed : dict or None
        The estimator's parameters that made the model.
    total_rows : int
        Rows of the data so far as known: those of `fit` once, and those of later
        `partial_fit` calls.
    first_row : str or None
        A digest of the first rows of a stream of known size; "again" once they came
        again.
    steps, samples : int
        Global steps done, and samples seen, repeats included.
    idle_steps, idle_samples : int
        Those before the first step that changed anything: no clock counts them.
    passes, batches_into_pass, planned_passes : int
        Where in the plan of `fit` the state is.
    rows_of_pass, batches_of_pass : int
        Into how many batches the last pass cut how many rows: what `batches_into_pass`
        counts.
    judged : int
        Passes after which it was decided whether to go on.
    moves : MoveProgress
    local : ndarray or None
        Local parameters of all rows after a step on all of them, where the next one
        goes on from them, see `ConjugateModel.keeps_local`.
    lower_bound, bound_change : float
        Lower bound of all data before the last step, and its change since the step
        before that; NaN where not watched, see `ConjugateModel.watches_bound`.
    start_share : float
        The weight that the start still has in the global parameters.
    seconds : float
        Time that steps and moves have taken.
    temperature : float
        Temperature of the last step.
    batch_size : int
        Rows of a step, at most.
    plan : Plan
        What "auto" in the policies is resolved by.
    tempering, learning_rate : object
        What these policies remember between steps.
    best : Best or None
        The best state that early stopping has seen.
    history : History
    """

    globals_: Any
    hyper: Any
    seed: int
    dtype: np.dtype
    n_features: int = 0
    fixed: Any = None
    total_rows: int = 0
    first_row: str | None = None
    steps: int = 0
    samples: int = 0
    idle_steps: int = 0
    idle_samples: int = 0
    passes: int = 0
    batches_into_pass: int = 0
    rows_of_pass: int = 0
    batches_of_pass: int = 0
    planned_passes: int = 0
    judged: int = 0
    moves: MoveProgress = MoveProgress()
    local: Any = None
    lower_bound: float = math.nan
    bound_change: float = math.nan
    start_share: float = 1.0
    seconds: float = 0.0
    temperature: float = 1.0
    batch_size: int = 0
    plan: Plan = field(default_factory=Plan)
    tempering: Any = None
    learning_rate: Any = None
    best: Any = None
    history: History = field(default_factory=History)

    def clock(self, total_samples=None):
        """Return the time of the next step, since the first that changed anything."""
        return Clock(
            self.steps - self.idle_steps,
            self.samples - self.idle_samples,
            total_samples,
        )

    def beside(self, globals_, hyper, seed=None):
        """Return a new state with these parameters, to try something on."""
        return State(globals_, hyper, self.seed if seed is None else seed, self.dtype)
