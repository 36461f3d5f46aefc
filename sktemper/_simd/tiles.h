/* Sizes and vectors of the tiles of products, for one floating type.  The sums of a tile of
 * ROWS rows and COLUMNS columns fit into registers.  Packed columns are in panels of COLUMNS
 * columns; the last panel has LANES columns if these suffice.  Code that packs panels and code
 * that reads them must use the same sizes.  The sizes are macros because they differ between
 * types; headers that include this file undefine them. */
#define VECTOR NAME(tile_vector)
VECTOR_TYPE(VECTOR, REAL, VECTOR_BYTES);
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
