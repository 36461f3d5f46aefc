"""Rendering of a report as HTML, from a template."""

import json
import re
from html import escape
from importlib.resources import files

#: A placeholder in the template.
FIELD = re.compile(r"\{\{(\w+)\}\}")


def page_of(data, figures):
    """Return a self-contained HTML page.

    Parameters
    ----------
    data : dict
        Data that the page's script shows; "title" is the title of the page.
    figures : dict of str to Bokeh model or None
        Figures, with the id of the element in which each is drawn as the key.

    Returns
    -------
    page : str
        HTML that can be encoded as UTF-8.  Backslash escapes, which are equivalent in
        JSON, replace unpaired surrogates.
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
    """Return JSON in which "<" is escaped, so that it cannot end a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
