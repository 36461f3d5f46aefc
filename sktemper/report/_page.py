"""The HTML file that a report is."""

import json
import os
import re
from html import escape
from importlib.resources import files

__all__ = ["page_of", "write_page"]

#: A place in the template.
FIELD = re.compile(r"\{\{(\w+)\}\}")


def page_of(data, figures):
    """Return a page that needs nothing beside itself.

    Parameters
    ----------
    data : dict
        What the page's script shows; see there.
    figures : dict of str to Bokeh model or None
        By the id of the element that they are drawn in.
    """
    from bokeh.embed import json_item
    from bokeh.resources import Resources

    items = {
        name: json_item(figure, name)
        for name, figure in figures.items()
        if figure is not None
    }
    fields = {
        "title": escape(data["title"]),
        "style": _file("explorer.css"),
        "bokeh": Resources(mode="inline", components=["bokeh"]).render_js(),
        "data": _as_json(data),
        "figures": _as_json(items),
        "script": _file("explorer.js"),
    }
    return FIELD.sub(lambda match: fields[match[1]], _file("topics.html"))


def write_page(path, page):
    """Write a page, in whole or not at all, and return its path."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(
            page, encoding="utf-8", errors="backslashreplace", newline="\n"
        )
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _file(name):
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _as_json(value):
    """Return JSON that may stand in a script element.

    No tag begins in it.  Halves of surrogate pairs, which UTF-8 does not have, become
    the escapes that JSON has for them when the file is written.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
