"""Reproduce a figure of the five papers, with their settings and with our defaults.

    python benchmarks/papers --list
    python benchmarks/papers 001.fig3 --quick
    python benchmarks/papers effects

A figure prints a table and draws a picture.  Without the data of a corpus that does not
ship with the package, it says how to get them, and goes on with those that do.  With
``--quick`` data are small and there are two seeds, so that no figure takes more than a
few minutes on one core.  doc/mathematics/papers.md has the verdicts.
"""

import os

# libraries read these variables when numpy is imported
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "examples")]

import corpora  # noqa: E402
import effects  # noqa: E402, F401
import paper000  # noqa: E402, F401
import paper001  # noqa: E402, F401
import paper002  # noqa: E402, F401
import paper004  # noqa: E402, F401
from common import FIGURES, Run  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("figures", nargs="*", metavar="figure", help="such as 001.fig3")
    parser.add_argument("--list", action="store_true", help="list all figures")
    parser.add_argument("--quick", action="store_true", help="small data, two seeds")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--documents", type=int, help="at most, of a corpus")
    parser.add_argument("--corpora", nargs="+", help="of debian, nyt and imdb")
    parser.add_argument("--output", type=Path, default=Path(), help="for pictures")
    corpora.add_argument(parser)
    run = parser.parse_args(namespace=Run())
    unknown = set(run.figures) - FIGURES.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; see --list")
    if run.list or not run.figures:
        for name, (_, claim) in sorted(FIGURES.items()):
            print(f"{name:10}{claim}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in run.figures:
        function, claim = FIGURES[name]
        begin = time.perf_counter()
        print(f"{name}: {claim}\n", flush=True)
        run.figure = name
        function(run)
        print(f"\n{time.perf_counter() - begin:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
