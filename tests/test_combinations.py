"""Every tempering with every learning rate and every noise."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper import SVIPlusLDA, TemperedLDA
from sktemper.learning_rates import AdaptiveRate, ConstantRate, RobbinsMonro
from sktemper.noise import SVIPlusNoise
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

TEMPERINGS = [
    None,
    Annealing(target="local_step"),
    Annealing(target="likelihood"),
    Annealing(target="posterior"),
    GlobalTempering(n_temperatures=20),
    GlobalTempering(n_temperatures=20, target="likelihood", cap=None),
    LocalTempering(n_temperatures=20),
]
RATES = [
    RobbinsMonro(),
    ConstantRate(0.2),
    AdaptiveRate("fisher", n_warmup_batches=3),
    AdaptiveRate("identity", n_warmup_batches=3),
]
NOISES = [None, SVIPlusNoise(0.3), SVIPlusNoise(0.3, "gaussian")]
TABLE = [
    *itertools.product(TEMPERINGS, RATES, NOISES, ["variational"]),
    *itertools.product(TEMPERINGS, RATES[:1] + RATES[2:3], NOISES, ["sampled"]),
]


@pytest.mark.parametrize(("tempering", "rate", "noise", "doc_update"), TABLE, ids=str)
def test_every_combination_fits_and_resumes(counts, tempering, rate, noise, doc_update):
    whole = TemperedLDA(
        3,
        doc_update=doc_update,
        tempering=tempering,
        learning_rate=rate,
        gradient_noise=noise,
        batch_size=40,
        max_iter=4,
        random_state=0,
    )
    parts = clone(whole).set_params(max_iter=2, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(counts)
        streamed = clone(whole).partial_fit(counts)
        again = pickle.loads(pickle.dumps(clone(streamed).partial_fit(counts[:80])))
        again.set_params(total_samples=None).partial_fit(counts[80:])
        parts.fit(counts)
        pickle.loads(pickle.dumps(parts)).fit(counts)
    for lda in (whole, streamed, again, parts):
        assert (lda.components_ > 0).all()
        assert np.isfinite(lda.components_).all()
        assert np.isfinite(lda.score(counts))
    assert whole.n_batch_iter_ == 12
    if noise is None or noise.distribution == "dirichlet":
        assert (whole.history_["rate_share"] == 1).all()


@pytest.mark.parametrize("tempering", ["global", "local"])
def test_shortcuts(counts, tempering):
    lda = TemperedLDA(3, tempering=tempering, batch_size=40, random_state=0)
    policy = {"global": GlobalTempering(), "local": LocalTempering()}[tempering]
    other = clone(lda).set_params(tempering=policy)
    np.testing.assert_array_equal(
        lda.fit(counts).components_, other.fit(counts).components_
    )
    nested = clone(lda).set_params(tempering__n_temperatures=7).fit(counts)
    assert nested.tempering_.n_temperatures == 7
    assert lda.tempering == tempering


def test_svi_plus_is_tempered_with_noise(counts):
    shared = {"batch_size": 40, "random_state": 0}
    named = SVIPlusLDA(3, effective_batch_size=10, **shared).fit(counts)
    general = TemperedLDA(
        3, tempering=None, gradient_noise=SVIPlusNoise(10), **shared
    ).fit(counts)
    np.testing.assert_array_equal(named.components_, general.components_)
    plain = TemperedLDA(3, tempering=None, **shared).fit(counts)
    with pytest.warns(ConvergenceWarning, match="effective batch size"):
        everything = SVIPlusLDA(3, effective_batch_size=1000, **shared).fit(counts)
    np.testing.assert_array_equal(everything.components_, plain.components_)
    assert not np.array_equal(named.components_, plain.components_)
