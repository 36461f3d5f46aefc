"""Choice of a covariance type by evidence, with ``covariance_type="auto"``."""

import functools
import itertools
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper.gaussian_mixture import _choice, _priors
from sktemper.gaussian_mixture._estimators import model_of_type
from sktemper.gaussian_mixture._starts import sample_rows
from sktemper.moves import SplitMergeMoves
from sktemper.plotting import _mixtures

QUICK = dict(n_components=4, covariance_type="auto", random_state=0)
FEW = SplitMergeMoves(3)
unconverged = pytest.mark.filterwarnings("ignore:.*did not converge.*")


def clusters(kind, n_rows=240, n_columns=3, seed=0):
    """Return three clusters of a covariance type, and their labels."""
    random = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 3
    X = random.standard_normal((n_rows, n_columns))
    if kind == "diag":
        X *= np.resize([0.2, 1, 3, 3, 0.2, 1, 1, 3, 0.2], (n_columns, 3)).T[labels]
    if kind == "full":
        mixing = random.standard_normal((3, n_columns, n_columns))
        X = np.einsum("kij,nj,nk->ni", mixing, X, np.eye(3)[labels])
    return X + 12 * np.eye(3, n_columns)[labels], labels


def fitted(X, **parameters):
    return AnnealedGaussianMixture(**{**QUICK, "moves": FEW, **parameters}).fit(X)


@pytest.fixture(scope="module")
def diagonal():
    """Return samples of diagonal covariances, and a mixture fitted to them."""
    X, _ = clusters("diag")
    return X, fitted(X)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_the_type_is_that_of_the_data(kind):
    X, labels = clusters(kind, n_columns=8)
    mixture = fitted(X)
    assert mixture.covariance_type_ == kind
    assert adjusted_rand_score(labels, mixture.labels_) == 1


def test_rows_may_have_missing_values():
    X, labels = clusters("spherical", n_columns=8)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    mixture = fitted(X)
    assert mixture.covariance_type_ == "spherical"
    assert adjusted_rand_score(labels, mixture.labels_) > 0.9
    assert mixture.lower_bound_ == fitted(X, covariance_type="spherical").lower_bound_


@pytest.mark.every(5)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [lambda: 3, lambda: np.random.RandomState(5)])
def test_the_fit_is_that_of_the_chosen_type(seed, weighted):
    X, _ = clusters("diag")
    weight = np.arange(len(X)) % 3.0 if weighted else None

    def fit(covariance_type):
        given = {"covariance_type": covariance_type, "random_state": seed()}
        mixture = AnnealedGaussianMixture(4, moves=FEW, **given)
        return mixture.fit(X, sample_weight=weight)

    auto, told = fit("auto"), fit("diag")
    assert auto.covariance_type_ == told.covariance_type_ == "diag"
    np.testing.assert_array_equal(auto.means_, told.means_)
    for name in ("covariances_", "precisions_", "precisions_cholesky_"):
        values = getattr(told, name)
        np.testing.assert_array_equal(
            getattr(auto, name), values[..., None] * np.eye(3)
        )
    np.testing.assert_array_equal(_mixtures._full_covariances(auto), auto.covariances_)


def type_chosen_by(estimator, X, weight=None):
    models = functools.partial(model_of_type, estimator)
    n_components = estimator.n_components
    kind, _ = _choice.chosen_type(models, n_components, X, weight, lambda *line: None)
    return kind


def evidence_of(X, monkeypatch, weight=None, **parameters):
    """Return the evidence that a fit computes for each type."""
    compute, found = _choice._Comparison._evidence, {}

    def recorded(comparison, model, *given):
        kind = {2: "full", 1: "diag", 0: "spherical"}[len(model.hyper_shapes()[4])]
        found[kind], n_clusters = compute(comparison, model, *given)
        return found[kind], n_clusters

    monkeypatch.setattr(_choice._Comparison, "_evidence", recorded)
    estimator = AnnealedGaussianMixture(**{**QUICK, **parameters})
    kind = type_chosen_by(estimator, X, weight)
    monkeypatch.setattr(_choice._Comparison, "_evidence", compute)
    return kind, found


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("weights", "n_components"),
    # empty components change the constant of a Dirichlet distribution
    [("dirichlet_process", 4), ("dirichlet_distribution", 3)],
)
@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_the_evidence_is_the_bound_of_a_fit(kind, weights, n_components, monkeypatch):
    X, _ = clusters(kind, n_columns=6)
    prior = {"weight_concentration_prior_type": weights, "n_components": n_components}
    bound = fitted(X, covariance_type=kind, tol=1e-8, **prior).lower_bound_
    chosen, evidence = evidence_of(X, monkeypatch, **prior)
    assert chosen == kind
    # the few steps of a choice come much closer to the bound than the margin
    assert abs(evidence[kind] - bound) < 0.05 * _choice.MARGIN * len(X)
    monkeypatch.setattr(_choice, "STEPS", 12)
    _, converged = evidence_of(X, monkeypatch, **prior)
    assert converged[kind] == pytest.approx(bound, abs=0.01)


