"""Claims, which prevent two processes from writing a collection at the same time.

A claim is a file in the collection's folder.  It names its owner, the process that
writes, and the owner keeps the file open and locked until the end of the writing.  The
system releases the lock when the process ends for any reason, so a claim without a lock
belongs to a dead process, and another process may take it over.  There are two
exceptions.  On file systems without locks, the process table tells whether a writer on
the same machine is alive.  If several machines share the folder, they may not see each
other's locks.  Therefore a claim from another machine is not taken over, and the error
message names the file to delete.
"""

import contextlib
import datetime
import errno
import json
import os
import secrets
import socket
import weakref
from io import FileIO
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None
    import msvcrt


#: The file of a claim.
CLAIM = "writer.json"
#: Position of the locked byte.  On Windows, other processes cannot read this byte.
LOCKED_BYTE = 2**30
#: Error numbers that mean that another process holds the lock.
HELD = {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK, errno.EDEADLK}

#: Claims of this process, by token.  If an interruption prevents the release of a
#: claim, the deletion of the `Claim` object releases the lock.
_open_claims = weakref.WeakValueDictionary()


class Claim:
    """Context manager that holds the right to write a collection.

    Parameters
    ----------
    folder : Path
        Folder of the collection.

    Raises
    ------
    BlockingIOError
        On entry, if another writer holds the claim, or may hold it.
    """

    def __init__(self, folder):
        self.path, self.pid = Path(folder) / CLAIM, os.getpid()
        self.token, self.file = secrets.token_hex(8), None

    def __enter__(self):
        self.file = self._locked()
        _open_claims[self.token] = self
        try:
            _write(self.file, self.token)
        except BaseException:  # such as a full disk
            self.file.close()  # other processes take over a claim without an owner
            raise
        return self

    def __exit__(self, *_):
        if os.getpid() != self.pid:
            return  # this process is a forked child, and its parent owns the claim
        if fcntl is None:  # Windows cannot delete an open file
            self.file.close()
        if _owner_at(self.path).get("token") == self.token:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.file.close()

    def _locked(self):
        """Open the claim's file, lock it (if the file system has locks), return it."""
        while True:
            file = FileIO(self.path, "r+", opener=_opened_or_created)
            try:
                if self._is_free(file):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _is_free(self, file):
        """Lock the claim's file; return False if its owner has just deleted it."""
        locked = _lock(file.fileno())
        owner = _owner_at(self.path)
        if locked is False:
            raise _in_use(self.path, owner, is_known=True)
        if not _is_at(file, self.path):
            return False
        if owner and not _is_dead(owner, locked):
            raise _in_use(self.path, owner, is_known=False)
        return True

    def check(self):
        """Raise if this process no longer owns the claim.

        Raises
        ------
        BlockingIOError
        """
        owner = _owner_at(self.path)
        if owner.get("token") == self.token and os.getpid() == self.pid:
            return
        other = f"; now {_described(owner)} writes there" if owner else ""
        raise BlockingIOError(
            f"{self.path} was deleted or replaced while this process was writing to "
            f"{self.path.parent}{other}. Nothing more is written."
        )


def _lock(descriptor):
    """Lock a file without waiting.

    Returns
    -------
    locked : bool or None
        False if another process holds the lock; None if the file system has no locks.
    """
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        return False if error.errno in HELD else None
    return True


def _opened_or_created(path, flags):
    return os.open(path, flags | os.O_CREAT, 0o666)


def _is_at(file, path):
    """Return whether a path still names this open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def _write(file, token):
    """Write the owner of a claim into its file."""
    now = datetime.datetime.now().astimezone()
    owner = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "process_started": _started(os.getpid()),
        "since": now.isoformat(timespec="seconds"),
        "token": token,
    }
    text = json.dumps(owner).encode()
    file.truncate(0)
    file.seek(0)
    if file.write(text) < len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)


def _owner_at(path):
    """Return the owner that a claim names, or an empty dict."""
    try:
        owner = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _is_dead(owner, locked):
    """Return whether the owner of a claim is known to be dead."""
    if owner.get("host") != socket.gethostname():
        return False
    if locked:
        return True
    if owner.get("pid") == os.getpid():
        return str(owner.get("token")) not in _open_claims
    return not _is_running(owner.get("pid"), owner.get("process_started"))


def _is_running(pid, started):
    """Return whether a process of this machine may still be running."""
    if type(pid) is not int or pid <= 0 or os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user, or an invalid number
        pass
    now = _started(pid)
    return started is None or now is None or now == started


def _started(pid):
    """Return the start time of a process in clock ticks, or None if unknown."""
    try:
        about = Path(f"/proc/{pid}/stat").read_text()
        return int(about.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _described(owner):
    """Return a text that describes the owner of a claim."""
    if not owner:
        return "another process"
    pid, host = owner.get("pid", "?"), owner.get("host", "?")
    return f"process {pid} on {host} (since {owner.get('since', '?')})"


def _in_use(path, owner, is_known):
    """Return the exception for a folder that another writer has claimed."""
    folder, who = path.parent, _described(owner)
    if is_known:
        return BlockingIOError(
            f"{folder} is being written by {who}. Wait until it has finished, or give "
            "another folder."
        )
    return BlockingIOError(
        f"{folder} was claimed by {who}, and this process cannot find out whether the "
        f"other one still writes. If it does not, delete {path} and call again."
    )


def _close_claims():
    """Close the parent's claims in a forked child, so that the child holds no locks."""
    for claim in list(_open_claims.values()):
        claim.file.close()
    _open_claims.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_claims)
