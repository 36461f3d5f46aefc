/* Sizes of the tiles of products, for one floating type.  The sums of a tile of ROWS rows and
 * COLUMNS columns fit into registers.  Packed columns are in panels of COLUMNS; the last
 * panel has LANES columns if these suffice.  Panels are read with the sizes with which they
 * were packed.  These are macros because each type has its own, and because headers that
 * include this undefine them. */
#ifdef VECTOR_BYTES
#define LANES (VECTOR_BYTES / (intptr_t)sizeof(REAL))
#else
#define LANES (16 / (intptr_t)sizeof(REAL))
#endif
#define COLUMNS (2 * LANES)
#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#define ROWS 12
#else
#define ROWS 6
#endif