def test_the_evidence_decides_by_a_margin(monkeypatch):
    X, _ = clusters("spherical", n_columns=8)
    _, evidence = evidence_of(X, monkeypatch)
    prices = {"spherical": 1, "diag": 8, "full": 36}  # learned entries of the prior
    net = {kind: evidence[kind] - prices[kind] for kind in evidence}
    lead = net["spherical"] - net["full"]
    assert net["spherical"] == max(net.values()) and lead > 0
    for margin, expected in (0.9, "spherical"), (1.1, "full"):
        monkeypatch.setattr(_choice, "MARGIN", margin * lead / len(X))
        assert evidence_of(X, monkeypatch)[0] == expected


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_spherical_is_left_out_if_diagonal_is_far_behind_full(kind, monkeypatch):
    _, evidence = evidence_of(clusters(kind)[0], monkeypatch)
    assert ("spherical" in evidence) == (kind == "diag")


def test_a_diagonal_prior_of_full_covariances_costs_as_many_entries(monkeypatch):
    X, _ = clusters("diag", 200, n_columns=8)
    evidence = [0.0, 0.9 * _choice.MARGIN * len(X), -1e3]  # full, diagonal, spherical
    found = itertools.cycle(evidence)
    monkeypatch.setattr(
        _choice._Comparison, "_evidence", lambda *given: (next(found), 2)
    )
    estimator = AnnealedGaussianMixture(4)
    assert type_chosen_by(estimator, X) == "diag"
    X[:100, 0], X[100:, 1] = np.nan, np.nan  # never seen together
    assert type_chosen_by(estimator, X) == "full"


def test_full_covariances_are_compared_with_as_many_clusters(monkeypatch):
    X, _ = clusters("full", 200, n_columns=2)
    lead = 2 * _choice.MARGIN * len(X)
    found, asked = iter([(0.0, 1), (lead, 3), (0.0, 4), (lead, 3)]), []

    def evidence(*given):
        asked.append(given[-1])
        return next(found)

    monkeypatch.setattr(_choice._Comparison, "_evidence", evidence)
    assert type_chosen_by(AnnealedGaussianMixture(4), X) == "full"
    assert asked == [1, 1, 1, 3]


def test_weights_are_repetitions(monkeypatch):
    X, _ = clusters("diag", 90, 4)
    weight = 1.0 + np.arange(90) % 3
    _, weighted = evidence_of(X, monkeypatch, weight)
    _, repeated = evidence_of(X.repeat(weight.astype(int), axis=0), monkeypatch)
    assert weighted == pytest.approx(repeated, rel=1e-9)
    # samples with weight 0 do not change the evidence
    more = np.concatenate([X, X + 50])
    _, padded = evidence_of(more, monkeypatch, np.append(weight, np.zeros(90)))
    assert padded == pytest.approx(weighted, rel=1e-9)


def test_full_covariances_need_rows_and_few_columns():
    for given in (300, 150), (300, 32, 1), (300, 33, 66):
        assert _choice.candidates(*given) == ("full", "diag", "spherical")
    for given in (299, 150), (10_000, 151), (300, 33, 65):
        assert _choice.candidates(*given) == ("diag", "spherical")
    assert fitted(clusters("spherical", 30, 20)[0]).covariance_type_ != "full"


def test_many_rows_are_compared_by_some(monkeypatch):
    X, _ = clusters("diag", 600, 6)
    rows, weight, scale = sample_rows(X, None, 150)
    assert len(rows) == 150 and weight is None and scale == 4
    rows, weight, _ = sample_rows(X, np.arange(600) % 2.0, 150)
    assert len(rows) == 150 and (weight == 1).all()
    monkeypatch.setattr(_choice, "ENOUGH_ROWS", 150)
    assert fitted(X).covariance_type_ == "diag"


GIVEN = {"mean_precision_prior": 0.4, "degrees_of_freedom_prior": 9.0}
COVARIANCES = {"full": 5 * np.eye(3) + 1, "diag": [5.0, 6.0, 7.0], "spherical": 6.0}


class Partition(NamedTuple):
    """Clusters of rows, and the priors that are learned from them."""

    hyper: Any
    counts: Any
    statistics: Any

    def merged(self, model, *least):
        """Return the best partition after merges, and its evidence."""
        given = model, self.hyper, self.statistics, *least
        hyper, statistics, evidence = _priors.agglomerated(*given)
        return Partition(hyper, statistics[:, 0], statistics), evidence


def partition_of(kind, n_parts, weights="dirichlet_process", **given):
    """Return a model, and three clusters that are divided into parts."""
    X, labels = clusters(kind, 180, 3)
    parts = labels + 3 * (np.arange(180) % n_parts)
    estimator = AnnealedGaussianMixture(
        3 * n_parts, weight_concentration_prior_type=weights, **given
    )
    model = model_of_type(estimator, kind, 3)
    hyper, shares = model.initial_hyper(X), np.eye(3 * n_parts)[parts]
    sums = model.family_of(hyper).statistics(model.take(X, slice(None)), shares)
    return model, Partition(hyper, *sums)


