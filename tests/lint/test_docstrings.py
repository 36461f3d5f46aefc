"""Docstrings and constructors are literal, or made from one that is."""

import ast
import difflib
import functools
import inspect
import re
import textwrap
import typing

import pytest
from sklearn.base import BaseEstimator
from sources import PACKAGE, objects, sources

import sktemper
from sktemper._utils._docstrings import entries, references, sections
from sktemper._utils._signatures import GROUPS
from sktemper.base import AnnealedMixin

ESTIMATORS = {
    name: cls
    for name in sktemper.__all__
    if inspect.isclass(cls := getattr(sktemper, name))
    and issubclass(cls, BaseEstimator)
}
#: Terms of each model, and the common terms of all models for the same things.
WORDS = {
    "LDA": {"document": "sample"},
    "MultinomialMixture": {"document": "sample"},
    "MatrixFactorization": {"user": "sample", "rating": "sample"},
    "ImplicitFactorization": {"user": "sample"},
}
#: Largest number of lines of the description of a parameter.
MOST_LINES = 3
#: Parameters whose descriptions may differ between models, with reasons.
DIFFERENT_MODELS = {
    "n_components": "has the default of the model, and says what a component is",
    "init": "depends on what components are",
    "init_params": "depends on how the model starts",
    "max_iter": "has the default of the model",
    "batch_size": 'has the default of the model, and its rule for "auto"',
    "moves": "has the moves that the model supports",
    "covariance_type": "has the types that the model supports",
    "tol": "is also a change of the lower bound if a model's fits can end by it",
    "feature_prior": "depends on the distribution of a feature",
    "noise_variance": "depends on what the noise is added to",
    "component_variance": "depends on what a component is",
    "weight_concentration_prior": "has the default of the model",
}
#: The same for descriptions that may differ between the three estimators of a model.
DIFFERENT_KINDS = {
    "moves": "has another default in the annealed estimator",
    "tempering": "has another default in the SVI+ estimator",
}


