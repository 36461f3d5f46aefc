"""Make a short fit of each model, and compare the results of two machines.

``write FILE`` writes the fitted arrays to a file. ``compare ONE OTHER`` fails if arrays
of two such files differ by more than 1e-10 in float64 or 1e-5 in float32, relative to
the largest entry of an array. ``threads`` fits with one and with two threads, to enough
data for two, and fails if their bits differ. Models and data are those of the tests'
registry.
"""

import sys
from pathlib import Path

import numpy as np
from sktemper._simd.special import instruction_set

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import ESTIMATORS, fitted

from sktemper.schedules import LinearSchedule

TOLERANCES = {"float64": 1e-10, "float32": 1e-5}


def fitted_states(many=False, **parameters):
    """Fit every estimator in both precisions; return its arrays."""
    states = {}
    for name, (row, kind) in ESTIMATORS.items():
        if kind == "SVIPlus":
            continue
        common = {"batch_size": 40, "max_iter": 4, "moves": None} | parameters
        if kind == "Annealed":
            common["schedule"] = LinearSchedule(start=3, length=8)
        if not row.moves:
            del common["moves"]
        for dtype in TOLERANCES:
            X = row.data(row.n_many if many else 120).astype(dtype)
            estimator = row.estimator(kind, **common).fit(X)
            arrays = fitted(estimator)
            arrays["lower_bound"] = np.array(estimator.history_["lower_bound"], float)
            arrays["score"] = np.array([estimator.score(X)])
            for attribute, value in arrays.items():
                if isinstance(value, np.ndarray):
                    states[f"{dtype}, {name}: {attribute}"] = value
    return states


def write(path):
    """Write the arrays fitted on this machine to a file."""
    states = fitted_states()
    np.savez(path, **states)
    print(f"{len(states)} arrays fitted by {instruction_set}")


def threads():
    """Return the number of arrays that differ between fits by one and two threads."""
    one, two = (
        fitted_states(many=True, n_jobs=n_jobs, batch_size=None, max_iter=2)
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
