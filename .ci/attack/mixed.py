"""Mixed mixtures: columns of strings, flags, counts and numbers with gaps.

tables      Equal values in another container or dtype give equal answers and fits.
weights     Integer weights are repeated rows, also in criteria.
gaps        `impute` keeps what was observed, and fills all else.
"""

import copy

import numpy as np
import pandas as pd
import polars as pl
from common import answers, equal, same_answers

import sktemper

N_ROWS = 40


# -- tables ----------------------------------------------------------------------------
def column(draw, random, n=N_ROWS):
    """Return values of a column without gaps, as a list of Python objects."""
    codes = random.integers(0, draw.between(1, 5), n)
    numbers = random.normal(size=n) * 10.0 ** draw.between(-3, 5)
    return draw.one_of(
        [["tea", "", "01", "1", "ünï"][code] for code in codes],
        (codes > 0).tolist(),
        (codes - 1).tolist(),
        numbers.tolist(),
        random.poisson(20, n).tolist(),
        [7] * n,
        (codes / 4).tolist(),
        [str(code) for code in codes],
        (10**17 + codes).tolist(),
    )


def table(draw):
    """Return columns with gaps, a dict of lists in which None is missing."""
    share, random, columns = draw.one_of(0.0, 0.1, 0.5), draw.generator(), {}
    for j in range(draw.between(1, 5)):
        gaps = random.random(N_ROWS) < share
        values = column(draw, random)
        columns[f"x{j}"] = [None if g else v for g, v in zip(gaps, values, strict=True)]
    return columns


def objects(columns):
    X = np.empty((N_ROWS, len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        X[:, j] = values
    return X


def frame(columns):
    """Return a data frame of pandas with objects, which keep all types."""
    return pd.DataFrame(columns, dtype=object)


def changed(columns, known=lambda value: value, missing=None):
    """Return columns with a function of known values, and another missing value."""
    return {
        name: [missing if value is None else known(value) for value in values]
        for name, values in columns.items()
    }


def slices(columns):
    X = pl.DataFrame(columns)
    return pl.concat([X[:7], X[7:]], rechunk=False)


CONTAINERS = {
    "objects": objects,
    "lists": lambda c: objects(c).tolist(),
    "tuples": lambda c: tuple(map(tuple, objects(c).tolist())),
    "pandas": frame,
    # `convert_dtypes` rounds large integers
    "pandas, nullable": lambda c: pd.DataFrame({n: pd.array(v) for n, v in c.items()}),
    "pandas, index": lambda c: frame(c).set_axis(range(9, 9 + N_ROWS)),
    "pandas, reversed": lambda c: frame(c).iloc[::-1].iloc[::-1],
    "polars": lambda c: pl.DataFrame(c, strict=False),
    "polars, slices": slices,
    "NaN": lambda c: frame(changed(c, missing=np.nan)),
    "NA": lambda c: frame(changed(c, missing=pd.NA)),
    "NaT": lambda c: frame(changed(c, missing=pd.NaT)),
    "NaN in objects": lambda c: objects(changed(c, missing=float("nan"))),
    "NumPy scalars": lambda c: frame(changed(c, lambda value: np.array(value)[()])),
}


def contained(draw, columns):
    """Return a container's name and the columns in it, None if it cannot have them."""
    name = draw.one_of(*CONTAINERS)
    try:
        return name, CONTAINERS[name](columns)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return name, None


def mixture(draw, columns, **parameters):
    kinds = {}
    for name, values in columns.items():
        known = [v for v in values if v is not None]
        if known and all(type(v) in (int, float) and abs(v) < 1e9 for v in known):
            counts = all(type(v) is int and v >= 0 for v in known)
            options = ["gaussian", "binned", "histogram", "categorical"]
            options += ["poisson"] * counts + ["lognormal"] * (min(known) > 0)
            kinds[name] = draw.one_of(None, *options)
    cls = draw.one_of(sktemper.AnnealedMixedMixture, sktemper.TemperedMixedMixture)
    options = {
        "kinds": {n: kind for n, kind in kinds.items() if kind} or "auto",
        "n_components": draw.between(1, 4),
        "n_bins": draw.between(2, 5),
        "max_iter": draw.between(1, 4),
        "batch_size": draw.one_of(None, None, 16),
        "moves": None,
        "random_state": draw.between(0, 98),
    }
    return cls(**options | parameters)


# -- surfaces --------------------------------------------------------------------------
def tables(draw):
    columns = table(draw)
    estimator = mixture(draw, columns)
    known = copy.deepcopy(estimator).fit(frame(columns))
    name, given = contained(draw, columns)
    if given is None:
        return
    expected = answers(known, frame(columns))
    same_answers(answers(known, given), expected, f"{name} at predict")
    kinds = estimator.kinds
    if isinstance(kinds, dict) and not isinstance(given, pd.DataFrame | pl.DataFrame):
        kinds = {int(label[1:]): kind for label, kind in kinds.items()}
    other = copy.deepcopy(estimator).set_params(kinds=kinds).fit(given)
    found = [column.kind for column in other.columns_]
    assert found == [column.kind for column in known.columns_], f"{name}: {found}"
    same_answers(answers(other, given), expected, f"{name} at fit")


def weights(draw):
    columns, random = table(draw), draw.generator()
    X = frame(columns)
    weight = random.integers(0, 4, N_ROWS)
    weight[0] = 1
    again = np.repeat(np.arange(N_ROWS), weight)
    repeated = X.iloc[again]
    estimator = mixture(draw, columns)
    one = copy.deepcopy(estimator).set_params(n_components=1, batch_size=None)
    try:
        other = copy.deepcopy(one).fit(repeated)
    except ValueError:
        return
    one.fit(X, sample_weight=weight)
    for a, b in zip(one.columns_, other.columns_, strict=True):
        assert a.kind == b.kind and a.categories == b.categories, f"{a}, not {b}"
        equal(a.centres, b.centres, f"centres of {a}")
        equal([a.location, a.scale], [b.location, b.scale], f"scale of {a}")
    equal(one.score_samples(repeated), other.score_samples(repeated), "weighted fit")
    estimator.fit(X)
    for name in ("bic", "aic", "icl", "entropy_r2"):
        method = getattr(estimator, name)
        equal(method(X, sample_weight=weight), method(repeated), name)


def cells(X):
    return (
        X.rows() if isinstance(X, pl.DataFrame) else np.array(X, dtype=object).tolist()
    )


def gaps(draw):
    columns = table(draw)
    estimator = mixture(draw, columns).fit(frame(columns))
    name, given = contained(draw, columns)
    if given is None:
        return
    before = copy.deepcopy(given)
    filled = estimator.impute(given)
    assert type(filled) is type(given), f"{name}: impute returned {type(filled)}"
    filled_columns = zip(*cells(filled), strict=True)
    for described, values, found in zip(
        estimator.columns_, columns.values(), filled_columns, strict=True
    ):
        for one, other in zip(values, found, strict=True):
            if one is not None:
                assert other == one, f"{name}: {one!r} became {other!r}"
            elif described.categories or not described.n_options:
                assert not pd.isna(other), f"{name}: a gap of {described} stays"
    if isinstance(given, pd.DataFrame):
        pd.testing.assert_frame_equal(given, before)


SURFACES = {
    "tables": tables,
    "weights": weights,
    "gaps": gaps,
}
