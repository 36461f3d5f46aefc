"""The training loop: stochastic natural-gradient steps, moves, state and history.

Each module imports only modules that precede it in this list: `_sums` (sums in a fixed
order), `_workers` (threads), `_problem` (a model with its data, weights and workers;
batches and their blocks), `_policies` (policies, with checks of their results),
`_history`, `_prevalence` and `_stream` (state of a stream with a half-life), `_state`,
`_step`, `_passes`, `_ascent` (steps on trial parameters), `_moves`, `_renewals` (fits
of new components in a stream), `_streaming` (training on a stream) and `_stopping`
(held-out scores).
"""

from ._history import History
from ._moves import run_moves
from ._passes import Hooks, clocks_of_passes, planned_clocks, run_passes, run_pieces
from ._policies import Policies
from ._problem import QUIETLY, Batch, Problem, generator
from ._state import MoveProgress, State
from ._step import Steps
from ._stopping import Best, HeldOut, check_scorable, heldout_score
from ._stream import Reservoir, Stream
from ._streaming import Chunk, Listener, rows_of, run_stream
from ._sums import combined, compacted, tree_sum
from ._workers import InlineWorkers, Workers, threads_for

__all__ = [
    "Chunk",
    "Listener",
    "rows_of",
    "run_stream",
    "Reservoir",
    "Stream",
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
    "clocks_of_passes",
    "combined",
    "compacted",
    "generator",
    "heldout_score",
    "planned_clocks",
    "run_moves",
    "run_passes",
    "run_pieces",
    "threads_for",
    "tree_sum",
]
