"""Matrix products with independent rows, rows of sparse matrices, one BLAS thread."""

import threading

import numpy as np
import pytest
from fits import peak_of
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from sktemper._engine._data import as_slice
from sktemper._utils import _linalg as linalg
from sktemper._utils._linalg import sparse_rows, tiled_matmul
from sktemper._utils._tasks import one_blas_thread
from sktemper.lda._model import LDAModel
from sktemper.matrix_factorization._model import MatrixFactorizationModel

pytestmark = pytest.mark.machine

# Inner dimension and number of columns: incomplete panels, and sums in several parts.
SHAPES = [(1, 1), (64, 1), (3, 5), (16, 700), (33, 8), (300, 50), (9, 203), (600, 33)]
# A tile has 6 or 12 rows, depending on the instruction set; 8 tiles form a group.
ROWS = [0, 1, 2, 5, 6, 7, 11, 12, 13, 95, 96, 97, 200]


def factors(n_rows, n_inner, n_columns, dtype):
    random = np.random.default_rng(n_rows)
    shapes = (n_rows, n_inner), (n_inner, n_columns)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_have_small_errors(shape, dtype):
    rows, matrix = factors(max(ROWS), *shape, dtype)
    exact = rows.astype(np.longdouble) @ matrix.astype(np.longdouble)
    largest = shape[0] * np.finfo(dtype).eps * (np.abs(rows) @ np.abs(matrix))
    for n_rows in ROWS:
        product = tiled_matmul(rows[:n_rows], matrix)
        assert product.dtype == dtype
        assert product.shape == (n_rows, shape[1])
        assert (np.abs(product - exact[:n_rows]) <= largest[:n_rows]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_of_a_row_are_its_own(shape, dtype):
    """They do not depend on the row's position, the number of rows or other rows."""
    rows, matrix = factors(241, *shape, dtype)
    whole = tiled_matmul(rows, matrix)
    order = np.random.default_rng(0).permutation(len(rows))
    for chosen in (
        *(slice(first, first + n) for first, n in enumerate(ROWS)),
        slice(60, None),
        slice(None, None, 3),  # not contiguous
        slice(None, None, -1),
        order,
    ):
        np.testing.assert_array_equal(tiled_matmul(rows[chosen], matrix), whole[chosen])
    for n in range(24):  # each position in a tile
        alone = tiled_matmul(rows[n : n + 1], matrix)
        np.testing.assert_array_equal(alone[0], whole[n])
    neighbours = rows.copy()
    for value in (1e20, np.nan, np.inf):
        neighbours[1::2] = value
        found = tiled_matmul(neighbours, matrix)[::2]
        np.testing.assert_array_equal(found, whole[::2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_of_any_memory_layout_are_accepted(dtype):
    rows, matrix = factors(200, 40, 30, dtype)
    expected = tiled_matmul(rows, matrix)
    read_only = matrix.copy()
    read_only.flags.writeable = False
    shifted = np.empty(matrix.nbytes + 1, np.uint8)[1:].view(dtype)
    shifted = shifted.reshape(matrix.shape)  # at an odd address
    shifted[...] = matrix
    for other in (
        np.asfortranarray(matrix),
        np.repeat(matrix, 2, axis=1)[:, ::2],
        matrix[::-1, ::-1].copy()[::-1, ::-1],
        read_only,
        shifted,
    ):
        np.testing.assert_array_equal(tiled_matmul(rows, other), expected)
    for other in (
        np.asfortranarray(rows),
        np.repeat(rows, 2, axis=1)[:, ::2],
        rows[:, ::-1].copy()[:, ::-1],
        np.hstack([rows, rows])[:, :40],
    ):
        np.testing.assert_array_equal(tiled_matmul(other, matrix), expected)


def test_mixed_types_give_the_wider():
    rows, matrix = factors(20, 7, 9, np.float32)
    for pair in ((rows, matrix.astype(np.float64)), (rows.astype(np.float64), matrix)):
        product = tiled_matmul(*pair)
        assert product.dtype == np.float64
        exact = rows.astype(np.float64) @ matrix.astype(np.float64)
        np.testing.assert_allclose(product, exact, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [(0, 3, 4), (5, 0, 4), (5, 3, 0)])
def test_products_with_empty_matrices(shape):
    rows, matrix = factors(*shape, np.float64)
    np.testing.assert_array_equal(tiled_matmul(rows, matrix), rows @ matrix)


def test_products_of_several_calls(monkeypatch):
    rows, matrix = factors(100, 20, 30, np.float64)
    expected = tiled_matmul(rows, matrix)
    monkeypatch.setattr(linalg, "TERMS_AT_ONCE", 7 * 20 * 30)
    np.testing.assert_array_equal(tiled_matmul(rows, matrix), expected)


# -- rows of sparse matrices -----------------------------------------------------------


def mixed(X, cls):
    """Return the matrix with an int64 ``indptr`` and int32 ``indices``."""
    out = cls(X)
    out.indptr, out.indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    return out


@pytest.mark.parametrize("cls", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize(
    "rows", [slice(3, 17), slice(5, 5), slice(None), [4, 2, 2, 19, 0], [], range(20)]
)
def test_rows_of_any_index_type(rows, cls):
    X = cls(sparse.random(20, 9, density=0.3, format="csr", random_state=0))
    X.indptr[5:7] = X.indptr[5]  # an empty row
    rows = rows if isinstance(rows, slice) else np.array(rows, dtype=np.intp)
    expected = X[rows].toarray()
    for given in (X, mixed(X, cls)):
        part = sparse_rows(given, rows)
        assert isinstance(part, cls)
        part.check_format()
        np.testing.assert_array_equal(part.toarray(), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64])
def test_rows_of_any_values(dtype):
    X = sparse.random(20, 9, density=0.3, format="csr", random_state=0)
    X = sparse.csr_array((10 * X).astype(dtype))
    rows = np.array([19, 3, 3, 0])
    expected = X.toarray()[rows]
    np.testing.assert_array_equal(sparse_rows(X, rows).toarray(), expected)
    X.data = np.repeat(X.data, 2)[::2]  # a view of every other element
    part = sparse_rows(X, rows)
    assert part.dtype == dtype
    np.testing.assert_array_equal(part.toarray(), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_that_follow_one_another_are_a_slice(dtype):
    for rows in ([3], [3, 4, 5], [0, 1]):
        assert as_slice(np.array(rows, dtype)) == slice(rows[0], rows[-1] + 1)
    for rows in ([3, 3], [3, 5, 4, 6], [0, 2], [5, 4], [0, 2, 1, 3]):
        np.testing.assert_array_equal(as_slice(np.array(rows, dtype)), rows)


def test_a_row_that_does_not_exist():
    X = sparse.csr_array(np.eye(4))
    for rows in ([4], [0, -1]):
        with pytest.raises(IndexError, match="outside of a matrix of 4 rows"):
            sparse_rows(X, np.array(rows))
    X.indptr[2:] = 7  # more than the number of entries
    with pytest.raises(IndexError, match="row 1 is outside"):
        sparse_rows(X, np.array([0, 1]))


def test_a_few_rows_of_a_large_collection_are_read_alone(tmp_path):
    """All indices (32 MB) are not copied, although ``indptr`` has another type."""
    n_rows, per_row, n_columns = 2**18, 32, 100
    size = n_rows * per_row
    parts = {}
    for name, dtype in (("data", np.float32), ("indices", np.int32)):
        parts[name] = np.memmap(tmp_path / name, dtype, "w+", shape=size)  # sparse
    rows = np.random.default_rng(0).permutation(n_rows)[:256]
    for row in rows:
        entries = slice(row * per_row, (row + 1) * per_row)
        parts["data"][entries] = 1 + row % 3
        parts["indices"][entries] = np.arange(per_row) * 3
    X = sparse.csr_array((n_rows, n_columns), dtype=np.float32)
    X.data, X.indices = parts["data"], parts["indices"]
    X.indptr = np.arange(n_rows + 1, dtype=np.int64) * per_row
    topics = LDAModel(2, n_columns, np.ones(2), np.ones((1, 1)), dtype=np.float32)
    ratings = MatrixFactorizationModel(2, n_columns, dtype=np.float32)
    topics.take(X, rows[:2])  # imports and caches of the first call
    ratings.take(X, rows[:2])
    most, (documents, users) = peak_of(
        lambda: (topics.take(X, rows), ratings.take(X, rows))
    )
    assert most < 2**21
    for values in (documents.counts, users.values):
        np.testing.assert_array_equal(values, np.repeat(1 + rows % 3, per_row))


# -- one thread ------------------------------------------------------------------------


def threads():
    return [m["num_threads"] for m in threadpool_info() if m["user_api"] == "blas"]


def test_one_thread_nests_and_is_given_back():
    with threadpool_limits(2, "blas"):
        before = threads()
        with one_blas_thread():
            assert set(threads()) == {1}
            with one_blas_thread():
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert threads() == before
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert threads() == before
        assert 2 in before or max(before) == 1


def test_one_thread_lasts_until_the_last_has_left():
    entered, leave = threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    with threadpool_limits(2, "blas"):
        before = threads()
        thread = threading.Thread(target=first)
        thread.start()
        entered.wait(10)
        with one_blas_thread():
            leave.set()
            thread.join()
            assert set(threads()) == {1}
        assert threads() == before


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_ctrl_c_leaves_the_threads_of_blas(call, monkeypatch):
    """After Ctrl-C, the next use restores the number of threads."""
    calls = []

    class Library:
        num_threads = 7

        def set_num_threads(self, n_threads):
            calls.append(n_threads)
            if len(calls) == call:
                raise KeyboardInterrupt
            self.num_threads = n_threads

    libraries = [Library(), Library()]
    monkeypatch.setattr("sktemper._utils._tasks._libraries", lambda: libraries)
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        pass
    with one_blas_thread():
        assert [one.num_threads for one in libraries] == [1, 1]
    assert [one.num_threads for one in libraries] == [7, 7]
