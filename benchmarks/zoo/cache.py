"""Cache of results: files outside of the repository with one JSON line per fit."""

import json
import os
from pathlib import Path

KEY = ("family", "set", "seed", "method", "version")


def default_folder():
    """Return the folder named by SKTEMPER_ZOO, by default one in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SKTEMPER_ZOO") or Path(home) / "sktemper" / "zoo")


def key(record):
    """Return the tuple of values that identifies a fit."""
    return tuple(record[name] for name in KEY)


class Cache:
    """The results of one family, in memory and in a file.

    Parameters
    ----------
    folder : Path
    family : str
    """

    def __init__(self, folder, family):
        self.path = Path(folder) / f"{family}.jsonl"
        self.records = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                record = _parsed(line)
                if record is not None:
                    self.records[key(record)] = record

    def add(self, record):
        """Append a result in one write, so that processes can share the file."""
        self.records[key(record)] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _parsed(line):
    """Return the record of a line, or None if an interruption truncated the line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if set(KEY) <= record.keys() else None
