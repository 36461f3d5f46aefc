/* What the kernels of all models share, and no floating type or instruction set matters
 * to.  How a model's kernel is laid out stands in `__init__.py` beside this. */
#ifndef SKTEMPER_SIMD_H
#define SKTEMPER_SIMD_H

#include <stdint.h>

/* The widest vector of any instruction set.  Rows that are padded to a multiple of this
 * many bytes need no loop for a remainder. */
#define SIMD_BYTES 64

/* Flush subnormals to zero in this thread; restore the caller's mode. */
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#define FLUSH_BITS 0x8040u /* flush to zero, denormals are zero */

static inline unsigned int simd_flush_subnormals(void)
{
    const unsigned int mode = _mm_getcsr();
    _mm_setcsr(mode | FLUSH_BITS);
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
