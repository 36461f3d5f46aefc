/* Transposition of rows into lanes and back, for one floating type.  A lane has the entries of
 * one row, in float64.  Blocks of N_TURNED rows with N_TURNED entries are transposed in
 * registers. */

/* This part is compiled once, because it does not depend on REAL. */
#ifndef SKTEMPER_TURNED_LANES_H
#define SKTEMPER_TURNED_LANES_H
#if defined(VECTOR_BYTES) && (defined(__clang__) || __GNUC__ >= 9)
enum { N_TURNED = VECTOR_BYTES / sizeof(double) };
VECTOR_TYPE(turned_vector, double, VECTOR_BYTES);
#define TURN(rows) TRANSPOSE(turned_vector, VECTOR_BYTES, f64, rows)
#else
enum { N_TURNED = 1 };
typedef double turned_vector;
#define TURN(rows) (void)(rows)
#endif
#endif

/* Converts N_TURNED entries of a row to float64, and back. */
#if defined(VECTOR_BYTES) && (defined(__clang__) || __GNUC__ >= 9)
VECTOR_TYPE(NAME(turned_row), REAL, VECTOR_BYTES / sizeof(double) * sizeof(REAL));

ALWAYS_INLINE turned_vector NAME(load_entries)(const REAL *from)
{
    return __builtin_convertvector(*(const NAME(turned_row) *)from, turned_vector);
}

ALWAYS_INLINE void NAME(store_entries)(turned_vector entries, REAL *to)
{
    *(NAME(turned_row) *)to = __builtin_convertvector(entries, NAME(turned_row));
}
#else
static inline turned_vector NAME(load_entries)(const REAL *from) { return (double)*from; }
static inline void NAME(store_entries)(turned_vector entries, REAL *to)
{
    *to = (REAL)entries;
}
#endif

/* to = n entries of LANES rows, with the lanes of an entry next to each other. */
static inline void NAME(into_lanes)(intptr_t n, const REAL *const *rows, double *to)
{
    const intptr_t whole = n / N_TURNED * N_TURNED;
    for (intptr_t k = 0; k < whole; k += N_TURNED)
        for (intptr_t first = 0; first < LANES; first += N_TURNED) {
            turned_vector block[N_TURNED];
            for (intptr_t r = 0; r < N_TURNED; r++)
                block[r] = NAME(load_entries)(rows[first + r] + k);
            TURN(block);
            for (intptr_t i = 0; i < N_TURNED; i++)
                memcpy(to + (k + i) * LANES + first, block + i, sizeof(block[i]));
        }
    for (intptr_t k = whole; k < n; k++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            to[k * LANES + lane] = (double)rows[lane][k];
}

/* Writes n entries of the lanes back to rows of REAL. */
static inline void NAME(from_lanes)(intptr_t n, const double *from, REAL *const *rows)
{
    const intptr_t whole = n / N_TURNED * N_TURNED;
    for (intptr_t k = 0; k < whole; k += N_TURNED)
        for (intptr_t first = 0; first < LANES; first += N_TURNED) {
            turned_vector block[N_TURNED];
            for (intptr_t i = 0; i < N_TURNED; i++)
                memcpy(block + i, from + (k + i) * LANES + first, sizeof(block[i]));
            TURN(block);
            for (intptr_t r = 0; r < N_TURNED; r++)
                NAME(store_entries)(block[r], rows[first + r] + k);
        }
    for (intptr_t k = whole; k < n; k++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            rows[lane][k] = (REAL)from[k * LANES + lane];
}
