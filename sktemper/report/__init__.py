"""Reports about fitted models: single HTML files that work offline."""

from ._topics import topic_report

__all__ = ["topic_report"]
