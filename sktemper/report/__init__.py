"""Pages about fitted models: single HTML files that open offline."""

from ._topics import topic_report

__all__ = ["topic_report"]
