"""Choice of the instruction set that all kernels use.

The environment variable SKTEMPER_SIMD names the instruction set.  Without it, the best
instruction set of this machine is chosen.  The choice is made once, at import.
"""

import os


cdef extern from "dispatch.h" nogil:
    const char *simd_choose(const char *wanted) noexcept


cdef _choose():
    cdef bytes wanted = os.environ.get("SKTEMPER_SIMD", "").encode()
    cdef const char *name = simd_choose(wanted)
    if name == NULL:
        raise ImportError(
            f"SKTEMPER_SIMD={wanted.decode()!r} names no instruction set of this "
            "machine; use 'avx512', 'avx2' or 'baseline', or leave it unset."
        )
    return name.decode()


#: The instruction set in use.
instruction_set = _choose()
