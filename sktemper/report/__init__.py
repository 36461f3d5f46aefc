"""Pages that show what was found, each one HTML file that opens offline."""

from ._topics import topic_report

__all__ = ["topic_report"]
