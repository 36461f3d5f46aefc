"""Type annotations: type checkers and editors see the types of the public interface."""

import json
import shutil
import subprocess
import sys

import pytest
from sources import PACKAGE, ROOT


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_no_error_in_the_examples(tmp_path):
    # The files of poisson_kernel belong in the package, whose modules they import.
    settings = {
        "include": [path.name for path in (ROOT / "examples").glob("*.py")],
        "extraPaths": [str(PACKAGE.parent)],
    }
    for name in settings["include"]:
        shutil.copy(ROOT / "examples" / name, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300}
    try:
        run = subprocess.run(command, **options)
    except subprocess.TimeoutExpired:
        pytest.skip("pyright takes too long, or cannot be loaded")
    if not run.stdout.startswith("{"):  # the wheel loads pyright at its first use
        pytest.skip("pyright cannot be loaded")
    assert json.loads(run.stdout)["generalDiagnostics"] == []
