"""Invalid data: every model and method refuses them, and keeps its fit."""

import functools
import re

import numpy as np
import pytest
from fits import fitted_model
from registry import ROWS
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sktemper import AnnealedLDA

FITS = ("fit", "partial_fit", "fit_transform")
METHODS = (
    *FITS,
    "transform",
    "predict",
    "predict_proba",
    "score_samples",
    "score",
    "lower_bound",
    "perplexity",
    "impute",
    "recommend",
)
EVERY = frozenset(ROWS)
OF_COUNTS = frozenset({"LDA", "MultinomialMixture", "ImplicitFactorization"})
#: Models that take numbers only; in mixed mixtures, objects are names of categories.
NUMERIC = EVERY - {"MixedMixture"}
ONLY_DENSE = frozenset(
    {"GaussianMixture", "StudentMixture", "FactorialMixture", "MixedMixture"}
)


def with_entry(value):
    """Return a function that replaces one entry that is neither zero nor missing."""

    def spoil(X):
        X = X.copy()
        row, column = np.argwhere(np.nan_to_num(X) != 0)[7]
        X[row, column] = value
        return X

    return spoil


def with_object(value):
    """Return a function that replaces an entry of an array of objects."""

    def spoil(X):
        X = X.astype(object)
        X[3, 1] = value
        return X

    return spoil


def as_sparse(spoil):
    return lambda X: sparse.csr_array(spoil(np.nan_to_num(X)))


