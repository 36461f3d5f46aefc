"""Kinds of columns of numbers that are chosen by the shapes of their distributions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import skewnorm
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedMixedMixture
from sktemper._estimator._shapes import has_modes, second_class_gain, shape_of
from sktemper._utils._values import Values
from sktemper.mixed_mixture._columns import describe
from sktemper.mixed_mixture._model import MixedMixtureModel

SHAPES = {
    "normal": (lambda r, n: r.normal(10.0, 2.0, n), "gaussian"),
    "log-normal": (lambda r, n: r.lognormal(8.0, 0.8, n), "lognormal"),
    "rounded": (lambda r, n: np.round(r.lognormal(8.0, 0.7, n), -2), "lognormal"),
    "exponential": (lambda r, n: r.exponential(2.0, n), "histogram"),
    "gamma": (lambda r, n: r.gamma(2.0, 1.5, n), "histogram"),
    "geometric": (lambda r, n: r.geometric(0.1, n), "histogram"),
    "Pareto": (lambda r, n: r.pareto(1.5, n) + 1.0, "histogram"),
    "t": (lambda r, n: r.standard_t(3, n), "histogram"),
    "uniform": (lambda r, n: r.random(n), "histogram"),
    "half zeros": (
        lambda r, n: np.where(r.random(n) < 0.5, 0.0, r.normal(0.0, 1.0, n)),
        "histogram",
    ),
    "two modes": (lambda r, n: r.normal(5.0 * (r.random(n) < 0.3), 1.0), "gaussian"),
    "few values": (lambda r, n: r.integers(1, 6, n) / 2.0, "histogram"),
}


def drawn(shape, n=1000, seed=0):
    return SHAPES[shape][0](np.random.default_rng(seed), n).astype(float)


def counted(numbers):
    values, counts = np.unique(numbers, return_counts=True)
    return values, counts.astype(float)


def described(numbers, kind):
    return describe(Values("x", numbers), kind)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_have_their_kinds(shape):
    numbers, weight = counted(drawn(shape))
    assert shape_of(numbers, weight) == SHAPES[shape][1]
    mixed = np.random.default_rng(0).permutation(len(numbers))
    assert shape_of(numbers[mixed], weight[mixed]) == SHAPES[shape][1]
    # few rows do not have the evidence, or need no other kind
    assert shape_of(numbers[:3], np.ones(3)) == "gaussian"


def test_classes_of_a_table_of_numbers_are_seen_in_the_shapes():
    """Two normal classes without a valley are flat; an exponential column is not."""
    random = np.random.default_rng(0)
    flat = counted(random.normal(3.0 * (random.random(2000) < 0.4), 1.0))
    assert not has_modes(*flat)
    assert shape_of(*flat) == "histogram"
    assert shape_of(*flat, only_numbers=True) == "gaussian"
    skewed = counted(drawn("exponential"))
    assert shape_of(*skewed, only_numbers=True) == "histogram"


@pytest.mark.parametrize(
    "shape", ["log-normal", "exponential", "geometric", "half zeros", "t", "uniform"]
)
def test_independent_columns_give_one_class(shape):
    random = np.random.default_rng(1)
    codes = random.integers(0, [2, 3, 4, 5], (500, 4))
    X = pd.DataFrame(codes, columns=list("abcd")).astype(str)
    X["x"] = drawn(shape, 500, 1)
    mixture = AnnealedMixedMixture(10, random_state=0).fit(X)
    assert mixture.n_active_components_ == 1
    assert mixture.kinds_["x"] == SHAPES[shape][1]


@pytest.fixture(scope="module")
def survey():
    """Four classes, and columns that are skewed, counted, half zero and normal."""
    random = np.random.default_rng(3)
    y = random.choice(4, 1000, p=[0.35, 0.3, 0.2, 0.15])
    X = pd.DataFrame(
        {
            f"item{number}": np.where(random.random(1000) < 0.8, y, codes).astype(str)
            for number, codes in enumerate(random.integers(0, 4, (3, 1000)))
        }
    )
    X["money"] = random.lognormal(8.0 + 0.7 * y, 0.6)
    X["visits"] = random.geometric(1.0 / (1.0 + 2.0 * np.exp(0.6 * y)))
    X["gifts"] = np.where(random.random(1000) < 0.2 + 0.2 * y, 0, random.exponential(5))
    X["score"] = random.normal(y, 1.0)
    X = X.astype({name: float for name in ("money", "visits", "gifts")})
    return X.mask(np.random.default_rng(0).random(X.shape) < 0.05), y


@pytest.fixture(scope="module")
def fitted(survey):
    return AnnealedMixedMixture(10, random_state=0).fit(survey[0])


def test_a_survey_of_four_classes(survey, fitted):
    X, y = survey
    assert fitted.n_active_components_ == 4
    assert adjusted_rand_score(y, fitted.labels_) > 0.92
    names = ["money", "visits", "gifts", "score"]
    kinds = [fitted.kinds_[name] for name in names]
    assert kinds == ["lognormal", "histogram", "histogram", "gaussian"]
    for given in ("lognormal", ["auto"], {"money": "auto"}):
        other = AnnealedMixedMixture(10, random_state=0, kinds=given)
        assert other.fit(X[["money"]]).kinds_ == {"money": "lognormal"}


def test_samples_and_imputed_values_have_the_units_of_columns(survey, fitted):
    X, y = survey
    drawn, components = fitted.sample(4000)
    assert adjusted_rand_score(components, fitted.predict(drawn)) > 0.9
    for name in ("money", "visits", "gifts"):
        assert drawn[name].mean() == pytest.approx(X[name].mean(), rel=0.1)
        assert drawn[name].median() == pytest.approx(X[name].median(), rel=0.1)
        assert drawn[name].min() >= 0 and drawn[name].max() < 3 * X[name].max()
    assert (drawn["visits"] == drawn["visits"].round()).all()
    assert (drawn["gifts"] == 0).mean() == pytest.approx((X["gifts"] == 0).mean(), 0.1)
    filled = fitted.impute(X)
    for name in ("money", "visits"):
        gaps = X[name].isna()
        means = X[name].groupby(y).mean()[y[gaps]]
        assert np.corrcoef(filled[name][gaps], means)[0, 1] > 0.8
        assert filled[name][gaps].mean() == pytest.approx(means.mean(), rel=0.15)


def test_profiles_of_logarithms_have_medians(survey, fitted):
    X, _ = survey
    table = fitted.profiles().query("item == 'money'").set_index(["class", "option"])
    labels = fitted.labels_
    for k in np.unique(labels):
        own = X["money"][labels == k].dropna()
        median, spread = table.loc[k, "median"], table.loc[k, "log sd"]
        assert median["mean"] == pytest.approx(np.exp(np.log(own).mean()), rel=0.1)
        assert median["low"] < median["mean"] < median["high"]
        assert spread["mean"] == pytest.approx(np.log(own).std(), rel=0.15)


@pytest.mark.filterwarnings("ignore:sample_weight sums to")
def test_parts_weights_and_pickles_have_the_same_kinds(survey, fitted):
    X, _ = survey
    rows = X.to_numpy(object)
    parts = [rows[:300], rows[300:]]
    names = list(X)
    of_parts = AnnealedMixedMixture(10, random_state=0, max_iter=2).fit(parts)
    assert list(of_parts.kinds_.values()) == list(fitted.kinds_.values())
    halved = AnnealedMixedMixture(10, random_state=0, max_iter=2)
    halved.fit(pd.concat([X, X]), sample_weight=np.full(2 * len(X), 0.5))
    assert halved.columns_ == fitted.columns_ and list(halved.kinds_) == names
    same = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(same.score_samples(X), fitted.score_samples(X))


def test_a_stream_keeps_the_kinds_of_its_first_chunk():
    random = np.random.default_rng(0)
    mixture = AnnealedMixedMixture(3, random_state=0)
    mixture.partial_fit(random.lognormal(size=(500, 2)))
    columns = mixture.columns_
    assert set(mixture.kinds_.values()) == {"lognormal"}
    with pytest.warns(UserWarning, match="Column 0 of X: \\[-1.0, 0.0\\]"):
        mixture.partial_fit([[0.0, 1.0], [-1.0, 2.0]])
    assert mixture.columns_ == columns


def test_a_lognormal_column_is_a_normal_column_of_logarithms():
    random = np.random.default_rng(0)
    y = random.integers(2, size=300)
    X = random.lognormal(np.column_stack([3.0 * y, 5.0 - 2.0 * y]), 0.5)
    X[random.random(X.shape) < 0.1] = np.nan
    settings = {"max_iter": 30, "random_state": 0}
    one = AnnealedMixedMixture(4, kinds="lognormal", **settings).fit(X)
    other = AnnealedMixedMixture(4, kinds="gaussian", **settings).fit(np.log(X))
    Z = np.exp(random.normal(1.0, 2.0, (50, 2)))
    shares = other.predict_proba(np.log(Z))
    np.testing.assert_allclose(one.predict_proba(Z), shares, atol=1e-8)
    expected = other.score_samples(np.log(Z)) - np.log(Z).sum(axis=1)
    np.testing.assert_allclose(one.score_samples(Z), expected)
    # a value of density zero is missing, in a frame of one row too
    with pytest.warns(UserWarning, match="lognormal"):
        found = one.predict_proba([[0.0, 7.0]])
    np.testing.assert_array_equal(found, one.predict_proba([[np.nan, 7.0]]))
    with pytest.raises(ValueError, match="not positive"):
        AnnealedMixedMixture(2, kinds="lognormal").fit(-X)


def test_a_column_without_values_has_one_interval():
    column = described(np.full(3, np.nan), "histogram")
    assert column.n_options == len(column.lengths) == len(column.ends) == 1


@pytest.mark.parametrize("kind", ["lognormal", "histogram"])
def test_the_unit_of_a_column_multiplies_the_integrals_of_its_powers(kind):
    """The integral of (p(x / s) / s)^b over x is s^(1 - b) times that of p^b."""
    ladder, X, logs = np.array([1.0, 0.5, 0.1]), drawn("log-normal", 50), []
    for unit in (1.0, 3.0):
        column = described(unit * X, kind)
        model = MixedMixtureModel(2, 1, columns=(column,))
        hyper = model.initial_hyper(unit * X[:, None])
        partition = model.log_partition(ladder, hyper, np.random.default_rng(1))
        logs.append(partition.of_rows(np.ones(1))[0])
    expected = (1.0 - ladder) * np.log(3.0)
    np.testing.assert_allclose(logs[1] - logs[0], expected, atol=1e-9)


def test_the_gain_of_a_second_class_follows_the_divergence():
    """It is the divergence from the normal distribution where both are close."""
    law = skewnorm(1.2)
    x = np.linspace(-6.0, 8.0, 4001)
    weight = law.pdf(x) * (x[1] - x[0])
    gain, _ = second_class_gain(x, weight)
    entropy = 0.5 * np.log(2 * np.pi * np.e * law.var())
    assert gain == pytest.approx(entropy - law.entropy(), rel=0.15)
