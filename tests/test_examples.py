"""The examples run on small data and print the expected output."""

import ast
import contextlib
import importlib
import importlib.util
import io
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from fits import fitted_model
from sklearn.metrics import adjusted_rand_score

import sktemper
from sktemper.model import Family
from sktemper.testing import check_model

with contextlib.suppress(ImportError):  # before any test imports distutils
    importlib.import_module("setuptools")
EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(
    not EXAMPLES.exists(), reason="examples/ is not beside these tests"
)


class Example(NamedTuple):
    """How an example is run on small data.

    Attributes
    ----------
    arguments : str
    expected : str
        A part of its output.
    pictures : tuple of str
        The options that name files of pictures.
    is_quick : bool
        Whether it takes less than a second.
    """

    arguments: str
    expected: str
    pictures: tuple = ()
    is_quick: bool = False


def has(*packages):
    return all(map(importlib.util.find_spec, packages))


PICTURE = ("--output",)
RUNS = {
    "annealed_vs_plain": Example(
        "--max-documents=500 --n-components=5", "Held-out nats per token", PICTURE
    ),
    "factorial_mixture_faces": Example(
        "--n-components=4 --max-iter=12",
        "annealed, with moves",
        ("--output", "--output-features"),
    ),
    "factorial_mixture_toy": Example(
        "--n-samples=300 --max-iter=12", "shapes found", PICTURE
    ),
    "first_results": Example(
        "--max-documents=500", "clusters of irises, with", PICTURE
    ),
    "gaussian_mixture_clusters": Example(
        "--n-runs=1 --n-components=6 --max-iter=4",
        "Clusters found (4 are true)",
        ("--output", "--output-clustering"),
    ),
    "gaussian_mixture_landscape": Example(
        "--n-samples=40 --n-starts=2",
        "annealed from T=100    the true ones in 2",
        PICTURE,
    ),
    "grid_search_temperature": Example(
        "--max-documents=300 --n-components=3 --max-iter=5",
        "the best, fitted to all: ExponentialSchedule(",
    ),
    "cluster_embeddings": Example(
        "--max-documents=300 --n-components=4",
        "The page with the clusters is "
        if has("bokeh", "pandas", "wordllama")
        else "There is no package ",
    ),
    "how_many_topics": Example(
        "--max-documents=200 --true=3 --topics 2 4 --n-seeds=2 --max-iter=2",
        "within one standard error of the best score: ",
        PICTURE,
    ),
    "larger_than_memory": Example(
        "--copies=2 --max-documents=800 --n-components=4 --batch-size=500"
        " --n-workers=1",
        "equal, bit for bit" if has("distributed") else "no package distributed",
    ),
    "matrix_factorization": Example(
        "--n-starts=2 --max-iter=8 --ranks=3", "in intervals of 50 %", PICTURE
    ),
    "multiple_imputation": Example("--n-samples=2", "pooled samples"),
    "outliers": Example(
        "--max-documents=500 --n-components=4", "area under the ROC curve: ", PICTURE
    ),
    "own_model_poisson": Example("", "checks passed, skipped: ", is_quick=True),
    "recommender": Example(
        "--n-users=100 --n-items=40 --rank=4", "the same: True", PICTURE, True
    ),
    "serve_recommendations": Example(
        "--n-users=300 --n-items=200 --n-connections=8 --seconds=0.3", "one call each"
    ),
    "symmetric_clusters": Example(
        "--n-samples=300", "annealing alone", PICTURE, is_quick=True
    ),
    "stream_text": Example("--documents=1200 --n-components=5", "1200 documents, "),
}
#: An example that starts processes and therefore runs as a process.
OF_ITS_OWN = "larger_than_memory"


def run(name, *arguments, directory):
    """Run an example as a script in this process, and return its output.

    It runs in ``directory``, so that it writes no files into the checkout.
    """
    script = str(EXAMPLES / f"{name}.py")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(directory)
        patch.setenv("MPLBACKEND", "Agg")
        given = RUNS[name].arguments.split()
        patch.setattr(sys, "argv", [script, *given, *arguments])
        with contextlib.redirect_stdout(printed):
            runpy.run_path(script, run_name="__main__")
    return printed.getvalue()


def test_all_examples_are_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == RUNS.keys()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if run.is_quick else pytest.mark.deep)
        for name, run in RUNS.items()
        if name != OF_ITS_OWN
    ],
)
def test_example(name, tmp_path):
    """An example prints the expected text and writes its pictures, if it has any."""
    options = RUNS[name].pictures if has("matplotlib") else ()
    paths = [f"picture{number}.png" for number in range(len(options))]
    options = map("=".join, zip(options, paths, strict=True))
    assert RUNS[name].expected in run(name, *options, directory=tmp_path)
    for path in paths:
        assert (tmp_path / path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.deep  # it starts processes, whose imports take long
def test_an_example_is_a_script_of_its_own(tmp_path):
    """With ``-P`` the example can import only the installed package."""
    name = OF_ITS_OWN
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            str(EXAMPLES / f"{name}.py"),
            *RUNS[name].arguments.split(),
        ],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert RUNS[name].expected in done.stdout


