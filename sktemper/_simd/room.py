"""Memory for large arrays, which is reused within a fit."""

import itertools
import math

import numpy as np

from .special import aligned

#: Smallest size of an array whose memory is reused, and largest size of the unused
#: memory that is kept for later arrays, in bytes.
LEAST_BYTES, MOST_BYTES = 2**20, 2**31
#: Largest ratio of the size of a reused piece to the requested size.
MOST_TIMES = 1.5


class Room:
    """Pool of memory for arrays; it reuses the memory of arrays that are deleted.

    The system clears every new page of a process, which for large arrays takes more
    time than the computation of their content.  Unused memory is kept for the next
    arrays, and freed together with this object.
    """

    def __init__(self):
        self._free = _Free()

    def __del__(self):
        self._free.close()

    def __reduce__(self):
        return Room, ()

    def empty(self, shape, dtype):
        """Return an uninitialised array, aligned by `special.aligned`."""
        dtype = np.dtype(dtype)
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes < LEAST_BYTES:
            return aligned(np.empty, shape, dtype)
        raw = np.asarray(_Piece(self._free.take(n_bytes), self._free))
        return raw[:n_bytes].view(dtype).reshape(shape)


def empty(room, shape, dtype):
    """Return an uninitialised array from a `Room`, or a new array if that is None."""
    if room is None:
        return aligned(np.empty, shape, dtype)
    return room.empty(shape, dtype)


def zeros(room, shape, dtype):
    if room is None:
        return aligned(np.zeros, shape, dtype)
    found = room.empty(shape, dtype)
    found.fill(0)
    return found


class _Free:
    """Unused pieces of memory by serial number, the latest piece last.

    An array may be deleted and return its piece at any moment, even while the same
    thread runs a method of this class.  Each method therefore iterates over a copy of
    the pieces, and allows for pieces that have been taken meanwhile.  There is no lock,
    because Ctrl-C could leave it locked; the caller that pops a piece owns it.
    """

    def __init__(self):
        self.numbers, self.pieces, self.is_closed = itertools.count(), {}, False

    def take(self, n_bytes):
        """Return a piece of at least ``n_bytes`` bytes, a new one if none is free."""
        fitting = [
            (len(piece), number)
            for number, piece in list(self.pieces.items())
            if n_bytes <= len(piece) <= MOST_TIMES * n_bytes
        ]
        piece = self.pieces.pop(min(fitting)[1], None) if fitting else None
        return aligned(np.empty, n_bytes, np.uint8) if piece is None else piece

    def give(self, piece):
        """Keep a piece for later; free the earliest pieces if there are too many."""
        if self.is_closed:
            return
        self.pieces[next(self.numbers)] = piece
        kept = list(self.pieces.items())
        n_bytes = sum(len(piece) for _, piece in kept)
        for number, earliest in kept:
            if n_bytes <= MOST_BYTES:
                break
            self.pieces.pop(number, None)
            n_bytes -= len(earliest)

    def close(self):
        """Free all pieces, also those that are returned later."""
        self.is_closed, self.pieces = True, {}


class _Piece:
    """The owner of a piece of memory that arrays refer to."""

    def __init__(self, piece, free):
        self._piece, self._free = piece, free
        self.__array_interface__ = piece.__array_interface__

    def __del__(self):
        self._free.give(self._piece)
