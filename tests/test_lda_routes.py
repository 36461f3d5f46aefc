"""All alternative implementations (routes) of LDA's local step give equal results."""

import platform

import numpy as np
import pytest
from test_lda_model import local

from sktemper.lda import _kernels
from sktemper.lda._model import LDAModel, Topics
from sktemper.model import Powers

VARIABLE = "SKTEMPER_LDA_ROUTES"
# Without vector types, as with Microsoft's compiler, all documents are optimized alone.
HAS_VECTORS = not platform.python_compiler().startswith("MSC")
N = 40
each_dtype = pytest.mark.parametrize(
    ("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 3e-5)]
)


def problem(n_topics, dtype):
    """Return a model, topics, and documents of different lengths; one is empty."""
    random = np.random.default_rng(0)
    lengths = random.integers(0, 60, N)
    lengths[3] = 0
    shares = random.dirichlet(np.full(90, 0.3), N)
    X = np.array([random.multinomial(*a) for a in zip(lengths, shares, strict=True)])
    model = LDAModel(
        n_topics,
        90,
        np.full(n_topics, 0.2),
        np.atleast_2d(0.1),
        dtype=dtype,
        tol=1e-12 if dtype is np.float64 else 1e-6,
        max_iter=5000,
    )
    lambda_ = random.gamma(1.0, 1.0, (90, n_topics)) + 0.05
    return model, Topics.from_dense(lambda_, model.topic_word_prior.T), X


def results(step):
    return step.statistics.dense(), step.local_parameters, step.row_bounds


@pytest.mark.every(5)
@each_dtype
@pytest.mark.parametrize("n_topics", [1, 3, 20, 49, 130, 300])
@pytest.mark.parametrize("power", ["one", "half", "own"])
@pytest.mark.machine
def test_optimized_documents(n_topics, dtype, rtol, power, monkeypatch):
    """The sizes choose one of two routes; their results differ only by rounding."""
    model, topics, X = problem(n_topics, dtype)
    own = np.linspace(0.4, 1.0, N)
    powers = Powers(local={"one": 1.0, "half": 0.5, "own": own}[power])
    found = {}
    for route in ("", "abreast", "alone"):
        monkeypatch.setenv(VARIABLE, route)
        found[route] = results(local(model, X, topics, powers))
    for one, other in zip(found["abreast"], found["alone"], strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)
    same = {
        route: all(map(np.array_equal, found[""], found[route]))
        for route in ("abreast", "alone")
    }
    if HAS_VECTORS and n_topics > 1:
        assert not all(map(np.array_equal, found["abreast"], found["alone"]))
        if n_topics == 3:
            assert same["abreast"]
    if n_topics == 300:
        assert same["alone"]


@pytest.mark.parametrize("routes", ["abreast,alone", "lanes,chains", "fast"])
def test_routes_that_cannot_be_are_refused(routes, monkeypatch):
    model, topics, X = problem(3, np.float64)
    monkeypatch.setenv(VARIABLE, routes)
    with pytest.raises(ValueError, match=VARIABLE):
        local(model, X, topics, Powers())


def test_routes_are_named(monkeypatch):
    monkeypatch.setenv(VARIABLE, "alone,chains")
    assert _kernels.forced_routes() == {"alone", "chains"} < set(_kernels.ROUTES)
    monkeypatch.delenv(VARIABLE)
    assert _kernels.forced_routes() == set()
