"""A default fit of well separated data has the same partition after nuisances.

These are other units, orders, constant columns, repeated rows, weights and copies of
columns.  Otherwise one warning names the cause.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS
from sklearn.metrics import adjusted_rand_score

from sktemper.model_selection import temperature_path

from .draws import LENGTH, generator

N_ROWS = 150


# -- well separated data of three classes, in random orders and places -----------------
def numbers(random, y):
    # not on one line, which one full covariance describes as well
    centres = 9.0 * random.permutation([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    return pd.DataFrame(centres[y] + random.normal(size=(N_ROWS, 3)))


def answers(random, y):
    chances = np.where(np.arange(18) % 3 == np.arange(3)[:, None], 0.95, 0.05)
    return pd.DataFrame((random.random((N_ROWS, 18)) < chances[y]) * 1.0)


def counts(random, y):
    rates = np.where(np.arange(30) % 3 == np.arange(3)[:, None], 3.0, 0.1)
    return pd.DataFrame(random.poisson(rates[y]))


def tables(random, y):
    drinks, n = np.array(["tea", "coffee", "water"]), N_ROWS
    X = {f"item{j}": random.permutation(drinks)[y] for j in range(6)}
    for own in X.values():
        own[random.random(n) < 0.05] = random.choice(drinks)
    X["income"] = random.lognormal(8.0 + 2.0 * y, 0.3)
    X["score"] = random.normal(5.0 * y, 1.0)
    X["visits"] = np.where(random.random(n) < 0.3, 0.0, random.gamma(2.0, 5.0, n))
    return pd.DataFrame(X)


DATA = {
    "GaussianMixture": numbers,
    "StudentMixture": numbers,
    "BernoulliMixture": answers,
    "MultinomialMixture": counts,
    "MixedMixture": tables,
}


# -- nuisances: functions of a generator and data --------------------------------------
# They return other data, and weights or None.  The index of the data has the rows.
def other_units(random, X):
    X = X.copy()
    for name in X.select_dtypes("number"):
        unit = 10.0 ** random.integers(-4, 5)
        place = 0.0 if name in ("income", "visits") else random.normal(0.0, 100.0)
        X[name] = (X[name] + place) * unit
    return X, None


def permuted_columns(random, X):
    return X[list(random.permutation(list(X)))], None


def permuted_rows(random, X):
    return X.iloc[random.permutation(N_ROWS)], None


def constant(value, share=1.0):
    def change(random, X):
        gap = None if isinstance(value, str) else np.nan
        filled = random.random(N_ROWS) < share
        X = X.copy()
        place = int(random.integers(X.shape[1] + 1))
        X.insert(place, "constant", [value if own else gap for own in filled])
        return X, None

    return change


def constants(random, X):
    values = np.tile(random.integers(0, 2, 200), (N_ROWS, 1))
    constants = pd.DataFrame(values).add_prefix("constant")
    X = pd.concat([X.rename(columns=str), constants], axis=1)
    return permuted_columns(random, X)


def copied_column(random, X):
    return X.assign(copy=X[random.choice(list(X))]), None


def weighted(factor):
    return lambda random, X: (X, np.full(N_ROWS, factor))


def repeated(random, X):
    return X.iloc[np.tile(np.arange(N_ROWS), 3)], None


ALL = set(DATA)
FRACTIONS = {"GaussianMixture", "StudentMixture", "MixedMixture"}
GAPS = {"GaussianMixture", "BernoulliMixture", "MixedMixture"}
MIXED = {"MixedMixture"}
#: Nuisances, the models whose data can have them, and a word that names the cause.
NUISANCES = {
    "units and shifts": (other_units, FRACTIONS, "unit"),
    "permuted columns": (permuted_columns, ALL, "order"),
    "permuted rows": (permuted_rows, ALL, "order"),
    "integer": (constant(7), ALL - {"BernoulliMixture"}, "'constant'"),
    "zero": (constant(0), ALL, "'constant'"),
    "one": (constant(1), ALL, "'constant'"),
    "zeros and ones": (constants, ALL - {"MultinomialMixture"}, "has one value only"),
    "fraction": (constant(3.4), FRACTIONS, "'constant'"),
    "text": (constant("a"), MIXED, "'constant'"),
    "half one": (constant(1, 0.5), GAPS, "'constant'"),
    "half a fraction": (constant(3.4, 0.5), GAPS - {"BernoulliMixture"}, "'constant'"),
    "half text": (constant("a", 0.5), MIXED, "'constant'"),
    "copied column": (copied_column, ALL, "'copy'"),
    "weights times .5": (weighted(0.5), ALL, "weight"),
}
#: Nuisances that claim other numbers of rows, of which warnings have to tell.
OTHER_NUMBERS = {
    # answers of few options repeat without copies
    "rows times 3": (repeated, ALL - {"BernoulliMixture"}, "copies"),
    "weights times 3": (weighted(3.0), ALL, "weight"),
    "weights of sum 1": (weighted(1.0 / N_ROWS), ALL, "weight"),
}


def partition(name, X, weight=None):
    """Return the labels of a default fit, and its warnings."""
    row, kind = ESTIMATORS[name]
    options = {"kinds": "auto"} if row.name in MIXED else {}
    mixture = row.estimator(kind, n_components=8, random_state=0, **options)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mixture.fit(X.rename(columns=str), sample_weight=weight)
    return mixture.labels_, [str(one.message) for one in found]


def check(name, nuisance, change, word):
    random = generator("nuisance", name, nuisance)
    for _ in range(LENGTH):
        y = random.permutation(np.arange(N_ROWS) * 3 // N_ROWS)
        X = DATA[ESTIMATORS[name][0].name](random, y)
        expected, _ = partition(name, X)
        other, weight = change(random, X)
        found, messages = partition(name, other, weight)
        agreement = adjusted_rand_score(expected[other.index], found)
        assert agreement >= 0.99 or sum(word in one for one in messages) == 1, (
            f"{nuisance}: {agreement:.3f}, {messages}"
        )


def cells(nuisances):
    """Return the default estimator of each model with each of its nuisances."""
    return [
        pytest.param(name, nuisance, change, word, id=f"{name}-{nuisance}")
        for nuisance, (change, models, word) in nuisances.items()
        for name, (row, kind) in ESTIMATORS.items()
        if row.name in models and kind == "Annealed"
    ]


@pytest.mark.every(5)
@pytest.mark.parametrize(("name", "nuisance", "change", "word"), cells(NUISANCES))
def test_a_partition_does_not_depend_on_nuisances(name, nuisance, change, word):
    check(name, nuisance, change, word)


@pytest.mark.every(5)
@pytest.mark.parametrize(("name", "nuisance", "change", "word"), cells(OTHER_NUMBERS))
def test_other_numbers_of_rows_are_named(name, nuisance, change, word):
    check(name, nuisance, change, word)


def persistent(name, X):
    """Return the persistent partition over temperatures of a default fit."""
    row, kind = ESTIMATORS[name]
    options = {"kinds": "auto"} if row.name in MIXED else {}
    mixture = row.estimator(kind, n_components=8, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = temperature_path(mixture, X.rename(columns=str), random_state=0)
    assert path.n_clusters_ == 3
    assert path.agreement_ > 0
    return path.labels_


ORDERS = ("units and shifts", "permuted columns", "permuted rows")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "nuisance", "change", "word"), cells({k: NUISANCES[k] for k in ORDERS})
)
def test_a_persistent_partition_does_not_depend_on_nuisances(
    name, nuisance, change, word
):
    random = generator("persistent", name, nuisance)
    for _ in range(LENGTH):
        y = random.permutation(np.arange(N_ROWS) * 3 // N_ROWS)
        X = DATA[ESTIMATORS[name][0].name](random, y)
        other, _ = change(random, X)
        expected, found = persistent(name, X), persistent(name, other)
        assert adjusted_rand_score(expected[other.index], found) >= 0.99
