"""Error messages for optional packages that are not installed."""

import importlib
import json
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "sktemper"


def check_packages(user, packages, extra):
    """Raise unless the packages that the function ``user`` needs can be imported."""
    try:
        for package in packages:
            importlib.import_module(package)
    except ImportError as error:
        names, command = " and ".join(packages), install_command(extra, packages)
        raise ImportError(
            f"{user} needs {names}, which the extra `{extra}` installs: {command}"
        ) from error


def install_command(extra, packages):
    """Return the command that installs an extra of this copy of the package.

    - A copy that was installed from a folder that still exists: ``".[extra]"``, and the
      folder in which the command must run.
    - Any other copy that was installed by pip: ``"sktemper[extra]"``.  For a
      requirement that is installed, pip asks no index about ``sktemper`` and only adds
      the packages of the extra, so that the command also works for a wheel that is in
      no index.
    - A source folder that was not installed: ``".[extra]"`` and the folder.
    - Otherwise: the names of the packages.
    """
    pip = "python -m pip install"
    try:
        installed = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        installed = None
    folder, is_editable = _source_folder(installed)
    if folder is not None:
        option = "-e " if is_editable else ""
        return f'`{pip} {option}".[{extra}]"` in the folder {folder}'
    if installed and extra in (installed.metadata.get_all("Provides-Extra") or ()):
        return f'`{pip} "{NAME}[{extra}]"`'
    return f"`{pip} {' '.join(packages)}`"


def _source_folder(installed):
    """Return the source folder of a copy, and whether the installation is editable.

    The folder is None if the copy was not installed from a folder that still exists.
    """
    if installed is None:
        folder, is_editable = Path(__file__).parents[2], True
    else:
        # PyPA, "Recording the Direct URL Origin of installed distributions"; a
        # distribution from an index has no such file
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        if "dir_info" not in origin:
            return None, False
        folder = Path(url2pathname(urlsplit(origin["url"]).path))
        is_editable = origin["dir_info"].get("editable", False)
    has_sources = (folder / "pyproject.toml").is_file() and (folder / NAME).is_dir()
    return (folder, is_editable) if has_sources else (None, False)
