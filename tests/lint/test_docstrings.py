"""Docstrings and constructors are literal, for editors and type checkers."""

import ast
import difflib
import functools
import inspect
import re
import textwrap

import pytest
from sklearn.base import BaseEstimator
from sources import PACKAGE, objects, sources

import sktemper
from sktemper._utils._policy import Policy
from sktemper.metrics import ndcg_at_k, precision_at_k, ranking_report, recall_at_k

ESTIMATORS = {
    name: cls
    for name, cls in vars(sktemper).items()
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
}
#: Terms of each model, and the common terms of all models for the same things.
WORDS = {
    "LDA": {"documents": "samples"},
    "MultinomialMixture": {"documents": "samples"},
    "MatrixFactorization": {"users": "samples", "ratings": "samples"},
    "ImplicitFactorization": {"users": "samples"},
}
#: Parameters and attributes whose descriptions may differ between models, with reasons.
DIFFERENT_MODELS = {
    "n_components": "has the default of the model, and says what a component is",
    "init": "depends on what components are",
    "init_params": "depends on how the model starts",
    "max_iter": "has the default of the model",
    "batch_size": 'has the default of the model, and its rule for "auto"',
    "tempering": "says what a temperature means for the model",
    "moves": "has the moves that the model supports",
    "schedule": "has the start that suits the model",
    "tol": "is also a change of the lower bound if a model's fits can end by it",
    "total_samples": "is limited in the streams of topic models",
    "feature_prior": "depends on the distribution of a feature",
    "noise_variance": "depends on what the noise is added to",
    "component_variance": "depends on what a component is",
    "weight_concentration_prior": "has the default of the model",
    "weight_concentration_prior_type": "has the default of the model",
    "components_": "depends on what components are",
    "concentration_": "has the shape that the distribution of a feature needs",
    "item_covariances_": "has biases in one model only",
    "relevance_": "is of ratings or of scores",
    "user_prior_, item_prior_": "has biases in one model only",
}
#: The same for descriptions that may differ between the three estimators of a model.
DIFFERENT_KINDS = {
    "moves": "has another default in the annealed estimator",
    "tempering": "has another default in the SVI+ estimator",
}


