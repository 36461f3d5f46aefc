"""Matrix products whose rows know nothing of one another; one thread for BLAS."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sktemper.linalg import TILE, one_blas_thread, tiled_matmul

SHAPES = [
    (1, 1),
    (64, 1),
    (3, 5),
    (16, 700),
    (33, 8),
    (300, 50),
    (9, 203),
]  # inner, columns


def factors(n_rows, n_inner, n_columns, dtype):
    random = np.random.default_rng(n_rows)
    shapes = (n_rows, n_inner), (n_inner, n_columns)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_product(n_rows, shape, dtype):
    rows, matrix = factors(n_rows, *shape, dtype)
    product = tiled_matmul(rows, matrix)
    assert product.dtype == dtype
    assert product.shape == (n_rows, shape[1])
    exact = rows.astype(np.longdouble) @ matrix.astype(np.longdouble)
    size = np.abs(rows) @ np.abs(matrix)
    error = np.abs(product - exact)
    assert (error <= shape[0] * np.finfo(dtype).eps * size).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_of_a_row_are_its_own(shape, dtype):
    rows, matrix = factors(2 * TILE + 50, *shape, dtype)
    with one_blas_thread():
        whole = tiled_matmul(rows, matrix)
        order = np.random.default_rng(0).permutation(len(rows))
        for chosen in (
            slice(1),
            slice(7, 12),
            slice(TILE),
            slice(TILE - 3, TILE + 90),
            slice(60, None),
            slice(None, None, 3),  # not contiguous
            order,
            order[:TILE],
        ):
            np.testing.assert_array_equal(
                tiled_matmul(rows[chosen], matrix), whole[chosen]
            )
        neighbours = rows.copy()
        neighbours[1::2] = 1e20
        np.testing.assert_array_equal(tiled_matmul(neighbours, matrix)[::2], whole[::2])


def test_any_layout_of_the_matrix_does():
    rows, matrix = factors(200, 40, 30, np.float64)
    expected = rows @ matrix
    for other in (np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(tiled_matmul(rows, other), expected, rtol=1e-11)


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


PROGRAM = """
import threading
import numpy as np, scipy.linalg
from threadpoolctl import threadpool_info
from sktemper.linalg import one_blas_thread

def threads():
    return max(m["num_threads"] for m in threadpool_info() if m["user_api"] == "blas")

def first():
    with one_blas_thread():
        entered.set()
        leave.wait(10)

entered, leave = threading.Event(), threading.Event()
thread = threading.Thread(target=first)
seen = [threads()]
thread.start()
entered.wait(10)
with one_blas_thread():
    leave.set()
    thread.join()
    seen.append(threads())
print(*seen, threads())
"""


def test_one_thread_lasts_until_the_last_has_left():
    """Whoever comes first may leave first."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
    )
    before, within, after = done.stdout.split()
    assert within == "1"
    assert before == after
