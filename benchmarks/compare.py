"""Is one commit faster than another?  Both run a fixed list of cases, taking turns.

    python benchmarks/compare.py main                       # main and this checkout
    python benchmarks/compare.py v0.1.0 v0.2.0 --pairs 15
    python benchmarks/compare.py main HEAD --cases lda_default gaussian_stream

A commit is checked out into a temporary folder, where its kernels are compiled; a
folder is a checkout whose kernels are compiled already.  The cases are those of
`compare_cases.py` beside this script, whichever commits are compared.  Each measurement
is a process of its own, and the two commits take turns: a machine that is slow for a
while is so for both.  Prints a table in Markdown of the medians over the pairs: ratios
above 1 say that the second commit is faster.  A case that a commit cannot run is said
to have failed there.

OpenBLAS chooses its kernels itself: OPENBLAS_CORETYPE is taken from the environment.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = Path(__file__).with_name("compare_cases.py")


def git(*arguments):
    """Return what git says about this checkout."""
    return subprocess.run(
        ["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@contextlib.contextmanager
def checkout(commit):
    """Yield a name and a folder with the package of a commit, its kernels compiled."""
    folder = Path(commit).resolve()
    if (folder / "sktemper").is_dir():
        yield git("-C", folder, "describe", "--always", "--dirty"), folder
        return
    name = git("rev-parse", "--short", f"{commit}^{{commit}}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        git("worktree", "add", "--detach", folder, name)
        try:
            subprocess.run(
                [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
                cwd=folder,
                check=True,
                stdout=sys.stderr,
            )
            yield name, folder
        finally:
            git("worktree", "remove", "--force", folder)


def run(folder, *arguments):
    """Return what a process prints that has the package of a folder; None if it fails.

    Its errors go to the standard error of this one.
    """
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    environment["PYTHONPATH"] = str(folder)
    process = subprocess.run(
        [sys.executable, "-P", CASES, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    if process.returncode:
        return None
    told = json.loads(process.stdout.splitlines()[-1])
    if "package" in told and not Path(told["package"]).is_relative_to(folder):
        raise RuntimeError(f"{folder} was to be measured, not {told['package']}.")
    return told


def pairs(folders, case, n_pairs):
    """Return measurements of both folders, ``n_pairs`` of each, or what failed."""
    found = [[], []]
    for number in range(n_pairs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            told = run(folders[side], case)
            if told is None:
                return None, f"failed in {'the second' if side else 'the first'}"
            found[side].append(told)
    return found, None


def row(case, found):
    """Return a row of the table."""

    def seconds(kind):
        return [[told[kind] for told in side] for side in found]

    def ratios(kind):
        return [a / b for a, b in zip(*seconds(kind), strict=True)]

    cpu, wall = ratios("cpu"), ratios("wall")
    first, second = map(statistics.median, seconds("cpu"))
    quartiles = statistics.quantiles(cpu, n=4)[::2] if len(cpu) > 2 else sorted(cpu)
    return (
        f"| {case} | {first:.4g} | {second:.4g} | {statistics.median(cpu):.2f} "
        f"| {quartiles[0]:.2f} to {quartiles[-1]:.2f} "
        f"| {statistics.median(wall):.2f} |"
    )


def processor():
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def compare(names, folders, cases, n_pairs):
    """Yield the lines of the table; the last ones say what was measured, and where."""
    first, second = names
    yield (
        f"| case | {first}, CPU s | {second}, CPU s | {first} / {second}, CPU "
        "| quartiles | wall |"
    )
    yield "|---|---:|---:|---:|---:|---:|"
    blas = set()
    for case in cases:
        found, failure = pairs(folders, case, n_pairs)
        if failure:
            yield f"| {case} | | | {failure} | | |"
            continue
        blas |= {told["blas"] for side in found for told in side}
        yield row(case, found)
    yield ""
    yield (
        f"Medians of {n_pairs} pairs of processes that take turns; a ratio above 1 "
        f"says that {second} is faster. {processor()}, {os.cpu_count()} threads, "
        f"Python {platform.python_version()}, OpenBLAS' kernels: "
        f"{', '.join(sorted(blas)) or 'unknown'}."
    )
    yield ""
    described = run(folders[1], "--list")
    yield from (f"- {case}: {described[case]}" for case in cases)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", help="commit, or folder with compiled kernels")
    parser.add_argument("second", nargs="?", default=ROOT, help="by default this one")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--cases", nargs="+", help="by default all")
    parser.add_argument("--output", type=Path, help="a file for the table, too")
    arguments = parser.parse_args()
    with (
        checkout(arguments.first) as (first, base),
        checkout(arguments.second) as (second, changed),
    ):
        known = run(changed, "--list") or parser.exit(1, "The cases do not load.\n")
        cases = arguments.cases or list(known)
        if unknown := set(cases) - set(known):
            parser.error(f"no such cases: {', '.join(sorted(unknown))}")
        lines = []
        for line in compare(
            (first, second), (base, changed), cases, max(arguments.pairs, 1)
        ):
            print(line, flush=True)
            lines.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
