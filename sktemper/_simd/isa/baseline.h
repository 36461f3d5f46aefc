/* Loops for instructions that every processor has: SSE2 on x86-64, NEON on 64-bit ARM. */
#ifdef __GNUC__
#define VECTOR_BYTES 16
#endif
#define ISA baseline
#include "both_types.h"
