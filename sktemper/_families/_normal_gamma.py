"""The normal-gamma family: conjugate to the means and precisions of columns."""

import numpy as np
from scipy.special import betaln, gammaln, polygamma, psi

from ._dirichlet import log_gamma_draws
from ._family import NORMAL_GAMMA, Family, kernel_parts
from ._normal_wishart import LOG_2_PI


class NormalGammaFamily(Family):
    """Independent normal columns, with a normal-gamma distribution for each column.

    The mean mu of a column has the mean m and the precision kappa tau, where tau is the
    precision of the data and has a Gamma distribution with shape a and rate b.

    For each column, u is (-mu^2 tau / 2, mu tau, -tau / 2, (log tau - log 2 pi) / 2),
    and the natural parameters are kappa, kappa m, 2 b + kappa m^2 and 2 a - 1.  A value
    x has the moments (1, x, x^2, 1), and a missing value has (0, 0, 0, 0).  Arrays have
    the first of these numbers for all columns, then the second numbers, and so on.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns):
        super().__init__(4 * n_columns)

    def split(self, values):
        """Return the four quarters of an array, one for each number of a column."""
        return np.hsplit(values, 4)

    def natural(self, usual):
        kappa, m, a, b = usual
        return np.hstack([kappa, kappa * m, 2.0 * b + kappa * m**2, 2.0 * a - 1.0])

    def usual(self, parameters):
        """Return kappa, m, a and b, each of shape (n_components, n_columns)."""
        kappa, weighted, second, freedom = self.split(parameters)
        means = weighted / kappa
        rate = 0.5 * (second - weighted * means)
        return kappa, means, 0.5 * (freedom + 1.0), rate

    # -- the distribution of the parameters --------------------------------------------
    def parts_of_kernel(self):
        return kernel_parts(NORMAL_GAMMA, [self.n_natural // 4])

    def log_normaliser(self, parameters):
        kappa, _, a, b = self.usual(parameters)
        logs = 0.5 * (LOG_2_PI - np.log(kappa)) + gammaln(a) - a * np.log(b)
        return (logs - (a - 0.5) * LOG_2_PI).sum(axis=1)

    def expected(self, parameters):
        kappa, m, a, b = self.usual(parameters)
        tau = a / b
        log_tau = psi(a) - np.log(b)
        return np.hstack(
            [
                -0.5 * (1.0 / kappa + m**2 * tau),
                m * tau,
                -0.5 * tau,
                0.5 * (log_tau - LOG_2_PI),
            ]
        )

    def fisher_product(self, parameters, change):
        kappa, m, a, b = self.usual(parameters)
        of_kappa, of_weighted, of_second, of_freedom = self.split(change)
        of_m = (of_weighted - m * of_kappa) / kappa
        of_a = 0.5 * of_freedom
        of_b = 0.5 * (of_second - 2.0 * m * of_weighted + m**2 * of_kappa)
        tau = a / b
        of_tau = (of_a - tau * of_b) / b
        of_square = -of_kappa / kappa**2 + 2.0 * m * of_m * tau + m**2 * of_tau
        return np.hstack(
            [
                -0.5 * of_square,
                of_m * tau + m * of_tau,
                -0.5 * of_tau,
                0.5 * (polygamma(1, a) * of_a - of_b / b),
            ]
        )

    def is_valid(self, parameters):
        kappa, weighted, second, freedom = self.split(parameters)
        is_definite = second * kappa > weighted**2
        return ((kappa > 0) & (freedom > -1) & is_definite).all(axis=1)

    def draws(self, parameters, random):
        kappa, m, a, b = self.usual(parameters)
        log_tau = log_gamma_draws(a, random) - np.log(b)
        tau = np.exp(log_tau)
        mu = m + random.standard_normal(m.shape) / np.sqrt(kappa * tau)
        logs = 0.5 * (log_tau - LOG_2_PI)
        return np.hstack([-0.5 * mu**2 * tau, mu * tau, -0.5 * tau, logs])

    # -- local steps -------------------------------------------------------------------
    def log_predictive(self, block, tables, log_weights=0.0):
        """Return the sums of the logarithms of Student-t densities of known values."""
        known, x, _, _ = self.split(self.moments(block))
        out = np.empty((len(block), len(tables.parameters)))
        usual = self.usual(tables.parameters)
        for k, (kappa, m, a, b) in enumerate(zip(*usual, strict=True)):
            spread = 2.0 * b * (kappa + 1.0) / kappa
            peak = -betaln(a, 0.5) - 0.5 * np.log(spread)
            falls = (a + 0.5) * np.log1p((x - m) ** 2 / spread)
            out[:, k] = (known * (peak - falls)).sum(axis=1)
        return out + log_weights