def damaged(part, value, container=sparse.csr_matrix):
    """Return a function that sets an entry of an array, or with None truncates it."""

    def damage(X):
        X = container(np.nan_to_num(X))
        array = getattr(X, part)
        if value is None:
            setattr(X, part, array[: len(array) // 2])
        elif callable(value):
            setattr(X, part, value(array))
        else:
            array[5] = value
        return X

    return damage


def lists_of_unequal_length(X):
    X = sparse.lil_matrix(np.nan_to_num(X))
    X.data[3] = [*X.data[3], *range(100_000)]
    return X


def more_offsets_than_diagonals(X):
    X = sparse.dia_matrix((np.ones((2, 5)), [0, 1]), X.shape)
    X.offsets = np.arange(9)
    return X


class AnnData:
    """A stand-in for the class of anndata, which is recognized by its name."""

    def __init__(self, X):
        self.X, self.shape = X, X.shape


class CSRDataset(AnnData):
    """A stand-in for the sparse ``adata.X`` of anndata's backed mode."""

    def to_memory(self):
        return sparse.csr_array(self.X)


#: The same for sparse matrices whose arrays contradict each other: functions and
#: messages.
DAMAGES = {
    "far start": (damaged("indptr", 10**6), "indptr decreases"),
    "negative start": (damaged("indptr", -7), "indptr decreases"),
    "few starts": (damaged("indptr", None), "not a valid csr matrix: .*size"),
    "first start": (damaged("indptr", lambda a: a + 1), "should start with 0"),
    "starts of floats": (damaged("indptr", lambda a: a + 0.5), "indptr is not an arr"),
    "starts in two dimensions": (damaged("indptr", lambda a: a[None]), "indptr is not"),
    "few indices": (damaged("indices", None), "indices and data .* the same size"),
    "few data": (damaged("data", None), "indices and data .* the same size"),
    "data in blocks": (damaged("data", lambda a: a[:, None, None]), "should be 1-D"),
    "far column": (damaged("indices", 10**6), "not a valid csr matrix: .* must be <"),
    "negative column": (damaged("indices", -1), "must be >= 0"),
    "csr_array": (damaged("indptr", 10**6, sparse.csr_array), "indptr decreases"),
    "csc": (damaged("indptr", 10**6, sparse.csc_matrix), "indptr decreases"),
    "far row of csc": (damaged("indices", 10**6, sparse.csc_array), "must be <"),
    "bsr": (damaged("indptr", 10**6, sparse.bsr_matrix), "indptr decreases"),
    "coo": (damaged("row", 10**6, sparse.coo_matrix), "row indices outside of its"),
    "few coo": (damaged("data", None, sparse.coo_matrix), "row has .* but data"),
    "dia": (more_offsets_than_diagonals, "data has shape"),
    "lil": (lists_of_unequal_length, "different numbers of values"),
}
#: For each kind of invalid data: the function that makes them from valid dense data,
#: the message of the error, and the models that refuse them.
BAD = {
    "infinity": (with_entry(np.inf), "Input X contains infinity", EVERY),
    "sparse infinity": (
        as_sparse(with_entry(np.inf)),
        "Input X contains infinity",
        EVERY - ONLY_DENSE,
    ),
    "NaN": (with_entry(np.nan), "Input X contains NaN", OF_COUNTS),
    "sparse NaN": (
        as_sparse(with_entry(np.nan)),
        "Input X contains NaN",
        OF_COUNTS | {"MatrixFactorization"},
    ),
    "negative": (with_entry(-1), "Negative values in data", OF_COUNTS),
    "sparse negative": (
        as_sparse(with_entry(-1)),
        "Negative values in data",
        OF_COUNTS,
    ),
    "negative integers": (
        lambda X: with_entry(-1)(X).astype(np.int64),
        "Negative values in data",
        OF_COUNTS,
    ),
    "huge": (
        with_entry(1e300),
        "no counts above|size supported|at most",
        # The Bernoulli mixture compares values with a threshold, and in the mixed
        # mixture every value can be a category.
        EVERY - {"BernoulliMixture", "MixedMixture"},
    ),
    **{kind: (*row, EVERY - ONLY_DENSE) for kind, row in DAMAGES.items()},
    "sparse": (as_sparse(lambda X: X), "Sparse data was passed for X", ONLY_DENSE),
    "scalar": (lambda X: 3.0, "Expected 2D array, got (scalar|1D)", EVERY),
    "nothing": (lambda X: None, "Expected 2D array, got scalar", EVERY),
    "one dimension": (lambda X: X[0], "Expected 2D array, got 1D", EVERY),
    "three dimensions": (lambda X: X[None], "Found array with dim 3", EVERY),
    "no rows": (lambda X: X[:0], "Found array with 0 sample", EVERY),
    "no columns": (lambda X: X[:, :0], "0 feature", EVERY),
    "complex": (lambda X: X * 1j, "Complex data not supported", EVERY),
    "sparse complex": (as_sparse(lambda X: X * 1j), "Complex data not", EVERY),
    "words": (
        lambda X: np.array([["to", "be"]]),
        "dtype='numeric' is not compatible|could not convert string",
        NUMERIC,
    ),
    "dates": (
        lambda X: np.nan_to_num(X).astype("M8[s]"),
        "Input X has the dtype datetime",
        EVERY,
    ),
    "durations": (
        lambda X: np.nan_to_num(X).astype("m8[s]"),
        "Input X has the dtype timedelta",
        EVERY,
    ),
    "large integer": (with_object(10**400), "an integer too large", NUMERIC),
    "dict": (with_object({}), "X has entries", NUMERIC),
    "text": (
        with_object("x"),
        "(?s)to float.*Columns of text .* need a mixed mixture",
        frozenset({"GaussianMixture", "StudentMixture"}),
    ),
    "NaN of Student": (
        with_object(np.nan),
        "(?s)contains NaN.*Gaussian mixtures take missing values",
        frozenset({"StudentMixture"}),
    ),
    "NaN of words": (
        with_object(np.nan),
        "(?s)contains NaN.*a word that does not occur is 0",
        frozenset({"LDA"}),
    ),
    "NaN of clicks": (
        with_object(np.nan),
        "(?s)contains NaN.*not observed are 0, or not stored",
        frozenset({"ImplicitFactorization"}),
    ),
    "dislikes": (
        with_entry(-1),
        r"(?s)Negative values.*Leave dislikes of -1 out, by X.maximum\(0\)",
        frozenset({"ImplicitFactorization"}),
    ),
    "labels of ratings": (
        lambda X: [("ann", "x", 5.0), ("bob", "y", 4.0)],
        r"(?s)dtype='numeric'.*sktemper.datasets.ratings_matrix",
        frozenset({"MatrixFactorization"}),
    ),
    "labels of clicks": (
        lambda X: np.array([("ann", "x"), ("bob", "y")], dtype=object),
        "(?s)could not convert string.*sktemper.datasets.interactions_matrix",
        frozenset({"ImplicitFactorization"}),
    ),
    "bags of words": (
        lambda X: [[(0, 1), (3, 2)], [], [(1, 1)]],
        r"(?s)with a sequence.*corpus2csc\(.*\).T",
        frozenset({"LDA", "MultinomialMixture"}),
    ),
    "bags of one word": (
        lambda X: [[(0, 1)], [(3, 2)]],
        r"(?s)dim 3.*corpus2csc\(.*\).T",
        frozenset({"LDA", "MultinomialMixture"}),
    ),
    "annotated": (AnnData, "X is an AnnData object: pass adata.X", EVERY),
    "file": (CSRDataset, r"X is a CSRDataset, .* pass X.to_memory\(\)", EVERY),
    "masked": (lambda X: np.ma.masked_less(X, 0.5), "X is a masked array", EVERY),
    "narrow": (lambda X: X[:, :-1], "X has .* features, but .* is expecting", EVERY),
    "wide": (lambda X: np.hstack([X, X]), "X has .* features, but", EVERY),
}
#: For kinds that only a fitted model refuses: the methods that accept them. A fit
#: learns the number of columns, and some models accept more of them in `partial_fit`.
ACCEPTED = {"narrow": ("fit", "fit_transform"), "wide": FITS}


@functools.cache
def data_of(name):
    """Return dense data of a model, in which unknown values are NaN."""
    X = ROWS[name].data(120)
    if not sparse.issparse(X):
        return np.array(X)
    missing = np.nan if name == "MatrixFactorization" else 0.0
    dense = np.full(X.shape, missing)
    dense[X.nonzero()] = X.data
    return dense


@functools.cache
def fitted(name):
    return ROWS[name].estimator(max_iter=1).fit(data_of(name))


def parameters_of(estimator):
    """Return the natural parameters of a fit, as one array."""
    model = fitted_model(estimator)
    return np.array(model.natural_parameters(estimator.state_.globals_))


def assert_refused(name, kind, method):
    spoil, message, _ = BAD[kind]
    is_new = method in FITS and kind not in ACCEPTED
    estimator = ROWS[name].estimator() if is_new else fitted(name)
    before = None if is_new else parameters_of(estimator)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(estimator, method)(spoil(data_of(name)))
    if is_new:
        assert not hasattr(estimator, "state_")
        assert not hasattr(estimator, "n_features_in_")
    else:
        np.testing.assert_array_equal(parameters_of(estimator), before)


CASES = [(name, kind) for name in ROWS for kind in BAD if name in BAD[kind][2]]


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:invalid value encountered:RuntimeWarning",  # conversions to integers warn
)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_invalid_data_are_refused_by_all_methods(name, kind):
    estimator = ROWS[name].estimator()
    for method in METHODS:
        if hasattr(estimator, method) and method not in ACCEPTED.get(kind, ()):
            assert_refused(name, kind, method)


@pytest.mark.parametrize("name", ROWS)
def test_methods_are_refused_before_a_fit(name):
    estimator = ROWS[name].estimator()
    for method in METHODS:
        if method not in FITS and hasattr(estimator, method):
            with pytest.raises(NotFittedError):
                getattr(estimator, method)(data_of(name))
    if hasattr(estimator, "inverse_transform"):
        with pytest.raises(NotFittedError):
            estimator.inverse_transform(np.ones((1, estimator.n_components)))
    of_fits = [name for name in dir(type(estimator)) if re.fullmatch("[a-z].*_", name)]
    assert "history_" in of_fits
    for attribute in of_fits:
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(estimator, attribute)


@pytest.mark.filterwarnings("ignore")
def test_files_of_anndata_in_backed_mode_are_refused_with_two_remedies(tmp_path):
    """`CSRDataset` above stands for the class of this test, if it is not installed."""
    anndata = pytest.importorskip("anndata")
    counts = sparse.random(40, 12, 0.4, format="csr", random_state=0)
    counts.data = np.ceil(5 * counts.data)
    path = tmp_path / "counts.h5ad"
    anndata.AnnData(counts).write_h5ad(path)
    X = anndata.read_h5ad(path, backed="r").X
    lda = AnnealedLDA(2, random_state=0)
    with pytest.raises(TypeError, match=r"values are in a file: pass X.to_memory\(\)"):
        lda.fit(X)
    np.testing.assert_array_equal(
        lda.fit(X.to_memory()).components_, lda.fit(counts).components_
    )
    lda.partial_fit(X[:20]).partial_fit(X[20:])
