"""Principal axes of weighted rows, dense or sparse, by power iterations."""

import numpy as np

__all__ = ["axes"]

#: Number of principal axes along which splits start, and of power iterations.
AXES, POWER_ITERATIONS = 2, 8


def axes(coordinates, weight):
    """Return the leading principal axes of weighted rows, followed by a random axis.

    Parameters
    ----------
    coordinates : ndarray or CSR array of shape (n_rows, n_coordinates)
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    axes : ndarray of shape (n_coordinates, AXES + 1)
    """
    start = np.random.default_rng(0).normal(size=(coordinates.shape[1], AXES + 1))
    mean, leading = weight @ coordinates / weight.sum(), start[:, :AXES]
    for _ in range(POWER_ITERATIONS):
        values = weight[:, None] * (coordinates @ leading - mean @ leading)
        leading = coordinates.T @ values - np.outer(mean, values.sum(axis=0))
        leading, _ = np.linalg.qr(leading)
    missing = AXES - leading.shape[1]  # positive if there are fewer coordinates
    return np.concatenate([leading, start[:, AXES - missing :]], axis=1)
