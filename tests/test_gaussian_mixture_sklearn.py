"""Code for scikit-learn's BayesianGaussianMixture runs with this package's estimator.

scikit-learn's own tests run, with `TemperedGaussianMixture` under the name
of scikit-learn's class.
"""

import functools
import inspect

import numpy as np
import pytest
from sklearn import mixture
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture.tests import test_bayesian_mixture as theirs
from sklearn.mixture.tests import test_mixture as shared
from sklearn.utils import check_random_state

from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper._engine._state import State

#: Tests of scikit-learn that do not test an estimator.
NOT_APPLICABLE = {
    "test_log_dirichlet_norm": "of a private function",
    "test_log_wishart_norm": "of a private function",
}


class BayesianGaussianMixture(TemperedGaussianMixture):
    """This package's estimator, with private methods that scikit-learn's tests call."""

    def _check_parameters(self, X):
        pass

    def _initialize_parameters(self, X, random_state):
        model = self._make_model(self._settings(), X.shape[1], X.dtype)
        random = check_random_state(random_state)
        self.state_ = State(
            model.initial_globals(X, random),
            model.initial_hyper(X),
            0,
            X.dtype,
            n_features=X.shape[1],
        )


PLAIN = functools.partial(
    BayesianGaussianMixture, tempering=None, priors="scikit-learn"
)


def cases_of(module):
    """Yield every test of a module with each of its parameters."""
    for name, test in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_") or name in NOT_APPLICABLE:
            continue
        marks = [
            mark
            for mark in getattr(test, "pytestmark", [])
            if mark.name == "parametrize"
        ]
        if not marks:
            yield pytest.param(test, {}, id=name)
            continue
        (mark,) = marks
        names, rows = mark.args
        names = [part.strip() for part in names.split(",")]
        for number, row in enumerate(rows):
            values = row if len(names) > 1 else [row]
            arguments = dict(zip(names, values, strict=True))
            yield pytest.param(test, arguments, id=f"{name}-{number}")


@pytest.mark.every(17)
@pytest.mark.filterwarnings("ignore:.*did not converge.*")
@pytest.mark.parametrize("test, arguments", list(cases_of(theirs)))
def test_tests_of_scikit_learn_pass(test, arguments, monkeypatch):
    monkeypatch.setattr(theirs, "BayesianGaussianMixture", PLAIN)
    test(**arguments)


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore:.*did not converge.*")
@pytest.mark.filterwarnings("ignore:The fit ended at temperature")
@pytest.mark.parametrize("name", ["n_iter", "n_components_greater_than_n_samples"])
@pytest.mark.parametrize(
    "cls",
    [PLAIN, TemperedGaussianMixture, AnnealedGaussianMixture, SVIPlusGaussianMixture],
)
def test_tests_of_scikit_learn_for_all_mixtures_pass(name, cls):
    if name == "n_iter":
        shared.test_gaussian_mixture_n_iter(cls())
    else:
        shared.test_mixture_n_components_greater_than_n_samples_error(cls())


def test_parameters_are_those_of_scikit_learn():
    ours = inspect.signature(TemperedGaussianMixture).parameters
    expected = inspect.signature(mixture.BayesianGaussianMixture).parameters
    # doc/decisions.md has the reasons
    different = {"n_components": 10, "covariance_type": "auto", "reg_covar": "auto"}
    for name, parameter in expected.items():
        assert ours[name].default == different.get(name, parameter.default), name


@pytest.mark.filterwarnings("ignore:.*did not converge.*")
def test_attributes_and_methods_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(60, 2))
    expected = mixture.BayesianGaussianMixture(n_components=2, random_state=0).fit(X)
    names = {name for name in dir(expected) if not name.startswith("_")}
    for cls in (
        TemperedGaussianMixture,
        AnnealedGaussianMixture,
        SVIPlusGaussianMixture,
    ):
        ours = cls(2, max_iter=5, moves=None, random_state=0).fit(X)
        assert names <= set(dir(ours))
        for name in names:
            value = getattr(expected, name)
            if name.endswith("_") and isinstance(value, np.ndarray):
                assert getattr(ours, name).shape == value.shape, name
                assert getattr(ours, name).dtype == value.dtype, name


def test_starts_are_no_fits_that_other_packages_log(monkeypatch):
    logged, original = [], KMeans.fit

    @functools.wraps(original)
    def logging_fit(self, *args, **parameters):
        logged.append(self)
        return original(self, *args, **parameters)

    X, _ = make_blobs(60, random_state=0)
    expected = AnnealedGaussianMixture(3, random_state=0).fit(X).means_
    monkeypatch.setattr(KMeans, "fit", logging_fit)  # as mlflow.sklearn.autolog does
    means = AnnealedGaussianMixture(3, random_state=0).fit(X).means_
    assert np.array_equal(means, expected)
    assert not logged
    KMeans(2).fit(X)
    assert len(logged) == 1
