"""Fits each model shortly, and compares what two machines have fitted.

``write FILE`` fits and writes the fitted states; ``compare ONE OTHER`` fails where two
such files differ by more than 1e-10 in float64 or 1e-5 in float32, relative to the
largest entry of an array. The data come from integers, which are the same everywhere.
``threads`` fits by two threads, blocks enough for both, and fails where one thread does
not fit the same bits.
"""

import sys

import numpy as np
from scipy import sparse
from sktemper._simd.special import instruction_set

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    AnnealedMultinomialMixture,
    ImplicitFactorization,
    TemperedBernoulliMixture,
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
    TemperedMultinomialMixture,
)
from sktemper.schedules import LinearSchedule

TOLERANCES = {"float64": 1e-10, "float32": 1e-5}


def data(n_samples):
    """Return small data: samples, word counts, ratings, and answers of yes or no."""
    random = np.random.default_rng(0)
    shapes = random.integers(0, 4, (3, 8)) / 2
    features = random.integers(0, 2, (n_samples, 3))
    samples = features @ shapes + random.integers(-64, 65, (n_samples, 8)) / 512
    frequent = random.integers(0, 40, (n_samples, 1)) // 10 == np.arange(40) // 10
    counts = random.integers(0, 4, (n_samples, 40)) * frequent
    counts += random.integers(0, 12, counts.shape) // 11
    ratings = random.integers(1, 11, (n_samples, 15)) / 2
    ratings *= random.integers(0, 2, ratings.shape)
    answers = (samples > 0.5).astype(np.float64)
    return samples, sparse.csr_array(counts), sparse.csr_array(ratings), answers


def estimators(**parameters):
    """Return each estimator with its name, and which of the data it is for."""
    common = {"batch_size": 40, "max_iter": 4, "random_state": 0, **parameters}
    annealed = {**common, "schedule": LinearSchedule(start=3, length=8)}
    return {
        "annealed LDA": (AnnealedLDA(4, **annealed), 1),
        "tempered LDA": (TemperedLDA(4, **common), 1),
        "annealed factorial mixture": (
            AnnealedFactorialMixture(3, moves=None, **annealed),
            0,
        ),
        "tempered factorial mixture": (TemperedFactorialMixture(3, **common), 0),
        "annealed Gaussian mixture": (AnnealedGaussianMixture(3, **annealed), 0),
        "tempered diagonal Gaussian mixture": (
            TemperedGaussianMixture(3, covariance_type="diag", **common),
            0,
        ),
        "annealed matrix factorization": (
            AnnealedMatrixFactorization(3, **annealed),
            2,
        ),
        "tempered matrix factorization": (TemperedMatrixFactorization(3, **common), 2),
        "implicit factorization": (
            ImplicitFactorization(3, pair_weight=1.0, **common),
            2,
        ),
        "annealed multinomial mixture": (AnnealedMultinomialMixture(4, **annealed), 1),
        "tempered multinomial mixture": (TemperedMultinomialMixture(4, **common), 1),
        "annealed Bernoulli mixture": (AnnealedBernoulliMixture(3, **annealed), 3),
        "tempered Bernoulli mixture": (TemperedBernoulliMixture(3, **common), 3),
    }


def fitted_states(n_samples, **parameters):
    """Fit every estimator in both precisions; return its arrays."""
    states = {}
    for name, (estimator, which) in estimators(**parameters).items():
        for dtype in TOLERANCES:
            X = data(n_samples)[which].astype(dtype)
            fitted = estimator.fit(X)
            for attribute in dir(fitted):
                is_fitted = attribute.endswith("_") and not attribute.startswith("_")
                value = getattr(fitted, attribute, None) if is_fitted else None
                if isinstance(value, np.ndarray):
                    states[f"{dtype}, {name}: {attribute}"] = value
            bound = fitted.history_["lower_bound"]
            states[f"{dtype}, {name}: lower_bound"] = np.array(bound, dtype=float)
            states[f"{dtype}, {name}: score"] = np.array([fitted.score(X)])
    return states


def write(path):
    """Write what is fitted here to a file."""
    states = fitted_states(120)
    np.savez(path, **states)
    print(f"{len(states)} arrays fitted by {instruction_set}")


def threads():
    """Return the number of arrays that two threads fit otherwise than one."""
    one, two = (
        fitted_states(4600, n_jobs=n_jobs, batch_size=4600, max_iter=2)
        for n_jobs in (1, 2)
    )
    same = [np.array_equal(one[name], two[name], equal_nan=True) for name in one]
    print(f"{sum(same)} passed, {len(same) - sum(same)} failed")
    return len(same) - sum(same)


def compare(one, other):
    """Return the number of arrays that differ."""
    one, other = np.load(one), np.load(other)
    assert one.files == other.files
    n_different, worst = 0, dict.fromkeys(TOLERANCES, 0.0)
    for name in one.files:
        dtype = name.split(",")[0]
        a, b = one[name].astype(float), other[name].astype(float)
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b), err_msg=name)
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        difference = abs(a - b).max() / max(abs(a).max(), np.finfo(dtype).tiny)
        worst[dtype] = max(worst[dtype], difference)
        if not difference <= TOLERANCES[dtype]:
            n_different += 1
            print(f"{name} differs by {difference:.1e}")
    for dtype, difference in worst.items():
        print(f"{dtype}: {difference:.1e} at most, {TOLERANCES[dtype]:.0e} allowed")
    print(f"{len(one.files) - n_different} passed, {n_different} failed")
    return n_different


if __name__ == "__main__":
    verb, *paths = sys.argv[1:]
    sys.exit({"write": write, "compare": compare, "threads": threads}[verb](*paths))
