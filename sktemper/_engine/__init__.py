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
    REPEATS,
    FitHooks,
    TrainingSettings,
    fit,
    is_finished,
    new_states,
    plan_fit,
    plan_stream,
)
from ._passes import predictive_scores, run_pieces
from ._problem import QUIETLY, Problem
from ._reservoir import Stream
from ._state import History, State
from ._step import Steps
from ._stream import chunk_of, remember, run_stream
from ._workers import InlineWorkers, Workers, combined, compacted, threads_for
