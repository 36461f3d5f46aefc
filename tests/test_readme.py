"""The code of README.md prints the documented output."""

import contextlib
import io
import re
import time
from pathlib import Path

import pages
import pytest
from sklearn.utils import Bunch

import sktemper
from sktemper import datasets

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(
    not README.exists(), reason="README.md is not beside these tests"
)

NUMBER = re.compile(r"-?\d+\.\d+")
# Scores of different seeds differ by .05 or less before they are rounded to one digit;
# see benchmarks/results/readme_spread.md.
TOLERANCE = 0.11
FIRST_BLOCK_SECONDS = 60
LONGEST = 150


def run(code):
    """Run the code; return its output and its CPU time in seconds."""
    printed = io.StringIO()
    begin = time.process_time()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    return printed.getvalue(), time.process_time() - begin


def assert_same_output(printed, expected):
    """Compare numbers with a tolerance, and only the lengths of lists of words."""
    lines = list(zip(printed.splitlines(), expected.splitlines(), strict=True))
    for got, want in lines:
        if not NUMBER.search(want):
            assert len(got.split()) == len(want.split()), (got, want)
            continue
        assert NUMBER.sub("#", got) == NUMBER.sub("#", want)
        numbers = [float(number) for number in NUMBER.findall(got)]
        assert numbers == pytest.approx(
            [float(number) for number in NUMBER.findall(want)], abs=TOLERANCE
        )


def first_block():
    block = pages.blocks(README)[0]
    return block.code, block.output


def test_the_readme_is_short():
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= LONGEST
    for block in pages.blocks(README):
        assert len(block.code.splitlines()) <= 11
        assert (block.output is None) == (">>> " in block.code)


def test_first_block_on_few_documents(monkeypatch):
    """The block prints the documented output, except for numbers and words."""
    docs = datasets.load_debian_descriptions()
    few = Bunch(data=docs.data[:1500], feature_names=docs.feature_names)
    monkeypatch.setattr(datasets, "load_debian_descriptions", lambda: few)
    code, expected = first_block()
    printed, _ = run(code)
    lines = list(zip(printed.splitlines(), expected.splitlines(), strict=True))
    assert NUMBER.sub("#", lines[0][0]) == NUMBER.sub("#", lines[0][1])
    assert all(len(got.split()) == len(want.split()) for got, want in lines)


@pytest.mark.deep
def test_first_block():
    code, expected = first_block()
    printed, seconds = run(code)
    assert_same_output(printed, expected)
    assert seconds < FIRST_BLOCK_SECONDS


@pytest.mark.deep
def test_each_other_block_runs_alone():
    for block in pages.blocks(README)[1:]:
        _, wrong = pages.run(block, {"__name__": "readme"}, "README.md")
        assert not wrong, wrong


def test_the_readme_has_the_version():
    assert f"**Version {sktemper.__version__}**" in README.read_text("utf-8")


def test_local_links_have_targets():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text("utf-8"))
    missing = [link for link in links if not (ROOT / link).exists()]
    assert links and not missing
