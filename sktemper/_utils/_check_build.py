"""Clear error for the import of a checkout whose kernels are not compiled.

``python -c "import sktemper"`` in a checkout imports the sources of the checkout, even
if another ``sktemper`` is installed.  Without this module, Python would report the
first missing kernel as a circular import.
"""

from importlib.util import find_spec

if find_spec("sktemper._simd.special") is None:
    folder = __file__.rpartition("_utils")[0].rstrip("/\\")
    raise ImportError(
        f"The kernels of sktemper are not compiled for this Python in {folder}, which "
        "is probably the source folder. If sktemper is installed, run Python from "
        "another folder, or as `python -P`, which does not import from the current "
        "folder. To work on the sources themselves, compile the kernels in place with "
        "`python -m pip install -e .` beside pyproject.toml."
    )
