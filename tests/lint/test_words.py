"""Rules of wording: beginnings of summaries, and names with one meaning."""

import ast
import re

import pytest
from sources import PACKAGE, sources

# A summary is a noun phrase, or a verb with its object.
NO_SUMMARY = re.compile(r"(What|How|Where|Who|Which|Of)\b")
#: Names that had several meanings, and names to use instead.
REPLACED = {
    "told": "a name of the value, such as arguments, posteriors or caught",
    "made": "a name of the value",
    "Seen": "StepInputs",
    "After": "StepOutcome",
    "Here": "InlineWorkers",
    "at_once": "call_with_workers, or chunk_size",
    "look": "matrix, or a verb",
    "looks": "validated",
    "_look": "a verb",
    "_look_at": "_inspect_training_data",
    "Last": "LastCall",
    "LastArray": "LastCall(np.array_equal)",
    "Memory": "LastCall",
    "_memory": "_cache",
    "_said": "_warned",
    "is_hot": "is_above_one",
    "warn_of_heat": "warn_if_above_one",
    "_endings": "_end_of_fit_checks",
    "_judge": "_check_early_stopping",
    "judged": "checked_passes",
    "MovesDone": "MoveProgress",
}


def bad_summaries(path, tree):
    """Yield a module and its classes and functions if their summaries begin wrongly."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            summary = (ast.get_docstring(node) or "").split("\n")[0]
            if NO_SUMMARY.match(summary):
                yield f"{path.relative_to(PACKAGE)}: {summary}"


def names_in(tree):
    """Yield the names in a module and their line numbers."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(text := getattr(node, field, None), str):
                yield from ((name, node.lineno) for name in text.split("."))


def replaced_names(path, tree):
    """Yield the names that should be replaced."""
    for name, line in names_in(tree):
        if name in REPLACED:
            place = f"{path.relative_to(PACKAGE)}:{line}"
            yield f"{place}: {name}; say {REPLACED[name]}"


@pytest.mark.parametrize("found_in", [bad_summaries, replaced_names])
def test_names_and_summaries_follow_the_rules(found_in):
    found = [line for p, (_, tree) in sources().items() for line in found_in(p, tree)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("opening", ["What", "How", "Where", "Who", "Which", "Of"])
def test_a_wrong_summary_is_found(opening):
    tree = ast.parse(f'"""{opening} the module knows."""')
    found = list(bad_summaries(PACKAGE / "module.py", tree))
    assert found == [f"module.py: {opening} the module knows."]


@pytest.mark.parametrize(
    "code",
    [
        "told = 1",
        "x.told",
        "f(told=1)",
        "def f(told): pass",
        "def told(): pass",
        "class told: pass",
        "import a.told",
        "from a.told import b",
        "from a import b as told",
        "for told in a: pass",
        "try: pass\nexcept E as told: pass",
    ],
)
def test_a_replaced_name_is_found(code):
    found = list(replaced_names(PACKAGE / "module.py", ast.parse(code)))
    assert [line.partition(";")[0] for line in found] in (
        ["module.py:1: told"],
        ["module.py:2: told"],
    )
