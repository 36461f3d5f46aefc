"""How much is computed, held or looked at at once: budgets of blocks and samples.

The size of a block follows from what a row of it needs, see `slices`.
"""

#: Values of the arrays that are made at once: 8 megabytes of float64.
VALUES_AT_ONCE = 2**20
#: Values that a fit keeps so that it need not compute them again.
VALUES_KEPT = 2**23
#: Rows of a block.  It is large, because the work that is done once for each block
#: takes as long as the work for hundreds of rows.
ROWS_AT_ONCE = 1024
#: Multiplications in one call, which takes at most 20 milliseconds.  Ctrl-C acts
#: between calls.
TERMS_AT_ONCE = 2**27
#: Multiplications that are not worth another thread.  They take about 250
#: microseconds, mostly in Python code, in which threads wait for each other.
TERMS_ALONE = 2**21
#: Rows that represent all rows where comparisons are slow.
ROWS_COMPARED = 20_000
#: Rows that represent all rows where a look at each is fast.
ROWS_SAMPLED = 100_000


def slices(n_items, size, budget):
    """Yield slices of items, each of as many as a budget has for items of a size."""
    step = max(int(budget // max(size, 1)), 1)
    for start in range(0, n_items, step):
        yield slice(start, min(start + step, n_items))
