"""Check of the built pages: links have targets, and other sites are not needed."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

logger = logging.getLogger(__name__)
#: Attributes from which a browser loads files to display a page.
LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("link", "href"),
}
#: Values of ``rel`` of a ``link`` that loads nothing.
SAYS_ONLY = {"canonical", "next", "prev", "search", "index", "author", "genindex"}


class Page(HTMLParser):
    """Parser that collects the anchors, links and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Record the anchors, the link or the loaded file of a tag."""
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
    """Return the pages, without the files of the theme in _static."""
    return [p for p in sorted(root.rglob("*.html")) if "_static" not in p.parts]


def faults(root):
    """Yield a message for each missing target, and each file from another site."""
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
                yield f"{name} links to {target}, which does not exist"
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
    """Check the pages at the end of the build."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
