"""Models and data for the scripts of this folder, from the registry of the tests.

A new model needs only a row in ``tests/registry.py`` and no entry here.
"""

import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from digests import digest_of, fitted  # noqa: E402
from registry import ESTIMATORS, ROWS  # noqa: E402

__all__ = ["ANNEALED", "ESTIMATORS", "ROOT", "ROWS", "digest_of", "fitted"]
#: One estimator of each model, the annealed one if there are several.
ANNEALED = {name: "Annealed" if row.has_policies else "" for name, row in ROWS.items()}


def quiet(function, *arguments, **options):
    """Call a function without warnings; return what it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)
