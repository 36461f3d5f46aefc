"""A row has the same bits alone, in company, in any order, container, memory order and
dtype of equal values, and with any number of jobs; so has a fit in any container.
"""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from digests import contents
from fits import assert_same_fit
from scipy import sparse
from sklearn.base import clone

from laws.draws import LENGTH, cells, generator
from laws.registry import COVARIANCES, DRAWS, SUBJECTS, _subject, weighted_parts

#: Functions from an estimator and rows to an array, or several, with as many rows.
METHODS = {
    name: lambda estimator, X, name=name: getattr(estimator, name)(X)
    for name in (
        *("transform", "predict", "predict_proba", "score_samples", "temperatures"),
        *("expected_scales", "item_scores", "impute"),
    )
} | {
    "recommend": lambda estimator, X: estimator.recommend(X, n_items=5),
    "similar_users": lambda estimator, X: (
        estimator.similar_users(X, 5)["similarity"].to_numpy().reshape(-1, 5)
    ),
    "inverse_transform": lambda estimator, X: estimator.inverse_transform(
        estimator.transform(X)
    ),
    "conditional": lambda estimator, X: conditional(estimator, X),
}
#: Methods with data whose results are not one for each row.
SUMS = set(
    "fit partial_fit fit_transform fit_predict fit_prior score aic bic icl".split()
)
SUMS |= set("entropy_r2 lower_bound perplexity topics top_documents explain".split())
SUMS |= {"fit_recurrence", "separate_common_words", "similar_documents"}


def conditional(estimator, X):
    """Return the distribution of two columns given the others, without parts."""
    X = np.concatenate(X) if isinstance(X, list) and np.ndim(X[0]) == 2 else X
    if estimator.get_params().get("covariance_type") == "low_rank":
        return ()  # has none
    found = estimator.conditional(X, given=range(estimator.n_features_in_ - 2))
    return found.weights, found.log_density, found.mean(), found.quantiles(0.1)


def results(estimator, X):
    """Return the results of all methods, arrays by name."""
    found = {}
    for name, method in METHODS.items():
        if hasattr(estimator, name):
            parts = method(estimator, X)
            parts = parts if isinstance(parts, tuple) else (parts,)
            for number, part in enumerate(parts):
                if name == "impute":  # in the container and the dtype of the data
                    is_parts = isinstance(part, list) and np.ndim(part[0]) == 2
                    part = np.asarray(np.concatenate(part) if is_parts else part)
                    part = part.astype(float) if part.dtype == object else part
                found[name, number] = np.ascontiguousarray(part)
    return found


def assert_same(found, expected, rows, what):
    for name, part in expected.items():
        if name[0] == "impute":  # numbers between integers make floats of them
            is_single = found[name].dtype == np.float32
            part = part.astype(np.float32 if is_single else part.dtype)
        same = found[name].astype(part.dtype).tobytes() == part[rows].tobytes()
        assert same, f"{what}: {name}"


# -- rows in other forms ---------------------------------------------------------------
def frame(library):
    def convert(X):
        X = X.toarray() if sparse.issparse(X) else X
        return library.DataFrame(X, **{} if library is pd else {"nan_to_null": True})

    return convert


def unsorted(X):
    X = sparse.csr_array(X).copy()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        for part in X.indices, X.data:
            part[start:end] = part[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def with_duplicates(X):
    """Return entries divided into two, in random order within rows."""
    rows = np.tile(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), 2)
    values = np.concatenate([0.75 * X.data, 0.25 * X.data])
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), rows))
    parts = values[order], np.tile(X.indices, 2)[order], 2 * X.indptr
    return sparse.csr_matrix(parts, shape=X.shape, copy=False)


def with_flag(make, flag):
    """Return a function whose matrix claims what its arrays are not."""

    def claimed(X):
        X = make(X)
        setattr(X, flag, True)
        return X

    return claimed


def with_stored_zeros(X):
    dense, random = X.toarray(), np.random.default_rng(0)
    pairs = np.nonzero((random.random(X.shape) < 0.6) | (dense != 0))
    return sparse.csr_array((dense[pairs], pairs), X.shape)


def with_indices_of(*dtypes):
    def replaced(X):
        Y = sparse.csr_array(X.shape)
        Y.data = X.data
        Y.indices, Y.indptr = X.indices.astype(dtypes[0]), X.indptr.astype(dtypes[1])
        return Y

    return replaced


def read_only(X):
    X = X.copy()
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else [X]:
        part.flags.writeable = False
    return X


ANY = {
    "float32": lambda X: X.astype(np.float32),
    "long": lambda X: X.astype(np.longdouble),
    "read-only": read_only,
}
DENSE = ANY | {
    ">f8": lambda X: X.astype(">f8"),
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "Fortran": np.asfortranarray,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "parts": lambda X: [X[:5], X[5:]],
    "pandas": frame(pd),
    "polars": frame(pl),
}
SPARSE = ANY | {
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    **{form: lambda X, form=form: X.asformat(form) for form in ("coo", "csc", "lil")},
    "unsorted": unsorted,
    "matrix": sparse.csr_matrix,
    "int64 indices": with_indices_of(np.int64, np.int64),
    "unsigned indices": with_indices_of(np.uint32, np.uint64),
    "big-endian indices": with_indices_of(np.int32, ">i4"),
    "duplicates": with_duplicates,
    "stored zeros": with_stored_zeros,
    "flag of sorted": with_flag(unsorted, "has_sorted_indices"),
    "flag of canonical": with_flag(with_duplicates, "has_canonical_format"),
    "parts": lambda X: [X[:5], X[5:]],
}
#: Forms in which a fit may have other bits: with other types or blocks of rows.
OTHER_SUMS = "float32", "int64", "uint8", "parts"
#: Forms of counts that are other ratings: zeros are ratings, and ratings are not added.
OTHER_RATINGS = "duplicates", "stored zeros", "flag of canonical"
AS_DENSE = {
    "dense": lambda X: X.toarray(),
    "Fortran": lambda X: np.asfortranarray(X.toarray()),
    "pandas": frame(pd),
}


