"""What a local step returns, and of what it does not depend."""

import numpy as np

from ..model import LocalStep
from ._case import close, close_statistics, precision


def check_local_step_has_its_fields(case):
    """A local step has totals and rows of the right shapes, all finite."""
    step = case.local_step(want=("statistics", "bound", "score", "local"))
    assert isinstance(step, LocalStep), "local_step must return a LocalStep"
    assert step.statistics is not None, "statistics were wanted and are missing"
    assert step.n_rows == case.n_rows, "n_rows is not the number of rows"
    for name in ("row_observed", "row_bounds"):
        rows = getattr(step, name)
        assert rows is not None, f"{name} is missing"
        assert np.shape(rows) == (case.n_rows,), f"{name} has another shape"
        assert np.isfinite(rows).all(), f"{name} is not finite"
    assert step.local_parameters is not None, "local parameters were wanted"
    assert len(step.local_parameters) == case.n_rows, "local_parameters: a row a sample"


def check_totals_are_sums_of_rows(case):
    """n_observed, bound and score are the sums of their rows."""
    step = case.local_step(want=("statistics", "bound", "score"))
    for total, rows in (
        ("n_observed", "row_observed"),
        ("bound", "row_bounds"),
        ("score", "row_scores"),
    ):
        if getattr(step, rows) is not None:
            close(getattr(step, total), np.sum(getattr(step, rows)), total, 1e-10)


def check_rows_do_not_depend_on_their_neighbours(case):
    """A row's answers have the same bits whatever rows are around it.

    Where local steps are random, whatever rows come after it.
    """
    want = ("bound", "score", "local")
    whole = case.local_step(want=want)
    half = case.n_rows // 2
    for rows in (slice(0, half), slice(half, case.n_rows), slice(half, half + 1)):
        if rows.start and case.model.is_random:
            continue
        part = case.local_step(case.take(rows), want=want)
        for name in ("row_bounds", "row_scores", "local_parameters"):
            if getattr(whole, name) is not None:
                np.testing.assert_array_equal(
                    np.asarray(getattr(whole, name))[rows],
                    getattr(part, name),
                    err_msg=f"{name} depend on the other rows of a block",
                )


def check_order_of_rows_does_not_matter(case):
    """Rows in another order have the same bounds."""
    case.require_exact()
    order = case.random.permutation(case.n_rows)
    bounds = case.local_step(want=("bound",)).row_bounds
    other = case.local_step(case.take(order), want=("bound",)).row_bounds
    np.testing.assert_array_equal(np.asarray(bounds)[order], other)


def check_blocks_add_up(case):
    """The local steps of two blocks add up to that of both."""
    case.require_exact()
    cut = case.n_rows // 3
    whole = case.local_step()
    first = case.local_step(case.take(slice(0, cut)))
    parts = first + case.local_step(case.take(slice(cut, case.n_rows)))
    rtol = precision(case.model)
    for name in ("n_rows", "n_observed", "bound"):
        close(getattr(parts, name), getattr(whole, name), name, rtol)
    close_statistics(case, parts.statistics, whole.statistics, rtol)


def check_want_changes_no_answer(case):
    """What is asked for changes no answer."""
    everything = case.local_step(want=("statistics", "bound", "score", "local"))
    for want in (("bound",), ("statistics", "bound"), ("bound", "score", "local")):
        if case.model.is_random and "statistics" not in want:
            continue
        step = case.local_step(want=want)
        np.testing.assert_array_equal(
            step.row_bounds, everything.row_bounds, err_msg=f"row_bounds of {want}"
        )
        if "score" in want and step.row_scores is not None:
            np.testing.assert_array_equal(step.row_scores, everything.row_scores)
        if "local" in want:
            np.testing.assert_array_equal(
                step.local_parameters, everything.local_parameters
            )


def check_local_steps_repeat(case):
    """The same step twice has the same bits, and changes nothing that it was given."""
    before = case.local_step()
    again = case.local_step()
    np.testing.assert_array_equal(before.row_bounds, again.row_bounds)
    close_statistics(case, again.statistics, before.statistics, 0.0)
