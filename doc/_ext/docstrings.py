"""Docstrings inherited from other packages, without references to their sites."""

import re

REFERENCE = re.compile(r":(?:ref|doc|term):`(?!/)(?P<text>[^<`]*?)\s*(?:<[^>`]*>)?`")


def without_references(app, what, name, obj, options, lines):
    """Replace references to pages of other sites, which have no "/", by their text."""
    lines[:] = [REFERENCE.sub(r"\g<text>", line) for line in lines]


def setup(app):
    """Process each docstring after numpydoc."""
    app.connect("autodoc-process-docstring", without_references, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