@pytest.mark.deep
def test_images_of_a_file(tmp_path):
    images = np.random.default_rng(0).integers(256, size=(40, 9, 7), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images)
    options = "--data=images.npz", "--every=2", "--no-moves", "--max-iter=3"
    printed = run("factorial_mixture_faces", *options, directory=tmp_path)
    assert "30 images to fit to, 10 held out, of 5 x 4 pixels" in printed
    assert "with moves" not in printed


@pytest.mark.deep
def test_ratings_of_a_download(tmp_path):
    random = np.random.default_rng(0)
    pairs = random.choice(60 * 40, size=900, replace=False)
    lines = [f"{p // 40}\t{p % 40}\t{random.integers(1, 6)}\t0\n" for p in pairs]
    (tmp_path / "u.data").write_text("".join(lines))
    options = "--data=.", "--n-starts=1", "--max-iter=3"
    printed = run("matrix_factorization", *options, directory=tmp_path)
    assert "810 ratings to fit to, 90 held out, of 40 items by 60 users" in printed


def test_stream_of_a_folder(tmp_path):
    for number in range(8):
        of_late = "planets orbit distant stars" if number > 3 else "bread with honey"
        texts = ["the market fell again today", "goal match league", of_late] * 150
        (tmp_path / f"2024-01-0{number + 1}.txt").write_text("\n".join(texts))
    options = ["--n-components=5", "--half-life=1000", "--picture=picture.png"]
    printed = run("stream_text", ".", *options, directory=tmp_path)
    assert "alarm, the texts changed after 2024-01-04" in printed
    assert "3600 documents, 12 words" in printed


# -- the folder of a model with a kernel -----------------------------------------------


@pytest.fixture(scope="module")
def poisson_mixture(tmp_path_factory):
    """The module examples/poisson_kernel, compiled in a temporary tree by setup.py."""
    for module in "Cython", "setuptools":
        pytest.importorskip(module)
    root, tree = EXAMPLES.parent, tmp_path_factory.mktemp("tree")
    kernels = shutil.ignore_patterns("*.so", "*.pyd", "*.pyx", "__pycache__")
    shutil.copytree(root / "sktemper/_simd", tree / "sktemper/_simd", ignore=kernels)
    shutil.copytree(EXAMPLES / "poisson_kernel", tree / "sktemper/poisson_mixture")
    shutil.copy(root / "sktemper/__init__.py", tree / "sktemper/__init__.py")
    for name in "setup.py", "pyproject.toml", "README.md", "LICENSE":
        shutil.copy(root / name, tree / name)
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=tree,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        paths = [*sktemper.__path__, str(tree / "sktemper")]
        patch.setattr(sktemper, "__path__", paths)
        yield importlib.import_module("sktemper.poisson_mixture")
        for name in [n for n in sys.modules if n.startswith("sktemper.poisson")]:
            del sys.modules[name]
        del sktemper.poisson_mixture


@pytest.mark.deep  # it compiles a kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_example_of_a_users_kernel(poisson_mixture, dtype):
    random = np.random.default_rng(0)
    rates = random.gamma(2.0, 2.0, size=(3, 12))
    X = random.poisson(rates[np.arange(300) % 3]).astype(dtype)
    check_model(poisson_mixture.TemperedPoissonMixture(3), X[:40])
    for name in poisson_mixture.__all__:
        cls = getattr(poisson_mixture, name)
        mixture = cls(3, n_init=2, random_state=0).fit(X)
        assert adjusted_rand_score(np.arange(300) % 3, mixture.predict(X)) > 0.9
        assert mixture.components_.dtype == dtype
        distances = np.abs(mixture.components_[:, None] - rates).max(axis=2)
        assert distances.min(axis=1).max() < 1.5
        assert mixture.n_parameters_ == 3 * 12 + 2
        for parameter in mixture.get_params(deep=False):
            documented = rf"^{parameter} : "
            assert re.search(documented, cls.__doc__, re.M), parameter
    model, state = fitted_model(mixture), mixture.state_
    prepared = model.prepare(state.globals_, state.hyper)
    block = model.take(X, slice(0, 50))
    expected = Family.log_likelihoods(model.family, block, prepared.tables)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    found = model.family.log_likelihoods(block, prepared.tables)
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_the_page_shows_the_loop_as_it_is():
    page = EXAMPLES.parent / "doc" / "own_model.md"
    if not page.exists():
        pytest.skip("doc/ is not beside these tests")
    (shown,) = re.findall("```c\n(.*?)```", page.read_text("utf-8"), re.S)
    loops = EXAMPLES / "poisson_kernel" / "_loops.h"
    assert loops.read_text("utf-8").endswith(shown)


@pytest.mark.machine
def test_the_kernel_is_declared_by_its_headers(monkeypatch):
    """setup.py reads the declarations from the headers, without a compiler."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    monkeypatch.syspath_prepend(str(EXAMPLES.parent))
    setup = importlib.import_module("setup")
    folder = EXAMPLES / "poisson_kernel"
    loops = setup.loops(folder)
    assert loops == {
        f"poisson_logs_{kind}": f"int (*poisson_logs_{kind})(poisson_block *block)"
        for kind in ("f32", "f64")
    }
    lines = setup.constants_and_structs(folder)
    assert lines[0] == "ctypedef struct poisson_block:"
    assert "    const void *counts" in lines


def test_examples_need_no_file_of_their_own():
    """Examples do not use ``__file__``, which the documentation's gallery lacks."""
    for path in EXAMPLES.glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert "__file__" not in names, path.name
