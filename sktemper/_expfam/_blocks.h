/* Components that are factored at once, a lane each. */
#define FACTOR_LANES (SIMD_BYTES / 8)
