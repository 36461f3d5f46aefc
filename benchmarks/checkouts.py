"""Processes that import the package of a given checkout, to compare checkouts."""

import json
import os
import subprocess
import sys
from pathlib import Path

#: Environment variables that make libraries use one thread.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def environment(checkout, **variables):
    """Return the environment of a process that imports the package of a checkout.

    OPENBLAS_CORETYPE is left out, so that OpenBLAS chooses its kernels itself, and
    PYTHONDONTWRITEBYTECODE, so that only the first process compiles the sources.

    Parameters
    ----------
    checkout : path
        A folder whose kernels are compiled.
    **variables
        Additional environment variables.
    """
    left_out = "OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE"
    known = {k: v for k, v in os.environ.items() if k not in left_out}
    return known | {"PYTHONPATH": str(Path(checkout).resolve())} | variables


def output_of(script, checkout, *arguments, **variables):
    """Run a script with the package of a checkout; return the JSON of its last line.

    The script's errors go to the standard error of this process.

    Raises
    ------
    subprocess.CalledProcessError
        If the script fails.
    """
    done = subprocess.run(
        [sys.executable, script, *arguments],
        env=environment(checkout, **variables),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])
