"""Docstrings that other packages wrote, without references to their own pages."""

import re

REFERENCE = re.compile(r":(?:ref|doc|term):`(?P<text>[^<`]*?)\s*(?:<[^>`]*>)?`")


def without_references(app, what, name, obj, options, lines):
    """Leave of a reference its text: the page that it names is not of this site."""
    lines[:] = [REFERENCE.sub(r"\g<text>", line) for line in lines]


def setup(app):
    """Look at each docstring after numpydoc."""
    app.connect("autodoc-process-docstring", without_references, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
