"""Validation of data, beyond the checks of scikit-learn, and limits of numbers.

Within the limits, all results are finite.  Kernels store values, their squares, and
sums of up to 10^8 squares in the dtype of the data.  All other numbers are float64.
The limit x of values therefore satisfies two conditions:

- 10^8 x^2 is finite in the dtype: x < 1.8e15 in float32, and x < 1.3e150 in float64.
- x^2 / v, times counts, weights and sizes, is finite in float64 for each allowed
  variance v.  Standard deviations from 1 / x to x are allowed, so that x^2 / v reaches
  x^4.  With x = 1e60, this leaves 68 decades for the other factors.

Prior parameters that are not variances are concentrations, degrees of freedom, and
precisions relative to the precision of samples.  For such a parameter p, 1 / p and
p^2 / 10^8 must be finite in float32.  This holds from 1e-30 to 1e23.  The upper limit
is nevertheless 1e30, because parameters above 1e23 are not squared.
"""

import copy
import math
from datetime import date

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._arguments import refuse
from ._csr import is_plain
from ._frames import as_frame, is_frame, is_polars

#: Largest absolute value of data, for each dtype that models compute in.
LARGEST_VALUE = {"float32": 1e15, "float64": 1e60}
#: Largest count, also after multiplication by the weight of its sample.  Products of
#: larger counts overflow in float32.
LARGEST_COUNT = 1e30
#: Smaller counts are none, as functions of them overflow.
SMALLEST_COUNT = 1e-100
#: Relative difference of numbers that are equal except for rounding.
ROUNDING = 1e-9
#: Upper limit of weights of samples.  The largest weight of the data must be at least
#: the inverse of this limit.
LARGEST_WEIGHT = 1e15
#: Weights below this share of the largest weight are set to 0, because a division by
#: the weights of a batch would overflow if the batch has only such weights.
LEAST_SHARE = LARGEST_WEIGHT**-2
#: Limits of prior parameters that are not variances.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-30, LARGEST_COUNT
#: Largest deviation from 1 of the sum of the shares of a sample.
SUM_TOL = 1e-3


def largest_value(dtype):
    """Return the largest allowed absolute value of data for a dtype."""
    # the name of a dtype takes long to build
    is_single = np.dtype(dtype) == np.float32
    return LARGEST_VALUE["float32" if is_single else "float64"]


def check_values(X, dtype, name="X", training=False):
    """Raise if values are so large, or all so small, that squares exceed the dtype.

    NaN is ignored.  If a model learns variances in ``training``, values that are all
    tiny but not 0 are refused too.
    """
    values = X.data if issparse(X) else np.asarray(X)
    if values.size == 0 or values.dtype.kind not in "iuf":
        return
    limit = largest_value(dtype)
    least, largest = np.fmin.reduce(values, None), np.fmax.reduce(values, None)
    top = max(float(largest), -float(least))
    if not (top > limit or (training and 0 < top < 1 / limit)):
        return  # also if all values are NaN
    remedy = "Scale the data" + (
        "." if np.dtype(dtype) == np.float64 else ", or fit to float64."
    )
    if top > limit:
        raise ValueError(
            f"{name} has values of {top:.3g}, but in {np.dtype(dtype)} they may be at "
            f"most {limit:g}: squares would overflow. {remedy}"
        )
    raise ValueError(
        f"{name} has no values above {top:.3g}, but in {np.dtype(dtype)} some must be "
        f"at least {1 / limit:g}: squares would vanish. {remedy}"
    )


def check_variances(variances, dtype, name):
    """Raise if a prior variance, or the diagonal of a covariance, cannot be used.

    None means that the variances are not known yet.
    """
    limit = largest_value(dtype) ** 2
    value = _outside(variances, 1 / limit, limit)
    if value is not None:
        raise ValueError(
            f"{name} of {value:.3g}: in {np.dtype(dtype)} variances must be between "
            f"{1 / limit:.0e} and {limit:.0e}. Scale the data, or give other priors."
        )


