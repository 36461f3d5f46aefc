"""Results of fits, a line of JSON each, in files outside of the repository."""

import json
import os
from pathlib import Path

KEY = ("family", "set", "seed", "method", "version")


def default_folder():
    """Return the folder of the variable SKTEMPER_ZOO, or one of the user's caches."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SKTEMPER_ZOO") or Path(home) / "sktemper" / "zoo")


def key(record):
    """Return what identifies a fit."""
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
        """Append a result; one line is written at once, so that processes may share."""
        self.records[key(record)] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _parsed(line):
    """Return a record, or None for a line that an interruption cut."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if set(KEY) <= record.keys() else None
