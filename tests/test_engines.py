"""Estimators in other engines: joblib's dask backend, dask_ml, recipes of the docs."""

import gc
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sktemper import AnnealedLDA

PAGE = Path(__file__).parents[1] / "doc" / "guide" / "on_disk.md"
#: The section of the page with the recipes.
SECTION = "\n## Searches and other engines\n"
pytestmark = [
    # fits take a few steps
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # connections of ending workers warn
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


# -- joblib ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    dask = pytest.importorskip("dask", reason="a cluster needs dask")
    distributed = pytest.importorskip("distributed", reason="a cluster needs it")
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        # any free port, because dask warns about a port in use
        distributed.LocalCluster(
            2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    gc.collect()  # here, because buffers of connections may warn


@pytest.mark.deep  # two workers import everything
def test_a_grid_search_on_a_cluster(client, documents):
    """Workers make the fits, and the results equal those of one process."""
    lda = AnnealedLDA(3, max_iter=3, batch_size=40, random_state=0, n_jobs=1)
    grid = {"schedule__start": [1.0, 3.0], "schedule__length": [4]}
    scoring = {
        "score": lambda estimator, X, y=None: estimator.score(X),
        "process": lambda estimator, X, y=None: os.getpid(),
    }
    here, there = (
        GridSearchCV(lda, grid, cv=2, scoring=scoring, refit="score") for _ in range(2)
    )
    here.fit(documents)
    # joblib has parallel_config from 1.3 on
    context = getattr(joblib, "parallel_config", joblib.parallel_backend)
    with context("dask"):
        there.fit(documents)
    workers = set(client.run(os.getpid).values())
    for split in range(2):
        assert set(there.cv_results_[f"split{split}_test_process"]) <= workers
    scores = here.cv_results_["mean_test_score"]
    assert scores[0] != scores[1]
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], scores)
    assert there.best_params_ == here.best_params_
    np.testing.assert_array_equal(
        there.best_estimator_.components_, here.best_estimator_.components_
    )


# -- the page --------------------------------------------------------------------------

#: For each engine: the indices of the page's blocks of its recipe, and expected output.
RECIPES = {
    "distributed": ([0], "'schedule__start': 5.0"),
    "dask_ml": ([1], "nats a token"),
    "ray": ([2, 3], "True"),
    "pyspark": ([2, 4], "True"),
}


def blocks_of_the_page():
    section = PAGE.read_text("utf-8").partition(SECTION)[2]
    return re.findall(r"```python\n(.*?)```", section, re.S)


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside these tests")
def test_each_block_belongs_to_a_recipe():
    used = {number for numbers, _ in RECIPES.values() for number in numbers}
    assert used == set(range(len(blocks_of_the_page())))
    for block in blocks_of_the_page():
        compile(block, str(PAGE), "exec")


@pytest.mark.deep
@pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside these tests")
@pytest.mark.parametrize("engine", RECIPES)
def test_a_recipe(engine, tmp_path):
    """The recipe runs as a script with the installed package."""
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"there is no package {engine}")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    numbers, expected = RECIPES[engine]
    blocks = blocks_of_the_page()
    script = tmp_path / "recipe.py"
    script.write_text("".join(blocks[number] for number in numbers), "utf-8")
    done = subprocess.run(
        [sys.executable, "-P", str(script)],
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        encoding="utf-8",
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout, done.stderr
