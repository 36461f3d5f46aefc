"""Critical temperatures of data, before a fit."""

import numpy as np
from sklearn.base import clone

from .._arguments import check_flag
from .._loop import QUIETLY
from ._plans import plan_fit

__all__ = ["critical_temperatures"]


def critical_temperatures(estimator, X, sample_weight=None, *, return_schedule=False):
    r"""Return the temperatures below which the components of a model become distinct.

    Above the first one, T_2, all components become equal in a fit at a constant
    temperature: a hotter start loses time, and whatever the start has told them apart
    by.  Below the last one, T_K, the data tell all of them apart.  An annealing with
    ``start="auto"`` begins at 1.2 T_2.

    Parameters
    ----------
    estimator : estimator
        Of topics, such as `AnnealedLDA`, or of a mixture of multinomials or of
        Bernoullis; it need not be fitted, and is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data that it would be fitted to, also in parts.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    return_schedule : bool, default=False
        Whether to return also the schedule that a fit to these data would take.

    Returns
    -------
    temperatures : ndarray of shape (n_components - 1,)
        T_2, ..., T_K, which do not increase.  At values below 1 a difference between
        components is not seen at T=1 either.
    schedule : Schedule or None
        The schedule of the estimator's tempering, or its cap, with "auto" replaced by
        numbers; None if it has no schedule.  Only if ``return_schedule`` is True.

    Raises
    ------
    ValueError
        If the model has none: its components are told apart in another way, as those
        with priors of their own, or there are too few samples to tell.

    See Also
    --------
    sktemper.plotting.CriticalTemperaturesDisplay : A picture of them beside a schedule.

    Notes
    -----
    They are those of a temperature in the local step, and estimated from at most 4,000
    rows; what the noise of a finite sample adds to them is subtracted.  A fit with
    ``target="posterior"`` does not use them, as tempered priors lead to other ones.
    The mathematics page of the documentation derives them.

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
    with estimator._restored_on_error():
        data = estimator._training_data(X, fresh=True)
        estimator._check_enough(data)
        problem = estimator._problem(data, sample_weight, fresh=True)
    model, (X, sample_weight) = problem.model, problem.sample
    name, found = type(estimator).__name__, None
    if "critical_temperatures" not in model.capabilities():
        raise ValueError(f"The model of {name} has no critical temperatures.")
    with QUIETLY():
        hyper = model.initial_hyper(X, sample_weight)
        found = model.critical_temperatures(X, hyper, sample_weight)
    if found is None:
        raise ValueError(
            f"There are no critical temperatures for this {name} and these data: its "
            "components have priors of their own, or too few samples tell of them."
        )
    if not return_schedule:
        return np.asarray(found)
    run = plan_fit(estimator, problem, next(estimator._starts(problem)))
    return np.asarray(found), run.policies.tempering.schedule_of_temperatures()
