"""Checks of scikit-learn that estimators are expected to fail, with the reasons."""

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

_SPARSE = "check_estimator_sparse_matrix", "check_estimator_sparse_array"
_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_ALL_ITEMS = "predict returns the ratings of all items, (n_samples, n_items)."
_NO_CLASSIFIER = "A class with predict_proba counts as a classifier of 2 or 4 classes."
_OTHER_BATCHES = "Repeated rows are in other batches, and have noise of their own."
_ILL_CONDITIONED = "Moves differ, as covariances of fewer rows than columns round off."
_RANDOM_ROWS = "Starts are random rows, and the check has the rows in another order."


def expected_failed_checks(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator may fail, with the reasons.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, or of a subclass, with the parameters with which
        it is checked.

    Returns
    -------
    reasons : dict of str
        Reasons by the name of the check.  All other checks pass.

    Examples
    --------
    scikit-learn's ``check_estimator`` takes the dict, and ``parametrize_with_checks``
    takes the function, each as ``expected_failed_checks``:

    >>> from sktemper import AnnealedLDA, AnnealedMatrixFactorization
    >>> from sktemper.testing import expected_failed_checks
    >>> sorted(expected_failed_checks(AnnealedMatrixFactorization(2)))
    ['check_estimator_sparse_array', 'check_estimator_sparse_matrix']
    >>> expected_failed_checks(AnnealedLDA(2, batch_size=None))
    {}
    """
    tags, reasons = get_tags(estimator).input_tags, {}
    if tags.sparse and hasattr(estimator, "predict"):
        is_mixture = hasattr(estimator, "predict_proba")
        reasons = dict.fromkeys(_SPARSE, _NO_CLASSIFIER if is_mixture else _ALL_ITEMS)
    is_noisy = hasattr(estimator, "effective_batch_size") or estimator.gradient_noise
    if estimator.batch_size is not None or is_noisy:
        reasons |= dict.fromkeys(_WEIGHTS, _OTHER_BATCHES)
    elif getattr(estimator, "covariance_type", None) == "full":
        reasons |= dict.fromkeys(_WEIGHTS, _ILL_CONDITIONED)
    elif tags.categorical:
        reasons |= dict.fromkeys(_WEIGHTS, _RANDOM_ROWS)
    return reasons
