/* Transposition of rows to lanes and back, for one floating type, in blocks of TURNED by
 * TURNED numbers. */
#if defined(VECTOR_BYTES) && (defined(__clang__) || __GNUC__ >= 9)
#define TURNED (VECTOR_BYTES / (intptr_t)sizeof(double))
#define VECTOR NAME(turned_vector)
typedef double VECTOR
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(double)), may_alias));
#if VECTOR_BYTES == 64
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif VECTOR_BYTES == 32
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#else
#define LOW 0, 2
#define HIGH 1, 3
#endif

/* Transposes a block.  Each round interleaves the first half of the rows with the second. */
ALWAYS_INLINE void NAME(turn_block)(VECTOR *rows)
{
    VECTOR next[TURNED];
    for (intptr_t width = 1; width < TURNED; width *= 2) {
        for (intptr_t r = 0; r < TURNED / 2; r++) {
            next[2 * r] = SHUFFLE(rows[r], rows[r + TURNED / 2], int64_t, LOW);
            next[2 * r + 1] = SHUFFLE(rows[r], rows[r + TURNED / 2], int64_t, HIGH);
        }
        for (intptr_t r = 0; r < TURNED; r++)
            rows[r] = next[r];
    }
}
#undef LOW
#undef HIGH
/* The same number of entries, in the type of rows. */
typedef REAL NAME(turned_row)
    __attribute__((vector_size(VECTOR_BYTES / sizeof(double) * sizeof(REAL)),
                   aligned(sizeof(REAL)), may_alias));
#define LOADED(kind, from)                                                             \
    __builtin_convertvector(*(const NAME(turned_##kind) *)(from), VECTOR)
#define STORE(to, vector)                                                              \
    (*(NAME(turned_row) *)(to) = __builtin_convertvector(vector, NAME(turned_row)))
#else
#define TURNED 1
#define VECTOR double
#define LOADED(kind, from) ((double)*(from))
#define STORE(to, vector) (*(to) = (REAL)(vector))
static inline void NAME(turn_block)(VECTOR *rows) { (void)rows; }
#endif

/* Copies n entries of LANES rows to `to`, so that the lanes of an entry are adjacent.  A
 * macro, because it is defined for two types of rows. */
#define INTO_LANES(name, TYPE, kind)                                                   \
    static inline void NAME(name)(intptr_t n, const TYPE *const *rows, double *to)     \
    {                                                                                  \
        const intptr_t whole = n / TURNED * TURNED;                                    \
        for (intptr_t k = 0; k < whole; k += TURNED)                                   \
            for (intptr_t first = 0; first < LANES; first += TURNED) {                 \
                VECTOR block[TURNED];                                                  \
                for (intptr_t r = 0; r < TURNED; r++)                                  \
                    block[r] = LOADED(kind, rows[first + r] + k);                      \
                NAME(turn_block)(block);                                               \
                for (intptr_t i = 0; i < TURNED; i++)                                  \
                    memcpy(to + (k + i) * LANES + first, block + i, sizeof(VECTOR));   \
            }                                                                          \
        for (intptr_t k = whole; k < n; k++)                                           \
            for (intptr_t lane = 0; lane < LANES; lane++)                              \
                to[k * LANES + lane] = (double)rows[lane][k];                          \
    }
INTO_LANES(into_lanes, REAL, row)
INTO_LANES(doubles_into_lanes, double, vector)
#undef INTO_LANES

/* Copies lanes back to rows of REAL. */
static inline void NAME(from_lanes)(intptr_t n, const double *from, REAL *const *rows)
{
    const intptr_t whole = n / TURNED * TURNED;
    for (intptr_t k = 0; k < whole; k += TURNED)
        for (intptr_t first = 0; first < LANES; first += TURNED) {
            VECTOR block[TURNED];
            for (intptr_t i = 0; i < TURNED; i++)
                memcpy(block + i, from + (k + i) * LANES + first, sizeof(VECTOR));
            NAME(turn_block)(block);
            for (intptr_t r = 0; r < TURNED; r++)
                STORE(rows[first + r] + k, block[r]);
        }
    for (intptr_t k = whole; k < n; k++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            rows[lane][k] = (REAL)from[k * LANES + lane];
}
#undef VECTOR
#undef TURNED
#undef LOADED
#undef STORE
