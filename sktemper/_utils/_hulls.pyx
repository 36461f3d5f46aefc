"""Convex hulls of curves."""

import numpy as np


def lower_knots(const double[::1] x, const double[::1] y):
    """Return the indices of points on the greatest convex function below all points.

    The points are in the order of ``x``, which increases.
    """
    cdef Py_ssize_t i, a, b, top = -1
    knots = np.empty(len(x), dtype=np.intp)
    cdef Py_ssize_t[::1] stack = knots
    for i in range(x.shape[0]):
        while top > 0:
            a, b = stack[top - 1], stack[top]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            top -= 1  # point b is on the line from a to i, or above it
        top += 1
        stack[top] = i
    return knots[: top + 1]
