"""The training loop: stochastic natural-gradient steps, moves, state and history.

The engine knows no estimators.  Each module imports only modules that precede it in
this list: `_data` (parts of the data, and the order of their rows), `_workers` (calls
that Ctrl-C does not interrupt, threads, and sums in a fixed order), `_problem` (a model
with its data, weights and workers; batches and their blocks), `_policies` (policies,
with checks of their results), `_reservoir` (state of a stream with a half-life),
`_state` (state and history of a fit), `_step`, `_passes` (passes and held-out scores),
`_moves`, `_renewals` (fits of new components in a stream), `_stream` (training on a
stream) and `_fit` (the plan of a fit, and its runs).
"""

from ._ascents import sections_of
from ._data import (
    ByRows,
    Data,
    InMemory,
    Rows,
    Source,
    as_slice,
    check_widths,
    cuts,
    data_of,
    matrices_of,
    rows_with,
)
from ._fit import (
    AGAIN,
    FitHooks,
    Training,
    fit,
    is_finished,
    new_states,
    plan_fit,
    plan_stream,
)
from ._moves import run_moves
from ._passes import (
    Best,
    HeldOut,
    TaskHooks,
    check_scorable,
    clocks_of_passes,
    heldout_score,
    planned_clocks,
    predictive_scores,
    run_passes,
    run_pieces,
)
from ._policies import Policies
from ._problem import QUIETLY, Batch, Problem, generator
from ._reservoir import Reservoir, Stream
from ._state import History, MoveProgress, State
from ._step import Steps
from ._stream import Chunk, Listener, chunk_of, remember, rows_of, run_stream
from ._workers import InlineWorkers, Workers, combined, compacted, threads_for, tree_sum
