"""Corpora so small that a fit takes milliseconds."""

import signal
from collections import Counter

import numpy as np
import pytest
from fits import documents_of, samples_of

from sktemper._sklearn import HAS_CALLBACKS
from sktemper.base import TemperedEstimator

# A shell without job control starts what it runs in the background, a whole test run
# too, with Ctrl-C ignored, and Python keeps it so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: What is in the name of tests that depend on the BLAS, on numpy's loops or on our
#: instruction set, beside those that are marked one by one; and what is in the name of
#: those that do not, that run such tests in processes of their own, or whose rank is so
#: high that they are slow.
MACHINE = ("the_kernel", "neighbours", "bits", "no_bit", "never_falls", "underflow")
NOT_MACHINE = ("instruction_set", "pickle", "interrupted", "-128]")

#: What tests of other things bring about, whose fits take a few steps; and where it is
#: not expected.
SHORT_FITS = {
    "ignore:The model is still at temperature": ("endings", "readme", "examples"),
    "ignore:The lower bound still changed": (
        "endings",
        "readme",
        "examples",
        "gaussian_mixture",
    ),
    "ignore:Empty topics": ("topics", "readme", "examples"),
    "ignore:Topics that are near copies": ("topics", "readme", "examples"),
}


#: Checks of scikit-learn that look at numbers, which depend on an estimator's policies.
NUMERICAL = {
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


@pytest.hookimpl(tryfirst=True)  # before pytest deselects what is deep
def pytest_collection_modifyitems(items):
    first, counts = {}, Counter()
    for item in items:
        mark_machine(item)
        mark_deep(item, first)
        thin_out(item, counts)
        for warning, names in SHORT_FITS.items():
            # doctests are to be as quiet as any user's first lines
            if item.path.name.startswith("test_") and not any(
                name in item.path.name for name in names
            ):
                mark = pytest.mark.filterwarnings(warning)
                item.add_marker(mark, append=False)


def mark_machine(item):
    """Mark a test that depends on the machine by its name."""
    name = item.name.split("[")[0]
    chosen = any(part in name for part in MACHINE)
    if chosen and not any(part in item.name for part in NOT_MACHINE):
        item.add_marker(pytest.mark.machine)


def mark_deep(item, first):
    """Mark checks of scikit-learn on all but the first configuration of a class.

    Not those that are numerical, unless they are expected to fail.  And tests of
    kernels at a high rank, which have slow references, but for one of each; and runs of
    whole modules as on other processors.
    """
    if item.name.startswith(
        ("test_kernels_on_every_instruction_set", "test_the_kernels_are_right_on_every")
    ):
        item.add_marker(pytest.mark.deep)
    if item.name.startswith("test_the_kernel_of_") and item.name.endswith("-128]"):
        if "float32-0.0001-True" not in item.name:
            item.add_marker(pytest.mark.deep)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if item.name.startswith("test_scikit_learn_checks[") and "check" in parameters:
        estimator, check = parameters["estimator"], parameters["check"]
        default = first.setdefault(type(estimator), repr(estimator))
        name = getattr(check, "func", check).__name__
        fails = item.get_closest_marker("xfail") is not None
        if repr(estimator) != default and (fails or name not in NUMERICAL):
            item.add_marker(pytest.mark.deep)


def thin_out(item, counts):
    """Mark all but each n-th of the cases of a test that wants it so.

    With n prime to how many values each parameter has, all of them are among the quick.
    """
    every = item.get_closest_marker("every")
    if every:
        name = item.nodeid.split("[")[0]
        if counts[name] % every.args[0]:
            item.add_marker(pytest.mark.deep)
        counts[name] += 1


if not HAS_CALLBACKS:

    @pytest.fixture(autouse=True)
    def callbacks_skip_a_test(monkeypatch):
        """Skip a test where it sets callbacks."""

        def set_callbacks(self, *callbacks):
            """Skip the test."""
            pytest.skip("callbacks need scikit-learn 1.9 or later")

        monkeypatch.setattr(
            TemperedEstimator, "set_callbacks", set_callbacks, raising=False
        )


@pytest.fixture(scope="session")
def documents():
    """Word counts of 120 documents, CSR of int32 in canonical format."""
    return documents_of()


@pytest.fixture(scope="session")
def counts(documents):
    """The same counts in float64."""
    return documents.astype(np.float64)


@pytest.fixture(scope="session")
def many_documents():
    """So many that they take three blocks of rows."""
    return documents_of(700)


@pytest.fixture(scope="session")
def samples():
    """Sums of three features and noise, 120 rows of 6 values."""
    return samples_of()


@pytest.fixture(scope="session")
def texts(documents):
    """The documents as strings."""
    words = np.array([f"word{v:02d}" for v in range(documents.shape[1])])
    return [
        " ".join(np.repeat(words[row.indices], row.data))
        for row in (documents[[i]] for i in range(documents.shape[0]))
    ]
