"""The house: imports run downward, and the loop knows no model and no policy."""

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sktemper

PACKAGE = Path(sktemper.__file__).parent

# Each room, and what of ours it may import: downward only.
ARGUMENTS = {"_arguments", "_notices"}  # checks of them, and warnings
GROUND = {
    "_cache",
    "_check_build",
    "_policy",
    "model",
    "_expfam",
    "_linalg",
    "_simd",
} | ARGUMENTS
POLICIES = {"schedules", "tempering", "learning_rates", "noise", "moves", "renewals"}
CHECKS = {"_limits", "_validation"}
FACE = GROUND | POLICIES | CHECKS | {"_data", "_loop", "_estimator"}
USERS_AND_ITEMS = {"_frames", "_ranking"}
MODELS = sorted(path.parent.name for path in PACKAGE.glob("*/_model.py"))
MAY_IMPORT = {
    "_check_build": set(),
    "_simd": set(),
    "_cache": set(),
    "_sklearn": set(),
    "_documentation": set(),
    "_extras": set(),
    "_arguments": set(),
    "_notices": set(),
    "_policy": {"_arguments", "_documentation"},
    "_linalg": {"_csr", "_simd"},
    "_tasks": set(),
    "_limits": {"_arguments", "_policy"},
    "_validation": {"_linalg"},
    "model": {"_expfam"},
    "_expfam": {"_cache", "_limits", "_linalg", "model"},
    "schedules": {"_arguments", "_policy"},
    "learning_rates": {"_arguments", "_policy", "model", "schedules"},
    "tempering": {"_arguments", "_policy", "model", "schedules"},
    "noise": {"_arguments", "_policy", "model", "schedules"},
    "moves": {"_arguments", "_policy", "model", "schedules", "tempering"},
    "renewals": {"_arguments", "_policy", "model", "schedules"},
    "_data": {"_cache", "_linalg"},
    "_loop": GROUND | POLICIES | {"_data", "_tasks"},
    "_estimator": GROUND | POLICIES | CHECKS | {"_data", "_loop", "_sklearn"},
    "_frames": set(),
    "_ranking": {
        "_arguments",
        "_cache",
        "_frames",
        "_linalg",
        "_policy",
        "_simd",
        "_tasks",
        "_validation",
    },
    "model_selection": {"_arguments", "_ranking", "_validation"},
    **{model: FACE | USERS_AND_ITEMS for model in MODELS},
    "lda": FACE | {"_frames", "metrics"},  # which know no model
    "testing": {"model"},
    "metrics": {"_data", "_ranking", "_validation", "model_selection"} | ARGUMENTS,
    "plotting": {"_data", "critical_temperatures"},  # a public function
    "report": {"_data", "_extras", "metrics", "plotting", "text"},
    "datasets": {
        "_arguments",
        "_data",
        "_extras",
        "_linalg",
        "_ranking",
        "_sklearn",
        "_validation",
    },
    "text": {"_arguments", "_frames", "_notices", "_sklearn"},
    "base": {"_estimator"},
    "dask": {"_data", "_estimator", "_extras", "_linalg", "_loop", "_notices", "model"},
    "__init__": {"_check_build", "_estimator", *MODELS},
}
#: Lines of code that a function, and lines that a file may have.
MOST_LINES, LONGEST_FILE, MOST_PARAMETERS = 40, 400, 6


def modules():
    paths = sorted(PACKAGE.rglob("*.py"))
    return [pytest.param(p, id=p.relative_to(PACKAGE).as_posix()) for p in paths]


