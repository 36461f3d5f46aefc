"""Messages about missing optional packages name a command that installs them."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import sktemper
from sktemper._utils import _extras
from sktemper._utils._extras import check_packages, install_command

PACKAGES = ("bokeh", "pandas")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that makes this copy look as if installed in a given way."""

    def install(origin, extras=("report",)):
        folder = tmp_path / "site" / "sktemper-1.0.dist-info"
        folder.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", "Name: sktemper", "Version: 1.0"]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        found = metadata.Distribution.at(folder)
        monkeypatch.setattr(metadata, "distribution", lambda name: found)

    return install


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "a checkout"
    (folder / "sktemper").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    return folder


@pytest.mark.parametrize(
    "origin",
    [
        None,  # installed from an index
        {"url": "file:///tmp/sktemper-1.0-cp311.whl", "archive_info": {}},
        {"url": "https://example.org/sktemper.git", "vcs_info": {"vcs": "git"}},
        {"url": "file:///no/such/folder", "dir_info": {}},
    ],
    ids=["index", "wheel", "git", "gone"],
)
def test_the_command_for_an_installed_wheel_has_the_name(origin, installed):
    installed(origin)
    command = install_command("report", PACKAGES)
    assert command == '`python -m pip install "sktemper[report]"`'


@pytest.mark.parametrize("editable, option", [(True, "-e "), (False, "")])
def test_a_checkouts_folder_is_named(editable, option, installed, checkout):
    installed({"url": checkout.as_uri(), "dir_info": {"editable": editable}})
    command = install_command("report", PACKAGES)
    expected = f'`python -m pip install {option}".[report]"` in the folder {checkout}'
    assert command == expected


def test_the_command_for_uninstalled_sources(tmp_path, checkout, monkeypatch):
    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    monkeypatch.setattr(
        _extras, "__file__", str(checkout / "sktemper" / "_utils" / "_extras.py")
    )
    assert f'".[report]"` in the folder {checkout}' in install_command("report", ())
    monkeypatch.setattr(
        _extras, "__file__", str(tmp_path / "copy" / "_utils" / "_extras.py")
    )
    command = install_command("report", PACKAGES)
    assert command == "`python -m pip install bokeh pandas`"


def test_a_command_names_no_extra_that_this_version_lacks(installed):
    installed(None, extras=("plot",))
    command = install_command("report", PACKAGES)
    assert command == "`python -m pip install bokeh pandas`"


def test_the_message_names_user_packages_and_extra(installed):
    installed(None)
    with pytest.raises(ImportError) as error:
        check_packages("topic_report", ("pandas", "nobody"), "report")
    assert str(error.value) == (
        "topic_report needs pandas and nobody, which the extra `report` installs: "
        '`python -m pip install "sktemper[report]"`'
    )


def test_extras_and_packages_of_messages_are_those_of_the_package():
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for path in Path(sktemper.__file__).parent.rglob("*.py")
    )
    calls = re.findall(
        r'check_packages\(\s*[^,()]+,\s*\(([^)]*)\),\s*"(\w+)"\s*\)', sources
    )
    assert {extra for _, extra in calls} == {"dask", "disk", "report"}
    required = metadata.requires("sktemper")
    for packages, extra in calls:
        for package in re.findall(r'"(\w+)"', packages):
            pattern = rf"{package}\b.*; extra == .{extra}."
            assert any(re.match(pattern, one) for one in required), (package, extra)


def test_modules_are_loaded_on_access_and_dask_names_its_extra():
    code = """if True:
        import sys, sktemper
        assert "sktemper.metrics" not in sys.modules
        assert sktemper.metrics.perplexity
        assert sktemper.AnnealedGaussianMixture
        assert "sktemper.lda" not in sys.modules
        assert not {"sklearn.mixture", "sklearn.covariance"} & {*sys.modules}
        assert "metrics" in dir(sktemper)
        assert not hasattr(sktemper, "nothing_of_the_kind")
        assert sktemper.report.topic_report
        assert "bokeh" not in sys.modules and "matplotlib" not in sys.modules
        sys.modules["distributed"] = None
        try:
            import sktemper.dask
        except ImportError as error:
            print(error)
            from sktemper._utils._extras import install_command
            assert install_command("dask", ("dask", "distributed")) in str(error)
        print("has dask:", hasattr(sktemper, "dask"))
    """
    output = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert "has dask: False" in output
    assert "sktemper.dask needs dask and distributed" in output


@pytest.mark.deep
def test_pip_finds_the_extra_of_an_installed_copy():
    """Pip needs no index for an installed copy: the command works with `--no-index`."""
    pytest.importorskip("pip")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "install", "--no-index", "--dry-run"]
        + ["--no-deps", "--disable-pip-version-check", "sktemper[report]"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "already satisfied: sktemper[report]" in done.stdout
