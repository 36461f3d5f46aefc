"""Run the zoo: ``python benchmarks/zoo run`` or ``python benchmarks/zoo table``."""

import os

# libraries read these variables when numpy is imported
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.command import main  # noqa: E402

if __name__ == "__main__":
    main()
