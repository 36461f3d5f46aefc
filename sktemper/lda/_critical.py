"""Critical temperatures of topics, from eigenvalues of correspondence analysis."""

import numpy as np
from scipy.special import polygamma

__all__ = ["critical_temperatures"]

#: Number of bisections of the interval of a critical temperature.
N_HALVINGS = 60


def critical_temperatures(eigenvalues, tokens_per_row, n_topics, alpha):
    r"""Return the temperatures below which topics differ along each axis.

    Equal topics are a fixed point of training.  With b = 1/T and a = b n / K, a small
    difference between topics along an axis with the eigenvalue :math:`\lambda_j` is
    multiplied in each pass by

    .. math:: b \left(1 + \lambda_j \frac{u}{1 - u}\right), \qquad
        u = a b \, \psi'(\alpha + a),

    and a difference in the weights of a single document by u.  The critical temperature
    is the highest temperature at which one of these two factors is 1.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_axes,)
    tokens_per_row : float
        n, the mean number of tokens of nonempty documents.
    n_topics : int
        K, at least 2.
    alpha : float
        Dirichlet parameter of the documents' prior.

    Returns
    -------
    temperatures : ndarray of shape (n_axes,)
        At least 1.
    """

    def excess(temperature):
        """Return a value that is positive above the critical temperature."""
        a = tokens_per_row / (n_topics * temperature)
        u = a * polygamma(1, alpha + a) / temperature
        stable = (temperature - 1.0) * (1.0 - u) - eigenvalues * u
        return np.where(u < 1.0, stable, -1.0)

    lower, upper = np.ones(len(eigenvalues)), np.full(len(eigenvalues), 2.0)
    while (too_low := excess(upper) < 0.0).any():
        upper = np.where(too_low, 2.0 * upper, upper)
    for _ in range(N_HALVINGS):
        middle = (lower + upper) / 2.0
        too_low = excess(middle) < 0.0
        lower, upper = (
            np.where(too_low, middle, lower),
            np.where(too_low, upper, middle),
        )
    return lower
