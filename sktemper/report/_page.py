"""The file of a report: HTML from a template, which replaces the file atomically."""

import errno
import json
import os
import re
import secrets
import shutil
import stat
from html import escape
from importlib.resources import files
from pathlib import Path

from .._utils._files import TEMPORARY, replacing

#: A placeholder in the template.
FIELD = re.compile(r"\{\{(\w+)\}\}")


def render_page(data, figures):
    """Return a self-contained HTML page.

    Parameters
    ----------
    data : dict
        Data that the page's script shows; "title" is the title of the page.
    figures : dict of str to Bokeh model
        Figures, with the id of the element in which each is drawn as the key.

    Returns
    -------
    page : str
        HTML that can be encoded as UTF-8.  Backslash escapes, which are equivalent in
        JSON, replace unpaired surrogates.
    """
    from bokeh.embed import json_item
    from bokeh.resources import Resources

    items = {name: json_item(figure, name) for name, figure in figures.items()}
    fields = {
        "title": escape(data["title"]),
        "style": _file("explorer.css"),
        "bokeh": Resources(mode="inline", components=["bokeh"]).render_js(),
        "data": _as_json(data),
        "figures": _as_json(items),
        "script": _file("explorer.js"),
    }
    page = FIELD.sub(lambda match: fields[match[1]], _file("topics.html"))
    return page.encode(errors="backslashreplace").decode()


def _file(name):
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _as_json(value):
    """Return JSON in which "<" is escaped, so that it cannot end a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


# -- the file, which is replaced atomically --------------------------------------------
def check_path(path):
    """Return the absolute path of a file that can be written or replaced."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a str, a path or None, got {path!r}.")
    if "\0" in os.fspath(path):
        raise ValueError(f"path has a null character: {path!r}.")
    path = Path(path).absolute()
    target, _ = _resolve_target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder to write to: make {target.parent} or change path."
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        fault = "No file can be made in the folder of path"
        _refuse_access(fault, target.parent)
    return path


def _refuse_access(fault, path):
    advice = "change its permissions or path"
    raise PermissionError(errno.EACCES, f"{fault}; {advice}", str(path))


def write_page(path, page):
    """Write a page atomically, and return its path.

    The page is written to a new file in the same folder.  This file then replaces the
    file at ``path``, and gets the owner, permissions and extended attributes of the
    replaced file.  If ``path`` is a symbolic link, the file that it leads to is
    replaced.  If several threads or processes write to the same path, the last write
    remains.
    """
    target, before = _resolve_target(path)
    # a short name, because the name of the page may have the maximum length already
    temporary = target.with_name(f".{secrets.token_hex(8)}{TEMPORARY}")
    # while a file is replaced, the temporary file is readable for its owner only,
    # because the replaced file may not be public
    mode = 0o666 if before is None else 0o600
    with replacing(target, temporary, mode) as file:
        file.write(page.encode())
        if before is not None:
            _copy_attributes(target, before, temporary)
    return path


def _resolve_target(path):
    """Return the file that a path leads to, and its status; None for a new file."""
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return target, None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"path is a folder, and must be a file: {path}")
    if not (stat.S_ISREG(status.st_mode) and target.exists()):
        raise ValueError(
            f"path is no regular file, but for example a device or a pipe: {path}. "
            "Give the path of a file."
        )
    if not os.access(target, os.W_OK):
        _refuse_access("The file is read-only", path)
    return target, status


def _copy_attributes(target, before, temporary):
    """Copy owner, permissions and extended attributes from ``target``."""
    now = os.stat(temporary)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.chown(temporary, before.st_uid, before.st_gid)
        except PermissionError as error:
            raise PermissionError(
                errno.EPERM,
                "The file has an owner or group that a new file cannot get; remove the "
                "file or give another path",
                str(target),
            ) from error
    shutil.copystat(target, temporary)
    os.utime(temporary)
