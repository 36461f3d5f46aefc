"""Critical temperatures of data, before a fit."""

from typing import Any

import numpy as np
from sklearn.base import clone

from .._engine._fit import new_states, plan_fit
from .._utils._arguments import check_flag
from .._utils._typing import ArrayLike, DataLike
from ..schedules import Schedule
from ._problems import make_problem, training_settings


def critical_temperatures(
    estimator: Any,
    X: DataLike,
    sample_weight: ArrayLike | None = None,
    *,
    return_schedule: bool = False,
) -> tuple[np.ndarray, Schedule | None]:
    r"""Return the temperatures below which the components of a model become distinct.

    In a fit at a constant temperature above the first critical temperature, T_2, all
    components become equal.  A start far above T_2 only takes time, and loses the
    differences between the initial components.  Below the last critical temperature,
    T_K, all components differ.  Annealing with ``start="auto"`` begins at 1.2 T_2.

    Parameters
    ----------
    estimator : estimator
        Estimator of topics, such as `AnnealedLDA`, or of a mixture of multinomials or
        of Bernoullis.  It may be unfitted, and is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data for a fit, which may be a list of parts.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of times that each sample counts.
    return_schedule : bool, default=False
        Whether to return also the schedule of a fit to these data.

    Returns
    -------
    temperatures : ndarray of shape (n_components - 1,)
        T_2, ..., T_K, which do not increase.  If a value is below 1, components do not
        differ in the corresponding direction even at T=1.
    schedule : Schedule or None
        The schedule of the estimator's tempering, or of the tempering's cap, with
        "auto" replaced by numbers; None if the tempering has no schedule.  It is
        returned only if ``return_schedule`` is True.

    Raises
    ------
    ValueError
        If there are no critical temperatures: the model does not have the capability,
        its components have different priors, or there are too few samples.

    See Also
    --------
    sktemper.plotting.CriticalTemperaturesDisplay : Picture of the temperatures.

    Notes
    -----
    The temperatures apply to the local step.  They are estimated from at most 4,000
    rows, and corrected for the noise of a finite sample.  A fit with
    ``target="posterior"`` does not use them, because tempered priors change them.  The
    mathematics page of the documentation derives them.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, critical_temperatures
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> critical_temperatures(AnnealedLDA(5), X).round(2)
    array([1.8 , 1.77, 1.76, 1.75])
    """
    check_flag(return_schedule, "return_schedule")
    estimator = clone(estimator)
    estimator._validate_params()
    estimator._check_rows(X, sample_weight)
    data = estimator._training_data(X, True, sample_weight)
    estimator._check_enough(data)
    problem = make_problem(estimator, data, sample_weight, fresh=True)
    name = type(estimator).__name__
    if "critical_temperatures" not in problem.model.capabilities():
        raise ValueError(f"The model of {name} has no critical temperatures.")
    state = None
    if return_schedule:
        (state,) = new_states(problem, 1, estimator.random_state)
    temperatures = problem.critical_temperatures(state.hyper if state else None)
    if temperatures is None:
        raise ValueError(
            f"There are no critical temperatures for this {name} and these data: its "
            "components have different priors, or there are too few samples."
        )
    if not return_schedule:
        return np.asarray(temperatures)
    run = plan_fit(training_settings(estimator), problem, state)
    return np.asarray(temperatures), run.policies.tempering.schedule_of_temperatures()
