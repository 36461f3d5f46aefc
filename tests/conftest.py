"""Corpora so small that a fit takes milliseconds."""

import gc
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

#: Warnings of fits of a few steps, ignored in tests of other things; and parts of the
#: names of the files whose tests expect them.
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


@pytest.hookimpl(tryfirst=True)  # before pytest deselects what is deep
def pytest_collection_modifyitems(items):
    counts = Counter()
    for item in items:
        thin_out(item, counts)
        for warning, names in SHORT_FITS.items():
            # doctests are to be as quiet as any user's first lines
            if item.path.name.startswith("test_") and not any(
                name in item.path.name for name in names
            ):
                mark = pytest.mark.filterwarnings(warning)
                item.add_marker(mark, append=False)


def pytest_collection_finish(session):
    """Spare the garbage collector the thousands of tests and what they import."""
    gc.collect()
    gc.freeze()


def thin_out(item, counts):
    """Mark as deep all but each n-th case of a test with the marker ``every(n)``.

    If n has no common divisor with the number of values of any parameter, the quick
    cases contain each value.
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


@pytest.fixture
def plt():
    """Return pyplot on Agg; its figures are closed afterwards."""
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


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