def check_prior(value, name):
    """Raise if a prior parameter that is not a variance cannot be used.

    None stands for a default.
    """
    value = _outside(value, SMALLEST_PRIOR, LARGEST_PRIOR)
    if value is not None:
        refuse(name, f"between {SMALLEST_PRIOR:g} and {LARGEST_PRIOR:g}", value)


def _outside(values, least, most):
    """Return a value that is not within limits; None if there is none."""
    if values is None:
        return None
    low, high = np.min(values), np.max(values)
    if low >= least and high <= most:
        return None
    return float(high if low >= least else low)


def checked_weights(sample_weight):
    """Return weights of samples, with negligible weights set to 0.

    Raises ValueError if a weight is too large, or if all weights are too small.
    """
    top = float(sample_weight.max(initial=0))
    if top > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has a weight of {top:.3g}, but weights may be at most "
            f"{LARGEST_WEIGHT:g}. Divide the weights by their mean."
        )
    if 0 < top < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has no weight above {top:.3g}, but one must be at least "
            f"{1 / LARGEST_WEIGHT:g}. Divide the weights by their mean."
        )
    lost = sample_weight < top * LEAST_SHARE
    return np.where(lost, 0.0, sample_weight) if lost.any() else sample_weight


def checked_floats(values, name, **checks):
    """Return an argument as a valid array of float64, see `check_array`."""
    return check_array(
        values, ensure_2d=False, dtype=np.float64, input_name=name, **checks
    )


def largest_count(X):
    """Return the largest count as a float, or 0; sparse data are not sorted."""
    return float((X.data if issparse(X) else X).max(initial=0))


def check_counts(X, sample_weight):
    """Raise if counts are too large after weighting."""
    largest = largest_count(X)
    top = float(sample_weight.max(initial=0))
    if top * largest > LARGEST_COUNT:
        raise ValueError(
            f"sample_weight of {top:.3g} times counts of {largest:.3g} may be above "
            f"{LARGEST_COUNT:g}, the largest count. Scale the weights or the counts."
        )


# -- data: arrays, sparse matrices and their indices -----------------------------------
#: Dtypes of indices in matrices that scipy creates.  Other dtypes, for instance from
#: files, occur only if a user assigns to the arrays of a matrix.
INDEX_DTYPES = np.dtype(np.int32), np.dtype(np.int64)
#: Largest number of values that `_is_plainly_valid` inspects, and for which the calling
#: thread computes.
FEW_VALUES = 100_000
#: From this integer on, floats do not represent every integer.
INEXACT = int(2 / np.finfo(np.float64).eps)
#: Remedy in messages about columns that are no numbers.
NO_DATES = (
    "Convert dates to numbers, such as years; give each item of a list a column of its "
    "own; or leave the column out."
)
#: Number of items of an array that are inspected for text.
LOOKED_AT = 100


#: Advice for text in data of numbers, see `check_data`.
ON_TEXT = {"text": "Columns of text or categories need a mixed mixture."}


def check_numbers(estimator, X, reset, advice=ON_TEXT, **options):
    """Validate floats, and NaN unless ``ensure_all_finite`` is True."""
    floats = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
    return check_data(estimator, X, advice, reset=reset, **floats | options)


#: Checks of counts, and of weights of pairs.
NON_NEGATIVE = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True}


