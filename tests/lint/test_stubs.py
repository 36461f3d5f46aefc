"""Type stubs agree with signatures and docstrings."""

import ast
import importlib
import inspect
import runpy

import pytest
from sources import PACKAGE, ROOT

from sktemper._utils._sklearn import HAS_CALLBACKS

STUBS = runpy.run_path(str(ROOT / ".ci" / "stubs"))


def path_of(name):
    folder = PACKAGE / name
    return folder / "__init__.pyi" if folder.is_dir() else folder.with_suffix(".pyi")


def arguments_of(node):
    """Return names, kinds and plain defaults of a function's parameters in a stub."""
    arguments = node.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(places) - len(arguments.defaults)), *arguments.defaults]
    found = [(a.arg, "place", d) for a, d in zip(places, defaults, strict=True)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "*", None))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [(a.arg, "keyword", d) for a, d in pairs]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "**", None))
    return found


def check(node, function):
    """Compare a function of a stub with the function itself."""
    kinds = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    expected = list(inspect.signature(function).parameters.values())
    found = arguments_of(node)
    assert [name for name, _, _ in found] == [p.name for p in expected]
    assert [kind for _, kind, _ in found] == [
        kinds.get(p.kind, "place") for p in expected
    ]
    for (_, _, default), parameter in zip(found, expected, strict=True):
        assert (default is None) == (parameter.default is parameter.empty)
        if default is not None and not isinstance(default, ast.Constant | ast.UnaryOp):
            continue
        if default is not None and ast.literal_eval(default) is not Ellipsis:
            assert ast.literal_eval(default) == parameter.default


def function_of(cls, name):
    value = inspect.getattr_static(cls, name, None)
    value = getattr(value, "__func__", getattr(value, "fn", value))
    return value if inspect.isfunction(value) else None


@pytest.mark.parametrize("name", STUBS["MODULES"])
def test_stubs_have_the_public_names_and_their_signatures(name):
    module = importlib.import_module(f"sktemper.{name}".rstrip("."))
    tree = ast.parse(path_of(name).read_text("utf-8"))
    nodes = {node.name: node for node in tree.body if hasattr(node, "name")}
    imported = {
        alias.asname: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for key in module.__all__:
        value = getattr(module, key)
        if inspect.isfunction(value):
            check(nodes[key], value)
        elif inspect.isclass(value) and key in nodes:
            for node in nodes[key].body:
                if isinstance(node, ast.FunctionDef):
                    function = function_of(value, node.name)
                    assert (
                        function
                        or hasattr(value, node.name)
                        or (
                            node.name == "set_callbacks"  # since scikit-learn 1.9
                        )
                    )
                    if function and function.__module__.startswith("sktemper"):
                        check(node, function)
        elif inspect.isclass(value):
            home = importlib.import_module(imported[key])
            assert getattr(home, key) is value


@pytest.mark.skipif(not HAS_CALLBACKS, reason="stubs have the methods for callbacks")
def test_stubs_agree_with_docstrings():
    """If this fails, `python -P .ci/stubs` writes the stubs again."""
    for name in STUBS["MODULES"]:
        assert path_of(name).read_text("utf-8") == STUBS["stub"](name), name


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize(
    ("kind", "accepted", "returned"),
    [
        ("int, default=10", "_Int", "int"),
        ("float or None, default=2.0", "_Float | None", "float | None"),
        ('{"a", "b"} or None, default="a"', 'Literal["a", "b"] | None', None),
        ("array-like of shape (n_samples,), default=None", "ArrayLike | None", None),
        ("ndarray of shape (n_rows,) or float", None, "NDArray[Any] | float"),
        ('Tempering, "global" or None', 'Tempering | Literal["global"] | None', None),
        ("int, RandomState instance or None, default=None", "_Random | None", None),
        ("a thing unheard of", "Any", "Any"),
    ],
)
def test_types_are_translated(kind, accepted, returned):
    type_of = STUBS["type_of"]
    if accepted:
        assert type_of(kind, STUBS["PARAMETERS"]) == accepted
    if returned:
        assert type_of(kind, STUBS["RESULTS"]) == returned
