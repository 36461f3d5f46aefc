/* Common parts of all kernels that do not depend on the floating type or the instruction
 * set.  The docstring of `__init__.py` in this folder describes the layout of a kernel. */
#ifndef SKTEMPER_SIMD_H
#define SKTEMPER_SIMD_H

#include <stdint.h>

/* Size of the widest vector of any instruction set.  Rows that are padded to a multiple of
 * this size need no loop for remaining elements. */
#define SIMD_BYTES 64

/* Flush subnormals to zero in this thread; restore the caller's mode. */
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>

static inline unsigned int simd_flush_subnormals(void)
{
    const unsigned int mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush to zero, denormals are zero */
    return mode;
}

static inline void simd_restore_subnormals(unsigned int mode)
{
    _mm_setcsr(mode);
}
#else
static inline unsigned int simd_flush_subnormals(void) { return 0; }
static inline void simd_restore_subnormals(unsigned int mode) { (void)mode; }
#endif

#endif
