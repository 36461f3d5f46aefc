"""Files that are replaced atomically."""

import contextlib
import os

#: Ending of the names of incomplete files.
TEMPORARY = ".part"


@contextlib.contextmanager
def replacing(path, temporary=None, mode=0o666):
    """Enter a context with a binary file that takes the place of ``path`` at its end.

    The file is on disk before it takes the place.  After an error, such as a full disk,
    the old file stays, and the new one is removed.  ``temporary`` is its path until
    then, and ``mode`` has its permissions, to which the umask applies.
    """
    if temporary is None:
        temporary = path.with_name(path.name + TEMPORARY)

    def opened(name, flags):
        return os.open(name, flags | getattr(os, "O_BINARY", 0), mode)

    try:
        with open(temporary, "w+b", opener=opened) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
