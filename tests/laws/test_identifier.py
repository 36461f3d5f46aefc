"""A column of unique whole numbers in order, or of unique texts, is named in a warning.

Its dtype and the container of the table do not matter.  Other columns are not named.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from registry import ESTIMATORS

from .draws import LENGTH, generator, too_many

NAME = "looks like an identifier"
N_ROWS = 120


def made(name, **options):
    row, kind = ESTIMATORS[name]
    return row.estimator(kind, **{"n_components": 2, "max_iter": 2, **options})


#: Mixtures of tables, and those of arrays of numbers, which have no texts.
TABLES = ["AnnealedMixedMixture", "TemperedMixedMixture"]
NUMBERS = [
    name
    for name, (row, _) in ESTIMATORS.items()
    if row.name in ("GaussianMixture", "StudentMixture", "FactorialMixture")
]


def whole(random):
    """Draw identifiers: in order, with or without gaps, or without gaps only."""
    ids = np.arange(N_ROWS) + int(random.integers(-50, 10**6))
    return [
        ids,
        ids[::-1].copy(),
        random.permutation(ids),
        np.sort(random.choice(10**6, N_ROWS, replace=False)),
    ][random.integers(4)]


def texts(random):
    return np.array([f"{word:x}" for word in random.choice(16**8, N_ROWS, False)])


DTYPES = {
    "int": lambda r: whole(r),
    "int32": lambda r: whole(r).astype(np.int32),
    "float": lambda r: whole(r).astype(float),
    "float32": lambda r: whole(r).astype(np.float32),
    "gaps": lambda r: np.where(r.random(N_ROWS) < 0.1, np.nan, whole(r)),
    "large": lambda r: pd.Series([10**17 + int(i) for i in whole(r)], dtype=object),
    "object": lambda r: pd.Series(whole(r), dtype=object),
    "Int64": lambda r: pd.array(whole(r), dtype="Int64"),
    "numbers as text": lambda r: whole(r).astype(str),
    "text": texts,
    "objects of text": lambda r: texts(r).astype(object),
    "category": lambda r: pd.Categorical(texts(r)),
    "category of numbers": lambda r: pd.Categorical(whole(r)),
}


def messages(estimator, X):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        estimator.fit(X)
    return [str(one.message) for one in found if NAME in str(one.message)]


def table(random, **columns):
    y = random.integers(2, size=N_ROWS)
    values = {"a": y + random.normal(size=N_ROWS), "b": y.astype(str), **columns}
    return pd.DataFrame(values)


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_identifier_of_a_table_is_named(dtype):
    pl = pytest.importorskip("polars")
    random = generator("identifier", dtype)
    for name in TABLES:
        X = table(random, id=DTYPES[dtype](random))
        X = X[list(random.permutation(list(X)))]
        for given, label in (
            (X, "Column 'id'"),
            (pl.from_pandas(X) if dtype != "large" else X, "Column 'id'"),
            (X.to_numpy(object), f"Column {list(X).index('id')} of X"),
        ):
            (message,) = messages(made(name, kinds="auto"), given)
            assert message.startswith(f"{label} {NAME}")


@pytest.mark.every(4)
@pytest.mark.parametrize("name", NUMBERS)
def test_an_identifier_of_an_array_is_named(name):
    random = generator("identifier", name)
    X = table(random).drop(columns="b").assign(c=random.normal(size=N_ROWS))
    X = X.assign(id=whole(random).astype(float))
    (message,) = messages(made(name), X)
    assert message.startswith("Column 'id'")
    (message,) = messages(made(name), X.to_numpy())
    assert message.startswith("Column 2 of X")


def test_other_columns_are_not_named():
    """Counts, ratings, rounded amounts and repeated texts are no identifiers."""
    random, n_false = generator("identifier", "others"), 0
    for _ in range(10 * LENGTH):
        X = table(
            random,
            counts=random.poisson(random.integers(1, 200), N_ROWS),
            amounts=np.round(random.lognormal(8.0, 1.0, N_ROWS)),
            stars=random.integers(1, 11, N_ROWS),
            years=random.integers(1950, 2010, N_ROWS),
            words=texts(random)[random.integers(0, 50, N_ROWS)],
            numbers=random.normal(size=N_ROWS).cumsum(),
        )
        n_false += bool(messages(made(TABLES[0], kinds="auto"), X))
    assert not too_many(n_false, 10 * LENGTH, 0.001)
