"""Estimators in other engines: the recipes of the page on data on disk."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "doc" / "guide" / "on_disk.md"
#: The section of the page with the recipes.
SECTION = "\n## Searches and other engines\n"
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
