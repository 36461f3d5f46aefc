"""Reuse of the memory of large arrays by later arrays of a fit."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sktemper._simd import room as rooms
from sktemper._simd.room import Room, empty, zeros

LARGE = (1000, 300)  # 2.4 MB in float64


def place(array):
    return array.ctypes.data


def test_freed_memory_is_reused():
    room = Room()
    first = room.empty(LARGE, np.float64)
    first[:] = 1.0
    part, at = first[3:5], place(first)
    del first
    second = room.empty(LARGE, np.float64)
    assert place(second) != at  # a view still uses the first array
    assert (part == 1.0).all()
    del part, second
    assert place(room.empty((10, *LARGE), np.float64)) != at  # the memory is too small
    assert place(room.empty(LARGE, np.float32)) != at  # twice the needed memory
    assert place(room.empty((900, 300), np.float64)) == at


def test_arrays_are_aligned_and_whole():
    room = Room()
    for shape in ((3,), (0, 4), LARGE):
        for dtype in (np.float32, np.float64, np.int32):
            for _ in range(2):
                found = room.empty(shape, dtype)
                assert found.shape == shape
                assert found.dtype == dtype
                assert found.size == 0 or place(found) % 64 == 0
                assert found.flags.c_contiguous
                assert found.flags.writeable
                found[:] = 7
                del found
                assert (zeros(room, shape, dtype) == 0).all()
    assert empty(None, LARGE, np.float32).shape == LARGE
    assert (zeros(None, LARGE, np.float32) == 0).all()


def test_arrays_remain_valid_after_their_room_is_deleted():
    gc.freeze()  # a collection looks only at later objects, and is fast
    room = Room()
    kept, other = (room.empty(LARGE, np.float64) for _ in range(2))
    kept[:] = np.arange(300)
    del other
    free = room._free
    assert len(free.pieces) == 1
    del room
    gc.collect()
    assert (free.pieces, free.is_closed) == ({}, True)
    assert (kept == np.arange(300)).all()
    del kept
    assert free.pieces == {}


def test_a_room_keeps_a_limited_amount_of_memory(monkeypatch):
    monkeypatch.setattr(rooms, "MOST_BYTES", 3 * 10**6)
    room = Room()
    arrays = [room.empty(LARGE, np.float64) for _ in range(3)]
    last = place(arrays[-1])
    while arrays:
        arrays.pop(0)
    assert len(room._free.pieces) == 1
    assert sum(map(len, room._free.pieces.values())) <= 3 * 10**6
    assert place(room.empty(LARGE, np.float64)) == last


def test_a_copy_of_a_room_is_empty():
    room = Room()
    room.empty(LARGE, np.float64)
    assert len(room._free.pieces) == 1
    copy = pickle.loads(pickle.dumps(room))
    assert copy._free.pieces == {}
    array = pickle.loads(pickle.dumps(zeros(room, LARGE, np.float64)))
    assert (array == 0).all()


def test_threads_never_share_memory():
    room = Room()

    def work(number):
        for _ in range(50):
            found = room.empty(LARGE, np.float64)
            found[:] = number
            assert (found == number).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
