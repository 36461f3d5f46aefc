"""The results of a fit: attributes of an estimator that copies take or replace.

The attribute ``_result_names`` has the names of these attributes.
"""

from ._sklearn import remove_callbacks


def fit_results(estimator):
    """Return the attributes that the last fit has set."""
    known = vars(estimator)
    names = known.get("_result_names", ())
    return {name: known[name] for name in names if name in known}


def results_of_validation(estimator):
    """Return the attributes that the validation of the training data has set."""
    known = vars(estimator)
    return {name: known[name] for name in estimator._validated if name in known}


def _other_attributes(estimator):
    """Return the other attributes: parameters, and settings of scikit-learn."""
    known = vars(estimator)
    results = {*known.get("_result_names", ()), "_result_names"}
    return {name: value for name, value in known.items() if name not in results}


def new_estimator(estimator, results=(), **parameters):
    """Return an estimator like another one, with the results of a fit.

    Parameters
    ----------
    estimator : TemperedEstimator
    results : dict
        Attributes by name.
    **parameters : dict
        Parameters that replace those of the estimator.  The constructor of a subclass
        need not have them.
    """
    other = object.__new__(type(estimator))
    vars(other).update(_other_attributes(estimator) | parameters | dict(results))
    other._result_names = frozenset(results)
    return other


def copy_fit(estimator, results=(), **parameters):
    """Return a copy in which some results and parameters are replaced."""
    results = fit_results(estimator) | dict(results)
    return new_estimator(estimator, results, **parameters)


def portable_copy(estimator, results=(), **parameters):
    """Return a copy as `copy_fit` does, but without callbacks.

    It can be sent to workers even if callbacks cannot be pickled.
    """
    other = copy_fit(estimator, results, **parameters)
    remove_callbacks(other)
    return other


def install_results(estimator, other):
    """Replace the results by those of another estimator, all at once."""
    own = _other_attributes(estimator)
    names = vars(other).keys() - own.keys() - {"_result_names"}
    # one assignment, so that two threads never leave parts of two fits
    estimator.__dict__ = vars(other) | own | {"_result_names": frozenset(names)}
