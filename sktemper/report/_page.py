"""The HTML file that a report is."""

import json
import re
from html import escape
from importlib.resources import files

__all__ = ["page_of"]

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

    Returns
    -------
    page : str
        UTF-8 can encode it: halves of surrogate pairs stand as backslash escapes,
        which in JSON mean the same.
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
    page = FIELD.sub(lambda match: fields[match[1]], _file("topics.html"))
    return page.encode(errors="backslashreplace").decode()


def _file(name):
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _as_json(value):
    """Return JSON that may stand in a script element: no tag begins in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
