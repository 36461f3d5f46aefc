"""Link to the documentation in the HTML representation of an object."""

import sys
from functools import cache
from importlib import metadata
from itertools import takewhile

#: Path of the page of a class, relative to the address of the documentation.
PAGE = "reference/generated/{page}.html"


@cache
def address():
    """Return the address of the documentation, or "" if none is configured.

    It is configured in ``project.urls`` of pyproject.toml, as "Documentation".
    """
    try:
        urls = metadata.metadata("sktemper").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:  # the package is not installed
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


def page_of(cls):
    """Return the name of the page of a public class, such as "sktemper.AnnealedLDA"."""
    package, *modules = cls.__module__.split(".")
    if cls.__name__ in sys.modules[package].__all__:
        return f"{package}.{cls.__name__}"
    public = takewhile(lambda part: part[0] != "_", modules)
    return ".".join([package, *public, cls.__name__])


class DocumentationLinkMixin:
    """Mixin whose objects link to the reference by the "?" in their HTML."""

    _doc_link_module = "sktemper"

    @property
    def _doc_link_template(self):
        return f"{address()}/{PAGE}" if address() else ""

    def _doc_link_url_param_generator(self):
        return {"page": page_of(type(self))}
