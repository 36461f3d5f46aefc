"""The tests import only what their extra installs."""

import ast
import re
import sys
import tomllib

from sources import ROOT


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def imported_by(statements):
    """Return the packages that statements, given as nodes or lines, import."""
    modules = set()
    for node in statements:
        if isinstance(node, str):
            names = re.sub(r" as \w+|^from | import .*|^import |[\s(]", "", node)
            modules |= set(names.split(","))
        elif isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    return {module.split(".")[0].lower() for module in modules}


def test_the_tests_import_only_what_their_extra_installs():
    """Tests that need other packages use `pytest.importorskip`."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    about = project()["project"]
    declared = about["dependencies"] + about["optional-dependencies"]["tests"]
    names = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in declared}
    allowed = names - {"scikit-learn", "pytest-xdist"} | {"sklearn", "sktemper"}
    allowed |= {path.stem for path in tests} | {"laws"} | sys.stdlib_module_names
    for path in tests:
        text = path.read_text(encoding="utf-8")
        # Code in strings may look like imports, so the syntax tree decides.
        if imported_by(re.findall(r"^(?:import|from) .*", text, re.M)) - allowed:
            assert imported_by(ast.parse(text).body) <= allowed, path.name
