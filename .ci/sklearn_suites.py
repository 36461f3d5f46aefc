"""scikit-learn's own tests of mixtures, LDA and callbacks, run with our estimators.

The adapters have the names and constructors of scikit-learn's estimators, and pass on
what they get.  `EXPECTED` lists the tests that fail, each with the reason; it may only
become shorter.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.mixture
from sklearn.callback import _callback_context
from sklearn.callback.tests import _utils

import sktemper

FOLDER = str(Path(__file__).resolve().parent)

#: Tests that fail, by suite and name, with the reason.
EXPECTED = {
    "sklearn.mixture.tests": {
        "test_check_weights": "errors name the parameter, weights_init",
        "test_check_means": "errors name the parameter, means_init",
        "test_gaussian_mixture_fit_convergence_warning": "a warning of other words",
        "test_regularisation": "an error of other words",
        "test_multiple_init": "the best start has the best bound, not the best score",
        "test_monotonic_likelihood": "steps raise the bound, not each time the score",
        "test_score": "scores of float32 data are float64",
        "test_sample": "a nearly empty component has ten draws, too few to compare",
        "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": (
            "it counts calls of a private function of scikit-learn"
        ),
    },
    "sklearn.decomposition.tests.test_online_lda": {
        "test_lda_preplexity_mismatch": "it calls a private method of scikit-learn",
        "test_lda_empty_docs": "data without a single word are refused",
        "test_verbosity": "progress is logged, not printed",
    },
    "sklearn.callback.tests": {
        name: "n_iter_ is computed from the state of a fit and cannot be set"
        for name in (
            "test_hook_calling_lazy_evaluation_reconstruction_attributes",
            "test_from_reconstruction_attributes",
        )
    },
}


# -- mixtures --------------------------------------------------------------------------
class _Mixture(sktemper.TemperedGaussianMixture):
    """Mixture without tempering, with the private methods that tests call."""

    theirs = sklearn.mixture.GaussianMixture

    def __init__(
        self,
        n_components=1,
        *,
        covariance_type="full",
        max_iter=1000,
        tempering=None,
        **parameters,
    ):
        given = {"covariance_type": covariance_type, "max_iter": max_iter}
        super().__init__(n_components, tempering=tempering, **given, **parameters)

    @classmethod
    def _get_param_names(cls):
        return sktemper.TemperedGaussianMixture._get_param_names()

    def _n_parameters(self, n_classes=None):
        if n_classes is not None:
            return super()._n_parameters(n_classes)
        return super()._n_parameters(self.n_components) + self.n_components - 1

    def _set_parameters(self, params):
        """Become an estimator of scikit-learn, which a test takes as its reference."""
        self.__class__ = self.theirs
        self._set_parameters(params)

    def _initialize(self, X, resp):
        self.set_params(n_components=resp.shape[1], max_iter=0).fit(X)

    def _check_parameters(self, X):
        pass

    def _initialize_parameters(self, X, random_state):
        self.set_params(max_iter=0).fit(X)


class GaussianMixture(_Mixture):
    pass


class BayesianGaussianMixture(_Mixture):
    def __init__(self, n_components=1, *, priors="scikit-learn", **parameters):
        super().__init__(n_components, priors=priors, **parameters)


# -- LDA -------------------------------------------------------------------------------
class LatentDirichletAllocation(sktemper.TemperedLDA):
    """LDA without tempering, whose scores are bounds, as in scikit-learn."""

    def __init__(
        self,
        n_components=10,
        *,
        learning_method="batch",
        learning_decay=0.7,
        learning_offset=10.0,
        batch_size=128,
        evaluate_every=0,
        perp_tol=0.1,
        tempering=None,
        doc_update="variational",
        init_params="random",
        doc_topic_prior=None,
        topic_word_prior=None,
        total_samples=None,
        **parameters,
    ):
        super().__init__(
            n_components,
            batch_size=None if learning_method == "batch" else batch_size,
            evaluate_every=max(evaluate_every, 0),
            tempering=tempering,
            doc_update=doc_update,
            init_params=init_params,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            **parameters,
        )

    @classmethod
    def _get_param_names(cls):
        return sktemper.TemperedLDA._get_param_names()

    def fit(self, X, y=None):
        super().fit(X)
        self.bound_ = self.perplexity(X)
        return self

    def score(self, X, y=None):
        return self.lower_bound(X)

    def perplexity(self, X, sub_sampling=False):
        return float(np.exp(-self.lower_bound(X) / X.sum()))


# -- callbacks -------------------------------------------------------------------------
class MaxIterEstimator(sktemper.TemperedBernoulliMixture):
    """The estimator of the tests of callbacks, which may be fitted without data."""

    def __init__(self, max_iter=20, computation_intensity=0.001):
        given = {"batch_size": 10, "learning_rate": 0.5, "random_state": 0}
        super().__init__(2, max_iter=max_iter, tempering=None, **given)
        self.computation_intensity = computation_intensity

    @classmethod
    def _get_param_names(cls):
        return ["computation_intensity", "max_iter"]

    def fit(self, X=None, y=None, *, sample_weight=None):
        X = np.eye(6)[np.arange(30) % 6] if X is None else X
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        return np.mean(X, axis=1) * self.n_iter_

    def _init_callback_context(self, *arguments, **options):
        context = super()._init_callback_context(*arguments, **options)
        context.__class__ = Context
        return context


class Context(_callback_context.CallbackContext):
    """A context whose tasks have the names of those of scikit-learn's estimator."""

    def subcontext(self, task_name="", *arguments, **options):
        self.n_passes = vars(self).get("n_passes", 0) + (task_name == "pass")
        if task_name == "pass":
            task_name = f"iteration {self.n_passes - 1}"
        return super().subcontext(task_name, *arguments, **options)


# -- runs ------------------------------------------------------------------------------
def install():
    """Put the adapters where tests import scikit-learn's estimators from."""
    sklearn.mixture.GaussianMixture = GaussianMixture
    sklearn.mixture.BayesianGaussianMixture = BayesianGaussianMixture
    sklearn.decomposition.LatentDirichletAllocation = LatentDirichletAllocation
    _utils.MaxIterEstimator = MaxIterEstimator


class Results:
    """Plugin of pytest that keeps the outcome of each test."""

    def __init__(self):
        self.passed, self.failed = set(), set()

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            self.failed.add(name)
        elif report.passed and report.when == "call":
            self.passed.add(name)


def run(suite):
    """Run a suite; return numbers of tests and of failures, and what is unexpected."""
    install()
    os.environ["SKLEARN_RUN_FLOAT32_TESTS"] = "1"
    paths = [FOLDER, os.environ.get("PYTHONPATH", "")]  # for processes of joblib
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    results, options = Results(), ["-q", "--no-header", "--no-summary", "-W", "ignore"]
    arguments = ["--pyargs", suite, "-p", "no:cacheprovider", *options]
    pytest.main(arguments, plugins=[results])
    expected = EXPECTED[suite]
    failed = {name.partition("[")[0] for name in results.failed}
    wrong = sorted(failed - expected.keys())
    wrong += [f"{name} passes" for name in sorted(expected.keys() - failed)]
    return len(results.passed | results.failed), len(results.failed), wrong