def imported(path):
    """The top-level modules of the package that a file imports."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level == depth:
                yield from (
                    [node.module.split(".")[0]]
                    if node.module
                    else [name.name for name in node.names]
                )
            elif node.level == 0 and (node.module or "").startswith("sktemper."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("sktemper."):
                    yield name.name.split(".")[1]


@pytest.mark.parametrize("path", modules())
def test_imports_run_downward(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert set(imported(path)) - {room} <= MAY_IMPORT[room]


@pytest.mark.parametrize("path", modules())
def test_threads_are_those_of_one_pool(path):
    # which Ctrl-C cannot lock; `dask` names the errors of `concurrent.futures` alone
    source = path.read_text(encoding="utf-8")
    pools = r"\b(ThreadPoolExecutor|ProcessPoolExecutor|ThreadPool|Parallel)\b"
    assert not re.search(pools, source)
    if path.name != "_tasks.py":
        assert "start_new_thread" not in source


def rooms(*names):
    return [path for name in names for path in sorted((PACKAGE / name).glob("*.py"))]


@pytest.mark.parametrize(
    "path", rooms("_data", "_loop", "_estimator"), ids=lambda p: p.stem
)
def test_the_loop_and_the_face_know_no_model_and_no_policy(path):
    source = path.read_text(encoding="utf-8")
    names = r"(LDA|Annealing|Untempered|FactorialMixture|GaussianMixture|Factorization)"
    assert not re.search(rf"isinstance\([^)]*{names}", source)
    assert not re.search(r"\btype\([^)]*\)\s*(is|==)", source)


def lines_of_code(node, source):
    """Lines of a function that are neither blank, comments nor its docstring."""
    lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
    documentation = ast.get_docstring(node, clean=False)
    n_documentation = len(documentation.splitlines()) if documentation else 0
    code = [line for line in lines if line.strip() and line.strip()[0] != "#"]
    return len(code) - n_documentation


@pytest.mark.parametrize(
    "path", rooms("_data", "_loop", "_estimator"), ids=lambda p: p.stem
)
def test_functions_and_files_of_loop_and_face_are_short(path):
    source = path.read_text(encoding="utf-8")
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(source.splitlines()) <= LONGEST_FILE
    for node in functions:
        assert lines_of_code(node, source) <= MOST_LINES, node.name
        arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        assert len(set(arguments) - {"self", "cls"}) <= MOST_PARAMETERS, node.name


@pytest.mark.parametrize(
    "path",
    rooms(".", "_expfam", "_ranking", "model", "plotting", "report", "schedules")
    + rooms("tempering", "testing")
    + rooms(*MODELS),
    ids=lambda p: p.stem,
)
def test_functions_and_files_are_short(path):
    if path.stem == "_estimators":  # of public signatures and docstrings
        pytest.skip("signatures and docstrings")
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= LONGEST_FILE
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert lines_of_code(node, source) <= MOST_LINES, node.name


def test_sources_without_kernels_say_so(tmp_path):
    without = shutil.ignore_patterns("*.so", "*.pyd", "data", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "sktemper", ignore=without)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    # No -P here, so that the current directory is imported from; -S hides what else is
    # installed, of which nothing is needed to get as far as the message.
    run = subprocess.run(
        [sys.executable, "-S", "-c", "import sktemper"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    last_line = run.stderr.strip().splitlines()[-1]
    assert run.returncode == 1
    assert last_line.startswith("ImportError: The kernels of sktemper are not compiled")
    assert str(tmp_path / "sktemper") in last_line
    for remedy in "python -P", "pip install -e":
        assert remedy in last_line


def test_every_public_name_is_exported():
    for name in MODELS:
        models = importlib.import_module(f"sktemper.{name}")
        assert set(models.__all__) <= set(sktemper.__all__)
    for name in sktemper.__all__:
        assert hasattr(sktemper, name)


def test_public_modules_are_loaded_when_asked_for():
    code = """if True:
        import sys, sktemper
        assert "sktemper.metrics" not in sys.modules
        assert sktemper.metrics.perplexity
        assert "metrics" in dir(sktemper)
        assert not hasattr(sktemper, "nothing_of_the_kind")
    """
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


@pytest.mark.parametrize("name", [n for n in sktemper.__all__ if n[0].isupper()])
def test_every_parameter_is_documented(name):
    estimator = getattr(sktemper, name)
    documentation = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert re.search(rf"^{parameter}(,.*)? : ", documentation, re.M), parameter
