"""Words: summaries that say what a thing is or does, and names of one meaning."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import sktemper

PACKAGE = Path(sktemper.__file__).parent

# A summary is a noun phrase, or a verb with its object.
NO_SUMMARY = re.compile(r"(What|How|Where|Who|Which|Of)\b")
#: Folders and files whose summaries are not yet rewritten.  The list only shrinks.
NOT_YET = {
    "gaussian_mixture",
}
#: Names that had several meanings, and names that say the same in one word.
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


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def folder_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def bad_summaries(path):
    """Yield the module, classes and functions whose summaries begin wrongly."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            summary = (ast.get_docstring(node) or "").split("\n")[0]
            if NO_SUMMARY.match(summary):
                yield f"{path.relative_to(PACKAGE)}: {summary}"


def test_summaries_say_what_a_thing_is_or_does():
    paths = [path for path in modules() if folder_of(path) not in NOT_YET]
    assert not [bad for path in paths for bad in bad_summaries(path)]


@pytest.mark.parametrize("folder", sorted(NOT_YET))
def test_folders_that_are_rewritten_are_listed_no_more(folder):
    paths = [path for path in modules() if folder_of(path) == folder]
    if not any(bad for path in paths for bad in bad_summaries(path)):
        pytest.fail(f"Remove {folder!r} from NOT_YET: its summaries are rewritten.")


def test_names_have_one_meaning():
    found = []
    for path in modules():
        source = io.StringIO(path.read_text(encoding="utf-8"))
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.NAME and token.string in REPLACED:
                name, better = token.string, REPLACED[token.string]
                place = f"{path.relative_to(PACKAGE)}:{token.start[0]}"
                found.append(f"{place}: {name}; say {better}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("opening", ["What", "How", "Where", "Who", "Which", "Of"])
def test_a_wrong_summary_is_found(opening, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(f'"""{opening} the module knows."""\n\n\ndef told():\n    pass\n')
    assert list(bad_summaries(path)) == [f"module.py: {opening} the module knows."]
    with pytest.raises(AssertionError, match="told; say"):
        test_names_have_one_meaning()
