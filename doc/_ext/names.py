"""Links from public names in Markdown pages to the reference.

Examples of such names are `AnnealedLDA`, `TemperedLDA(tempering=None)` and
`metrics.perplexity`.
"""

import importlib
import re

from docutils import nodes
from sphinx import addnodes

import sktemper

NAME = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?:\(.*\))?")
#: Modules whose functions are linked with or without the name of the module.
MODULES = (
    "datasets",
    "learning_rates",
    "metrics",
    "model_selection",
    "moves",
    "noise",
    "plotting",
    "report",
    "schedules",
    "tempering",
    "testing",
)
#: Modules whose functions are linked only with the name of the module.
WITH_MODULE = ("base", "dask", "model")


def names():
    """Return a dict from names as they occur in pages to full public names."""
    targets = {n: f"sktemper.{n}" for n in sktemper.__all__ if n[0] != "_"}
    for module in (*MODULES, *WITH_MODULE):
        for name in importlib.import_module(f"sktemper.{module}").__all__:
            target = f"sktemper.{module}.{name}"
            targets[f"{module}.{name}"] = targets[target] = target
            if module in MODULES:
                targets.setdefault(name, target)
    return targets


def link(app, doctree):
    """Turn the public names in a Markdown page into references."""
    docname = app.env.docname
    if not str(app.env.doc2path(docname)).endswith(".md"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        target = app.sktemper_names.get(match["name"]) if match else None
        if target is None or isinstance(literal.parent, nodes.reference | nodes.title):
            continue
        reference = addnodes.pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=target,
            refdoc=docname,
            refwarn=True,
        )
        literal.replace_self(reference)
        reference += literal


def setup(app):
    """Process each page after it is read."""
    app.sktemper_names = names()
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
