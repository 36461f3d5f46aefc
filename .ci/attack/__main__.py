#!/usr/bin/env python3
"""Attack the installed package with random cases, and print what was found.

    python -P .ci/attack                                1,000 cases of each surface
    python -P .ci/attack readers streams --n 200        200 cases of two surfaces
    python -P .ci/attack --minutes 30 --seed 5          all surfaces in turn, 30 minutes

A surface is a promise that a function or a state machine of hypothesis checks on cases
that it draws; the docstrings of the modules beside this one list them.  The surface
"laws" is `tests/laws` with five draws for each hundred cases.  Cases depend only on the
seed, which is that of the clock by default.  Each hundred cases have their
own seed and process, so that a crash, or a case of more than --limit seconds, ends only
these.  hypothesis prints the smallest case of each finding, which the printed seed
repeats, and --verbose prints all cases before they run.

At the end there is a table "surface, tried, found", and the exit status is 1 after a
finding.  The script needs hypothesis, psutil and the requirements of the tests.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import running

#: Surfaces of each module.
MODULES = {
    "inputs": ("readers", "pickles", "dask"),
    "mixed": ("tables", "weights", "gaps"),
    "streams": ("streams", "chunks", "times"),
    "faults": ("interrupts", "cluster"),
}
SURFACES = {name: module for module, names in MODULES.items() for name in names}
SURFACES["laws"] = None
AT_ONCE = 100  # cases of a process
LAWS = Path(__file__).resolve().parents[2] / "tests" / "laws"


def attack(name, start, n, options):
    """Run cases of a surface in a process; return the numbers of cases and findings."""
    context = multiprocessing.get_context("spawn")
    counts = context.Array("i", 2)
    arguments = SURFACES[name], name, start, n, options.limit, options.verbose, counts
    process = context.Process(target=running.run, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        print(f"\n{name}, --seed {start} --n {n}: status {process.exitcode}")
        counts[1] += 1
    return min(counts[0], n), counts[1]


def obey_laws(start, n):
    """Run the laws with draws of a seed; return the number of cases and of findings."""
    draws = {"SKTEMPER_LAWS": str(max(n // 20, 1)), "SKTEMPER_LAWS_SEED": str(start)}
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-m", "", str(LAWS)]
    return n, int(subprocess.run(command, env=os.environ | draws).returncode != 0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("surfaces", nargs="*", help=", ".join(SURFACES))
    parser.add_argument("--n", type=int, default=1000, help="cases of each surface")
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="time to begin cases"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--limit", type=float, default=120, help="seconds of a case")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.surfaces) - SURFACES.keys():
        parser.error(f"There is no surface {', '.join(unknown)}.")
    print(f"Seeds from {options.seed} on.", flush=True)
    end = time.monotonic() + 60 * options.minutes
    table = {name: [0, 0] for name in options.surfaces or SURFACES}
    for number in range(0, options.n, AT_ONCE):
        for name, counts in table.items():
            if time.monotonic() < end:
                n, start = min(AT_ONCE, options.n - number), options.seed + number
                law = name == "laws"
                found = obey_laws(start, n) if law else attack(name, start, n, options)
                for place, count in enumerate(found):
                    counts[place] += count
    print(f"\n{'surface':12} {'tried':>7} {'found':>7}")
    for name, (tried, found) in table.items():
        print(f"{name:12} {tried:7} {found:7}")
    return int(any(found for _, found in table.values()))


if __name__ == "__main__":
    sys.exit(main())