def evidence_of_partition(model, partition):
    hyper, counts, statistics = partition
    family, prior = model.family_of(hyper), model.component_prior(hyper)
    sizes = np.append(counts, np.zeros(model.n_components - len(counts)))
    sizes = model.weights.evidence(sizes, hyper.weight_concentration)
    return family.evidence(prior, statistics).sum() + sizes


def greedily_merged(model, partition, least):
    """Return the best partition if the merge of most evidence is made each time."""
    best = partition
    while len(partition.counts) > least:
        merged = []
        for i, k in itertools.combinations(range(len(partition.counts)), 2):
            sums = [np.delete(part, k, 0) for part in partition[1:]]
            for own, part in zip(sums, partition[1:], strict=True):
                own[i] += part[k]
            merged.append(Partition(partition.hyper, *sums))
        family, prior = (
            model.family_of(partition.hyper),
            model.component_prior(partition.hyper),
        )
        partition = max(merged, key=lambda p: family.evidence(prior, p[2]).sum())
        best = max(best, partition, key=lambda p: evidence_of_partition(model, p))
    return best


@pytest.mark.every(5)
@pytest.mark.parametrize("weights", ["dirichlet_process", "dirichlet_distribution"])
@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("least", [1, 4])
def test_the_merges_of_most_evidence_are_made(kind, weights, least):
    given = {**GIVEN, "covariance_prior": COVARIANCES[kind]}
    # each of five clusters has all others as neighbours
    model, (hyper, counts, statistics) = partition_of(kind, 2, weights, **given)
    partition = Partition(hyper, counts[:5], statistics[:5])
    best, most = partition.merged(model, least)
    expected = greedily_merged(model, partition, least)
    for one, other in zip(best[1:], expected[1:], strict=True):
        np.testing.assert_allclose(one, other)
    assert most == pytest.approx(evidence_of_partition(model, expected))


@pytest.mark.parametrize("is_diagonal", [False, True])
@pytest.mark.parametrize("kind", COVARIANCES)
def test_merges_learn_priors(kind, is_diagonal):
    model, partition = partition_of(kind, 4)
    hyper = partition.hyper._replace(is_diagonal=is_diagonal and kind == "full")
    best, most = partition._replace(hyper=hyper).merged(model)
    np.testing.assert_allclose(best.counts, 60)
    assert most == pytest.approx(evidence_of_partition(model, best))
    assert most > evidence_of_partition(model, best._replace(hyper=hyper)) + 1
    if kind == "full":
        correlated = np.count_nonzero(best.hyper.covariance) > 3
        assert correlated != is_diagonal


@pytest.mark.every(2)
@unconverged
@pytest.mark.parametrize(
    "cls", [TemperedGaussianMixture, AnnealedGaussianMixture, SVIPlusGaussianMixture]
)
def test_streams_are_full_without_a_fit(cls):
    X, _ = clusters("diag")
    settings = dict(n_components=4, random_state=0, max_iter=20)
    mixture = cls(**settings).partial_fit(X)
    assert mixture.covariance_type_ == "full"
    full = cls(**settings, covariance_type="full").partial_fit(X)
    np.testing.assert_array_equal(mixture.covariances_, full.covariances_)
    mixture.fit(X)
    assert mixture.covariance_type_ == "diag"
    means = mixture.means_
    mixture.partial_fit(X + 1)
    assert mixture.covariance_type_ == "diag"
    assert not np.array_equal(mixture.means_, means)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "given",
    [
        {"priors": "scikit-learn"},
        {"covariance_prior": np.eye(3)},
        {"degrees_of_freedom_prior": 5},
    ],
)
def test_priors_that_depend_on_the_type_are_those_of_full_covariances(given):
    X, _ = clusters("diag")
    auto, full = fitted(X, **given), fitted(X, covariance_type="full", **given)
    assert auto.covariance_type_ == "full"
    np.testing.assert_array_equal(auto.covariances_, full.covariances_)


def test_a_mixture_that_cannot_be_fitted_raises_its_own_error():
    X = np.zeros((20, 2))
    X[0] = 1e200
    with pytest.raises(ValueError) as full:
        fitted(X, covariance_type="full")
    with pytest.raises(type(full.value)) as auto:
        fitted(X)
    assert str(auto.value) == str(full.value)


def test_a_new_fit_chooses_again_and_an_error_leaves_the_old_fit(diagonal):
    X, mixture = diagonal[0], pickle.loads(pickle.dumps(diagonal[1]))
    mixture.set_params(covariance_prior=-1.0)
    with pytest.raises(ValueError, match="covariance_prior"):
        mixture.fit(X)
    assert mixture.covariance_type_ == "diag"
    np.testing.assert_array_equal(mixture.predict(X), diagonal[1].predict(X))
    X, _ = clusters("spherical", n_columns=8)
    mixture.set_params(covariance_prior=None).fit(X)
    assert mixture.covariance_type_ == "spherical"
    told = mixture.set_params(covariance_type="full").fit(X)
    assert told.covariance_type_ == "full"
