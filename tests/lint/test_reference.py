"""The reference has a page for each public name, to which "?" in notebooks links."""

import inspect
import re

import pytest
from sources import PACKAGE, PUBLIC, PUBLIC_MODULES, ROOT, objects

import sktemper
from sktemper._utils import _policy
from sktemper._utils._policy import Policy

REFERENCE = ROOT / "doc" / "reference"


def pages():
    """Names that have a page in the reference, in its order."""
    if not REFERENCE.exists():
        pytest.skip("doc/ is not beside these tests")
    for path in sorted(REFERENCE.glob("*.rst")):
        module, listed = None, False
        for line in path.read_text("utf-8").splitlines():
            directive = re.match(r"\.\. (\w+):: *(\S*)", line)
            if directive:
                listed = directive[1] == "autosummary"
                module = directive[2] if directive[1] == "currentmodule" else module
            elif listed and re.fullmatch(r"   \w+", line):
                yield f"{module}.{line.strip()}"


def test_these_are_all_public_modules():
    here = {path.stem for path in PACKAGE.glob("*.py")}
    here |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    models = {path.parent.name for path in PACKAGE.glob("*/_model.py")}
    assert {name for name in here if name[0] != "_"} - models == set(PUBLIC_MODULES)


def test_each_public_name_has_one_page():
    assert sorted(pages()) == sorted(PUBLIC)


def test_public_names_have_docstrings():
    for name, thing in objects():
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert inspect.getdoc(thing), name
        for member in dir(thing) if inspect.isclass(thing) else ():
            value = inspect.getattr_static(thing, member)
            if member[0] != "_" and (
                callable(value) or isinstance(value, property | classmethod)
            ):
                assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_public_names_have_examples():
    missing = [
        name
        for name, thing in objects()
        if inspect.isclass(thing) or inspect.isroutine(thing)
        if not re.search(">>> |:doc:`/own_model`", inspect.getdoc(thing) or "")
    ]
    assert not missing


def test_references_are_cited():
    for name, thing in objects():
        text, _, references = (inspect.getdoc(thing) or "").partition("References\n---")
        numbers = re.findall(r"^\.\. \[(\d+)\]", references, re.M)
        assert [n for n in numbers if f"[{n}]_" not in text] == [], name


def with_a_representation():
    """Estimators and policies, which notebooks show as diagrams."""
    for name, thing in objects():
        is_estimator = name.count(".") == 1 and inspect.isclass(thing)
        if is_estimator or inspect.isclass(thing) and issubclass(thing, Policy):
            yield name, thing()


def test_the_link_of_an_object_is_the_address_of_its_page(monkeypatch):
    monkeypatch.setattr(_policy, "address", lambda: "https://docs.test/sktemper")
    links = {name: thing._get_doc_link() for name, thing in with_a_representation()}
    assert len(links) > 40
    generated = "https://docs.test/sktemper/reference/generated"
    assert links == {name: f"{generated}/{name}.html" for name in links}
    for name, thing in with_a_representation():
        assert f'href="{links[name]}"' in thing._repr_html_(), name


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.setattr(_policy, "address", lambda: "")
    assert sktemper.AnnealedLDA()._get_doc_link() == ""
    assert "_documentation" not in sktemper.AnnealedLDA()._repr_html_()


def test_the_address_is_that_of_the_metadata(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return ["Source, https://code.test", "Documentation, https://docs.test/"]

    monkeypatch.setattr(_policy.metadata, "metadata", lambda name: Metadata())
    assert _policy.address.__wrapped__() == "https://docs.test"
