"""Law: the cost of a default fit.

Four times the rows take at most 4.4 times the CPU time.  No default takes more than
five times as long as its peer without a better optimum.  Memory on top of the data
stays within the number of the page on limits.  All are measured at length only.
"""

import os
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.mixture import BayesianGaussianMixture

from .draws import LENGTH, generator
from .registry import MODELS

pytestmark = [
    pytest.mark.skipif(LENGTH == 1, reason="times are measured at length only"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
#: Largest factor of the time for four times the rows, and of the time of a peer.
MOST_FOR_ROWS, MOST_OF_PEER = 4.4, 5.0
#: Rows of the smaller fit.
N_ROWS = int(os.environ.get("SKTEMPER_COST_ROWS", "40000"))
#: Megabytes on top of the data, as `doc/start/limits.md` states them.
MOST_MEMORY = 75
#: One of each model.
DEFAULTS = {model.name.split(",")[0]: model for model in reversed(MODELS)}


def cpu_seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


@pytest.mark.parametrize("name", DEFAULTS)
def test_time_is_proportional_to_rows(name):
    """That of three draws, because the number of passes of a fit varies."""
    model, random, seconds = DEFAULTS[name], generator("cost", name), np.zeros(2)
    for _ in range(3):
        X = model.draw(random, 4 * N_ROWS)
        for place, part in enumerate((X[:N_ROWS], X)):
            fit = model.make(random_state=0).fit
            times = [cpu_seconds(lambda: fit(part)) for _ in range(2)]  # noqa: B023
            seconds[place] += min(times)
    assert seconds[1] <= MOST_FOR_ROWS * seconds[0], seconds


@pytest.mark.parametrize("n_columns", [3, 30])
def test_a_default_is_as_fast_as_its_peer_or_better(n_columns):
    """The peer has the same number of components, and starts by k-means."""
    random = generator("peer", n_columns)
    centres = random.normal(0, 6, size=(5, n_columns))
    X = centres[random.integers(5, size=3000)] + random.normal(size=(3000, n_columns))
    ours = DEFAULTS["AnnealedGaussianMixture"].make(n_components=10, random_state=0)
    peer = BayesianGaussianMixture(n_components=10, random_state=0, max_iter=500)
    seconds = [cpu_seconds(lambda one=one: one.fit(X)) for one in (ours, peer)]
    if seconds[0] > MOST_OF_PEER * seconds[1]:
        assert ours.score(X) > peer.score(X), seconds


@pytest.mark.parametrize("name", DEFAULTS)
def test_memory_on_top_of_the_data(name):
    model, random = DEFAULTS[name], generator("memory", name)
    X = model.draw(random, N_ROWS)
    tracemalloc.start()
    try:
        model.make(random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert peak <= MOST_MEMORY
