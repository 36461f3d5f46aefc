"""The code in the documentation runs and prints the documented output."""

import importlib.util
import re
import shutil
import warnings

import pages
import pytest
from sklearn.base import BaseEstimator

from sktemper._utils._sklearn import HAS_CALLBACKS

#: Pages whose code other tests run.
ELSEWHERE = {
    "README.md": "test_readme.py",
}
#: Pages whose fits take more than a second.
LONG = {
    "doc/coming_from/scikit_learn.md",
    "doc/guide/choosing.md",
    "doc/guide/covariates.md",
    "doc/guide/embeddings.md",
    "doc/guide/factorial_mixture.md",
    "doc/guide/fits.md",
    "doc/guide/gaussian_mixture.md",
    "doc/guide/matrix_factorization.md",
    "doc/guide/missing_values.md",
    "doc/guide/model_selection.md",
    "doc/guide/outliers.md",
    "doc/guide/streams.md",
    "doc/guide/survey.md",
    "doc/guide/text.md",
    "doc/guide/topics_over_time.md",
    "doc/index.md",
    "doc/own_model.md",
    "doc/start/five_minutes.md",
}


def all_pages():
    for path in pages.pages():
        name = path.relative_to(pages.ROOT).as_posix()
        marks = [pytest.mark.deep] if name in LONG else []
        if name not in ELSEWHERE:
            yield pytest.param(path, id=name, marks=marks)


@pytest.mark.parametrize("path", list(all_pages()))
def test_page(path, tmp_path, monkeypatch):
    """The blocks of a page run in their order and in one namespace, beside doc/data.

    A block that needs other packages runs if they are installed.
    """
    shutil.copytree(pages.ROOT / "doc" / "data", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in pages.blocks(path):
            if block.not_run or not all(map(importlib.util.find_spec, block.needs)):
                continue
            if "set_callbacks" in block.code and not HAS_CALLBACKS:
                continue
            printed, wrong = pages.run(block, namespace, path.name)
            assert not wrong, wrong
            if block.output is not None:
                assert printed.split() == block.output.split()


def test_the_cheat_sheet_names_what_exists():
    """The estimators of its first block have the methods and attributes of its rows."""
    path = pages.ROOT / "doc" / "start" / "cheat_sheet.md"
    if not path.exists():
        pytest.skip("doc/ is not beside these tests")
    namespace = {}
    pages.run(pages.blocks(path)[0], namespace, path.name)
    estimators = {k: v for k, v in namespace.items() if isinstance(v, BaseEstimator)}
    rows = re.findall(r"^\|.*$", path.read_text("utf-8"), re.M)
    names = rf"\b({'|'.join(estimators)})\.(\w+)"
    named = {match for row in rows for match in re.findall(names, row)}
    missing = [f"{a}.{b}" for a, b in named if not hasattr(type(estimators[a]), b)]
    assert len(named) > 40 and not missing
