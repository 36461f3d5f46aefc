/* The tiles of products, for one floating type: ROWS rows and COLUMNS columns, as many
 * sums as fit into registers.  Packed columns lie in panels of COLUMNS, the last one of
 * LANES if that is enough; whoever reads panels needs the sizes of who packed them. */
#ifdef VECTOR_BYTES
#define LANES (VECTOR_BYTES / (intptr_t)sizeof(REAL))
#else
#define LANES (16 / (intptr_t)sizeof(REAL))
#endif
#define COLUMNS (2 * LANES)
#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#define ROWS 12
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#else
#define ROWS 6
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#endif
