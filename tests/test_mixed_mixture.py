"""The mixture for tables with columns of several kinds."""

import pickle
import warnings
from datetime import date
from itertools import pairwise
from threading import Event, Thread

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from fits import fitted_model
from registry import mixed_of
from scipy import sparse
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import poisson
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from sktemper import (
    AnnealedMixedMixture,
    TemperedMatrixFactorization,
    TemperedMixedMixture,
)
from sktemper._engine._data import InMemory
from sktemper.learning_rates import HalfLife
from sktemper.mixed_mixture._columns import Column
from sktemper.mixed_mixture._model import (
    MixedFamily,
    MixedMixtureModel,
    _count_power_sums,
)
from sktemper.model_selection import _draws, bootstrap_n_components, bootstrap_profiles
from sktemper.plotting import ClassProfilesDisplay
from sktemper.tempering import LocalTempering


def survey(n_samples=600, seed=0, gaps=0.1):
    """Return a data frame of answers of three classes, and the classes."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n_samples)

    def options(values, probabilities):
        codes = (np.cumsum(probabilities, 1)[y] < random.random((len(y), 1))).sum(1)
        return np.asarray(values, dtype=object)[codes]

    X = pd.DataFrame(
        {
            "drink": options(["tea", "coffee", "water"], np.eye(3) * 0.7 + 0.1),
            "smokes": random.random(n_samples) < np.array([0.1, 0.5, 0.9])[y],
            "mood": pd.Categorical(
                options(
                    ["low", "fair", "high"],
                    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
                ),
                ["low", "fair", "high", "never seen"],
                ordered=True,
            ),
            "likert": random.binomial(4, np.array([0.2, 0.5, 0.8])[y]) + 1,
            "visits": random.poisson(np.array([2.0, 6.0, 20.0])[y]),
            "income": random.normal(np.array([-1.0, 0.0, 2.0])[y] * 1e3 + 2e4, 1e3),
        }
    )
    return X.mask(random.random(X.shape) < gaps), y


# -- kinds of columns ------------------------------------------------------------------


def test_kinds_by_type_are_those_of_the_guide():
    X, y = survey()
    mixture = AnnealedMixedMixture(8, random_state=0).fit(X)
    assert mixture.kinds_ == {
        "drink": "categorical",
        "smokes": "categorical",
        "mood": "categorical",
        "likert": "categorical",
        "visits": "gaussian",  # counts must be declared by the user
        "income": "gaussian",
    }
    assert mixture.categories_ == {
        "drink": ["coffee", "tea", "water"],
        "smokes": [False, True],
        "mood": ["low", "fair", "high", "never seen"],
        "likert": [1, 2, 3, 4, 5],
    }
    assert mixture.n_active_components_ == 3
    assert adjusted_rand_score(y, mixture.labels_) > 0.85


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "kinds",
    [
        {"visits": "poisson", "income": "binned"},
        {4: "poisson", 0: "categorical", "income": "binned"},
        ["categorical", "binary", "categorical", "categorical", "poisson", "binned"],
    ],
    ids=["names", "numbers", "sequence"],
)
def test_kinds_are_named(kinds):
    X, y = survey()
    mixture = AnnealedMixedMixture(6, kinds=kinds, n_bins=4, random_state=0).fit(X)
    assert mixture.kinds_["visits"] == "poisson"
    assert mixture.kinds_["income"] == "binned"
    assert len(mixture.categories_["income"]) == 4
    assert adjusted_rand_score(y, mixture.labels_) > 0.85


def as_polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame(
        {
            name: pl.Series(
                [None if pd.isna(v) else v for v in X[name]],
                dtype=pl.Enum(X[name].cat.categories.to_list())
                if name == "mood"
                else None,
            )
            for name in X
        }
    )


def as_objects(X):
    return X.astype(object).where(X.notna(), None).to_numpy()


@pytest.mark.every(2)
@pytest.mark.parametrize("convert", [as_polars, as_objects], ids=["polars", "objects"])
def test_other_containers_give_the_same_bits(convert):
    X, _ = survey()
    mixture = AnnealedMixedMixture(
        4, categories={2: ["low", "fair", "high", "never seen"]}, random_state=0
    )
    one, other = clone(mixture).fit(X), clone(mixture).fit(convert(X))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(convert(X)))
    assert list(one.categories_.values()) == list(other.categories_.values())


def test_options_in_another_code_have_the_same_fit():
    X, _ = survey(300)
    mixture = AnnealedMixedMixture(3, random_state=0)
    names = {"tea": "A", "coffee": "0", "water": "Z"}  # names in another order
    other = X.assign(drink=X["drink"].map(names))
    one, two = clone(mixture).fit(X), clone(mixture).fit(other)
    assert one.lower_bound_ == pytest.approx(two.lower_bound_, abs=1e-6)


def test_a_column_of_a_data_frame_may_have_the_name_of_an_attribute():
    X = pd.DataFrame({"dtype": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    model = AnnealedMixedMixture(2, random_state=0).fit(X)
    renamed = X.rename(columns={"dtype": "drink"})
    other = AnnealedMixedMixture(2, random_state=0).fit(renamed)
    for rows in X[:1], X:
        found = other.transform(rows.rename(columns={"dtype": "drink"}))
        np.testing.assert_array_equal(model.transform(rows), found)


@pytest.fixture(scope="module")
def small():
    """Return a mixture fitted to few answers, and the answers."""
    X, _ = survey(200)
    return AnnealedMixedMixture(3, random_state=0).fit(X), X


def test_an_unknown_category_counts_as_missing_with_one_warning(small):
    mixture, X = pickle.loads(pickle.dumps(small))  # the warning comes once a model
    strange, gap = X.copy(), X.copy()
    strange.loc[:9, "drink"] = "beer"
    gap.loc[:9, "drink"] = None
    with pytest.warns(UserWarning, match="none of the categories.*'drink'.*'beer'"):
        found = mixture.predict_proba(strange)
    np.testing.assert_array_equal(found, mixture.predict_proba(gap))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixture.predict_proba(strange)
    strange.loc[3, "mood"] = None
    strange["smokes"] = strange["smokes"].astype(object).where(gap.index != 5, "often")
    with pytest.warns(UserWarning, match="Column 'smokes': \\['often'\\]$"):
        mixture.predict_proba(strange)  # another column


def test_a_row_without_values_has_the_weights(small):
    mixture, X = small
    nothing = X[:1].astype(object)
    nothing.loc[:, :] = None
    shares = mixture.predict_proba(nothing)[0]
    np.testing.assert_allclose(shares, mixture.weights_, atol=0.01)
    assert mixture.score_samples(nothing)[0] == pytest.approx(0.0, abs=1e-12)


def test_a_column_without_values_does_not_change_the_fit(small):
    one, X = small
    for empty in np.nan, [None] * 200:
        table = X.assign(empty=empty)
        with pytest.warns(UserWarning, match="Column 'empty' has no values"):
            other = clone(one).fit(table)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(table), atol=1e-9
        )


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "parameters", "message"),
    [
        (lambda X: X, {"kinds": "likert"}, "kinds must be"),
        (lambda X: X, {"kinds": {"nobody": "binary"}}, "'nobody', which is no column"),
        (lambda X: X, {"kinds": {17: "binary"}}, "17, which is no column"),
        (lambda X: X, {"kinds": ["binary"]}, "1 entries, but X has 6 columns"),
        (lambda X: X, {"kinds": {"drink": "gaussian"}}, "'drink' has values that are"),
        (lambda X: X, {"kinds": {"drink": "binary"}}, "has 3 values"),
        (lambda X: X, {"kinds": {"income": "poisson"}}, "are not counts"),
        (lambda X: X, {"categories": {"drink": ["a", "a"]}}, "not all different"),
        (lambda X: X.assign(visits=np.inf), {}, "infinity"),
        (lambda X: X[:2], {}, "Expected n_samples >= n_components"),
    ],
)
def test_bad_input_is_refused(change, parameters, message):
    X, _ = survey(50)
    with pytest.raises(ValueError, match=message):
        AnnealedMixedMixture(3, **parameters).fit(change(X))


def test_sparse_data_are_refused_as_they_are():
    X = sparse.csr_array((np.arange(1, 7), np.tile([2, 0], 3), np.arange(0, 7, 2)))
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    with pytest.raises(TypeError, match="Sparse data was passed"):
        AnnealedMixedMixture(2).fit(X)


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0])
def test_weights_are_checked_before_kinds(weight):
    X, _ = survey(50)
    with pytest.raises(ValueError, match="sample_weight"):
        AnnealedMixedMixture(3).fit(X, sample_weight=np.append(np.ones(49), weight))


def test_a_constant_of_a_chosen_normal_kind_is_named():
    X, _ = survey(50)
    mixture = AnnealedMixedMixture(2, kinds={"z": "gaussian"}, random_state=0)
    with pytest.warns(UserWarning, match="Column 'z' has one value only"):
        mixture.fit(X.assign(z=3.4))
    found = mixture.set_params(kinds="from_dtype").fit(X.assign(z=3.4))
    assert found.kinds_["z"] == "histogram"


# -- the estimators --------------------------------------------------------------------


def test_a_stream_has_the_categories_that_were_declared():
    X, y = survey(3000)
    first = X[(X["drink"] != "water") & (X["likert"] != 5)][:200]
    categories = {"drink": ["coffee", "tea", "water"], "likert": [1, 2, 3, 4, 5]}
    mixture = TemperedMixedMixture(
        4, categories=categories, tempering=None, random_state=0, total_samples=3000
    )
    mixture.partial_fit(first)
    for start in range(0, len(X), 500):
        mixture.partial_fit(X[start : start + 500])  # no warning
    assert mixture.categories_["drink"] == ["coffee", "tea", "water"]
    assert adjusted_rand_score(y, mixture.predict(X)) > 0.6
    undeclared = clone(mixture).set_params(categories=None).partial_fit(first)
    with pytest.warns(UserWarning, match="none of the categories"):
        undeclared.partial_fit(X[:500])


@pytest.mark.parametrize("bad", [0.3, (0.1, -1.0), (1.0, np.nan)])
def test_log_c_takes_a_pair_of_priors(bad):
    X = mixed_of(200)
    model = fitted_model(AnnealedMixedMixture(3, max_iter=2, random_state=0).fit(X))
    hyper = model.initial_hyper(X)
    ladder = np.array([1.0, 0.5, 0.1])

    def log_c(priors):
        random = np.random.default_rng(0)
        partition = model.log_partition(ladder, hyper, random, priors, 6)
        return partition.of_rows(np.array([0.0, 3.0]))

    own, sparser = log_c(None), log_c((0.1, 0.2))
    assert own.shape == sparser.shape == (2, 3)
    assert not np.array_equal(own[1], sparser[1])
    np.testing.assert_array_equal(own, log_c("global"))
    with pytest.raises(ValueError, match="concentrations of weights and of options"):
        log_c(bad)


def test_priors_of_columns_have_their_own_means_and_variances():
    random = np.random.default_rng(0)
    X = random.normal([0.0, 50.0, -7.0], [1.0, 3.0, 0.2], size=(40, 3))
    X[random.random(X.shape) < 0.2] = np.nan
    weight = random.integers(1, 4, size=40)
    columns = (Column("gaussian", location=1.0, scale=2.0),) * 3
    model = MixedMixtureModel(2, 3, columns=columns)
    prior = model.prior_of_component(X, weight.astype(float))
    _, means, shapes, rates = model.family.parts[-1].usual(prior[None])
    repeated = (np.repeat(X, weight, axis=0) - 1.0) / 2.0
    np.testing.assert_allclose(means[0], np.nanmean(repeated, axis=0))
    ratios = rates[0] / shapes[0] / np.nanvar(repeated, axis=0)
    np.testing.assert_allclose(ratios, ratios[0])


def test_missing_values_are_at_the_mean_in_distances():
    X = np.column_stack([[1.0, np.nan, 4.0, 7.0], [4.0, 9.0, np.nan, 1.0]])
    family = MixedFamily([Column("gaussian"), Column("poisson")])
    found = family.coordinates(family.block(X), np.ones(4))
    X[:, 1] = np.sqrt(X[:, 1])
    scaled = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    np.testing.assert_allclose(np.sort(found), np.sort(np.nan_to_num(scaled)))


def test_sparse_moments_are_those_of_each_column():
    options = Column("binned", tuple(map(str, range(60))), tuple(range(59)))
    family = MixedFamily([options, Column("gaussian"), Column("poisson")])
    X = np.array([[3.0, 1.5, 2.0], [np.nan, np.nan, 0.0], [59.0, 2.0, np.nan]])
    found = family.block(X)
    alone = [MixedFamily([family.columns[j]]).block(X[:, [j]]).moments for j in (2, 1)]
    expected = np.hstack([X[:, [0]] == np.arange(60), *alone])
    np.testing.assert_array_equal(found.moments.toarray(), expected)
    np.testing.assert_array_equal(found.known, [3, 1, 2])


# -- results ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, y = survey(1500)
    kinds = {"visits": "poisson", "likert": "binned", "income": "gaussian"}
    return AnnealedMixedMixture(5, kinds=kinds, random_state=0).fit(X), X, y


def test_profiles_are_the_shares_of_known_classes(fitted):
    mixture, X, _ = fitted
    table = mixture.profiles()
    assert list(table) == "class size item kind option mean low high".split()
    assert (np.diff(table[["low", "mean", "high"]], axis=1) >= 0).all()
    labels, shares = mixture.labels_, mixture.predict_proba(X)
    assert sorted(table["class"].unique()) == np.unique(labels).tolist()
    of_options = table[table["kind"].isin(["categorical", "binned"])]
    sums = of_options.groupby(["class", "item"])["mean"].sum()
    np.testing.assert_allclose(sums, 1.0)
    found = table.set_index(["class", "item", "option"])["mean"]
    for k in np.unique(labels):
        weight = shares[:, k]

        def mean(values, weight=weight):
            known = values.notna()
            return weight[known] @ values[known].astype(float) / weight[known].sum()

        tea = (X["drink"] == "tea").where(X["drink"].notna())
        assert found[k, "drink", "tea"] == pytest.approx(mean(tea), abs=0.01)
        assert found[k, "visits", "rate"] == pytest.approx(mean(X["visits"]), rel=0.01)
        assert found[k, "income", "mean"] == pytest.approx(mean(X["income"]), rel=0.01)
        around = (X["income"].astype(float) - found[k, "income", "mean"]) ** 2
        spread = mean(around) ** 0.5
        assert found[k, "income", "sd"] == pytest.approx(spread, rel=0.05)
    narrow = mixture.profiles(interval=0.5)
    assert (narrow["high"] - narrow["low"] < table["high"] - table["low"] + 1e-9).all()


def test_criteria_follow_their_formulas(fitted):
    mixture, X, _ = fitted
    shares = mixture.predict_proba(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(shares * np.log(shares))
    expected = 1 - entropy / (len(X) * np.log(3))
    assert mixture.entropy_r2(X) == pytest.approx(expected)
    # parameters of a class: two for drink, one for smokes, three for mood, bins of
    # likert, a rate, and two for income
    n_bins = len(mixture.categories_["likert"])
    n_parameters = 3 * (2 + 1 + 3 + n_bins - 1 + 1 + 2) + 2
    deviance = -2 * mixture.score_samples(X).sum()
    assert mixture.aic(X) == pytest.approx(deviance + 2 * n_parameters)
    bic = deviance + n_parameters * np.log(len(X))
    assert mixture.bic(X) == pytest.approx(bic)
    assert mixture.icl(X) == pytest.approx(bic + 2 * entropy)
    twice = np.full(len(X), 2.0)
    assert mixture.entropy_r2(X, twice) == pytest.approx(expected)
    assert mixture.aic(X, twice) == pytest.approx(2 * deviance + 2 * n_parameters)


def test_samples_are_like_the_data(fitted):
    mixture, X, _ = fitted
    drawn, y = mixture.sample(4000)
    assert list(drawn) == list(X) and (np.bincount(y) > 100).sum() == 3
    assert set(drawn["drink"]) == {"tea", "coffee", "water"}
    assert set(drawn["smokes"]) == {False, True}
    for name in ("visits", "income"):
        assert drawn[name].mean() == pytest.approx(
            X[name].astype(float).mean(), rel=0.05
        )
    assert adjusted_rand_score(y, mixture.predict(drawn)) > 0.8


def test_samples_have_the_library_of_the_data():
    X, _ = survey(200)
    one, other = few_steps().fit(X), few_steps().fit(as_polars(X))
    (drawn, _), (expected, _) = other.sample(30), one.sample(30)
    assert type(drawn) is type(as_polars(X))
    assert drawn.to_dict(as_series=False) == expected.to_dict("list")
    np.testing.assert_array_equal(
        other.predict_proba(drawn), one.predict_proba(expected)
    )
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"x": pl.Series(["a", 1, "b"] * 20, dtype=pl.Object)})
    drawn, _ = few_steps().fit(X).sample(30)
    assert drawn.schema == X.schema and set(drawn["x"].to_list()) == {"a", 1, "b"}


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "convert", [lambda X: X, as_polars, as_objects], ids=["pandas", "polars", "objects"]
)
def test_gaps_are_filled_from_the_other_answers(convert):
    whole, y = survey(1500, gaps=0.0)
    gaps = np.random.default_rng(1).random(whole.shape) < 0.1
    X = whole.mask(gaps)
    given = convert(X)
    mixture = AnnealedMixedMixture(4, random_state=0).fit(given)
    filled = mixture.impute(given)
    assert type(filled) is type(given)
    if isinstance(filled, np.ndarray):
        filled = pd.DataFrame(filled, columns=whole.columns)
    if type(filled).__module__.startswith("polars"):
        filled = pd.DataFrame(filled.to_dict(as_series=False))
    assert filled.notna().all(axis=None)
    drink = filled["drink"].to_numpy()
    known = ~gaps[:, 0]
    assert (drink[known] == whole["drink"].to_numpy()[known]).all()
    right = (drink[~known] == whole["drink"].to_numpy()[~known]).mean()
    assert right > 0.65  # the Bayes classifier reaches .8
    income = filled["income"].to_numpy(dtype=float)
    error = income[gaps[:, 5]] - whole["income"].to_numpy()[gaps[:, 5]]
    assert error.std() < 1.3e3 < whole["income"].std()
    assert pd.isna(X["drink"]).any()  # a copy


def test_draws_of_a_bootstrap_are_halves():
    weight = np.linspace(1.0, 2.0, 61)
    draws = [drawn for drawn, _ in _draws(np.zeros((61, 1)), 3, weight, 0)]
    for drawn in draws:
        assert (drawn > 0).sum() == 31
        assert ((drawn == 0) | (drawn == weight)).all()
    assert (draws[0] != draws[1]).any()


def test_the_bootstrap_finds_no_additional_classes():
    """Columns are independent, but repeated rows would look like classes."""
    random = np.random.default_rng(1)
    chances = random.dirichlet(np.full(7, 0.6), size=10)
    X = np.column_stack([random.choice(7, 400, p=p) for p in chances]).astype(str)
    mixture = AnnealedMixedMixture(6, random_state=0).fit(X)
    shares = bootstrap_n_components(mixture, X, n_replicates=6, random_state=0)
    assert shares == {1: 1.0}


def test_a_bootstrap_of_few_replicates():
    X, _ = survey(60)
    mixture = AnnealedMixedMixture(3, max_iter=5, moves=None, random_state=0).fit(X)
    options = {"n_replicates": 2, "random_state": 0, "n_jobs": 2}
    table = bootstrap_profiles(mixture, X, **options)
    assert (table["mean"] == mixture.profiles()["mean"]).all()
    assert (table["low"] <= table["high"]).all()
    assert table["found"].between(0, 1).all()
    shares = bootstrap_n_components(mixture, X, **options)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(shares) <= {1, 2, 3}


@pytest.mark.parametrize("bootstrap", [bootstrap_n_components, bootstrap_profiles])
def test_a_bootstrap_needs_a_fitted_mixture(bootstrap):
    X = np.random.default_rng(0).random((20, 2))
    pipeline = make_pipeline(AnnealedMixedMixture(2))
    for other in TemperedMatrixFactorization(2), pipeline, None:
        with pytest.raises(ValueError, match="'estimator' parameter must be a mixture"):
            bootstrap(other, X)
    with pytest.raises(NotFittedError):
        bootstrap(AnnealedMixedMixture(2), X)


def test_the_bootstrap_matches_classes_of_the_same_size():
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = random.random((120, 8)) < np.array([0.1, 0.9])[y][:, None]
    mixture = AnnealedMixedMixture(2, moves=None, random_state=0).fit(X)
    table = bootstrap_profiles(mixture, X, n_replicates=6, random_state=0)
    assert (table["high"] - table["low"]).max() < 0.4


@pytest.mark.every(2)
@pytest.mark.parametrize("n_items", [4, 12])
def test_a_picture_has_a_row_for_each_option(n_items):
    random = np.random.default_rng(0)
    y = random.integers(2, size=200)
    X = pd.DataFrame(random.random((200, n_items)) < np.array([0.1, 0.9])[y][:, None])
    X.columns = [f"question {j}" for j in range(n_items)]
    X["drink"] = np.array(["tea", "coffee", "milk"])[(y + (random.random(200) < 0.2))]
    X["number"] = random.normal(5000.0 * y)
    mixture = AnnealedMixedMixture(2, random_state=0).fit(X)
    display = ClassProfilesDisplay.from_estimator(mixture)
    assert display.labels_[0] == "question 0: True"
    assert display.labels_[n_items:] == [
        "drink: coffee",
        "drink: milk",
        "drink: tea",
        "number: mean",
    ]
    image = np.asarray(display.image_.get_array())
    assert image.shape == (n_items + 4, 2) and set(image[-1]) == {0.0, 1.0}
    np.testing.assert_allclose(image[n_items:-1].sum(axis=0), 1.0)
    few = ClassProfilesDisplay.from_estimator(mixture, items=["drink"])
    assert len(few.labels_) == 3
    with pytest.raises(ValueError, match="no item 'age'"):
        few.plot(items=["age"])
    plt.close("all")


# -- blocks that a fit keeps -----------------------------------------------------------


def test_a_fit_makes_its_blocks_once_and_has_the_same_bits(monkeypatch):
    X = mixed_of(3000)
    settings = {"tempering": None, "max_iter": 5, "tol": 0.0, "random_state": 0}
    mixture = TemperedMixedMixture(3, kinds="from_dtype", **settings)
    calls, take = [], MixedMixtureModel.take
    monkeypatch.setattr(MixedMixtureModel, "ascent", lambda *given: None)
    monkeypatch.setattr(
        MixedMixtureModel, "take", lambda *given: calls.append(1) or take(*given)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        kept = clone(mixture).fit(X)
        n_kept = len(calls)
        monkeypatch.setattr("sktemper.mixed_mixture._model.VALUES_KEPT", 0)
        other = clone(mixture).fit(X)
    assert n_kept < (len(calls) - n_kept) / 2
    np.testing.assert_array_equal(kept.predict_proba(X), other.predict_proba(X))
    assert kept.lower_bound_ == other.lower_bound_


def test_blocks_are_not_kept_between_calls_nor_in_pickles():
    X = mixed_of(3000)
    mixture = TemperedMixedMixture(3, random_state=0, tempering=None).fit(X)
    for n_rows in 5, 3000:
        changing = X[:n_rows].copy()
        before = mixture.predict_proba(changing)
        changing[:] = changing[::-1].copy()
        np.testing.assert_array_equal(mixture.predict_proba(changing), before[::-1])
    part, model = InMemory(X), fitted_model(mixture)
    assert part.take(model, slice(0, 16)) is part.take(model, slice(0, 16))
    assert part.take(model, slice(None)) is not part.take(model, slice(None))
    assert len(pickle.dumps(part)) < 1.1 * X.nbytes + 1000


# -- temperatures ----------------------------------------------------------------------


@pytest.mark.parametrize(("b", "n_counts"), [(0.5, 110_000), (1e-4, 600_000)])
def test_powers_of_poisson_probabilities_are_summed(b, n_counts):
    rates = np.array([1e-300, 1.0, 30.0, 99.9, 101.0, 1e5])
    counts = np.arange(n_counts)
    sums = _count_power_sums(rates, np.array([b]))[:, 0]
    exact = [logsumexp(b * poisson.logpmf(counts, rate)) for rate in rates]
    # the logarithm of a normal distribution misses (1 / b - b) / (12 rate)
    normal = (rates > 100) & (b * rates > 40)
    wrong = np.where(normal, (1 / b - b) / (12 * rates), 0.0)
    # log probabilities of 1e6 have errors of 1e-10
    np.testing.assert_array_less(np.abs(sums - exact), 1.1 * wrong + 1e-9)


@pytest.mark.parametrize("rate", [1e-3, 30.0, 1e5])
def test_tiny_powers_of_poisson_probabilities_are_integrated(rate):
    b = 1e-9
    points = np.concatenate([[0.0], np.geomspace(1e3, 1e11, 17)])
    parts = [
        quad(lambda x: np.exp(b * poisson_log(x, rate)), *ends)[0]
        for ends in pairwise(points)
    ]
    # the first correction of Euler and Maclaurin is half of the first term, here 1/2
    expected = np.log(sum(parts) + 0.5)
    np.testing.assert_allclose(
        _count_power_sums(np.array([rate]), np.array([b])), [[expected]], rtol=1e-9
    )


def poisson_log(x, rate):
    return x * np.log(rate) - rate - gammaln(x + 1)


@pytest.mark.parametrize("least", [1e-9, 1e-300])
def test_counts_at_tiny_inverse_temperatures_fit(least):
    X = pd.DataFrame({"visits": np.random.default_rng(0).poisson(5.0, 60)})
    kinds, tempering = {"visits": "poisson"}, LocalTempering(5, least)
    model = TemperedMixedMixture(
        2, kinds=kinds, tempering=tempering, max_iter=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert np.isfinite(model.predict_proba(X)).all()


# -- values of any container -----------------------------------------------------------


def two_columns(values):
    """Return a data frame of options, which are repeated, and of numbers."""
    n_rows = 60
    numbers = np.random.default_rng(0).normal(size=n_rows)
    column = pd.Series([values[i % len(values)] for i in range(n_rows)], dtype=object)
    return pd.DataFrame({"a": column, "b": numbers})


def few_steps(**parameters):
    return TemperedMixedMixture(
        2, tempering=None, max_iter=3, tol=1e9, random_state=0, **parameters
    )


def converted(X, how):
    """Return the same answers in another container or dtype."""
    if how == "list":
        return X.to_numpy(dtype=object).tolist()
    return X.to_numpy(dtype=object)


def test_rows_of_a_stream_have_times():
    X = two_columns(["a", "b", "c"])
    mixture = few_steps(learning_rate=HalfLife("2D")).partial_fit(X, times="2024-01-01")
    mixture.partial_fit(X, times="2024-01-03")
    assert mixture.state_.policies.learning_rate.size == pytest.approx(1.5 * len(X))
    with pytest.raises(ValueError, match="partial_fit needs times"):
        mixture.partial_fit(X)


@pytest.mark.parametrize(
    ("fitted", "others"),
    [
        (["1", "2", "7.5"], [[1, 2, 7.5], [1.0, 2.0, 7.5]]),
        ([1, 2, 4], [["1", "2", "4"], ["1.0", "2.0", "4.0"], [1.0, 2.0, 4.0]]),
        ([True, False], [[1, 0], ["True", "False"], [np.True_, np.False_]]),
        (["True", "False"], [[True, False], [np.True_, np.False_]]),
        ([0.1, 0.7], [["0.1", "0.7"], [np.float32(0.1), np.float32(0.7)]]),
        ([2**53, 2**53 + 1, 2**64], [[str(2**53), str(2**53 + 1), str(2**64)]]),
        (["1", 1, "x"], [[np.str_("1"), np.int8(1), "x"]]),
    ],
    ids=["text", "numbers", "bool", "text of bool", "fractions", "large", "both"],
)
def test_a_category_is_what_reads_the_same(fitted, others):
    X = two_columns(fitted)
    mixture = few_steps(kinds={"a": "categorical"}).fit(X)
    expected = mixture.predict_proba(X)
    for other in others:
        Y = two_columns(other)
        frames = [Y, *(converted(Y, how) for how in ("list", "objects"))]
        for rows in frames:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid")
                np.testing.assert_array_equal(mixture.predict_proba(rows), expected)
    assert mixture.categories_["a"] == sorted(
        fitted, key=lambda value: (isinstance(value, str), value)
    )


@pytest.mark.parametrize(
    ("fitted", "value"),
    [
        (["1", "2"], 0),
        (["True", "False"], 1),
        (["01", "02"], 1),
        ([1, 2], "01"),
        ([2**53, 2**53 + 2], 2**53 + 1),
        ([20190101, 20190102], np.float32(20190101)),
        ([1.5, 2.5], 1),
    ],
)
def test_other_values_are_unknown(fitted, value):
    X = two_columns(fitted)
    mixture = few_steps(kinds={"a": "categorical"}).fit(X)
    strange, gap = X.copy(), X.copy()
    strange.loc[0, "a"], gap.loc[0, "a"] = value, None
    with pytest.warns(UserWarning, match="none of the categories"):
        found = mixture.predict_proba(strange)
    np.testing.assert_array_equal(found, mixture.predict_proba(gap))


def test_text_that_comes_as_numbers_is_no_code():
    """The codes of "1" and "2" are 0 and 1."""
    texts = pd.DataFrame({name: np.array(["1", "2"] * 30) for name in "ab"})
    mixture = few_steps().fit(texts)
    numbers = texts.astype(int)
    np.testing.assert_array_equal(
        mixture.predict_proba(numbers), mixture.predict_proba(texts)
    )
    with pytest.warns(UserWarning, match=r"'a': \[0\]; Column 'b': \[0\]"):
        mixture.predict_proba(numbers - 1)


def test_rows_in_lists_keep_the_types_of_columns():
    X = two_columns(["tea", "milk"]).assign(c=[True, False] * 30)
    rows = converted(X, "list")
    one, other = few_steps().fit(rows), few_steps().fit(X)
    assert list(one.kinds_.values()) == ["categorical", "gaussian", "categorical"]
    assert one.categories_[2] == [False, True]
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(X))


def test_parts_of_text_have_the_categories_of_all_parts():
    X = two_columns(["a", "b", "c"]).to_numpy(dtype=object)
    X[:30, 0] = np.where(X[:30, 0] == "a", "b", X[:30, 0])
    whole, parts = few_steps().fit(X), few_steps().fit([X[:30], X[30:]])
    assert whole.categories_ == parts.categories_
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X))
    filled = parts.impute([X[:30], X[30:]])
    np.testing.assert_array_equal(np.concatenate(filled), X)


def test_categories_that_are_dates_are_equal_in_all_types():
    days = np.array(["2020-01-01", "2021-01-01"] * 30, dtype="datetime64[D]")
    kinds = [days.astype("datetime64[ns]"), days.tolist()]
    frames = [pd.DataFrame({"a": pd.Categorical(one), "b": 1.0}) for one in kinds]
    for frame in frames:
        mixture = few_steps().fit(frame)
        expected = mixture.predict_proba(frame)
        for other in [*frames, frame.assign(a=days.astype(str))]:  # without a warning
            np.testing.assert_array_equal(mixture.predict_proba(other), expected)


# -- labels of columns -----------------------------------------------------------------


@pytest.mark.parametrize("labels", [[1, 0], [2021, 2022], [0.5, 1], ["1", "0"]])
def test_labels_of_frames_are_labels(labels):
    X = two_columns([1, 2, 3]).astype(float).assign(b=[1.0, 2.0] * 30)
    X = X.set_axis(labels, axis=1)
    X.iloc[::7, 0] = np.nan
    mixture = few_steps(kinds={labels[0]: "poisson"}, categories={labels[1]: [1, 2]})
    mixture.fit(X)
    assert mixture.kinds_ == {labels[0]: "poisson", labels[1]: "categorical"}
    assert list(mixture.categories_) == [labels[1]]
    assert set(mixture.profiles()["item"]) == set(labels)
    assert list(mixture.sample(2)[0]) == labels
    filled = mixture.impute(X)
    assert list(filled) == labels and filled.iloc[:, 0].notna().all()
    known = X.iloc[:, 0].notna()
    assert (filled.iloc[:, 0][known] == X.iloc[:, 0][known]).all()
    with pytest.raises(ValueError, match="should match those that were passed"):
        mixture.predict(X[labels[::-1]])


def test_a_label_is_not_a_position():
    X = two_columns([1, 2]).set_axis([2021, 2022], axis=1)
    with pytest.raises(ValueError, match=r"key 0, which is no column of X: \[2021"):
        few_steps(kinds={0: "poisson"}).fit(X)


# -- imputation ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["Int64", "category", "string", "object", "float32", "boolean", "Sparse"]
)
def test_imputed_columns_of_pandas_keep_their_dtype(dtype):
    values = {"string": ["x", "y"], "boolean": [True, False]}.get(dtype, [3, 4])
    column = pd.Series(values * 30, dtype=object)
    column[::5] = None
    if dtype == "Sparse":
        dtype = pd.SparseDtype(float, np.nan)
    X = pd.DataFrame({"a": column.astype(dtype), "b": column == values[0]})
    X.index = np.arange(60)[::-1] + 7
    filled = few_steps().fit(X).impute(X)
    known = X["a"].notna()
    assert filled["a"].dtype == X["a"].dtype and filled["a"].notna().all()
    assert (filled["a"][known] == X["a"][known]).all()
    assert (filled.index == X.index).all() and not known.all()


@pytest.mark.parametrize("first", [0, 1])
def test_imputed_columns_of_polars(first):
    pl = pytest.importorskip("polars")
    numbers = [None if i % 5 == first else i % 3 for i in range(60)]
    texts = [None if v is None else "abc"[v] for v in numbers]
    X = pl.DataFrame(
        {
            "integers": pl.Series(numbers, dtype=pl.Int8),
            "counts": numbers,
            "decimals": pl.Series(numbers).cast(pl.Decimal(10, 2)),
            "options": pl.Series(texts, dtype=pl.Enum(["a", "b", "c"])),
            "text": texts,
        }
    )
    mixture = few_steps(kinds={"counts": "poisson"}).fit(X)
    assert mixture.categories_["decimals"] == [0, 1, 2]
    filled = mixture.impute(X)
    assert filled.null_count().sum_horizontal().item() == 0
    modes = mixture.impute(X, "mode")
    for name in X.columns:
        assert modes[name].dtype == X[name].dtype or name == "counts"
        # means of options that are numbers are floats
        is_integer = name in ("integers", "counts")
        dtype = pl.Float64 if is_integer else X[name].dtype
        assert filled[name].dtype == dtype
        known = X[name].is_not_null()
        assert (filled[name].filter(known) == X[name].filter(known)).all()


def two_classes(n_rows=400):
    """Return a table with a column that tells two classes, and one of each kind."""
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = pd.DataFrame(
        {
            "class": np.array(["a", "b"])[y],
            "answer": random.integers(1, 4, n_rows) + 2 * y,
            "number": random.normal(5.0 * y, 1.0),
            "income": np.exp(random.normal(y, 2.0)),
            "events": random.poisson(2.0 + 6.0 * y),
            "word": np.where(random.random(n_rows) < 0.8, np.array(["x", "y"])[y], "z"),
        }
    )
    X["answer"] = X["answer"].astype(float)
    kinds = {"number": "gaussian", "income": "lognormal", "events": "poisson"}
    mixture = few_steps(kinds=kinds).set_params(max_iter=50, tol=1e-3).fit(X)
    return X, y, mixture, X[X["class"] == "b"]


def test_statistics_of_gaps_are_those_of_the_class():
    X, y, mixture, own = two_classes()
    gaps = X.astype({"events": float})
    gaps.loc[1, "answer":] = None
    filled = {
        name: mixture.impute(gaps, name).loc[1]
        for name in (None, "mean", "median", "mode")
    }
    mean, median, mode = filled["mean"], filled["median"], filled["mode"]
    assert mean["answer"] == pytest.approx(own["answer"].mean(), rel=0.02)
    assert median["answer"] == own["answer"].median()
    assert mode["answer"] == own["answer"].mode()[0]
    assert mean["number"] == pytest.approx(own["number"].mean(), abs=0.02)
    assert median["number"] == pytest.approx(mode["number"], abs=0.01)
    logs = np.log(own["income"])
    assert np.log(mean["income"]) == pytest.approx(
        logs.mean() + logs.var() / 2, abs=0.1
    )
    assert np.log(median["income"]) == pytest.approx(logs.mean(), abs=0.02)
    assert mode["income"] == pytest.approx(median["income"], rel=1e-2)
    assert mean["events"] == pytest.approx(own["events"].mean(), rel=0.01)
    assert median["events"] == own["events"].median()
    assert mode["events"] == pytest.approx(mean["events"], rel=1e-2)
    for one in filled.values():
        assert one["word"] == "y"
    default = filled[None]
    expected = {"answer": mean, "number": mean, "income": median, "events": mean}
    for name, one in expected.items():
        assert default[name] == one[name]


def test_answers_of_two_options_and_categories_are_filled_with_options():
    X = two_columns([1, 2, 3]).assign(b=[0.0, 1.0] * 30)
    X.loc[::7, "b"] = None
    X["c"] = X["a"].astype("category")
    X.loc[::5, ["a", "c"]] = None
    filled = few_steps().fit(X).impute(X)
    assert set(filled["b"]) == {0, 1} and set(filled["c"]) == {1, 2, 3}
    assert not set(filled["a"]) <= {1, 2, 3}
    filled = few_steps().fit(X).impute(X, "mean")
    assert set(filled["c"]) == {1, 2, 3} and not set(filled["b"]) <= {0, 1}


def test_samples_of_gaps_have_the_distribution_of_the_data():
    X, y, mixture, own = two_classes()
    gaps = pd.concat([X.astype({"events": float})] * 10, ignore_index=True)
    gaps.loc[:, "answer":"word"] = np.nan
    filled = mixture.impute(gaps, "sample")
    assert filled.notna().all(axis=None)
    again = mixture.impute(gaps, "sample")
    other = mixture.set_params(random_state=1).impute(gaps, "sample")
    assert filled.equals(again) and not filled.equals(other)
    drawn = filled[filled["class"] == "b"]
    for name in ("answer", "number", "events"):
        assert drawn[name].mean() == pytest.approx(own[name].mean(), rel=0.03)
        assert drawn[name].std() == pytest.approx(own[name].std(), rel=0.1)
    assert (drawn["word"] == "y").mean() == pytest.approx(
        (own["word"] == "y").mean(), abs=0.03
    )
    numbers = np.where(
        np.arange(80)[:, None] % 4 < 3, X[["answer", "number"]][:80], np.nan
    )
    parts = [numbers[:40], numbers[40:]]
    drawn = few_steps().fit(numbers).impute(parts, "sample")
    assert not np.isin(drawn[0][3::4, 1], drawn[1][3::4, 1]).any()
    gaps["class"] = None  # a row has one class, so that its gaps depend on each other
    drawn = mixture.impute(gaps, "sample")
    assert np.corrcoef(drawn["number"], drawn["events"])[0, 1] == pytest.approx(
        np.corrcoef(X["number"], X["events"])[0, 1], abs=0.1
    )
    with pytest.raises(ValueError, match="'statistic' parameter must be one of"):
        mixture.impute(gaps, "max")


def test_imputed_numbers_of_histograms_are_means():
    X = np.random.default_rng(0).gamma(1.0, 10.0, (600, 1))
    X[:5] = np.nan
    mixture = AnnealedMixedMixture(1, kinds="histogram", moves=None, random_state=0)
    found = mixture.fit(X).impute(X)
    np.testing.assert_allclose(found[:5], np.nanmean(X), rtol=0.1)


def test_imputed_lists_and_arrays_of_text():
    X = two_columns(["x", "y", None])
    rows = [tuple(row) for row in converted(X, "list")]
    filled = few_steps().fit(rows).impute(rows)
    assert type(filled) is list and {type(row) for row in filled} == {tuple}
    assert {row[0] for row in filled} == {"x", "y"} and rows[2][0] is None
    texts = np.array([["a", "b"], ["c", "d"]] * 30)
    np.testing.assert_array_equal(few_steps().fit(texts).impute(texts), texts)


def test_a_column_without_categories_stays_empty():
    X = two_columns([1, 2]).assign(c=pd.Categorical([None] * 60))
    with pytest.warns(UserWarning, match="Column 'c' has no values"):
        mixture = few_steps().fit(X)
    assert mixture.categories_["c"] == []
    assert mixture.impute(X)["c"].isna().all()
    assert mixture.sample(3)[0]["c"].isna().all()
    assert "c" not in set(mixture.profiles()["item"])


def test_profiles_distinguish_numbers_from_text():
    X = two_columns([1, "1", True, 2**53, 2**53 + 1])
    mixture = few_steps().fit(X)
    table = mixture.profiles()
    assert not table.duplicated(["class", "item", "option"]).any()
    options = set(table["option"][table["item"] == "a"])
    assert options == {"1", "'1'", str(2**53), str(2**53 + 1)}


# -- messages --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "parameters", "error", "message"),
    [
        ([1, 2], {"categories": {"a": 3}}, ValueError, "Column 'a', such as .* got 3"),
        ([1, 2], {"categories": {"a": "no"}}, ValueError, "of all options .* got 'no'"),
        ([1, 2], {"categories": {"a": [1, None]}}, ValueError, "without missing"),
        ([[1, 2]], {}, TypeError, "'a' has .* list, '.1, 2.'; .* column of its own"),
        ([date(2020, 1, 1)], {}, TypeError, "'a' has .* date.* Convert dates"),
        ([1, 10**400], {}, ValueError, "'a' has an integer that is too large"),
        ([1j], {}, TypeError, "'a' has a value of the type complex"),
    ],
)
def test_messages_name_the_column_and_a_remedy(values, parameters, error, message):
    with pytest.raises(error, match=message):
        few_steps(**parameters).fit(two_columns(values))


def test_invalid_frames_are_refused():
    X = two_columns([1, 2])
    with pytest.raises(ValueError, match="several columns with the name 'a'"):
        few_steps().fit(X.set_axis(["a", "a"], axis=1))
    with pytest.raises(TypeError, match="'day' has the dtype"):
        few_steps().fit(X.assign(day=pd.Timestamp("2020-02-02")))
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"pass X\.collect\(\)"):
        few_steps().fit(pl.LazyFrame({"a": [1, 2]}))


# -- two threads -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_two_threads_leave_one_whole_fit(monkeypatch, method):
    """The first fit waits after its validation until the second fit has ended."""
    texts = two_columns(["a", "b", "c"])
    numbers = two_columns([1, 2]).assign(c=1.0).to_numpy(dtype=float)
    mixture, validated, ended = few_steps(), Event(), Event()
    check = TemperedMixedMixture._inspect_training_data

    def waiting(self, data, fresh):
        check(self, data, fresh)
        if data.shape[1] == 2:
            validated.set()
            assert ended.wait(20)

    monkeypatch.setattr(TemperedMixedMixture, "_inspect_training_data", waiting)
    thread = Thread(target=lambda: getattr(mixture, method)(texts))
    thread.start()
    assert validated.wait(20)
    assert not hasattr(mixture, "n_features_in_") and not hasattr(mixture, "columns_")
    getattr(mixture, method)(numbers)
    assert len(mixture.columns_) == mixture.n_features_in_ == 3
    expected = mixture.predict(numbers)
    np.testing.assert_array_equal(mixture.labels_, expected)
    ended.set()
    thread.join()
    assert len(mixture.columns_) == mixture.n_features_in_ == 2
    assert list(mixture.categories_) == ["a"]
    np.testing.assert_array_equal(mixture.labels_, mixture.predict(texts))
    mixture.profiles(), mixture.impute(texts)
