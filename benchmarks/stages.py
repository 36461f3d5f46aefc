"""Common parts of benchmarks that measure in stages: command line, tables and report.

A stage is a tuple of three: a function that plans the measurements, a heading, and a
function that converts the table of results to lines of the report.  The first function
takes the options and yields a pair for each row of the table.  A pair has the keys of
the row, and a function that makes the measurement and returns the other values.  It may
also return a list of several rows.  The docstring of the first function is printed
above the table.
"""

import argparse
import inspect
import subprocess
import tempfile
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

import corpora
import numpy as np
import pandas as pd
import sklearn
from compare import processor
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import sktemper
from sktemper._simd import special

ROOT = Path(__file__).resolve().parents[1]


class Options(argparse.Namespace):
    """Options of the command line; ``--quick`` reduces data to a tenth or less."""

    def tenth(self, n):
        return n // 10 if self.quick else n


def add_arguments(parser, stages):
    """Add arguments for the stages to measure and the number of seeds."""
    parser.add_argument("--stages", nargs="*", choices=stages, default=list(stages))
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--minutes", type=float, default=np.inf, help="of a stage")
    parser.add_argument("--quick", action="store_true", help="a short trial run")
    parser.add_argument("--output", type=Path, help="folder of tables and report")
    corpora.add_argument(parser)


def run(parser, stages, name, head):
    """Run the stages that the command line names, and write the report.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        A parser to which `add_arguments` has added arguments.
    stages : dict
    name : str
        Name of the benchmark, of its folder and of its report.
    head : list of str
        The first lines of the report.

    Returns
    -------
    folder : Path
        The folder of the tables, by default ``benchmarks/results/name``.
    """
    options = parser.parse_args(namespace=Options())
    root = options.output or ROOT
    if options.quick:
        options.seeds = 1
        root = options.output or Path(tempfile.mkdtemp())
    folder = root / "benchmarks/results" / name
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    n_new = 0
    with threadpool_limits(1):
        for stage in options.stages:
            fits, path = stages[stage][0](options), folder / f"{stage}.csv"
            n_new += measure(stage, fits, path, 60 * options.minutes)
    report(stages, folder, head if n_new else None)
    return folder


def measure(stage, fits, path, limit):
    """Append the rows that the table lacks; return their number."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    n_known, begin = len(rows), time.monotonic()
    for key, function in fits:
        if any(key.items() <= row.items() for row in rows):
            continue
        if time.monotonic() - begin > limit:
            break
        found = function()
        new = [key | row for row in (found if isinstance(found, list) else [found])]
        rows += new
        for row in new:
            print(stage, *row.values(), flush=True)
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.9g")
    return len(rows) - n_known


def report(stages, folder, head):
    """Write the report with the tables of all measured stages.

    Sections of the page without a stage, from older versions, are kept at its end.  The
    first lines of the page are kept if ``head`` is None, when nothing new was measured.
    """
    path = folder.with_suffix(".md")
    titles = {title for _, title, _ in stages.values()}
    top, *old = path.read_text("utf-8").split("\n## ") if path.exists() else [""]
    lines = [top.rstrip()] if head is None else list(head)
    for stage, (fits, title, to_table) in stages.items():
        rows = folder / f"{stage}.csv"
        if rows.exists():
            text = inspect.getdoc(fits)
            lines += ["", f"## {title}", "", text, "", *to_table(pd.read_csv(rows))]
    lines += [
        f"\n## {section.rstrip()}"
        for section in old
        if section.partition("\n")[0] not in titles
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"See {path}")


def head_of(title, script, *packages):
    """Return the first lines of a page: commit, date, processor and versions.

    ``packages`` are names and versions of other packages, for example "implicit 0.7.3".
    """
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    versions = [f"sktemper {sktemper.__version__}", f"numpy {np.__version__}"]
    versions += [f"scikit-learn {sklearn.__version__}", *packages]
    return [
        f"# {title}",
        "",
        f"Made at commit {commit or 'unknown'}, {datetime.now(UTC):%Y-%m-%d}, on one "
        f"thread of {processor()}, kernels for {special.instruction_set}; "
        f"{', '.join(versions)}. `benchmarks/{script}.py` wrote this and describes "
        "the measurements; all numbers are in tables beside this page.",
    ]


def table(frame):
    """Yield the lines of a Markdown table with all columns of a frame."""
    numbers = frame.select_dtypes("number").columns
    yield "| " + " | ".join(frame.columns) + " |"
    yield "|" + "|".join("---:" if c in numbers else "---" for c in frame) + "|"
    for row in frame.itertuples(index=False):
        yield "| " + " | ".join(map(text_of, row)) + " |"


def text_of(value):
    """Return a number with four digits, or with separators of thousands."""
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def spread(values, digits=3, sign=""):
    """Return the mean of the known values and its standard error, as text."""
    values = pd.Series(values).dropna()
    if values.empty:
        return "–"
    error = f" ± {values.sem():.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.{digits}f}{error}"


def timed(function, *arguments):
    """Call a function; return the CPU seconds and the result."""
    begin = time.process_time()
    result = function(*arguments)
    return time.process_time() - begin, result
