"""The code in the documentation runs and prints the documented output."""

import warnings

import pages
import pytest

from sktemper._utils._sklearn import HAS_CALLBACKS

#: Pages whose code other tests run.
ELSEWHERE = {
    "README.md": "test_readme.py",
    "doc/guide/engines.md": "test_engines.py",
    "doc/guide/how_many.md": "test_searches.py",
    "doc/guide/implicit_factorization.md": "test_implicit_factorization.py",
    "doc/guide/on_disk.md": "test_collections.py",
}
#: Pages whose fits take more than a second.
LONG = {
    "doc/coming_from/scikit_learn.md",
    "doc/guide/choosing.md",
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
    """The blocks of a page run in their order and in one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in pages.blocks(path):
            if block.needs or block.not_run:
                continue
            if "set_callbacks" in block.code and not HAS_CALLBACKS:
                continue
            printed, wrong = pages.run(block, namespace, path.name)
            assert not wrong, wrong
            if block.output is not None:
                assert printed.split() == block.output.split()


def test_packages_of_skipped_blocks_are_not_requirements_of_the_tests():
    """Only blocks that need other packages may be left out of the suite."""
    needed = {n for path in pages.pages() for b in pages.blocks(path) for n in b.needs}
    required = {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "skops", "dask"}
    assert not needed & required


def test_a_block_that_fails_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n>>> 1 + 1\n3\n```\n\n"
        "<!-- needs: gensim, tomotopy -->\n```python\nimport gensim\n```\n\n"
        "<!-- not run: needs a cluster -->\n\n```python\nfit()\n```\n\n"
        "```python\nprint('x')\n```\n\n```text\ny\n```\n"
    )
    first, second, third, fourth = pages.blocks(page)
    assert "Expected:\n    3\nGot:\n    2" in pages.run(first, {}, "page.md")[1]
    assert second.needs == ["gensim", "tomotopy"]
    assert third.not_run == "needs a cluster"
    assert (fourth.output, pages.run(fourth, {}, "page.md")) == ("y\n", ("x\n", ""))
