"""Structure of the code: imports, sizes of functions, no type checks in the loop."""

import ast
import graphlib
import importlib
import os
import re
import shutil
import subprocess
import sys

from sources import PACKAGE, sources

import sktemper

# Each folder or module, and the folders and modules of the package it may import.
POLICIES = {"schedules", "tempering", "learning_rates", "noise", "moves", "renewals"}
OF_POLICIES = {"_utils", "model", "schedules"}
ENGINE = {"_contract", "_utils", "model"} | POLICIES
FACE = ENGINE | {"_engine"}
MODELS = sorted(path.parent.name for path in PACKAGE.glob("*/_model.py"))
OF_MODELS = FACE | {"_estimator", "_families", "_ranking", "_simd"}
MAY_IMPORT = {
    "_simd": set(),
    "_utils": {"_simd"},
    "_contract": set(),
    "_families": {"_contract", "_simd", "_utils"},
    "model": {"_contract", "_families"},
    "schedules": {"_utils"},
    "learning_rates": OF_POLICIES,
    "tempering": OF_POLICIES,
    "noise": OF_POLICIES,
    "moves": OF_POLICIES | {"tempering"},
    "renewals": OF_POLICIES,
    "_engine": ENGINE,
    "_estimator": FACE,
    "_ranking": {"_contract", "_simd", "_utils"},
    "model_selection": {"_ranking", "_utils"},
    **{model: OF_MODELS for model in MODELS},
    "lda": OF_MODELS | {"metrics"},  # it imports no model
    "student_mixture": OF_MODELS | {"gaussian_mixture"},  # with scales of rows
    "testing": {"_contract", "_utils", "model"},
    "metrics": {"_engine", "_ranking", "_utils", "model_selection"},
    "inspection": {"_utils", "lda", "metrics", "model"},
    "plotting": {"_engine", "_estimator", "_utils"},
    "report": {"_engine", "_utils", "metrics", "plotting"},
    "datasets": {"_engine", "_ranking", "_utils"},
    "text": {"_utils"},
    "base": {"_estimator"},
    "dask": {"_contract", "_engine", "_estimator", "_utils", "model"},
    "__init__": {"_estimator", "_utils", *MODELS},
}
#: Folders whose private modules the folders that extend them may import.
EXTENDED = {"inspection": "lda", "student_mixture": "gaussian_mixture"}
#: Largest numbers of code lines of a function, and of its parameters.
MOST_LINES, MOST_PARAMETERS = 40, 6
ENGINE_AND_FACE = {"_engine", "_estimator"}
SHORT_ROOMS = {"_families", "_ranking", "plotting", "report", "schedules"}
SHORT_ROOMS |= {"inspection", "tempering", "testing", *MODELS}


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def room_of(path):
    """Return the folder of a module, or the module's name if it is in no folder."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def assert_none(violations):
    """Fail with a line for each violation."""
    violations = list(violations)
    assert not violations, "\n".join(["", *violations])


def statements(body):
    """Yield statements and those inside them, except what only type checkers see."""
    for node in body:
        yield node
        if not isinstance(node, ast.If) or ast.unparse(node.test) != "TYPE_CHECKING":
            for field in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from statements(getattr(node, field, []))


def imported(path, tree):
    """Return the top-level modules of the package that a file imports."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            if node.level == depth:
                yield from (
                    [node.module.split(".")[0]]
                    if node.module
                    else [name.name for name in node.names]
                )
            elif node.level == 0 and (node.module or "").startswith("sktemper."):
                yield node.module.split(".")[1]
            elif node.level == 0 and node.module == "sktemper":
                yield from (name.name for name in node.names)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("sktemper."):
                    yield name.name.split(".")[1]


def upward_imports(path, tree):
    room = room_of(path)
    for other in sorted(set(imported(path, tree)) - {room} - MAY_IMPORT[room]):
        yield f"{name_of(path)} imports {other}"


def test_modules_import_only_lower_layers():
    assert {room_of(path) for path in sources()} == MAY_IMPORT.keys()
    assert_none(
        line for p, (_, tree) in sources().items() for line in upward_imports(p, tree)
    )


