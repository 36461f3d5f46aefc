"""Links of Markdown pages to other files of the repository.

The links are written as paths, so that they also work in the repository.  Some of the
files are also pages of the site, and links to such files lead to the pages.  MyST turns
all other files into downloads.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?P<path>(?![a-z]+:)[^)#\s]+)(?P<anchor>#[^)\s]+)?\)")
#: Pages of the site for files outside of doc/.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "LICENSE": "start/stability.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples": "auto_examples/index.rst",
    "examples/poisson_kernel": "poisson_kernel.md",
    "benchmarks": "benchmarks/index.md",
    "benchmarks/results": "benchmarks/index.md",
}
#: Patterns of the tables of benchmarks; each table is a page.
TABLES = ("benchmarks/results/*.md", "benchmarks/*.md")


def page_of(path):
    """Return the page of a file of the repository, or None if it has no page."""
    name = path.as_posix()
    if name in PAGES:
        return Path(PAGES[name])
    if path.parts[0] != "doc" and any(path.match(pattern) for pattern in TABLES):
        return Path("benchmarks/tables", path.name)
    if path.parent.as_posix() == "examples" and path.suffix == ".py":
        return Path("auto_examples", f"{path.stem}.rst")
    if path.parts[0] == "doc":
        return Path(*path.parts[1:])
    return None


def rewrite(text, written_in, read_in):
    """Return Markdown whose links to files lead to the pages of the files.

    Links of ``text`` are relative to ``written_in``, a folder of the repository.  Links
    of the result are relative to ``read_in``, the folder of the page within doc/.
    """

    def replace(match):
        path = os.path.normpath(os.path.join(written_in, match["path"]))
        if path.startswith("..") or not (ROOT / path).exists():
            return match[0]
        page = page_of(Path(path)) or Path("..", path)
        return f"]({os.path.relpath(page, read_in)}{match['anchor'] or ''})"

    return LINK.sub(replace, text)


def make_pages_of_tables(app):
    """Write, for each table of the benchmarks, a page that includes the table.

    Menus and the search leave these pages out, because their many words would hide
    other pages; links lead to them.
    """
    folder = Path(app.srcdir, "benchmarks", "tables")
    folder.mkdir(parents=True, exist_ok=True)
    tables = {table.name: table for p in TABLES for table in ROOT.glob(p)}
    for old in folder.glob("*.md"):
        if old.name not in tables:
            old.unlink()
    for name, table in tables.items():
        path = os.path.relpath(table, folder)
        text = f"---\nnosearch: true\norphan: true\n---\n\n```{{include}} {path}\n```\n"
        page = folder / name
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def of_a_page(app, docname, content):
    """Rewrite a page of doc/."""
    if Path(app.env.doc2path(docname)).suffix == ".md":
        folder = Path(docname).parent
        content[0] = rewrite(content[0], Path("doc", folder), folder)


def of_an_included_file(app, relative_path, parent_docname, content):
    """Rewrite a file of the repository that a page includes."""
    path = Path(app.srcdir, relative_path).resolve()
    if path.suffix == ".md" and path.is_relative_to(ROOT):
        written_in = path.parent.relative_to(ROOT)
        content[0] = rewrite(content[0], written_in, Path(app.env.docname).parent)


def setup(app):
    """Rewrite all Markdown when it is read."""
    app.connect("builder-inited", make_pages_of_tables)
    app.connect("source-read", of_a_page)
    app.connect("include-read", of_an_included_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