def forms_of(subject, X):
    """Yield names of forms, and the same values in these forms."""
    forms = DENSE
    if sparse.issparse(X):
        forms = SPARSE | AS_DENSE
        if subject.row.name == "MatrixFactorization":
            forms = {name: SPARSE[name] for name in SPARSE.keys() - set(OTHER_RATINGS)}
    for name, convert in forms.items():
        with np.errstate(invalid="ignore"):
            form = convert(X)
        dtype = getattr(form, "dtype", None)
        if dtype is not None and dtype.kind in "iu" and (form != X).sum():
            continue  # no integers
        yield name, form


def drawn(subject, random, n_rows):
    """Return rows of at least 25 columns that float32 represents."""
    parts = [subject.draw(random, n_rows)]
    while sum(part.shape[1] for part in parts) < 25:
        parts.append(subject.draw(random, n_rows))
    stack = sparse.hstack if sparse.issparse(parts[0]) else np.hstack
    X = stack(parts).astype(np.float32).astype(np.float64)
    return sparse.csr_array(X) if sparse.issparse(X) else X


def with_gaps(random, n_rows):
    X = DRAWS["GaussianMixture"](random, n_rows)
    return np.where(random.random(X.shape) < 0.03, np.nan, X)


#: Rows with temperatures of their own, and rows with missing numbers.
OTHERS = [_subject("TemperedLDA", {"tempering": "local"})]
for kind in COVARIANCES:
    one = _subject("AnnealedGaussianMixture", {"covariance_type": kind})
    OTHERS.append(one._replace(name=f"{one.name}, gaps", draw=with_gaps))


@cells("subject", SUBJECTS + OTHERS, every=19)
@pytest.mark.filterwarnings("ignore")
def test_rows_do_not_depend_on_others_or_on_their_form(subject):
    random = generator("row", subject.name)
    for _ in range(LENGTH):
        X = drawn(subject, random, 60)
        parts, weight = weighted_parts(random, X)
        estimator = subject.make(random_state=0, max_iter=3)
        try:
            estimator.fit(parts, sample_weight=weight)
        except ValueError:
            assert "reg_covar=0.0" in subject.name  # singular covariances
            continue
        expected = results(estimator, X)
        for name, part in expected.items():
            assert len(part) == 60, name
        for row in random.permutation(60)[: 3 + LENGTH]:
            assert_same(results(estimator, X[[row]]), expected, [row], "a row alone")
        order = random.permutation(60)
        for rows in (
            order,
            order[:41],
            np.repeat(order, 2),
            np.tile(order, 12 * LENGTH),
        ):
            assert_same(results(estimator, X[rows]), expected, rows, "rows in order")
        for name, form in forms_of(subject, X):
            assert_same(results(estimator, form), expected, slice(None), name)
        estimator.set_params(n_jobs=2)
        assert_same(results(estimator, X), expected, slice(None), "two jobs")


def fits_to(X, estimator):
    """Yield a fit, and a first update, if the model has one without a fit before."""
    yield clone(estimator).fit(X)
    if estimator.get_params().get("covariance_type") != "low_rank":
        yield clone(estimator).partial_fit(X)


@cells("subject", SUBJECTS, every=37)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The stored numbers of X")
@pytest.mark.filterwarnings("ignore:.* has one value only")
def test_fits_do_not_depend_on_the_form_of_data(subject):
    """Neither fits nor updates do, and data are not changed."""
    random = generator("form", subject.name)
    for _ in range(LENGTH):
        X = drawn(subject, random, 60)
        estimator = subject.make(random_state=0, max_iter=1, batch_size=25)
        try:
            expected = list(fits_to(X, estimator))
        except ValueError:
            assert "reg_covar=0.0" in subject.name  # singular covariances
            continue
        for name, form in forms_of(subject, X):
            if name in OTHER_SUMS:
                continue
            before = contents(form)
            for one, other in zip(fits_to(form, estimator), expected, strict=True):
                assert_same_fit(one, other)
            assert contents(form) == before, f"{name}: the data changed"


def test_each_method_with_data_has_a_row_or_is_a_sum():
    for subject in SUBJECTS:
        cls = type(subject.make())
        for name in dir(cls):
            method = getattr(cls, name)
            if name[0] == "_" or not callable(method) or name in METHODS.keys() | SUMS:
                continue
            assert "X" not in inspect.signature(method).parameters, name


@pytest.mark.parametrize("name", ["AnnealedLDA", "AnnealedMultinomialMixture"])
@pytest.mark.filterwarnings("ignore")
def test_rows_of_tiny_counts_are_valid_alone(name):
    (subject,) = (one for one in SUBJECTS if one.name == name)
    X = subject.draw(generator("tiny", name), 40).astype(np.float64).tolil()
    X[3], X[3, 2] = 0, 1e-31
    estimator = subject.make(random_state=0, max_iter=3).fit(X)
    expected = results(estimator, X)
    assert_same(results(estimator, X[[3]]), expected, [3], "a row alone")
