"""What benchmarks share that measure in stages: the command line, tables, the report.

A stage is a function of the options, a heading, and a function from the table to the
lines of the report.  The function yields keys, and functions that return the rest of
the row; what it measures is said by its docstring.
"""

import argparse
import inspect
import tempfile
import time
import warnings
from pathlib import Path

import corpora
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]


class Options(argparse.Namespace):
    """The command line; with ``--quick`` data are a tenth or less."""

    def tenth(self, n):
        return n // 10 if self.quick else n


def add_arguments(parser, stages):
    """Let the user say which stages to measure, and how much of them."""
    parser.add_argument("--stages", nargs="*", choices=stages, default=list(stages))
    parser.add_argument("--seeds", type=int, help="fewer or more than usual")
    parser.add_argument("--minutes", type=float, default=np.inf, help="of a stage")
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--output", type=Path, help="instead of this checkout")
    corpora.add_argument(parser)


def run(parser, stages, name, head):
    """Measure what the command line asks for, and write the report.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        With the arguments of `add_arguments`.
    stages : dict
    name : str
        Of the benchmark, its folder and its report.
    head : list of str
        The first lines of the report.
    """
    options = parser.parse_args(namespace=Options())
    root = options.output or ROOT
    if options.quick:
        options.seeds = 1
        root = options.output or Path(tempfile.mkdtemp())
    folder = root / "benchmarks/results" / name
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for stage in options.stages:
            fits = stages[stage][0](options)
            measure(stage, fits, folder / f"{stage}.csv", 60 * options.minutes)
    report(stages, folder, head)


def measure(stage, fits, path, limit):
    """Append the rows of fits that the table does not have yet."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    begin = time.monotonic()
    for key, function in fits:
        if any(key.items() <= row.items() for row in rows):
            continue
        if time.monotonic() - begin > limit:
            break
        row = key | function()
        rows.append(row)
        print(stage, *row.values(), flush=True)
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.9g")


def report(stages, folder, head):
    """Write the tables of what has been measured."""
    lines = list(head)
    for stage, (fits, title, to_table) in stages.items():
        path = folder / f"{stage}.csv"
        if path.exists():
            text = inspect.getdoc(fits)
            lines += ["", f"## {title}", "", text, "", *to_table(pd.read_csv(path))]
    path = folder.with_suffix(".md")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"See {path}")


def timed(function):
    """Return CPU seconds, and what the function returns."""
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result
