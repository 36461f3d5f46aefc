"""Scripts of continuous integration are documented, and the tests they name exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / ".ci"
TESTS = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
pytestmark = pytest.mark.skipif(
    not (SCRIPTS / "sanitize").exists(), reason=".ci is not beside these tests"
)


def text_of(script):
    """Return the text of a script, with continued lines joined."""
    return re.sub(r"\\\n\s*", " ", (SCRIPTS / script).read_text("utf-8"))


def files_of_tests(text):
    """Return the files of tests that a script names."""
    return sorted(set(re.findall(r"\btest_\w+\.py\b", text)))


def names_in(file):
    """Return the names that pytest's -k matches: of the file and of its functions."""
    tree = ast.parse(TESTS[file].read_text("utf-8"))
    functions = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return [file, *(name for name in functions if name.startswith("test_"))]


@pytest.mark.parametrize("script", ["aarch64", "sanitize", "wheels"])
def test_files_of_tests_exist(script):
    files = files_of_tests(text_of(script))
    assert files
    assert not [name for name in files if name not in TESTS]


def test_every_word_of_the_sanitizers_expression_chooses_a_test():
    text = text_of("sanitize")
    (expression,) = re.findall(r'^chosen="(.*?)"$', text, re.MULTILINE | re.DOTALL)
    words = set(re.findall(r"\w+", expression)) - {"and", "or", "not"}
    names = [name for file in files_of_tests(text) for name in names_in(file)]
    assert len(words) > 10
    assert not [word for word in words if not any(word in name for name in names)]


def test_sanitizers_run_tests_of_all_kernels():
    """``.ci/sanitize`` must run tests of each folder with kernels."""
    tests = "".join(
        TESTS[file].read_text("utf-8") for file in files_of_tests(text_of("sanitize"))
    )
    folders = {path.parent.name for path in ROOT.glob("sktemper/*/*.pyx")}
    assert folders
    assert not [name for name in folders if not re.search(rf"\b{name}\b", tests)]


def test_every_script_is_documented():
    readme = SCRIPTS / "README.md"
    rows = re.findall(r"^\| `([\w.]+)` \|", readme.read_text("utf-8"), re.MULTILINE)
    files = {path.name for path in SCRIPTS.iterdir() if path.is_file()}
    assert sorted(rows) == sorted(files - {readme.name})
