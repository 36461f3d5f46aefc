"""Ascents of mixtures by the methods of the model, beside single steps."""

import numpy as np
import pytest

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
)
from sktemper._families import MixtureModel
from sktemper.model import IllDefined
from sktemper.model._contract import Ascent
from sktemper.moves import MoveSequence, ReheatMoves, SplitMergeMoves

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(4, size=240)
ODDS = RANDOM.beta(0.5, 0.5, size=(4, 10))
BITS = (RANDOM.random((240, 10)) < ODDS[LABELS]).astype(float)
SHARES = ODDS / ODDS.sum(axis=1, keepdims=True)
CASES = {
    "Bernoulli": (AnnealedBernoulliMixture, BITS),
    "Bernoulli with gaps": (
        AnnealedBernoulliMixture,
        np.where(RANDOM.random(BITS.shape) < 0.1, np.nan, BITS),
    ),
    "multinomial": (
        AnnealedMultinomialMixture,
        np.array([RANDOM.multinomial(30, SHARES[k]) for k in LABELS]),
    ),
    "mixed": (
        AnnealedMixedMixture,
        np.column_stack([BITS[:, :4], RANDOM.normal(LABELS[:, None], 0.4)]),
    ),
}
MOVES = MoveSequence([SplitMergeMoves(), ReheatMoves()])


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_fits_have_the_bits_of_single_steps(name, is_weighted, monkeypatch):
    estimator, X = CASES[name]
    weight = RANDOM.integers(0, 3, size=240) / 2.0 if is_weighted else None
    calls, take = [], MixtureModel.ascent
    fits = []
    for ascent in (
        lambda *given: calls.append(given) or take(*given),
        lambda self, *given: None,
    ):
        monkeypatch.setattr(MixtureModel, "ascent", ascent)
        mixture = estimator(6, moves=MOVES, tol=1e-2, random_state=0)
        fits.append(mixture.fit(X, sample_weight=weight))
    assert calls
    (one, other), (history, known) = fits, [fit.history_ for fit in fits]
    for column in known.keys() - {"seconds", "move_seconds"}:
        np.testing.assert_array_equal(history[column], known[column])
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.lower_bound_ == other.lower_bound_


def test_a_step_that_is_not_finite_is_not_taken():
    estimator, X = CASES["Bernoulli"]
    mixture = estimator(3, moves=None, random_state=0).fit(X)
    with mixture._fitted_problem(X) as problem:
        model = problem.model
    state = mixture._state()
    ascent = model.ascent(model.take(X, slice(None)), state.hyper)
    ascent.start(state.globals_, state.hyper)
    powers, flags = np.ones((2, 3)), np.full(2, Ascent.WATCHED, dtype=np.intc)
    powers[1, 0] = 1e308  # the parameters overflow
    limits = np.array([-np.inf, 0.0, 0.0, -np.inf, 0.0])
    with np.errstate(all="ignore"):
        status, n_done, *_ = ascent.run(powers, flags, 2, limits, np.nan, 1e308)
    assert status == Ascent.ILL_DEFINED and n_done < 2
    assert isinstance(ascent.ill_defined(), IllDefined)
    globals_, hyper = ascent.parameters()
    model.prepare(globals_, hyper)
    assert all(np.isfinite(array).all() for array in globals_.arrays())
