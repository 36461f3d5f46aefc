"""The package with older versions of scikit-learn, which lack callbacks."""

import functools
import subprocess
import sys

import numpy as np
import pytest

import sktemper  # noqa: F401, it imports scikit-learn's modules

FIT = """
import numpy as np
from sktemper import AnnealedLDA

X = np.random.default_rng(0).poisson(0.5, (60, 20))
lda = AnnealedLDA(3, max_iter=4, batch_size=20, n_init=2, random_state=0)
lda.set_params(n_iter_no_change=2, schedule=lambda t: 1.0).fit(X)
lda.set_params(warm_start=True, n_init=1, max_iter=2).fit(X)
"""


#: Code that hides scikit-learn's callbacks from the package.
WITHOUT = """
import importlib, sys

for name in {names}:
    importlib.import_module(name)
sys.modules["sklearn.callback"] = None
"""


ANSWERS = """
from sktemper import AnnealedLDA

lda = AnnealedLDA(2)
print(hasattr(lda, "set_callbacks"))
try:
    lda.set_callbacks()
except AttributeError as error:
    print(error)
"""


@functools.cache
def answers():
    """Return whether estimators have `set_callbacks`, its error, and bits of a fit.

    One process, in which scikit-learn has no callbacks, computes all of them.
    """
    names = [name for name in sys.modules if name.startswith("sklearn.")]
    without = WITHOUT.format(names=[n for n in names if ".tests" not in n])
    bits = FIT + "print(lda.components_.tobytes().hex())"
    ran = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", without + ANSWERS + bits],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.deep  # the import takes long
def test_without_callbacks_there_is_no_method_that_sets_them():
    absent, message, _ = answers()
    assert absent == "False"
    assert message.startswith("AnnealedLDA has no set_callbacks with scikit-learn ")
    assert message.endswith("callbacks need scikit-learn 1.9 or later.")


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.machine
def test_without_callbacks_fits_have_the_same_bits():
    """The fits have two starts, early stopping, and a continuation by warm_start."""
    namespace = {}
    exec(FIT, namespace)
    expected = namespace["lda"].components_
    found = np.frombuffer(bytes.fromhex(answers()[-1]), expected.dtype)
    np.testing.assert_array_equal(found, expected.ravel())
