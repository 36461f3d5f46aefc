"""Headings of the groups of parameters in the reference.

The docstring of an estimator has a paragraph that names the groups, with the first and
the last parameter of each group, because a numpydoc section cannot have headings.
"""

import re

PARAGRAPH = re.compile(r"^Parameters are in groups.*?(?=\n\n)", re.M | re.S)
GROUP = re.compile(
    r"[:;]\s(?P<title>[\w\s]+)\s\(``(?P<first>\w+)``(?:\sto\s``\w+``)?\)"
)


def with_headings(text):
    """Return a docstring from numpydoc with a heading before each group."""
    paragraph = PARAGRAPH.search(text)
    for group in GROUP.finditer(paragraph[0]) if paragraph else ():
        title = " ".join(group["title"].split()).capitalize()
        start = re.compile(rf"^( +)\*\*{group['first']}\*\* :", re.M)
        text, n = start.subn(rf"\1*{title}*\n\n\g<0>", text, count=1)
        if not n:
            raise ValueError(f"No parameter {group['first']} begins a group.")
    return text


def add_headings(app, what, name, obj, options, lines):
    """Add the headings to the docstring of a class."""
    if what == "class":
        lines[:] = with_headings("\n".join(lines)).split("\n")


def setup(app):
    """Process each docstring after numpydoc."""
    app.connect("autodoc-process-docstring", add_headings, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
