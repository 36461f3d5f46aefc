"""Checks for authors of models: the promises of `sktemper.model` as a function."""

import traceback
import warnings

from sklearn.base import clone

from . import _geometry, _local_steps, _objectives, _steps
from ._case import Case, Skip

__all__ = ["check_model"]


def check_model(model, X, *, random_state=0, on_fail="raise"):
    """Check that a model keeps the promises of the contract.

    The checks use only the methods of `sktemper.model.ConjugateModel`, as the training
    loop does.  Each check has a name and is independent of the others.  A check that
    needs a capability that the model does not have is skipped, with a reason.

    Parameters
    ----------
    model : ConjugateModel or estimator
        The model in the settings to be checked, for as many features as ``X`` has.  Of
        an estimator, its model is checked.
    X : array-like of shape (n_samples, n_features)
        Data as the estimator passes them to the model: 20 to 60 rows, not all the same.
    random_state : int, default=0
        Seed of the start of the fit and of the directions of finite differences.
    on_fail : {"raise", "warn"} or None, default="raise"
        What happens if a check fails: "raise" raises its `AssertionError`, "warn"
        warns, and None only records the failure in the results.

    Returns
    -------
    results : list of dict
        A dict a check: "check_name", "status" ("passed", "failed" or "skipped"),
        "reason" (of a skip; else None) and "exception" (of a failure; else None).

    Raises
    ------
    AssertionError
        If a check failed and ``on_fail`` is "raise"; it begins with the name of the
        check.

    Warns
    -----
    UserWarning
        If a check failed and ``on_fail`` is "warn".

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedGaussianMixture
    >>> from sktemper.testing import check_model
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> results = check_model(AnnealedGaussianMixture(2), X)
    >>> {result["status"] for result in results}
    {'passed'}
    """
    if on_fail not in ("raise", "warn", None):
        raise ValueError(f"on_fail must be 'raise', 'warn' or None, got {on_fail!r}.")
    if hasattr(model, "_make_model"):
        estimator = clone(model)
        estimator._validate_params()
        X = estimator._validate_training(X, reset=True)
        model = estimator._make_model(X.shape[1], estimator._compute_dtype(X))
    results = []
    for name, check in checks().items():
        result = {"check_name": name, "status": "passed", "reason": None}
        result["exception"] = None
        try:
            check(Case(model, X, random_state))
        except Skip as skip:
            result |= {"status": "skipped", "reason": str(skip)}
        except Exception as error:
            result |= {"status": "failed", "exception": error}
            _report(name, error, on_fail)
        results.append(result)
    return results


def checks():
    """Return the checks by their names, in the order in which they are made."""
    return {
        name: function
        for module in (_local_steps, _steps, _geometry, _objectives)
        for name, function in vars(module).items()
        if name.startswith("check_")
    }


def _report(name, error, on_fail):
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = f"{name}: {str(error).strip() or last.line}"
    if on_fail == "raise":
        raise AssertionError(message) from error
    if on_fail == "warn":
        warnings.warn(message, UserWarning, stacklevel=3)
