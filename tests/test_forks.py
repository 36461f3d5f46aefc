"""Fits in a forked child process, after the parent has fitted with threads."""

import os
import subprocess
import sys

import pytest

#: Largest number of seconds of a child process.
LONGEST = 60

SCRIPT = """if True:
    import os, signal, sys, threading, warnings

    import numpy as np
    from scipy import sparse
    from sklearn.cluster import KMeans

    import sktemper
    from sktemper._utils import _tasks

    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    samples = random.normal(size=(200, 4))
    counts = sparse.csr_array(random.poisson(0.3, size=(100, 20)).astype(float))
    DATA = {"GaussianMixture": samples, "FactorialMixture": samples}
    small = dict(max_iter=2, n_jobs=2, random_state=0)

    def fit(name, **parameters):
        X = DATA.get(name.removeprefix("Annealed"), counts)
        return getattr(sktemper, name)(3, **small | parameters).fit(X)

    def all_kinds():
        for family in ("LDA", "FactorialMixture", "GaussianMixture",
                       "MatrixFactorization", "MultinomialMixture",
                       "BernoulliMixture"):
            fit("Annealed" + family)
        for init in ("kmeans", "k-means++", "random", "random_from_data"):
            fit("AnnealedGaussianMixture", init_params=init, moves=None)
        fit("ImplicitFactorization").recommend(counts)

    KMeans(3, n_init=1).fit(samples)  # GNU's OpenMP now has threads
    fit("AnnealedLDA")
    held = threading.Event()

    def hold():  # a lock, by a thread that the child does not have
        with _tasks._limit.lock:
            held.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(int(sys.argv[1]))
        all_kinds()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os._exit(0 if status == 0 else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_fits_in_a_forked_child_return():
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-P", "-W", "ignore", "-c", SCRIPT, str(LONGEST)]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=3 * LONGEST
    )
    assert run.returncode == 0, run.stderr
