"""The loop: one stochastic natural-gradient step, repeated; its state; its history.

From the ground up: `_workers` (threads), `_problem` (model, data, weights and workers;
batches and their blocks), `_policies` (their answers, checked), `_history`, `_state`,
`_step`, `_passes`, `_moves` and `_stopping`.
"""

from ._history import History
from ._moves import run_moves
from ._passes import Hooks, run_passes, run_pieces
from ._policies import Policies
from ._problem import QUIETLY, Batch, Problem, generator
from ._state import MoveProgress, State
from ._step import Steps
from ._stopping import Best, HeldOut, check_scorable, heldout_score
from ._sums import combined, compacted, tree_sum
from ._workers import InlineWorkers, Workers

__all__ = [
    "QUIETLY",
    "Batch",
    "InlineWorkers",
    "Best",
    "HeldOut",
    "History",
    "Hooks",
    "MoveProgress",
    "Policies",
    "Problem",
    "State",
    "Steps",
    "Workers",
    "check_scorable",
    "combined",
    "compacted",
    "generator",
    "heldout_score",
    "run_moves",
    "run_passes",
    "run_pieces",
    "tree_sum",
]
