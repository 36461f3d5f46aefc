"""The code of README.md prints the documented output."""

import csv
import importlib
import math
import re
import subprocess
import sys
from pathlib import Path

import pages
import pandas as pd
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
LONGEST = 150
N_BLOCKS = len(pages.blocks(README)) if README.exists() else 0


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
    block = pages.blocks(README)[0]
    printed, _ = pages.run(block, {"__name__": "readme"}, "README.md")
    lines = list(zip(printed.splitlines(), block.output.splitlines(), strict=True))
    assert NUMBER.sub("#", lines[0][0]) == NUMBER.sub("#", lines[0][1])
    assert all(len(got.split()) == len(want.split()) for got, want in lines)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(N_BLOCKS))
def test_each_block_runs_alone(number, tmp_path):
    """Each block prints what README shows, in a fresh interpreter of its own."""
    block = pages.blocks(README)[number]
    path = tmp_path / "block.txt"
    path.write_text(block.code, "utf-8")
    doctest = ["-m", "doctest", "-o", "NORMALIZE_WHITESPACE"]
    done = subprocess.run(
        [sys.executable, "-P", *(doctest if block.output is None else []), path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if block.output is not None:
        assert_same_output(done.stdout, block.output)


def test_the_table_is_that_of_the_benchmark():
    """Each row has the rounded numbers of one fit of the benchmark."""
    results = ROOT / "benchmarks" / "results" / "readme_peers" / "descriptions.csv"
    with results.open(encoding="utf-8") as file:
        measured = [list(map(float, row[2:6])) for row in list(csv.reader(file))[1:]]
    row_of_numbers = re.compile(r"^\|.*?\|((?: -?[\d.,]+ \|){5})$", re.M)
    rows = row_of_numbers.findall(README.read_text("utf-8"))
    assert len(rows) > 5
    for row in rows:
        score, perplexity, coherence, diversity, seconds = (
            float(cell.replace(",", "")) for cell in row.split("|")[:-1]
        )
        assert [score, coherence, diversity, seconds] in [
            [round(a, 2), round(b, 3), round(c, 2), round(d)] for a, b, c, d in measured
        ], row
        assert perplexity == pytest.approx(math.exp(-score), rel=0.01)


def test_the_first_table_is_that_of_the_benchmark():
    """Shares of topics that recur; perplexities and seconds are those of seed 0."""
    folder = ROOT / "benchmarks" / "results" / "readme_peers"
    stable, scored = (
        pd.read_csv(folder / f"{name}.csv").groupby("contestant").first()
        for name in ("stability", "descriptions")
    )
    rows = re.findall(
        r"^\| (.+?) \| (\d+) % \| (\d+) % \| (.+) \| (\d+) \|$",
        README.read_text("utf-8"),
        re.M,
    )
    assert len(rows) == len(stable) == 4
    for name, *shares, perplexity, seconds in rows:
        name = name.replace("(Gibbs sampling)", "").replace(" ,", ",")
        assert [int(share) / 100 for share in shares] == list(stable.loc[name].round(2))
        known = scored.loc[name]
        assert math.exp(-known["score"]) == pytest.approx(
            float(perplexity.replace(",", "")), rel=0.01
        )
        assert round(known["CPU s"]) == int(seconds)


@pytest.mark.parametrize("source", ["", "https://code.test/sktemper"])
def test_links_lead_somewhere_on_a_package_index(source, monkeypatch):
    pytest.importorskip("Cython")
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)
    setup = importlib.import_module("setup")
    about = {"project": {"urls": {"Source": source}}}
    monkeypatch.setattr(setup.tomllib, "loads", lambda text: about)
    text = setup.readme()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert all(link.startswith(source + "/") for link in links)
    assert bool(links) == bool(source) == ("first_results.png" in text)
    assert "from sktemper import AnnealedLDA" in text


def test_the_readme_has_the_version():
    assert f"**Version {sktemper.__version__}**" in README.read_text("utf-8")


def test_local_links_have_targets():
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", README.read_text("utf-8"))
    missing = [link for link in links if not (ROOT / link).exists()]
    assert links and not missing
