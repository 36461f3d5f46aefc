"""How close are the Gaussian mixture's kernels to the machine's product of matrices?

    python benchmarks/mixture_kernels.py ../before .      # two checkouts, taking turns

Each checkout is a folder whose kernels are compiled.  Measured are responsibilities
(the E-step) and the sums of moments (the M-step) of 50 components, over blocks as a fit
takes them, calls from Python included; and, beside them in the same process, NumPy's
product of square matrices.  Operations are those of the products alone: per sample and
component, 2 for each element of the packed triangle (or diagonal) and of the mean; per
sample, component and moment 2.  A checkout's figures are medians over processes that
take turns, and in each of them the best of some repetitions.  CPU time, one thread.

Sums are in float64 whatever the data are: their share is that of the product in
float64.  Writes ``benchmarks/results/mixture_kernels.md``.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

from checkouts import ONE_THREAD, output_of

N_COMPONENTS = 50
CASES = [
    (kind, d, dtype)
    for kind in ("full", "diag", "spherical")
    for d in (8, 16, 32, 64)
    for dtype in ("float64", "float32")
]


def seconds(function, at_least=0.02, repetitions=5):
    """Return the CPU seconds of a call, the best of some repetitions."""
    function()
    n_calls, best = 1, float("inf")
    while True:
        begin = time.process_time()
        for _ in range(n_calls):
            function()
        taken = time.process_time() - begin
        if taken > at_least:
            break
        n_calls *= 2
    for _ in range(repetitions):
        begin = time.process_time()
        for _ in range(n_calls):
            function()
        best = min(best, (time.process_time() - begin) / n_calls)
    return best


def product_rate(dtype, size=768):
    """Return operations a second of NumPy's product."""
    import numpy as np

    matrix = np.random.default_rng(0).uniform(size=(size, size)).astype(dtype)
    return 2 * size**3 / seconds(lambda: matrix @ matrix, repetitions=3)


def rates(kind, d, dtype, n_samples=4096):
    """Return operations a second of both kernels."""
    import numpy as np

    from sktemper import TemperedGaussianMixture

    random = np.random.default_rng(0)
    X = (random.normal(size=(n_samples, d)) * np.arange(1, d + 1)).astype(dtype)
    mixture = TemperedGaussianMixture(
        N_COMPONENTS,
        covariance_type=kind,
        tempering=None,
        max_iter=1,
        init_params="random_from_data",
        random_state=0,
    ).fit(X)
    (model, _), state = mixture._fitted(), mixture.state_
    prepared = model.prepare(state.globals_, state.hyper)
    size = model.block_size
    blocks = [X[i : i + size].copy() for i in range(0, n_samples, size)]
    one = np.ones(())
    shares = [model.run_kernel(block, prepared, one)[0] for block in blocks]

    def expectation():
        for block in blocks:
            model.run_kernel(block, prepared, one)

    def maximisation():
        for block, share in zip(blocks, shares, strict=True):
            model.statistics(block, state.hyper, share)

    n_second = d * (d + 1) // 2 if kind == "full" else d
    pairs = 2 * n_samples * N_COMPONENTS
    return {
        "E": pairs * (n_second + d) / seconds(expectation),
        "M": pairs * (1 + d + n_second) / seconds(maximisation),
    }


def measure():
    """Print the rates of the package that is imported, as JSON."""
    found = {dtype: product_rate(dtype) for dtype in ("float64", "float32")}
    for case in CASES:
        found["/".join(map(str, case))] = rates(*case)
    print(json.dumps(found))


def commit(folder):
    """Return what git calls a checkout."""
    asked = ["git", "-C", folder, "describe", "--always"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout[:-1]


def table(folders, found):
    """Yield the lines of the report."""
    products = {
        dtype: statistics.median(f[dtype] for runs in found for f in runs)
        for dtype in ("float64", "float32")
    }
    yield "# Kernels of the Gaussian mixture"
    yield ""
    yield "    python benchmarks/mixture_kernels.py " + " ".join(map(str, folders))
    yield ""
    commits = ", ".join(f"{i + 1} is {commit(f)}" for i, f in enumerate(folders))
    yield (
        f"Commits: {commits}; operations are counted as the script says, and "
        f"shares are those of commit {len(folders)} in NumPy's product: "
        f"{products['float64'] / 1e9:.0f} GF/s in float64, "
        f"{products['float32'] / 1e9:.0f} in float32; medians of {len(found[0])} runs."
    )
    yield ""
    steps = ("E", "M")
    names = []
    for step in steps:
        names += [f"{step} {i + 1}, GF/s" for i in range(len(folders))]
        names.append(f"{step}, share")
    yield "| covariance | features | dtype | " + " | ".join(names) + " |"
    yield "|---|---:|---|" + "---:|" * len(names)
    for kind, d, dtype in CASES:
        cells = []
        for step in steps:
            key = f"{kind}/{d}/{dtype}"
            own = [statistics.median(f[key][step] for f in runs) for runs in found]
            share = own[-1] / products["float64" if step == "M" else dtype]
            cells += [f"{value / 1e9:.1f}" for value in own] + [f"{share:.0%}"]
        yield f"| {kind} | {d} | {dtype} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure()
        return
    found = [[] for _ in options.folders]
    for _ in range(options.runs):
        for folder, runs in zip(options.folders, found, strict=True):
            runs.append(output_of(__file__, folder, "--measure", **ONE_THREAD))
    text = "\n".join(table(options.folders, found)) + "\n"
    path = Path(__file__).with_name("results") / "mixture_kernels.md"
    path.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