def check_data(estimator, X, advice=None, **options):
    """Validate data by `sklearn.utils.validation.validate_data` and further checks.

    Sparse matrices are checked first.  Masked arrays, dates, integers beyond the range
    of floats, repeated names of columns, and entries that are no numbers raise errors
    with clear messages.  ``advice`` is a dict from parts of messages, and "text" if the
    data look like text, to sentences that the messages end with.
    """
    check_no_container(X)
    if is_frame(X := as_frame(X)) and options["reset"]:
        check_labels_differ(np.asarray(X.columns, dtype=object).tolist())
        _check_columns(X)
    check_unmasked(X)
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M"):
        raise TypeError(f"Input X has the dtype {dtype}; expected numbers.")
    X = check_sparse(X)
    if _is_plainly_valid(estimator, X, options):
        return X
    try:
        with config_context(array_api_dispatch=False):  # kernels need NumPy
            return validate_data(estimator, X, **options)
    except OverflowError as error:
        raise ValueError(f"Input X contains an integer too large: {error}.") from error
    except (TypeError, ValueError) as error:
        message = str(error)
        if "float() argument" in message:
            message = f"X has entries that are no numbers: {message}."
        for part, sentence in (advice or {}).items():
            if part in message or (part == "text" and looks_like_text(X)):
                message += f"\n{sentence}"
        if message == str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from error


def check_labels_differ(labels):
    """Raise if several columns of a data frame have the same label."""
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"X has several columns with the name {twice!r}: rename them.")


def _check_columns(X):
    """Raise if a column of a data frame has dates, durations or lists.

    Of columns of objects, only the first is inspected.
    """
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        what = None
        if is_polars(X):
            wrong = dtype.is_temporal() or dtype.is_nested()
        else:
            wrong = dtype.kind in "mM"
            item = X[name].iloc[0] if dtype.kind == "O" and len(X) else None
            if isinstance(item, list | tuple | np.ndarray | date):
                what = f"a value of the type {type(item).__name__}, {str(item)[:40]!r}"
        if wrong or what:
            what = what or f"the dtype {dtype}"
            raise TypeError(
                f"Column {name!r} of X has {what}; expected numbers. {NO_DATES}"
            )


def check_no_container(X):
    """Raise if ``X`` contains data with annotations, or a sparse matrix in a file.

    It is an ``AnnData`` object of anndata, the sparse ``adata.X`` of a file that
    anndata has opened in backed mode, or a ``LazyFrame`` of polars.
    """
    if type(X).__name__ == "AnnData":
        raise TypeError("X is an AnnData object: pass adata.X.")
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame of polars: pass X.collect().")
    if hasattr(type(X), "to_memory"):
        raise TypeError(
            f"X is a {type(X).__name__}, whose values are in a file: pass "
            "X.to_memory() to fit, or parts X[start:stop] to partial_fit."
        )


def _is_plainly_valid(estimator, X, options):
    """Return whether `validate_data` would return these few data unchanged.

    If so, the caller does not call `validate_data`, which looks for data frames of all
    libraries and reads the tags of the estimator.  This takes longer than computations
    with one row.  All other data are passed to `validate_data`, which converts them,
    warns or raises an error.
    """
    known = vars(estimator)
    if options["reset"] or "feature_names_in_" in known:
        return False
    is_csr = sparse.isspmatrix_csr(X) or type(X) is sparse.csr_array
    if is_csr and options.get("accept_sparse") != "csr":
        return False
    if not is_csr and type(X) is not np.ndarray:
        return False
    values = X.data if is_csr else X
    dtype, wanted = values.dtype, options["dtype"]
    if wanted == "numeric":
        is_wanted = dtype.kind in "iu" or dtype in (np.float32, np.float64)
    else:
        is_wanted = dtype in wanted
    return (
        is_wanted
        and dtype.isnative
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == known.get("n_features_in_")
        and values.size <= FEW_VALUES
        and _are_finite(values, options.get("ensure_non_negative", False))
    )


def _are_finite(values, from_zero):
    if not values.size:
        return True
    # if a value is NaN, so are both, and all comparisons are False
    least, largest = np.minimum.reduce(values, None), np.maximum.reduce(values, None)
    return bool((least >= 0 if from_zero else least > -np.inf) and largest < np.inf)


