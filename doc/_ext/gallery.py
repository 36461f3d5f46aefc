"""Settings of the gallery of examples: arguments of the scripts, and their pictures."""

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

#: First cell of each notebook, where the script has no command line to parse.
FIRST_CELL = "import sys\n\nsys.argv = ['example']"
#: Arguments with which examples run for a shorter time.  Their defaults take minutes.
SHORTER = {
    "factorial_mixture_faces": ["--max-iter=40"],
    "factorial_mixture_toy": ["--n-samples=2000"],
    "gaussian_mixture_clusters": ["--n-runs=5"],
    "how_many_topics": ["--max-documents=2000"],
    "larger_than_memory": ["--copies=3", "--batch-size=20000"],
    "matrix_factorization": ["--n-starts=2", "--max-iter=100"],
    "outliers": ["--max-documents=5000"],
    "serve_recommendations": ["--n-users=5000", "--n-items=2000", "--seconds=2"],
}


def arguments(gallery_conf, script_vars):
    """Return the arguments of a script."""
    return SHORTER.get(Path(script_vars["src_file"]).stem, [])


def pictures(block, block_vars, gallery_conf):
    """Move the pictures that a script has saved in its folder into the gallery."""
    folder = Path(block_vars["src_file"]).parent
    taken = []
    for path in sorted(folder.glob("*.png")):
        target = block_vars["image_path_iterator"].next()
        shutil.move(path, target)
        taken.append(target)
    return figure_rst(taken, gallery_conf["src_dir"])
