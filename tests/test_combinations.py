"""Every model with every tempering, every learning rate and every noise."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from fits import NOISES, RATES, TEMPERINGS, data_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from sktemper import (
    AnnealedFactorialMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    SVIPlusFactorialMixture,
    SVIPlusLDA,
    SVIPlusMatrixFactorization,
    TemperedFactorialMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper.moves import BirthMoves
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import RampSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

MODELS = {
    "lda": TemperedLDA(3, doc_update="variational"),
    "sampled lda": TemperedLDA(3, doc_update="sampled"),
    "mixture": TemperedFactorialMixture(3, moves=BirthMoves(n_moves=2)),
    "factorised mixture": TemperedFactorialMixture(
        3, posterior="factorised", noise_variance=0.02, inclusion_probability=0.4
    ),
    "factorization": TemperedMatrixFactorization(3),
    "factorization as given": TemperedMatrixFactorization(
        3,
        biases=False,
        global_mean=3.0,
        noise_variance=0.1,
        component_variance=1.0,
        temperature_of="rating",
    ),
}
TABLE = [
    *itertools.product(["lda", "mixture", "factorization"], TEMPERINGS, RATES, NOISES),
    *itertools.product(
        ["sampled lda", "factorised mixture", "factorization as given"],
        TEMPERINGS,
        RATES[:1] + RATES[2:3],
        NOISES,
    ),
]


def assert_valid(fitted, X):
    """All parameters are in their domain."""
    assert np.isfinite(fitted.components_).all()
    assert np.isfinite(fitted.score(X))
    transformed = fitted.transform(X)
    if isinstance(fitted, TemperedMatrixFactorization):
        assert np.isfinite(transformed).all()
        np.linalg.cholesky(fitted.item_covariances_)
        np.linalg.cholesky(fitted.user_covariances_)
    else:
        assert ((transformed >= 0) & (transformed <= 1)).all()
    if isinstance(fitted, TemperedLDA):
        assert (fitted.components_ > 0).all()
    else:
        assert fitted.noise_variance_ > 0
    if isinstance(fitted, TemperedFactorialMixture):
        np.linalg.cholesky(fitted.components_covariance_)


@pytest.mark.parametrize(("name", "tempering", "rate", "noise"), TABLE, ids=str)
def test_every_combination_fits_and_resumes(name, tempering, rate, noise):
    whole = clone(MODELS[name]).set_params(
        tempering=tempering,
        learning_rate=rate,
        gradient_noise=noise,
        batch_size=40,
        max_iter=4,
        random_state=0,
    )
    X = data_of(whole).astype(np.float64)
    parts = clone(whole).set_params(max_iter=2, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(X)
        streamed = clone(whole).partial_fit(X)
        again = pickle.loads(pickle.dumps(clone(streamed).partial_fit(X[:80])))
        again.set_params(total_samples=None).partial_fit(X[80:])
        parts.fit(X)
        parts = pickle.loads(pickle.dumps(parts)).fit(X)
    for fitted in (whole, streamed, again, parts):
        assert_valid(fitted, X)
    assert whole.n_batch_iter_ == parts.n_batch_iter_ == 12
    if noise is None or noise.distribution == "dirichlet":
        assert (whole.history_["rate_share"] == 1).all()


FAMILIES = {
    "lda": (TemperedLDA, SVIPlusLDA, AnnealedLDA),
    "mixture": (
        TemperedFactorialMixture,
        SVIPlusFactorialMixture,
        AnnealedFactorialMixture,
    ),
    "factorization": (
        TemperedMatrixFactorization,
        SVIPlusMatrixFactorization,
        AnnealedMatrixFactorization,
    ),
}
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


@each_family
@pytest.mark.parametrize("tempering", ["global", "local"])
def test_shortcuts(family, tempering):
    named = family[0](3, tempering=tempering, batch_size=40, random_state=0)
    X = data_of(named)
    policy = {"global": GlobalTempering(), "local": LocalTempering()}[tempering]
    other = clone(named).set_params(tempering=policy)
    np.testing.assert_array_equal(named.fit(X).components_, other.fit(X).components_)
    nested = clone(named).set_params(tempering__n_temperatures=7).fit(X)
    assert nested.tempering_.n_temperatures == 7
    assert named.tempering == tempering


@each_family
def test_svi_plus_is_tempered_with_noise(family):
    general, svi_plus, _ = family
    shared = {"batch_size": 40, "random_state": 0}
    named = svi_plus(3, effective_batch_size=10, **shared)
    X = data_of(named)
    named.fit(X)
    same = general(3, tempering=None, gradient_noise=SVIPlusNoise(10), **shared).fit(X)
    np.testing.assert_array_equal(named.components_, same.components_)
    plain = general(3, tempering=None, **shared).fit(X)
    with pytest.warns(ConvergenceWarning, match="effective batch size"):
        everything = svi_plus(3, effective_batch_size=1000, **shared).fit(X)
    np.testing.assert_array_equal(everything.components_, plain.components_)
    assert not np.array_equal(named.components_, plain.components_)


@each_family
def test_nested_parameters_of_an_effective_batch_size(family):
    general, svi_plus, _ = family
    for size, start in ((0.5, 50), (0.1, 50), (20, 20), (RampSchedule(7), 7)):
        named = svi_plus(effective_batch_size=size)
        named.set_params(effective_batch_size__slope=3)
        ramp = named.effective_batch_size
        assert (ramp.start, ramp.slope) == (start, 3)
        assert (ramp is size) == isinstance(size, RampSchedule)
    other = general(gradient_noise=SVIPlusNoise(20))
    other.set_params(gradient_noise__effective_batch_size__slope=3)
    assert repr(other.gradient_noise.effective_batch_size) == repr(RampSchedule(20, 3))
    with pytest.raises(ValueError, match="Invalid parameter 'slop'"):
        svi_plus().set_params(effective_batch_size__slop=3)
    with pytest.raises(InvalidParameterError, match="slope"):
        X = data_of(named)
        svi_plus().set_params(effective_batch_size__slope=-3).fit(X)


@each_family
@pytest.mark.parametrize("target", ["local_step", "likelihood", "posterior"])
def test_annealed_is_tempered_by_a_schedule(family, target):
    general, _, annealed = family
    shared = {"batch_size": 40, "random_state": 0}
    named = annealed(3, target=target, **shared)
    X = data_of(named)
    moves = {"moves": named.moves} if hasattr(named, "moves") else {}
    same = general(3, tempering=Annealing(target=target), **shared, **moves).fit(X)
    np.testing.assert_array_equal(named.fit(X).components_, same.components_)
