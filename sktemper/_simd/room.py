"""Memory for large arrays that come and go within a fit."""

import itertools

import numpy as np

from .special import aligned

__all__ = ["Room", "empty", "zeros"]

#: Arrays below are not worth it; bytes that are kept for later ones, at most, beside
#: what is in use.
LEAST_BYTES, MOST_BYTES = 2**20, 2**29
#: Largest ratio of the size of a reused piece to the requested size.
MOST_TIMES = 1.5


class Room:
    """Gives memory to arrays, and takes it back once nothing refers to them.

    The system clears every page that a process gets anew, which for large arrays costs
    more time than to compute what is in them.  What has been given back is kept for the
    next arrays, and freed together with this object.
    """

    def __init__(self):
        self._free = _Free()

    def __del__(self):
        self._free.close()

    def __reduce__(self):
        return Room, ()

    def empty(self, shape, dtype):
        """Return an array of any content, `special.aligned`."""
        dtype = np.dtype(dtype)
        n_bytes = int(np.prod(shape)) * dtype.itemsize
        if n_bytes < LEAST_BYTES:
            return aligned(np.empty, shape, dtype)
        raw = np.asarray(_Piece(self._free.take(n_bytes), self._free))
        return raw[:n_bytes].view(dtype).reshape(shape)


def empty(room, shape, dtype):
    """Return an array of any content of a room, or if that is None of its own."""
    if room is None:
        return aligned(np.empty, shape, dtype)
    return room.empty(shape, dtype)


def zeros(room, shape, dtype):
    """Return an array of zeros of a room, or if that is None of its own."""
    if room is None:
        return aligned(np.zeros, shape, dtype)
    found = room.empty(shape, dtype)
    found.fill(0)
    return found


class _Free:
    """Pieces of memory that nothing refers to, by number, the latest last.

    An array may go, and give its piece back, at any moment, while its own thread is in
    here too: so each look at the pieces is at a copy, and what it finds may be gone.
    There is no lock, which Ctrl-C could leave locked: who pops a piece has it.
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
        """Keep a piece for later; the earliest go if there are too many."""
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
        """Free what there is, and what will be given back."""
        self.is_closed, self.pieces = True, {}


class _Piece:
    """The owner of a piece of memory that arrays refer to."""

    def __init__(self, piece, free):
        self._piece, self._free = piece, free
        self.__array_interface__ = piece.__array_interface__

    def __del__(self):
        self._free.give(self._piece)
