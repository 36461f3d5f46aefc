"""Tempering policy that infers a temperature for each sample from the data."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils._param_validation import HasMethods, StrOptions

from .._utils._arguments import Interval
from .._utils._typing import Float, Int
from ..model import LocalStep, Powers, Request
from ._ladder import _Ladder


class LocalTempering(_Ladder):
    r"""Local variational tempering: a temperature for each sample, inferred.

    Samples that the model fits badly get high temperatures, and so small weights.  The
    statistics are computed from the tempered likelihood with its normaliser [1]_.

    It suits data with outliers.  The temperatures do not fall during a fit, so that it
    leaves poor optima less often than `Annealing`, and takes about twice as long.

    .. math:: r_{dm} \propto \pi_m \exp(b_m S_d - N_d a(b_m)), \quad
        b_d = \sum_m r_{dm} b_m

    Here r_dm is the probability of the inverse temperature b_m for sample d, pi_m its
    prior weight, S_d the score of the sample, N_d its number of observations, and a(b)
    the log normaliser, log C, per observation.

    Parameters
    ----------
    n_temperatures : int, default=100
        Number of inverse temperatures of the ladder, evenly spaced from 1 down to
        ``min_inverse_temperature``.
    min_inverse_temperature : float, default=0.1
        Smallest inverse temperature; a sample near 0 has almost no effect on the model.
    temperature_prior : array-like, distribution or None, default=None
        Weights, or a distribution of 1/T, as in `GlobalTempering`.
    partition_priors : object or "auto", default="auto"
        Priors under which log C is computed, as in `GlobalTempering`; "auto" is (0.02,
        0.05) for LDA.
    n_samples : int, default=8
        Number of draws for log C, as in `GlobalTempering`.
    n_alternations : int, default=2
        Number of local steps, each followed by an update of the temperatures; more for
        temperatures closer to their optimum.

    Notes
    -----
    ``temperatures(X)`` of the fitted estimator returns 1 / b_d.  In ``history_``,
    "temperature_probabilities" is the mean of r over the batch of the previous step.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016, sections 2.4 and 3.4.

    Examples
    --------
    >>> from sktemper.tempering import LocalTempering
    >>> LocalTempering(min_inverse_temperature=0.2)
    LocalTempering(min_inverse_temperature=0.2)
    """

    _parameter_constraints = {
        "n_temperatures": [Interval(Integral, 2, None, closed="left")],
        "min_inverse_temperature": [Interval(Real, 0, 1, closed="neither")],
        "temperature_prior": ["array-like", HasMethods("cdf"), None],
        "partition_priors": ["array-like", StrOptions({"auto"}), None],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_alternations": [Interval(Integral, 1, None, closed="left")],
    }
    cools = False
    _auto_priors = "local"
    per_sample = True

    def __init__(
        self,
        n_temperatures: Int = 100,
        min_inverse_temperature: Float = 0.1,
        temperature_prior: Any = None,
        partition_priors: Any = "auto",
        n_samples: Int = 8,
        n_alternations: Int = 2,
    ):
        self.n_temperatures = n_temperatures
        self.min_inverse_temperature = min_inverse_temperature
        self.temperature_prior = temperature_prior
        self.partition_priors = partition_priors
        self.n_samples = n_samples
        self.n_alternations = n_alternations

    def _inverse_temperatures(self):
        return np.linspace(1.0, self.min_inverse_temperature, self.n_temperatures)

    def temperature(self, state, clock) -> float:
        """Return 1 / E[1/T] over the samples of the last batch."""
        return 1.0 / float(state.probabilities @ state.inverse_temperatures)

    def powers(self, state, clock) -> Powers:
        """Return powers of 1, because each block computes its own powers."""
        return Powers()

    def is_settled(self, state, clock) -> bool:
        """Return True, because there is no schedule."""
        return True

    def local_step(self, model, block, prepared, request, state) -> LocalStep:
        """Alternate between local parameters and temperatures; return the last step."""
        probabilities, b, parameters = self._alternate(
            model, block, prepared, request, state
        )
        b, powers = model.per_unit(block, b), request.powers
        request = request._replace(
            powers=powers._replace(statistics=powers.statistics * b, local=b),
            local_init=parameters,
            want=self._wanted(model),
        )
        step = model.local_step(block, prepared, request)
        step.temperatures = probabilities.sum(axis=0)
        return step

    def sample_temperatures(self, model, block, prepared, state) -> np.ndarray:
        """Return 1 / b_d of each row of a block, shape (n_rows,)."""
        _, b, _ = self._alternate(model, block, prepared, Request(), state)
        return 1.0 / b

    def _alternate(self, model, block, prepared, request, state):
        """Return temperatures' probabilities, means b of 1/T, and local parameters."""
        local, parameters = 1.0, request.local_init
        for _ in range(self.n_alternations):
            powers = request.powers._replace(local=local)
            step = model.local_step(
                block,
                prepared,
                Request(powers, None, request.seed, parameters, ("score", "local")),
            )
            probabilities = self.responsibilities(state, step)
            # no BLAS here, because its rounding depends on the number of rows
            b = (probabilities * state.inverse_temperatures).sum(axis=1)
            local, parameters = model.per_unit(block, b), step.local_parameters
        return probabilities, b, parameters

    def responsibilities(self, state, step) -> np.ndarray:
        """Return the probabilities of temperatures for each row of a block."""
        return softmax(
            state.log_prior
            + np.outer(step.row_scores, state.inverse_temperatures)
            - state.partition.of_rows(step.row_observed),
            axis=1,
        )

    def next_state(self, state, local_step, scale, clock) -> Any:
        """Return the state with the probabilities averaged over the batch."""
        sums = local_step.temperatures
        if not np.any(sums):
            return state
        return state._replace(probabilities=sums / sums.sum())
