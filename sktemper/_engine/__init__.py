"""The training loop: stochastic natural-gradient steps, moves, state and history.

The engine knows no estimators.  Each module imports only modules that precede it in
this list: `_workers` (calls that Ctrl-C does not interrupt, threads, and sums in a
fixed order), `_data` (parts of the data and the order of their rows; a model with its
data, weights and workers; batches and their blocks), `_reservoir` (state of a stream
with a half-life), `_state` (state and history of a fit), `_step` (policies, with checks
of their results, and a step), `_passes` (passes, ascents and held-out scores),
`_moves`, `_stream` (training on a stream, and renewals of its components) and `_fit`
(the plan of a fit, and its runs).
"""
