"""Vectorised special functions, compared with mpmath on every instruction set."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from fits import assert_passes_on
from sources import ALONE

from sktemper import TemperedLDA
from sktemper._simd import special

mpmath.mp.dps = 40
X = np.concatenate([np.geomspace(1e-3, 1e7, 400), [1.0, 2.0, 0.5, 1e10]])


def exact(name, x, b):
    f = {
        "digamma": mpmath.digamma,
        "log_gamma": mpmath.loggamma,
        "trigamma": lambda v: mpmath.polygamma(1, v),
        "exp_digamma": lambda v: mpmath.exp(b * mpmath.digamma(v)),
        "exp_scaled": lambda v: mpmath.exp(b * v),
    }[name]
    return [f(mpmath.mpf(float(v))) for v in x]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("b", [1.0, 1 / 3])
def test_exp_digamma(dtype, b):
    x = X.astype(dtype)
    values, shift = special.evaluate("exp_digamma", x, b)
    eps = np.finfo(dtype).eps
    smallest = np.log(np.finfo(dtype).tiny)
    references = exact("exp_digamma", x, b)
    for value, v, reference in zip(values, x, references, strict=True):
        log_scaled = mpmath.log(reference) - shift
        if log_scaled < smallest + 2:  # the result is about the smallest normal number
            assert value < 10 * np.exp(smallest + 2)
            continue
        error = abs(float(mpmath.mpf(float(value)) / mpmath.exp(log_scaled) - 1))
        # 1 / x is the condition number of the function, and log(x) that of a power
        assert error < 4 * eps * (1 + 1 / v) + 2 * eps * abs(np.log(v)) * (b != 1)


#: Of each function: a parameter, arguments, a size to which errors are relative, which
#: may exceed that of the function, and the largest error.
ERRORS = {
    "digamma": (
        1.0,
        X,
        lambda x, f: 1 + 1 / x + np.abs(np.log(x)),
        lambda eps: 2 * eps,
    ),
    "exp_scaled": (0.5, np.linspace(-60, 30, 1001), lambda x, f: f, lambda e: 4 * e),
    "log_gamma": (1.0, X, lambda x, f: 1 + x * np.abs(np.log(x)), lambda eps: 1e-14),
    "trigamma": (1.0, X, lambda x, f: f, lambda eps: 1e-13),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_small(name, dtype):
    b, x, size_of, tol = ERRORS[name]
    x = x.astype(np.float64 if name == "log_gamma" else dtype)
    pairs = zip(special.evaluate(name, x, b)[0], exact(name, x, b), strict=True)
    error, value = np.array([(float(r - float(v)), float(r)) for v, r in pairs]).T
    largest = np.max(np.abs(error) / size_of(x.astype(float), value))
    assert largest < tol(np.finfo(dtype).eps)


def test_differences_of_log_gamma():
    x = X.astype(np.float32).astype(np.float64)  # sums with 3 are exact
    rise = np.subtract(exact("log_gamma", x + 3, 1), exact("log_gamma", x, 1))
    error = rise - special.log_rising(x, np.full(len(x), 3.0))
    assert np.max(np.abs(error)) < 1e-13


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["digamma", "exp_digamma", "log_gamma", "trigamma"])
def test_large_arguments(name, dtype):
    """Powers of x overflow; from 1e10 on two terms of the series are exact."""
    exponents = np.arange(10, 37 if dtype == np.float32 else 301, 3)
    x = (10.0**exponents).astype(dtype)
    values, shift = special.evaluate(name, x)
    x = x.astype(np.float64)
    exact_values = {
        "digamma": np.log(x) - 0.5 / x,
        "exp_digamma": (x - 0.5) * np.exp(-shift),
        "log_gamma": (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi),
        "trigamma": 1 / x + 0.5 / x / x,
    }[name]
    np.testing.assert_allclose(values, exact_values, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.machine
def test_float32_cannot_underflow_wholesale():
    x = np.full(7, 1e-4, dtype=np.float32)  # exp(digamma) is e^-10000
    values, _ = special.evaluate("exp_digamma", x)
    assert np.isfinite(values).all() and (values > 0.5).all()


PROGRAM = """
import numpy as np
from sktemper._simd import special
x = np.geomspace(1e-3, 1e7, 1000)
out = [special.instruction_set]
for dtype in (np.float32, np.float64):
    for name in ("digamma", "exp_digamma", "log_gamma"):
        values, shift = special.evaluate(name, x.astype(dtype))
        out.append(repr(float(np.abs(values).astype(float).sum())))
print(*out)
"""


@functools.cache
def run(name):
    return subprocess.run(
        [sys.executable, "-P", "-c", ALONE + PROGRAM],
        env={**os.environ, "SKTEMPER_SIMD": name},
        capture_output=True,
        text=True,
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["avx512", "avx2", "baseline"])
def test_every_instruction_set_agrees(name):
    done = run(name)
    if "no instruction set of this machine" in done.stderr:
        pytest.skip(f"this machine lacks {name}")
    used, *values = done.stdout.split()
    assert used == name
    here = run("").stdout.split()[1:]
    np.testing.assert_allclose(
        np.array(values[:3], float), np.array(here[:3], float), rtol=1e-6
    )
    np.testing.assert_allclose(
        np.array(values[3:], float), np.array(here[3:], float), rtol=1e-14
    )


KERNEL_TESTS = (
    "lda_model.py",
    "sampled_updates.py",
    "factorial_mixture_model.py::test_the_kernel_is_the_reference",
    "factorial_mixture_model.py::test_powers_weights_and_starts_of_samples",
    "factorial_mixture_model.py::test_many_features_of_samples_that_miss_values",
)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["avx512", "avx2", "baseline"])
def test_the_kernels_are_right_on_every_instruction_set(name):
    tests = [str(Path(__file__).with_name(f"test_{what}")) for what in KERNEL_TESTS]
    assert_passes_on(name, "-m", "", *tests)


def test_an_unknown_instruction_set_is_refused():
    assert "SKTEMPER_SIMD='neon2'" in run("neon2").stderr


def test_threads_of_the_caller_keep_subnormals():
    """Neither a kernel nor its import makes a thread flush subnormals to zero."""
    for n_jobs in (1, 2):
        lda = TemperedLDA(2, tempering=None, batch_size=4, max_iter=1, n_jobs=n_jobs)
        lda.set_params(learning_rate=0.9).fit(np.ones((8, 5)))
        assert np.float64(1e-310) * np.float64(1.0) > 0
