"""The examples run, on little data."""

import contextlib
import importlib.util
import io
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(
    not EXAMPLES.exists(), reason="examples/ is not beside these tests"
)

ARGUMENTS = {
    "annealed_vs_plain": ["--max-documents=500", "--n-components=5"],
    "factorial_mixture_faces": ["--n-components=4", "--max-iter=12"],
    "factorial_mixture_toy": ["--n-samples=300", "--max-iter=12", "--n-starts=1"],
    "gaussian_mixture_clusters": [
        "--n-runs=1",
        "--n-components=6",
        "--n-starts=1",
        "--n-passes=4",
        "--max-iter=4",
    ],
    "gaussian_mixture_landscape": ["--n-samples=40", "--n-starts=2"],
    "grid_search_temperature": [
        "--max-documents=300",
        "--n-components=3",
        "--max-iter=5",
    ],
    "matrix_factorization": ["--n-starts=2", "--max-iter=8", "--ranks=3"],
    "own_model_poisson": [],
    "stream_text": ["--max-documents=500", "--n-components=5", "--chunk-size=100"],
}
EXPECTED = {
    "annealed_vs_plain": "Held-out nats per token",
    "factorial_mixture_faces": "annealed, with moves",
    "factorial_mixture_toy": "shapes found",
    "gaussian_mixture_clusters": "Clusters found, where there are 4",
    "gaussian_mixture_landscape": "annealed from T=100    the true ones in 2",
    "grid_search_temperature": "the best, fitted to all: ExponentialSchedule(",
    "matrix_factorization": "in intervals of 50 %",
    "own_model_poisson": "checks passed, skipped: ",
    "stream_text": "pass 3: ",
}


def run(name, *arguments, directory):
    """Return what an example prints, run as a script in this very process.

    ``directory`` keeps what it writes out of the checkout.
    """
    script = str(EXAMPLES / f"{name}.py")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(directory)
        patch.setenv("MPLBACKEND", "Agg")
        patch.setattr(sys, "argv", [script, *ARGUMENTS[name], *arguments])
        with contextlib.redirect_stdout(printed):
            runpy.run_path(script, run_name="__main__")
    return printed.getvalue()


def test_all_examples_are_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == ARGUMENTS.keys()


PICTURES = {
    "annealed_vs_plain": ["--output"],
    "factorial_mixture_faces": ["--output", "--output-features"],
    "factorial_mixture_toy": ["--output", "--output-bounds"],
    "gaussian_mixture_clusters": [
        "--output",
        "--output-clustering",
        "--output-bounds",
    ],
    "gaussian_mixture_landscape": ["--output"],
    "matrix_factorization": ["--output"],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_example(name, tmp_path):
    """It prints what is expected; and its pictures, where it has some, are there."""
    has_matplotlib = importlib.util.find_spec("matplotlib") is not None
    options = PICTURES.get(name, []) if has_matplotlib else []
    paths = [f"picture{number}.png" for number in range(len(options))]
    options = map("=".join, zip(options, paths, strict=True))
    assert EXPECTED[name] in run(name, *options, directory=tmp_path)
    for path in paths:
        assert (tmp_path / path).read_bytes().startswith(b"\x89PNG")


def test_an_example_is_a_script_of_its_own(tmp_path):
    """``-P`` keeps it from finding anything but the installed package."""
    name = "stream_text"
    done = subprocess.run(
        [sys.executable, "-P", str(EXAMPLES / f"{name}.py"), *ARGUMENTS[name]],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert EXPECTED[name] in done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("name", PICTURES)
def test_an_example_without_pictures(name, tmp_path):
    assert EXPECTED[name] in run(name, directory=tmp_path)


def test_images_of_a_file(tmp_path):
    images = np.random.default_rng(0).integers(256, size=(40, 9, 7), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    options = "--data=images.npz", "--every=2", "--no-moves"
    printed = run("factorial_mixture_faces", *options, directory=tmp_path)
    assert "30 images to fit to, 10 held out, of 5 x 4 pixels" in printed
    assert "with moves" not in printed


def test_ratings_of_a_download(tmp_path):
    random = np.random.default_rng(0)
    pairs = random.choice(60 * 40, size=900, replace=False)
    lines = [f"{p // 40}\t{p % 40}\t{random.integers(1, 6)}\t0\n" for p in pairs]
    (tmp_path / "u.data").write_text("".join(lines))
    printed = run("matrix_factorization", "--data=.", directory=tmp_path)
    assert "810 ratings to fit to, 90 held out, of 40 items by 60 users" in printed


def test_stream_of_hashed_words(tmp_path):
    printed = run("stream_text", "--vectorizer=hashing", directory=tmp_path)
    assert "pass 3: " in printed
    assert "Topics" not in printed


def test_stream_of_a_file(tmp_path):
    (tmp_path / "lines.txt").write_text("a stream of words\nwords of a file\n" * 50)
    assert "pass 3: " in run("stream_text", "lines.txt", directory=tmp_path)