def test_layers_have_an_order():
    """Otherwise the import of one of them fails if it comes first."""
    assert [*graphlib.TopologicalSorter(MAY_IMPORT).static_order()]


def private_imports(path, tree):
    """Yield a line for each private name that a file imports from a public folder."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.level == depth and node.module:
            room, *parts = node.module.split(".")
            parts += [name.name for name in node.names]
            is_open = room[0] == "_" or room == EXTENDED.get(room_of(path))
            is_open |= room == room_of(path)
            if not is_open and any(part[0] == "_" for part in parts):
                yield f"{name_of(path)} imports from {node.module}"


def test_modules_import_only_public_names_of_public_folders():
    assert_none(
        line for p, (_, tree) in sources().items() for line in private_imports(p, tree)
    )
    reaching = ast.parse("from ..text._clusters import class_idf")
    assert list(private_imports(PACKAGE / "report" / "_models.py", reaching))


def other_threads(path, text):
    # Ctrl-C can make these pools hang. `dask` uses only errors of `concurrent.futures`.
    pools = r"\b(ThreadPoolExecutor|ProcessPoolExecutor|ThreadPool|Parallel)\b"
    if path.name != "_tasks.py":
        pools += "|start_new_thread"
    for found in re.finditer(pools, text):
        yield f"{name_of(path)} names {found[0]}"


def test_only_one_module_creates_threads():
    assert_none(
        line for p, (text, _) in sources().items() for line in other_threads(p, text)
    )


def knows_models(path, text):
    names = r"(LDA|Annealing|Untempered|FactorialMixture|GaussianMixture|Factorization)"
    for pattern in rf"isinstance\([^)]*{names}", r"\btype\([^)]*\)\s*(is|==)":
        for found in re.finditer(pattern, text):
            yield f"{name_of(path)} tests for a type: {found[0]}"


def test_engine_and_estimators_do_not_check_types_of_models_or_policies():
    assert_none(
        line
        for path, (text, _) in sources().items()
        if room_of(path) in ENGINE_AND_FACE
        for line in knows_models(path, text)
    )


def test_the_engine_names_no_estimator():
    names = "Estimator", "estimator"
    assert_none(
        f"{name_of(path)} names {node.id}"
        for path, (_, tree) in sources().items()
        if room_of(path) == "_engine"
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id.endswith(names)
    )


def lines_of_code(node, lines):
    """Number of lines of a function without blank lines, comments and docstring."""
    documentation = ast.get_docstring(node, clean=False)
    n_documentation = len(documentation.splitlines()) if documentation else 0
    of_function = lines[node.lineno - 1 : node.end_lineno]
    code = [line for line in of_function if line.strip() and line.strip()[0] != "#"]
    return len(code) - n_documentation


def what_is_long(path, text, tree, most_parameters):
    """Yield a line for each function that is too long, or has too many parameters."""
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            n_lines = lines_of_code(node, lines)
            if n_lines > MOST_LINES:
                yield f"{name_of(path)}: {node.name} has {n_lines} lines of code"
            arguments = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
            n_parameters = len(arguments - {"self", "cls"})
            if n_parameters > most_parameters:
                yield f"{name_of(path)}: {node.name} has {n_parameters} parameters"


def test_functions_are_short():
    """Files with public signatures and docstrings are exempt."""
    long = []
    for path, (text, tree) in sources().items():
        if room_of(path) in ENGINE_AND_FACE:
            long += what_is_long(path, text, tree, MOST_PARAMETERS)
        elif name_of(path).count("/") > 1 or path.stem == "_estimators":
            continue
        elif path.parent == PACKAGE or room_of(path) in SHORT_ROOMS:
            long += what_is_long(path, text, tree, float("inf"))
    assert_none(long)


def test_sources_without_kernels_raise_a_clear_error(tmp_path):
    without = shutil.ignore_patterns("*.so", "*.pyd", "data", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "sktemper", ignore=without)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    # Without -P, Python imports from the current directory. -S hides installed
    # packages, because the message must not need them.
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
