"""Fixtures with small data, selection of quick tests, and filters of warnings."""

import gc
import signal
from collections import Counter

import numpy as np
import pytest
from fits import documents_of, samples_of

import sktemper
from sktemper._utils._sklearn import HAS_CALLBACKS
from sktemper.base import TemperedEstimator

# A shell without job control starts background processes, such as a test run, with
# Ctrl-C ignored, and Python does not change that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest would import the module of a doctest once more if its package came later, and
# its classes could not be pickled. The import of Dask is slow, and left to its tests.
for name in sorted({*sktemper.__all__, *sktemper.MODULES} - {"dask"}):
    getattr(sktemper, name)

#: Warnings of very short fits, which most tests ignore. The values are parts of the
#: names of files whose tests expect the warning.
SHORT_FITS = {
    "ignore:The model is still at temperature": ("endings", "readme", "examples"),
    "ignore:The lower bound": ("endings", "readme", "examples", "gaussian_mixture"),
    "ignore:One pass at T=1": ("endings", "readme", "examples"),
    "ignore:Empty topics": ("topics", "readme", "examples"),
    "ignore:Topics that are near copies": ("topics", "readme", "examples"),
}


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Exclude collected tests and imported modules from garbage collections."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest deselects deep tests
def pytest_collection_modifyitems(items):
    counts = Counter()
    for item in items:
        thin_out(item, counts)
    for module in {item.parent.getparent(pytest.Module) for item in items} - {None}:
        for warning, names in SHORT_FITS.items():
            # doctests must not warn, because users copy them
            if module.path.name.startswith("test_") and not any(
                name in module.path.name for name in names
            ):
                module.add_marker(pytest.mark.filterwarnings(warning), append=False)


def thin_out(item, counts):
    """Mark cases of a test with the marker ``every(n)`` as deep, except each n-th case.

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
        """Skip a test when it sets callbacks."""

        def set_callbacks(self, *callbacks):
            """Skip the test."""
            pytest.skip("callbacks need scikit-learn 1.9 or later")

        monkeypatch.setattr(
            TemperedEstimator, "set_callbacks", set_callbacks, raising=False
        )


@pytest.fixture
def plt():
    """Return pyplot with the Agg backend and no figures; close those of the test."""
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")  # those of doctests
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def pyarrow():
    pytest.importorskip("pyarrow.parquet")
    return pytest.importorskip("pyarrow")


@pytest.fixture(scope="session")
def documents():
    """Word counts of 120 documents, CSR of int32 in canonical format."""
    return documents_of()


@pytest.fixture(scope="session")
def counts(documents):
    """The counts of ``documents`` in float64."""
    return documents.astype(np.float64)


@pytest.fixture(scope="session")
def many_documents():
    """Word counts of enough documents for three blocks of rows."""
    return documents_of(700)


@pytest.fixture(scope="session")
def samples():
    """Sums of three features and noise, 120 rows of 6 values."""
    return samples_of()


@pytest.fixture(scope="session")
def texts(documents):
    """The documents of ``documents`` as strings."""
    words = np.array([f"word{v:02d}" for v in range(documents.shape[1])])
    return [
        " ".join(np.repeat(words[row.indices], row.data))
        for row in (documents[[i]] for i in range(documents.shape[0]))
    ]
