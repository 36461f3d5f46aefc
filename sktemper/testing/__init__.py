"""Checks for authors of models: `check_model` checks a model against the contract."""

import traceback
import warnings
from collections.abc import Callable
from typing import Any, Literal

from sklearn.base import clone

from .._utils._typing import ArrayLike
from . import _objectives, _steps
from ._case import Case, Skip
from ._expected import expected_failed_checks

__all__ = ["check_model", "expected_failed_checks"]

#: Name of the check that creates the case for all others.
FIRST_CHECK = "check_the_model_starts"


def check_model(
    model: Any,
    X: ArrayLike,
    *,
    log_likelihood: Callable | None = None,
    random_state: int = 0,
    on_fail: Literal["raise", "warn"] | None = "raise",
) -> list[dict[str, Any]]:
    """Check that a model fulfils the contract of models.

    The checks use only the methods of `sktemper.model.ConjugateModel`, as the training
    loop does.  Each check has a name and is independent of the others.  A check that
    needs a capability that the model does not have is skipped, with a reason.

    Parameters
    ----------
    model : ConjugateModel or estimator
        Model with the settings to be checked, and with the number of features of ``X``.
        If an estimator is given, its model is checked.
    X : array-like of shape (n_samples, n_features)
        Data as the estimator passes them to the model: 20 to 60 rows, not all the same.
    log_likelihood : callable, default=None
        An independent likelihood, with which the constants of the bounds are checked
        unless the model has ``scores_whole_rows``.  It is called as
        ``log_likelihood(model, X, globals_, hyper, random, n_draws)``, with rows of the
        data, a fit's parameters and a `numpy.random.Generator`.  It draws the local
        parameters of each row ``n_draws`` times from their prior.  It returns an array
        of shape (n_draws, n_rows): the log-likelihoods of the rows, with all constants,
        given these draws and the posterior means of the global parameters.
    random_state : int, default=0
        Seed of the start of the fit and of all draws of the checks.
    on_fail : {"raise", "warn"} or None, default="raise"
        Reaction to a failed check: "raise" raises its `AssertionError`, "warn" warns,
        and None only records the failure in the results.

    Returns
    -------
    results : list of dict
        A dict for each check: "check_name"; "status" ("passed", "failed" or "skipped");
        "reason" of a skip, else None; and "exception" of a failure, else None.

    Raises
    ------
    AssertionError
        If a check failed and ``on_fail`` is "raise".  The message begins with the name
        of the check and says what is wrong, where, and which value was expected.

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
    >>> [result["check_name"] for result in results if result["status"] == "failed"]
    []
    >>> results[-1]["check_name"], results[-1]["status"], results[-1]["reason"]
    ('check_scores_do_not_see_what_is_held_out', 'skipped',
    'predictive_scores is the density of whole rows')
    """
    if on_fail not in ("raise", "warn", None):
        raise ValueError(f"on_fail must be 'raise', 'warn' or None, got {on_fail!r}.")
    if hasattr(model, "_make_model"):
        estimator = clone(model)
        estimator._validate_params()
        X = estimator._validate_training(X, reset=True)
        model = estimator._make_model(
            estimator._settings(), X.shape[1], estimator._compute_dtype(X)
        )
    built, results = [], []

    def start(_):
        built.append(Case(model, X, random_state, log_likelihood))

    for name, check in {FIRST_CHECK: start, **checks()}.items():
        result = {"check_name": name, "status": "passed", "reason": None}
        result["exception"] = None
        try:
            if name != FIRST_CHECK and not built:
                raise Skip(f"{FIRST_CHECK} failed")
            check(built[0].fresh() if built else None)
        except Skip as skip:
            result |= {"status": "skipped", "reason": str(skip)}
        except Exception as error:
            result |= {"status": "failed", "exception": error}
            _report(name, error, on_fail)
        results.append(result)
    return results


def checks():
    """Return the checks, a dict by name, in their order."""
    return {
        name: function
        for module in (_steps, _objectives)
        for name, function in vars(module).items()
        if name.startswith("check_")
    }


def _report(name, error, on_fail):
    message = f"{name}: {_fault(error)}"
    if on_fail == "raise":
        raise AssertionError(message) from error
    if on_fail == "warn":
        warnings.warn(message, UserWarning, stacklevel=3)


def _fault(error):
    """Return a description of a failure, with the place of an error in the model."""
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.name}, line {last.lineno} of {last.filename}"
    return f"{type(error).__name__} in {place}: {error}"