def is_small_matrix(X, most_rows, most_values):
    """Return whether data are a table or a CSR matrix with few rows and values.

    Data are not validated; parts of a sparse matrix may contradict each other.
    """
    is_csr = sparse.issparse(X) and X.format == "csr"
    if not (is_csr or type(X) is np.ndarray or is_frame(X)) or len(X.shape) != 2:
        return False
    n_values = np.size(X.data) if is_csr else math.prod(X.shape)
    return 0 < X.shape[0] <= most_rows and n_values <= most_values


def check_unmasked(X, name="X", may_be_nan=True):
    """Raise if some values are masked, because later code ignores the mask.

    ``may_be_nan`` says whether some estimators accept NaN as missing values.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        remedy = "Remove the rows or columns with masked values."
        if may_be_nan:
            remedy = (
                f"If missing values may be NaN, pass {name}.astype(float)"
                ".filled(numpy.nan)."
            )
        raise TypeError(
            f"{name} is a masked array, whose masked values would be used like other "
            f"values. {remedy}"
        )


def check_init(init, n_components, n_features, name="init"):
    """Return ``init`` as a valid array of float64, (n_components, n_features)."""
    init = check_array(init, dtype=np.float64, input_name=name)
    if init.shape != (n_components, n_features):
        raise ValueError(
            f"{name} has shape {init.shape}; expected ({n_components}, {n_features})."
        )
    return init


def check_sparse(X):
    """Check the arrays of a sparse matrix; return any other object unchanged.

    scipy checks a matrix only when it is created.  If its arrays are changed later,
    scipy reads outside of them.  The check reads the arrays once, keeps memory maps,
    and copies only indices of dtypes that scipy does not create.

    Formats "lil" and "dok" are converted to CSR, surplus entries of the arrays are cut
    off, and indices of compressed formats become int32 or int64.  A COO matrix of small
    integers is converted to CSR, and to int64 if a sum of duplicate entries would
    overflow.
    """
    if not sparse.issparse(X):
        return X
    if X.format == "lil":
        _check_lists(X)
    if X.format in ("lil", "dok"):
        X = X.tocsr()
    if X.format in ("csr", "csc", "bsr"):
        return X if _is_plain_csr(X) else _check_compressed(X)
    if X.format == "coo":
        _check_coordinates(X)
        return _with_whole_sums(X)
    if X.format == "dia":
        _check_diagonals(X)
    return X


def _is_plain_csr(X):
    """Return whether `_check_compressed` would return a matrix unchanged.

    One loop decides this for most matrices, in less time than the single checks.
    """
    if X.format != "csr" or X.ndim != 2:
        return False
    try:
        return (
            len(X.indptr) == X.shape[0] + 1
            and X.indices.shape == X.data.shape
            and is_plain(X.indptr, X.indices, X.shape[1])
        )
    except (AttributeError, TypeError, ValueError):  # of other types, or with gaps
        return False


def _check_compressed(X):
    _check_integers(X, indptr=X.indptr, indices=X.indices)
    if (X.indptr[1:] < X.indptr[:-1]).any():
        _refuse(X, "indptr decreases")
    found = copy.copy(X)
    for name in ("indptr", "indices"):
        part = getattr(found, name)
        if part.dtype not in INDEX_DTYPES:  # of which scipy would warn
            setattr(found, name, part.astype(np.int64))
    try:
        found.check_format()
    except (ValueError, ZeroDivisionError) as error:
        _refuse(X, error)
    return _with_true_flags(found) if X.format == "csr" else found


def _with_true_flags(X):
    """Return a CSR matrix whose flags agree with its indices.

    Users can set the flags "canonical" and "sorted".  scipy trusts them, and would then
    neither sum duplicates nor sort.
    """
    starts, columns = np.ascontiguousarray(X.indptr), np.ascontiguousarray(X.indices)
    if is_plain(starts, columns, X.shape[1]):
        return X
    other = copy.copy(X)
    is_wrong = other.has_canonical_format
    if is_wrong:
        other.has_canonical_format = False
    falls = 1 + np.flatnonzero(columns[1:] < columns[:-1])
    if other.has_sorted_indices and not np.isin(falls, starts).all():
        is_wrong, other.has_sorted_indices = True, False
    return other if is_wrong else X


def _check_coordinates(X):
    coords = X.coords if X.ndim == 1 else (X.row, X.col)
    coords = dict(zip(("row", "column")[-X.ndim :], coords, strict=True))
    _check_integers(X, **coords)
    if np.ndim(X.data) != 1:
        _refuse(X, "data is not of one dimension")
    for (name, places), size in zip(coords.items(), X.shape, strict=True):
        if len(places) != len(X.data):
            _refuse(X, f"{name} has {len(places)} entries, but data {len(X.data)}")
        if len(places) and not 0 <= places.min() <= places.max() < size:
            raise ValueError(
                f"X has {name} indices outside of its {size} {name}s: it was built "
                "with a wrong shape."
            )


def _with_whole_sums(X):
    """Return a COO matrix of small integers as CSR, with sums that do not overflow.

    scipy adds duplicate entries in the dtype of the matrix.  In uint8, for example, the
    sum of 200 and 100 is 44.
    """
    if X.ndim != 2 or X.dtype.kind not in "iu" or X.dtype.itemsize == 8:
        return X
    found = X.tocsr()
    if found.nnz == X.nnz:
        return found
    sums = X.astype(np.int64).tocsr()
    return found if (sums.data == found.data).all() else sums


def check_distinct(X, found, name="X"):
    """Raise if a sparse matrix has several ratings for the same row and column.

    ``found`` is the same matrix as CSR, or an array.  scipy would add the ratings.
    """
    if not issparse(found) or (X.nnz == found.nnz and found.has_canonical_format):
        return
    firsts = range(0, X.shape[0], FEW_VALUES)  # the places of all may be large
    parts = ((first, found[first : first + FEW_VALUES]) for first in firsts)
    for first, part in [(0, X)] if X.nnz > found.nnz else parts:
        places = part.tocoo()
        places = places.row * np.int64(X.shape[1]) + places.col
        keys, counts = np.unique(places, return_counts=True)
        if len(keys) < len(places):
            row, column = divmod(int(keys[np.argmax(counts > 1)]), X.shape[1])
            raise ValueError(
                f"{name} has several ratings of an item by a user, for example in row "
                f"{first + row} and column {column}, and a sum of them would be no "
                "rating. Choose one by "
                "sktemper.datasets.ratings_matrix(..., duplicates='last')."
            )


def _check_diagonals(X):
    _check_integers(X, offsets=X.offsets)
    if np.ndim(X.data) != 2 or len(X.data) != len(X.offsets):
        _refuse(X, f"data has shape {X.data.shape} for {len(X.offsets)} offsets")


def _check_lists(X):
    parts = (X.rows, X.data)
    if not all(np.shape(part) == X.shape[:1] for part in parts) or any(
        not isinstance(row, list)
        or not isinstance(values, list)
        or len(row) != len(values)
        for row, values in zip(*parts, strict=True)
    ):
        _refuse(X, "a row has different numbers of values and column indices")


def _check_integers(X, **parts):
    for name, part in parts.items():
        if np.ndim(part) != 1 or part.dtype.kind not in "iu":
            _refuse(X, f"{name} is not an array of integers of one dimension")


def _refuse(X, why):
    raise ValueError(f"X is not a valid {X.format} matrix: {why}.")


def looks_like_text(X):
    """Return whether some of the first items of ``X`` are strings, or lists of them."""
    if isinstance(X, (str, bytes)):
        return True
    if sparse.issparse(X):
        return False
    try:
        items = np.asarray(X, dtype=object).ravel()[:LOOKED_AT].tolist()
    except Exception:  # a container of the user may raise anything
        return False
    firsts = (
        item[0] if isinstance(item, (list, tuple)) and item else item for item in items
    )
    return any(isinstance(first, (str, bytes)) for first in firsts)