# -- docstrings ------------------------------------------------------------------------
def definitions():
    """Return the docstrings of classes and functions in the source files."""
    found = {}

    def visit(body, module, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                name = f"{prefix}{node.name}"
                found[module, name] = ast.get_docstring(node)
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


def test_docstrings_of_public_names_are_literals():
    literal, n_compared = definitions(), 0
    for name, thing in documented():
        module = getattr(thing, "__module__", None) or ""
        if module.partition(".")[0] != "sktemper" or not thing.__doc__:
            continue
        written = literal[module, thing.__qualname__]
        assert written == inspect.cleandoc(thing.__doc__), name
        n_compared += 1
    assert n_compared > 500


def test_no_docstring_is_assigned():
    for path, (_, tree) in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                for target in getattr(node, "targets", [getattr(node, "target", None)]):
                    name = getattr(target, "attr", getattr(target, "id", None))
                    assert name != "__doc__", path


# -- constructors ----------------------------------------------------------------------
def constructors():
    for name, thing in objects():
        if inspect.isclass(thing) and issubclass(thing, Policy | BaseEstimator):
            if "__init__" in vars(thing):
                yield name, thing


def test_constructors_assign_their_parameters_line_by_line():
    written, expected = {}, {}
    for name, cls in constructors():
        source = inspect.getsource(vars(cls)["__init__"])
        (function,) = ast.parse(textwrap.dedent(source)).body
        written[name] = list(map(ast.unparse, function.body))
        expected[name] = [f"self.{p} = {p}" for p in inspect.signature(cls).parameters]
    assert len(expected) > 30
    assert written == expected


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
        text = re.sub(rf"\b{word}\b", common, text)
    return re.sub(r"(?<=in nats per )[\w ]+", "unit", text)


def differences(one, other):
    lines = (re.sub(r"(?<=[.:;,]) ", "\n", text).splitlines() for text in (one, other))
    return "\n".join(difflib.unified_diff(*lines, lineterm="", n=1))


@functools.cache
def shared(section):
    """Return descriptions of shared parameters or attributes.

    The result is a dict from their names to dicts from estimators to descriptions.
    """
    found = {}
    for name, cls in sorted(ESTIMATORS.items()):
        for entry, text in entries_of(cls, section).items():
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


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_shared_entries_have_equal_descriptions(section):
    wrong = {
        entry: unlike(entry, texts)
        for entry, texts in sorted(shared(section).items())
        if entry not in DIFFERENT_KINDS
    }
    assert len(wrong) > 20
    wrong = [f"{entry} differs.\n{text}" for entry, text in wrong.items() if text]
    assert not wrong, "\n\n".join(wrong)


def test_listed_entries_do_differ():
    texts = shared("Parameters") | shared("Attributes")
    for entry in DIFFERENT_MODELS:
        assert len(set(texts[entry].values())) > 1, entry
    for entry in DIFFERENT_KINDS:
        kinds = {}
        for name, text in texts[entry].items():
            kinds.setdefault(model_of(name), set()).add(text)
        assert max(map(len, kinds.values())) > 1, entry


def test_parameters_that_ranking_metrics_share_are_described_alike():
    functions = precision_at_k, recall_at_k, ndcg_at_k, ranking_report
    first = entries_of(precision_at_k)
    for function in functions:
        for name, text in entries_of(function).items():
            if name != "measures":
                assert text == first[name], differences(first[name], text)


def groups_of(cls):
    """Return the groups of parameters that a docstring names: title, first, last."""
    text = " ".join(inspect.getdoc(cls).split())
    paragraph = re.search(r"Parameters are in groups, [^:]*: (.*?)\. ", text)[1]
    for group in paragraph.split("; "):
        title, first, last = re.fullmatch(
            r"([\w ]+) \(``(\w+)``(?: to ``(\w+)``)?\)", group
        ).groups()
        yield title, first, last or first


def test_docstrings_have_parameters_in_the_order_of_the_signature():
    documented = {name: list(entries_of(cls)) for name, cls in ESTIMATORS.items()}
    assert documented == {
        name: list(inspect.signature(cls).parameters)
        for name, cls in ESTIMATORS.items()
    }
    for name, cls in ESTIMATORS.items():
        order, place = documented[name], 0
        for _, first, last in groups_of(cls):
            assert order[place] == first, name
            place = order.index(last) + 1
        assert place == len(order), name


def test_a_parameter_is_in_the_same_group_in_all_estimators():
    found = {}
    for name, cls in ESTIMATORS.items():
        order = list(entries_of(cls))
        for title, first, last in groups_of(cls):
            for parameter in order[order.index(first) : order.index(last) + 1]:
                assert found.setdefault(parameter, title) == title, (name, parameter)
    assert set(found.values()) == {
        "the model",
        "temperature and step",
        "length of the fit",
        "data and machine",
    }


# -- static analysis -------------------------------------------------------------------
def plain(default):
    """Return the source of a default in a normal form, such as 0.001 for 1e-3."""
    return repr(ast.literal_eval(default))


def defaults_of(cls):
    for name, parameter in inspect.signature(cls).parameters.items():
        yield name, repr(parameter.default)


def signatures():
    """Return names and defaults of the parameters of each estimator."""
    return {name: list(defaults_of(cls)) for name, cls in sorted(ESTIMATORS.items())}


def docstrings():
    return {name: inspect.getdoc(cls) for name, cls in sorted(ESTIMATORS.items())}


@pytest.mark.deep
def test_griffe_sees_signatures_and_docstrings():
    griffe = pytest.importorskip("griffe", reason="griffe is not installed")
    package = griffe.load(
        "sktemper",
        search_paths=[PACKAGE.parent],
        allow_inspection=False,
        try_relative_path=False,
    )
    found = {name: package[name].final_target for name in sorted(ESTIMATORS)}
    documented = {n: inspect.cleandoc(c.docstring.value) for n, c in found.items()}
    assert documented == docstrings()
    assert signatures() == {
        name: [(p.name, plain(str(p.default))) for p in list(cls.parameters)[1:]]
        for name, cls in found.items()
    }


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
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_jedi_sees_signatures_and_docstrings(name, jedi_script):
    cls, code = ESTIMATORS[name], f"import sktemper\nsktemper.{name}("
    script, column = jedi_script(code), len(f"sktemper.{name}(")
    (found,) = script.infer(2, column - 2)
    assert inspect.cleandoc(found.docstring(raw=True)) == inspect.getdoc(cls)
    (signature,) = script.get_signatures(2, column)
    texts = [p.to_string() for p in signature.params]
    seen = [(t.partition(":")[0], t.rpartition("=")[2]) for t in texts]
    assert [(n, plain(default)) for n, default in seen] == list(defaults_of(cls))


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
