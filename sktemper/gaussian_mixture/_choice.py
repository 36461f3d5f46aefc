"""The choice of a covariance type by evidence."""

import copy
import math
import warnings

import numpy as np

from .._estimator import log
from ..model import IllDefined

__all__ = ["chosen_type"]

#: Largest number of rows of the fits that are compared.
ROWS_OF_CHOICE = 5_000
#: Types in the order in which they are tried; the first of equal ones is chosen.
#: "tied" is left out.  Its prior is not learned, which lowers the evidence by hundreds
#: of nats, and "full" has equal covariances if its prior has learned many degrees of
#: freedom.
ORDER = ("spherical", "diag", "full")
#: "full" is tried with at least this number of rows per column, and with at most this
#: number of columns.
ROWS_PER_COLUMN, MOST_COLUMNS = 2, 150
#: Parameters of the fits that are compared.
OF_TRIALS = {"n_init": 1, "total_samples": None, "warm_start": False, "verbose": 0}


def chosen_type(estimator, X, sample_weight):
    """Return the covariance type whose fit has the highest evidence.

    The evidence is the lower bound of the log evidence, minus one nat for each entry of
    the covariance prior, which is learned.

    Parameters
    ----------
    estimator : TemperedGaussianMixture
        All fits have its parameters, except for the covariance type.
    X : ndarray of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    covariance_type : {"spherical", "diag", "full"}

    Raises
    ------
    IllDefined
        If a mixture of any type cannot be fitted to the data.
    """
    X, sample_weight = _some(X, sample_weight, estimator.n_components)
    best, most, problem = None, -math.inf, None
    for covariance_type in candidates(*X.shape):
        try:
            evidence = _evidence(estimator, covariance_type, X, sample_weight)
        except IllDefined as error:
            problem = error
            continue
        log(estimator, "%s: evidence %.10g", covariance_type, evidence)
        if evidence > most:
            best, most = covariance_type, evidence
    if best is None:
        raise problem
    return best


def _some(X, sample_weight, least):
    """Return rows at even distances, and their weights; rows of weight 0 are left out.

    At most `ROWS_OF_CHOICE` rows are returned, or ``least`` if that is more.
    """
    rows = np.arange(len(X))
    if sample_weight is not None and np.count_nonzero(sample_weight) >= max(least, 2):
        rows = np.flatnonzero(sample_weight)
    rows = rows[:: -(-len(rows) // max(ROWS_OF_CHOICE, least))]
    return X[rows], None if sample_weight is None else sample_weight[rows]


def candidates(n_samples, n_features):
    """Return the covariance types that have enough rows to be fitted."""
    most = min(MOST_COLUMNS, n_samples / ROWS_PER_COLUMN)
    return ORDER if n_features <= most else ORDER[:2]


def n_learned(covariance_type, n_features):
    """Return the number of entries of the covariance prior that are learned."""
    return {
        "spherical": 1,
        "diag": n_features,
        "full": n_features * (n_features + 1) // 2,
    }[covariance_type]


def _evidence(estimator, covariance_type, X, sample_weight):
    parameters = estimator.get_params(deep=False) | OF_TRIALS
    # a copy, so that the following fit gets the generator in its original state
    random = copy.deepcopy(parameters["random_state"])
    parameters |= {"covariance_type": covariance_type, "random_state": random}
    trial = type(estimator)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that follows warns
        trial.fit(X, sample_weight=sample_weight)
    return trial.lower_bound_ - n_learned(covariance_type, X.shape[1])
