"""The house: imports run downward, and the loop knows no model and no policy."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import sktemper
from sktemper import base, inference

PACKAGE = Path(sktemper.__file__).parent

# Each module, and what of ours it may import.
GROUND = {"policy", "model"}
POLICIES = {"schedules", "tempering", "learning_rates", "noise", "moves"}
MODELS = (
    GROUND | POLICIES | {"_limits", "linalg", "special", "inference", "base", "kinds"}
)
MAY_IMPORT = {
    "policy": set(),
    "model": set(),
    "_limits": {"policy"},
    "schedules": {"policy"},
    "learning_rates": GROUND | {"schedules"},
    "tempering": GROUND | {"schedules"},
    "noise": GROUND | {"schedules"},
    "moves": GROUND | {"schedules", "tempering"},
    "linalg": set(),
    "inference": GROUND | POLICIES | {"linalg"},
    "base": GROUND | POLICIES | {"_limits", "inference"},
    "kinds": GROUND | POLICIES,
    "lda": MODELS,
    "factorial_mixture": MODELS,
    "gaussian_mixture": MODELS,
    "matrix_factorization": MODELS,
    "metrics": {"lda"},
    "plotting": set(),
    "datasets": set(),
    "__init__": {
        "factorial_mixture",
        "gaussian_mixture",
        "lda",
        "matrix_factorization",
    },
}


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


@pytest.mark.parametrize("module", [inference, base])
def test_the_loop_knows_no_model_and_no_policy(module):
    source = inspect.getsource(module)
    names = r"(LDA|Annealing|Untempered|FactorialMixture|GaussianMixture|Factorization)"
    assert not re.search(rf"isinstance\([^)]*{names}", source)
    assert not re.search(r"\btype\([^)]*\)\s*(is|==)", source)


def test_every_public_name_is_exported():
    from sktemper import (
        factorial_mixture,
        gaussian_mixture,
        lda,
        matrix_factorization,
    )

    for models in (factorial_mixture, gaussian_mixture, lda, matrix_factorization):
        assert set(models.__all__) <= set(sktemper.__all__)
    for name in sktemper.__all__:
        assert hasattr(sktemper, name)


@pytest.mark.parametrize("name", [n for n in sktemper.__all__ if n[0].isupper()])
def test_every_parameter_is_documented(name):
    estimator = getattr(sktemper, name)
    documentation = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert re.search(rf"^{parameter}(,.*)? : ", documentation, re.M), parameter