# -- docstrings ------------------------------------------------------------------------
def definitions():
    """Return the docstrings of classes and functions in the source files.

    The second value is whether another docstring completes a docstring.
    """
    found = {}

    def visit(body, module, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                name = f"{prefix}{node.name}"
                decorators = map(ast.unparse, node.decorator_list)
                is_completed = any(d.startswith("completed_by(") for d in decorators)
                found[module, name] = ast.get_docstring(node), is_completed
                if isinstance(node, ast.ClassDef):
                    visit(node.body, module, f"{name}.")

    for path, (_, tree) in sources().items():
        parts = ("sktemper", *path.relative_to(PACKAGE).with_suffix("").parts)
        module = ".".join(parts).removesuffix(".__init__")
        visit(tree.body, module, "")
    return found


def documented():
    """Yield names and objects of all public names and their public members."""
    for name, thing in objects():
        if not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        yield name, thing
        for member in dir(thing) if inspect.isclass(thing) else ():
            value = inspect.getattr_static(thing, member)
            value = getattr(value, "fget", value)  # property
            value = getattr(value, "__func__", value)  # class method
            value = getattr(value, "func", value)  # cached property
            if member[0] != "_" and inspect.isroutine(value):
                yield f"{name}.{member}", value


def assert_completed(written, docstring, name):
    """Fail unless a docstring has all sections and entries that are written."""
    written, docstring = sections(written), sections(docstring)
    for title, parts in ("Parameters", entries), ("References", references):
        own = parts(written.pop(title, ""))
        assert own.items() <= parts(docstring.get(title, "")).items(), name
    assert written.items() <= docstring.items(), name


def test_docstrings_of_public_names_are_literals():
    """Those of estimators and of methods are completed by those of base classes."""
    literal, n_compared = definitions(), 0
    for name, thing in documented():
        module = getattr(thing, "__module__", None) or ""
        if module.partition(".")[0] != "sktemper" or not thing.__doc__:
            continue
        written, is_completed = literal[module, thing.__qualname__]
        docstring = inspect.cleandoc(thing.__doc__)
        is_completed |= "." in thing.__qualname__ or thing.__qualname__ in ESTIMATORS
        if is_completed:
            assert_completed(written, docstring, name)
        else:
            assert written == docstring, name
        n_compared += 1
    assert n_compared > 500


# -- constructors ----------------------------------------------------------------------
def test_completed_constructors_assign_all_parameters():
    for name, cls in ESTIMATORS.items():
        given = {p: object() for p in inspect.signature(cls).parameters}
        assert vars(cls(**given)) == given, name
        source = textwrap.dedent(inspect.getsource(vars(cls)["__init__"]))
        (function,) = ast.parse(source).body
        assert ast.unparse(function.body) == "...", name


def test_type_checkers_know_the_parameters_of_completed_constructors():
    types = {}
    for name, cls in ESTIMATORS.items():
        hints = typing.get_type_hints(cls.__init__.__wrapped__)
        (known,) = typing.get_args(hints.pop("parameters"))
        types[name] = typing.get_type_hints(known) | hints
        assert types[name].keys() == inspect.signature(cls).parameters.keys(), name
        declared = set().union(*(inspect.get_annotations(c) for c in cls.__mro__))
        assert types[name].keys() <= declared | set(dir(cls)), name
    for name, known in types.items():
        general = types.get(f"Tempered{model_of(name)}", known)
        assert general | known == known | general, name


@pytest.mark.parametrize(
    "wrong", [{"bogus": 1}, {"tempering": None}, {"n_components": 2}]
)
def test_completed_constructors_refuse_other_parameters(wrong):
    given = rf"^AnnealedLDA.__init__\(\) (got an|multiple) .* '{min(wrong)}'$"
    with pytest.raises(TypeError, match=given):
        sktemper.AnnealedLDA(3, **wrong)
    with pytest.raises(TypeError, match="positional"):
        sktemper.AnnealedLDA(3, None)


class Doubled(AnnealedMixin, sktemper.TemperedLDA):
    """A topic model of a user, whose constructor is not completed."""

    def __init__(self, n_components=4, **parameters):
        super().__init__(n_components, **parameters)
        self.double = 2 * n_components


def test_the_constructor_of_a_user_runs():
    assert Doubled(3, max_iter=7).double == 6


# -- parameters and attributes ---------------------------------------------------------
def entries_of(thing, section="Parameters"):
    """Return the descriptions in a section of a docstring, by their names."""
    lines, found = [*inspect.getdoc(thing).splitlines(), ""], {}
    start = lines.index(section) + 2
    for line, after in zip(lines[start:], lines[start + 1 :], strict=False):
        if after.startswith("---"):
            break
        if entry := re.match(r"(\w+(?:, \w+)*) : ", line):
            description = found.setdefault(entry[1], [])
        description.append(line)
    return {name: "\n".join(text).strip() for name, text in found.items()}


def model_of(name):
    return re.sub("^(Tempered|Annealed|SVIPlus)", "", name)


def comparable(text, model):
    """Return a description with the model's words replaced by those of all models."""
    text = " ".join(text.split())
    for word, common in WORDS.get(model, {}).items():
        text = re.sub(rf"\b{word}(s?)\b", rf"{common}\1", text)
    return re.sub(r"(?<=in nats per )[\w ]+", "unit", text)


def differences(one, other):
    lines = (re.sub(r"(?<=[.:;,]) ", "\n", text).splitlines() for text in (one, other))
    return "\n".join(difflib.unified_diff(*lines, lineterm="", n=1))


@functools.cache
def shared():
    """Return the descriptions of shared parameters.

    The result is a dict from their names to dicts from estimators to descriptions.
    """
    found = {}
    for name, cls in sorted(ESTIMATORS.items()):
        for entry, text in entries_of(cls).items():
            found.setdefault(entry, {})[name] = comparable(text, model_of(name))
    return {entry: texts for entry, texts in found.items() if len(texts) > 1}


def unlike(entry, texts):
    """Return the differences between texts that should be equal, each once."""
    first, wrong = {}, {}
    for name, text in texts.items():
        model = model_of(name) if entry in DIFFERENT_MODELS else None
        expected = texts[first.setdefault(model, name)]
        if text != expected:
            between = f"{first[model]} and {name}:\n"
            wrong.setdefault((model, text), between + differences(expected, text))
    return "\n\n".join(wrong.values())


def test_shared_parameters_have_equal_descriptions():
    wrong = {
        entry: unlike(entry, texts)
        for entry, texts in sorted(shared().items())
        if entry not in DIFFERENT_KINDS
    }
    assert len(wrong) > 20
    wrong = [f"{entry} differs.\n{text}" for entry, text in wrong.items() if text]
    assert not wrong, "\n\n".join(wrong)


def test_docstrings_have_parameters_in_the_order_of_the_signature():
    documented = {name: list(entries_of(cls)) for name, cls in ESTIMATORS.items()}
    assert documented == {
        name: list(inspect.signature(cls).parameters)
        for name, cls in ESTIMATORS.items()
    }


def test_parameters_are_in_the_order_of_their_groups():
    """The page of an estimator has a heading for each group."""
    groups = GROUPS
    titles = {name: title for title, names in groups.items() for name in names}
    used = set()
    for name, cls in ESTIMATORS.items():
        found = [titles.get(p, "The model") for p in inspect.signature(cls).parameters]
        assert found == sorted(found, key=list(groups).index), name
        used |= {*inspect.signature(cls).parameters}
    assert titles.keys() <= used


def test_descriptions_of_parameters_are_short():
    long = [
        f"{name}: {parameter}"
        for name, cls in ESTIMATORS.items()
        for parameter, text in entries_of(cls).items()
        if len(text.replace("\\\n", "").splitlines()) > 1 + MOST_LINES
    ]
    assert not long


def test_attributes_are_documented_where_they_are_defined():
    for name, cls in ESTIMATORS.items():
        assert "Attributes\n---" not in inspect.getdoc(cls), name
        for member, value in inspect.getmembers(cls):
            if isinstance(value, property) and member[0] != "_":
                assert value.__doc__, f"{name}.{member}"


# -- static analysis -------------------------------------------------------------------
@pytest.fixture(scope="module")
def jedi_script(tmp_path_factory):
    jedi = pytest.importorskip("jedi", reason="jedi is not installed")
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("jedi"))
        patch.setattr(jedi.settings, "cache_directory", folder)
        project = jedi.Project(PACKAGE.parent, smart_sys_path=False)
        environment = jedi.InterpreterEnvironment()
        yield lambda code: jedi.Script(code, project=project, environment=environment)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AnnealedLDA", {"components_", "topic_word_", "transform", "top_words"}),
        ("AnnealedGaussianMixture", {"means_", "weights_", "transform", "predict"}),
    ],
)
def test_jedi_completes_after_fit(name, expected, jedi_script):
    script = jedi_script(f"import sktemper\nsktemper.{name}().fit([[1]]).")
    assert expected <= {completion.name for completion in script.complete(2)}
    attribute = min(name for name in expected if name[-1] == "_")
    script = jedi_script(f"import sktemper\nsktemper.{name}().fit([[1]]).{attribute}")
    assert [found.full_name for found in script.infer(2)] == ["numpy.ndarray"]
