"""Pages of estimators: what a reader looks for first stands first.

The order of a page is: summary, example, tables of methods and fitted attributes,
parameters in groups, notes, and the methods with folded descriptions.  The table of
attributes is made from the docstrings of properties, and of declarations in classes.
The methods for metadata routing are left out.
"""

import inspect
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.pycode import ModuleAnalyzer

from sktemper._utils._signatures import GROUPS

#: Methods that a table has first and last; the others are in the order of the alphabet.
FIRST = ("fit", "partial_fit", "transform", "fit_transform", "predict", "fit_predict")
LAST = (
    "get_feature_names_out",
    "get_params",
    "set_callbacks",
    "set_output",
    "set_params",
)
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")
PARAMETER = re.compile(r"^ +\*\*(\w+)\*\* :", re.M)
PARAMETERS = {name for names in GROUPS.values() for name in names}
EXAMPLES = re.compile(r"^\.\. rubric:: Examples\n.*?(?=^\.\. rubric::|\Z)", re.M | re.S)


def is_estimator(obj):
    return inspect.isclass(obj) and hasattr(obj, "fit")


def group(parameter):
    """Return the heading of the group of a parameter."""
    titles = (title for title, names in GROUPS.items() if parameter in names)
    return next(titles, "The model")


def with_headings(text):
    """Return the list of parameters from numpydoc with a heading before each group."""
    last = None

    def with_heading(match):
        nonlocal last
        title, last = last, group(match[1])
        return match[0] if title == last else f"    *{last}*\n\n{match[0]}"

    return PARAMETER.sub(with_heading, text)


def methods(cls):
    """Return the names of the methods that the table has, in its order."""
    names = [
        name
        for name in dir(cls)
        if name[0] != "_" and inspect.isroutine(inspect.getattr_static(cls, name))
    ]
    others = sorted({*names} - {*FIRST, *LAST})
    ordered = (*FIRST, *others, *LAST)
    return [n for n in ordered if n in names and not ROUTING.fullmatch(n)]


def attributes(cls):
    """Return a dict from the names of fitted attributes to their docstrings."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and name[0] != "_" and value.__doc__:
                found[name] = inspect.cleandoc(value.__doc__)
        if base.__module__.startswith("sktemper"):
            for (owner, name), lines in declared(base.__module__).items():
                if owner == base.__qualname__ and name[0] != "_":
                    found[name] = "\n".join(lines).strip()
    return dict(sorted(found.items()))


def declared(module):
    """Return the docstrings after declarations in the classes of a module."""
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    return analyzer.attr_docs


def table(title, rows):
    """Return a table of names and descriptions."""
    lines = [f".. rubric:: {title}", "", ".. list-table::", "   :class: members", ""]
    for name, text in rows:
        indented = text.replace("\n", "\n" + " " * 7)
        lines += [f"   * - {name}", f"     - {indented}"]
    return "\n".join([*lines, "", ""])


def tables(cls, full_name):
    """Return the tables of the methods and of the fitted attributes of an estimator."""
    summarized = [
        (
            f":py:obj:`{name} <{full_name}.{name}>`",
            inspect.getdoc(getattr(cls, name)).partition("\n\n")[0],
        )
        for name in methods(cls)
    ]
    described = [(f"``{name}``", text) for name, text in attributes(cls).items()]
    return table("Methods", summarized) + table("Attributes", described)


def arrange(app, what, name, obj, options, lines):
    """Change the order of the docstring of an estimator."""
    if what != "class" or not is_estimator(obj):
        return
    text = "\n".join(lines)
    examples = "".join(EXAMPLES.findall(text)).rstrip() + "\n\n"
    before, title, parameters = EXAMPLES.sub("", text).partition(":Parameters:")
    inserted = examples + tables(obj, name)
    lines[:] = (before + inserted + title + with_headings(parameters)).split("\n")


def skip(app, what, name, obj, skip, options):
    """Leave out the methods for metadata routing, and defaults of parameters."""
    is_left_out = ROUTING.fullmatch(name) or name in PARAMETERS
    return True if is_left_out else None


def fold(app, doctree):
    """Leave attributes to the table, and fold what is below a method's summary."""
    for page in list(doctree.findall(addnodes.desc)):
        cells = {
            row[0].astext(): row[0]
            for table in page.findall(nodes.table)
            if "members" in table["classes"]
            for row in table.findall(nodes.row)
        }
        for member in list(page.findall(addnodes.desc)) if cells else ():
            signature, description = member
            name = signature["fullname"].rpartition(".")[2]
            if member["objtype"] in ("property", "attribute"):
                cells[name]["ids"] += signature["ids"]
                member.parent.remove(member)
            elif member["objtype"] == "method" and len(description) > 1:
                summary, *others = description
                opening, middle, end = (
                    nodes.raw("", tag, format="html")
                    for tag in ("<details><summary>", "</summary>", "</details>")
                )
                description[:] = [opening, summary, middle, *others, end]


def setup(app):
    """Process each docstring after numpydoc, and each page after it is read."""
    app.connect("autodoc-process-docstring", arrange, priority=900)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
