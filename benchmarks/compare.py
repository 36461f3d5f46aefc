"""Compare the speed of two commits by a fixed list of cases.

    python benchmarks/compare.py main                       # main and this checkout
    python benchmarks/compare.py v0.1.0 v0.2.0 --pairs 15
    python benchmarks/compare.py main HEAD --cases lda_default gaussian_stream

A commit is checked out into a temporary folder, where its kernels are compiled.  A
folder may be given instead: a checkout with compiled kernels.  The cases are those of
`compare_cases.py` of this checkout, whatever commits are compared.  Each measurement is
a new process, and the two commits alternate, so that other load on the machine slows
both.  The script prints a table in Markdown with the medians over pairs; ratios above 1
mean that the second commit is faster.  "First" is the first call of a process, with the
start of the process and its imports; the other columns are later calls.  If a commit
cannot run a case, the table says so.

BLAS and OpenMP have one thread in all processes, because the idle threads of OpenBLAS
wait actively, which makes first calls look slow.  The threads of ``n_jobs`` are not
concerned. OPENBLAS_CORETYPE is ignored: OpenBLAS chooses its kernels itself.
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
#: Variables without which OpenBLAS chooses its kernels itself, and only the first
#: process compiles the sources.
LEFT_OUT = "OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE"


def git(*arguments):
    """Run a git command in this checkout, and return its output."""
    return subprocess.run(
        ["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@contextlib.contextmanager
def checkout(commit):
    """Yield the name of a commit and a folder with its package and compiled kernels."""
    folder = Path(commit).resolve()
    if (folder / "sktemper").is_dir():
        yield git("-C", folder, "describe", "--always", "--dirty"), folder
        return
    name = git("rev-parse", "--short", f"{commit}^{{commit}}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / name
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
    """Run cases with the package of a folder; return the output, or None on failure.

    The errors of the cases go to the standard error of this process.
    """
    known = {k: v for k, v in os.environ.items() if k not in LEFT_OUT}
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, CASES, *arguments],
        env=known | {"PYTHONPATH": str(folder)} | one_thread,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    if "package" in found and not Path(found["package"]).is_relative_to(folder):
        raise RuntimeError(f"{folder} was to be measured, not {found['package']}.")
    return found


def pairs(folders, case, n_pairs):
    """Return measurements of both folders, ``n_pairs`` of each; None if one failed."""
    found = [[], []]
    for number in range(n_pairs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            if found[side] is None:
                continue
            measured = run(folders[side], case)
            if measured is None:
                found[side] = None
            else:
                found[side].append(measured)
    return found


def row(case, found):
    """Return a row of the table."""

    def seconds(side, kind="cpu"):
        return [measured[kind] for measured in found[side]]

    def median(side, kind="cpu"):
        return f"{statistics.median(seconds(side, kind)):.4g}" if found[side] else ""

    def ratios(side, kind="cpu"):
        if not (found[side] and found[1]):
            return []
        return [
            a / b for a, b in zip(seconds(side, kind), seconds(1, kind), strict=True)
        ]

    def ratio(side, kind="cpu"):
        of_pairs = ratios(side, kind)
        return f"{statistics.median(of_pairs):.2f}" if of_pairs else ""

    cpu = ratios(0)
    quartiles = statistics.quantiles(cpu, n=4)[::2] if len(cpu) > 2 else sorted(cpu)
    spread = f"{quartiles[0]:.2f} to {quartiles[-1]:.2f}" if quartiles else ""
    first, second = (median(side) if found[side] else "failed" for side in (0, 1))
    return (
        f"| {case} | {first} | {second} | {ratio(0)} | {spread} | {ratio(0, 'wall')} "
        f"| {median(1, 'first')} | {ratio(0, 'first')} |"
    )


def processor():
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def compare(names, folders, cases, n_pairs):
    """Yield the lines of the table, and lines about the commits and the machine.

    Parameters
    ----------
    names, folders : pair of str, pair of Path
    cases : dict
        The description of each case.
    n_pairs : int
    """
    first, second = names
    yield (
        f"| case | {first}, CPU s | {second}, CPU s | {first} / {second}, CPU "
        f"| quartiles | wall | {second}, first, CPU s | {first} / {second}, first |"
    )
    yield "|---|" + 7 * "---:|"
    blas = set()
    for case in cases:
        found = pairs(folders, case, n_pairs)
        blas |= {measured["blas"] for side in found for measured in side or ()}
        yield row(case, found)
    yield ""
    yield (
        f"Medians of {n_pairs} alternating processes of each commit.  A ratio above 1 "
        f"means that {second} is faster. {processor()}, {os.cpu_count()} threads, "
        f"Python {platform.python_version()}, OpenBLAS' kernels: "
        f"{', '.join(sorted(blas)) or 'unknown'}."
    )
    yield ""
    yield from (f"- {case}: {title}" for case, title in cases.items())


def heading(names, arguments):
    """Return the lines above the table in a file: a description and the command."""
    command = ["python benchmarks/compare.py", *names, f"--pairs {arguments.pairs}"]
    command += ["--cases", *arguments.cases] if arguments.cases else []
    title = "# Two commits: {} and {}".format(*names)
    return [title, "", f"    {' '.join(command)}", ""]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", help="commit, or folder with compiled kernels")
    parser.add_argument("second", nargs="?", default=ROOT, help="default: this one")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--cases", nargs="+", help="default: all")
    parser.add_argument("--output", type=Path, help="file for the table")
    arguments = parser.parse_args()
    with (
        checkout(arguments.first) as (first, base),
        checkout(arguments.second) as (second, changed),
    ):
        known = run(changed, "--list") or parser.exit(1, "The cases do not load.\n")
        names = arguments.cases or list(known)
        if unknown := set(names) - set(known):
            parser.error(f"no such cases: {', '.join(sorted(unknown))}")
        cases = {case: known[case] for case in names}
        lines = heading((first, second), arguments)
        for line in compare(
            (first, second), (base, changed), cases, max(arguments.pairs, 1)
        ):
            print(line, flush=True)
            lines.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
