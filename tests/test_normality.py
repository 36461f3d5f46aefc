"""The test of normality that decides whether births are proposed."""

import numpy as np
import pytest
from scipy import stats

from sktemper import AnnealedGaussianMixture
from sktemper.gaussian_mixture._estimators import model_of_type
from sktemper.gaussian_mixture._model import _kurtosis_of_samples, are_normal
from sktemper.moves import BirthMoves, MoveSequence, SplitMergeMoves

TYPES = "full", "diag", "spherical", "tied"
LAWS = {
    "normal": stats.norm(),
    "t": stats.t(4),
    "exponential": stats.expon(),
    "uniform": stats.uniform(),
}


def passes(X, covariance_type, labels, weight=None):
    mixture = AnnealedGaussianMixture(2, covariance_type=covariance_type)
    model = model_of_type(mixture, covariance_type, X.shape[1])
    weight = np.ones(len(X)) if weight is None else weight
    hyper = model.initial_hyper(X, weight)
    family, block = model.family_of(hyper).alone, model.take(X, slice(None))
    return are_normal(family, block, np.eye(2)[labels], weight)


@pytest.mark.every(3)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("covariance_type", TYPES)
def test_normal_components_pass(covariance_type, law):
    random, passed = np.random.default_rng(0), []
    for n_columns in (1, 2, 5) * 7:
        X = LAWS[law].rvs((400, n_columns), random_state=random)
        X[:200] = random.normal(size=(200, n_columns)) + 30
        passed.append(passes(100 + X, covariance_type, np.arange(400) // 200))
    # two tests of two components, at about two standard deviations
    assert np.mean(passed) > 0.8 if law == "normal" else np.mean(passed) < 0.25


@pytest.mark.parametrize("covariance_type", TYPES)
def test_a_weight_is_a_number_of_rows(covariance_type):
    random = np.random.default_rng(1)
    for _ in range(20):
        X, weight = random.standard_t(9, size=(150, 2)), random.integers(0, 3, 150)
        rows, labels = np.repeat(np.arange(150), weight), np.zeros(150, dtype=int)
        weighted = passes(X, covariance_type, labels, weight.astype(float))
        assert weighted == passes(X[rows], covariance_type, labels[rows])


def test_few_rows_do_not_pass():
    X = np.random.default_rng(2).normal(size=(60, 3))
    assert passes(X[:16], "full", np.zeros(16, dtype=int)) is False
    labels = np.repeat([0, 1], [50, 10])
    assert passes(X, "spherical", np.zeros(60, dtype=int))
    assert passes(X, "spherical", labels)


@pytest.mark.parametrize("law", ["normal", "t"])
def test_births_are_proposed_where_components_are_not_normal(law):
    random = np.random.default_rng(3)
    X = (
        LAWS[law].rvs((600, 2), random_state=random)
        + 20 * (np.arange(600) % 2)[:, None]
    )
    moves = MoveSequence([SplitMergeMoves(), BirthMoves(patience=3, only_misfits=True)])
    mixture = AnnealedGaussianMixture(3, moves=moves, random_state=0).fit(X)
    kept = mixture.history_["move_kept"].tolist()
    alone = mixture.set_params(moves=SplitMergeMoves()).fit(X)
    n_births = len(kept) - len(alone.history_["move_kept"])
    assert n_births == 0 if law == "normal" else n_births >= 3


@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize("shape", [(20, 3), (45, 12)])
def test_moments_of_the_kurtosis_of_few_rows(shape, is_full):
    X = np.random.default_rng(0).normal(size=(4000, *shape))
    X -= X.mean(axis=1, keepdims=True)
    covariances = np.einsum("snd,sne->sde", X, X) / shape[0]
    if not is_full:
        covariances *= np.eye(shape[1])
    squares = (X * np.linalg.solve(covariances, X.swapaxes(1, 2)).swapaxes(1, 2)).sum(
        axis=2
    )
    found = (squares**2).mean(axis=1)
    mean, variance = _kurtosis_of_samples(*shape, is_full)
    assert found.mean() == pytest.approx(mean, abs=4 * (found.var() / 4000) ** 0.5)
    assert (0.9 if is_full else 0.5) * variance < found.var() < 1.1 * variance
