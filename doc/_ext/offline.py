"""Looks at the pages once they are built: links lead somewhere, and all is shipped."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

logger = logging.getLogger(__name__)
#: Attributes by which a page loads what it needs to be seen.
LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("link", "href"),
}
#: What a ``link`` says that loads nothing.
SAYS_ONLY = {"canonical", "next", "prev", "search", "index", "author", "genindex"}


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Remember what a tag says."""
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "link" and SAYS_ONLY & set((values.get("rel") or "").split()):
            return
        for key in "src", "href":
            value = values.get(key)
            if not value:
                continue
            (self.loads if (tag, key) in LOADS else self.links).add(value)


def html_files(root):
    """Return the pages; what lies in _static is the theme's."""
    return [p for p in sorted(root.rglob("*.html")) if "_static" not in p.parts]


def faults(root):
    """Yield, for each page, what it links to or loads that is not there."""
    pages = {path: Page(path) for path in html_files(root)}
    for path, page in pages.items():
        name = path.relative_to(root)
        for target in sorted(page.links | page.loads):
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loads and url.scheme != "data":
                    yield f"{name} loads {target}"
                continue
            place = path.parent / unquote(url.path) if url.path else path
            place = Path(place).resolve()
            if place.is_dir():
                place /= "index.html"
            if not place.exists():
                yield f"{name} links to {target}, which is not there"
            elif url.fragment and place in pages:
                anchor = unquote(url.fragment)
                if anchor not in pages[place].anchors | {"top"}:
                    yield f"{name} links to {target}, which has no such anchor"


def check(app, exception):
    """Warn of each fault; with ``-W`` a warning fails the build."""
    if exception or app.builder.name != "html":
        return
    for fault in faults(Path(app.outdir).resolve()):
        logger.warning(fault)


def setup(app):
    """Check once all is written."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
