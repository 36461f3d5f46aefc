/* Gaussians of natural parameters, precision and precision times mean: some at once, a
 * lane each.  In float64, whatever REAL is: a small precision beside a large one would
 * be lost.
 *
 * A lower triangle lies in tiles, TILE by TILE, one after the other; what is missing from
 * the last ones is that of a unit matrix.  Every element is a sum in the order of its
 * terms, whatever lane it lies in. */
#define LANES (SIMD_BYTES / (intptr_t)sizeof(double))
#include "turned_lanes.h"

/* Elements of a tile: as many as fit into registers. */
#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#define TILE 4
#define EACH_LINE(X) X(0) X(1) X(2) X(3)
#define EACH_COLUMN(X, r) X(r, 0) X(r, 1) X(r, 2) X(r, 3)
#define EACH_ELEMENT(X)                                                                \
    EACH_COLUMN(X, 0) EACH_COLUMN(X, 1) EACH_COLUMN(X, 2) EACH_COLUMN(X, 3)
#else
#define TILE 2
#define EACH_LINE(X) X(0) X(1)
#define EACH_COLUMN(X, r) X(r, 0) X(r, 1)
#define EACH_ELEMENT(X) EACH_COLUMN(X, 0) EACH_COLUMN(X, 1)
#endif
#define TILE_LANES (TILE * TILE * LANES)
/* Tiles beside each other, and all of a triangle; numbers that triangles and vectors of
 * so many entries take. */
#define TILES(d) (((d) + TILE - 1) / TILE)
#define TILE_AT(i, j) (((i) * ((i) + 1) / 2 + (j)) * TILE_LANES)
#define TRIANGLE(d) TILE_AT(TILES(d), 0)
#define TILED(d) (TILES(d) * TILE * LANES)
/* Where an element of the lower triangle begins. */
#define AT(i, j)                                                                       \
    (TILE_AT((i) / TILE, (j) / TILE) + ((i) % TILE * TILE + (j) % TILE) * LANES)

#ifdef VECTOR_BYTES
#define VECTOR NAME(lanes_vector)
typedef double VECTOR
    __attribute__((vector_size(VECTOR_BYTES), aligned(VECTOR_BYTES), may_alias));
/* The lanes are treated in so many parts, one after the other. */
#define PARTS (SIMD_BYTES / VECTOR_BYTES)
#define TILED_INLINE ALWAYS_INLINE
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#define TIMES(x, y) ((x) * (y))
#define NEGATIVE(x) (-(x))
#else
typedef struct {
    double of[SIMD_BYTES / sizeof(double)];
} NAME(lanes_vector);
#define VECTOR NAME(lanes_vector)
#define PARTS 1
#define TILED_INLINE static inline
#define OF_LANES(name, operator)                                                       \
    static inline VECTOR NAME(name)(VECTOR x, VECTOR y)                                \
    {                                                                                  \
        for (intptr_t lane = 0; lane < LANES; lane++)                                  \
            x.of[lane] = x.of[lane] operator y.of[lane];                               \
        return x;                                                                      \
    }
OF_LANES(lanes_plus, +)
OF_LANES(lanes_minus, -)
OF_LANES(lanes_times, *)
#undef OF_LANES
#define PLUS(x, y) NAME(lanes_plus)(x, y)
#define MINUS(x, y) NAME(lanes_minus)(x, y)
#define TIMES(x, y) NAME(lanes_times)(x, y)
#define NEGATIVE(x) NAME(lanes_minus)((VECTOR){{0}}, x)
#endif

#define START(r, c) VECTOR s##r##c = {0};
/* An element of a tile, or of a vector. */
#define OF(tile, r, c) (tile)[((r) * TILE + (c)) * PARTS]
#define ENTRY(vector, i) (vector)[(i) * PARTS]
#define LOAD(r, c) VECTOR s##r##c = OF(to, r, c);
#define STORE(r, c) OF(to, r, c) = s##r##c;
/* The terms of x y^T, of x y and of x^T y. */
#define LESS_ROWS(r, c)                                                                \
    s##r##c = MINUS(s##r##c, TIMES(OF(x, r, k), OF(y, c, k)));
#define PLUS_BOTH(r, c)                                                                \
    s##r##c = PLUS(s##r##c, TIMES(OF(x, r, k), OF(y, k, c)));
#define PLUS_COLUMNS(r, c)                                                             \
    s##r##c = PLUS(s##r##c, TIMES(OF(x, k, r), OF(y, k, c)));

/* A root in place of a pivot, and its inverse; one that is not positive is taken for 1. */
TILED_INLINE void NAME(root_lanes)(VECTOR *pivot, VECTOR *inverse, double *least)
{
    double roots[LANES / PARTS], inverses[LANES / PARTS];
    memcpy(roots, pivot, sizeof(roots));
    VECTORISE
    for (intptr_t lane = 0; lane < LANES / PARTS; lane++) {
        const double given = roots[lane];
        least[lane] = given > 0 ? least[lane] : 0;
        roots[lane] = sqrt(given > 0 ? given : 1);
        inverses[lane] = 1 / roots[lane];
    }
    memcpy(pivot, roots, sizeof(roots));
    memcpy(inverse, inverses, sizeof(inverses));
}

#define ROOT(c) NAME(root_lanes)(&s##c##c, &ENTRY(inverse, c), least);
#define DIVIDE(r, c) s##r##c = TIMES(s##r##c, ENTRY(inverse, c));
#define LESS(r, c, k) s##r##c = MINUS(s##r##c, TIMES(s##r##k, s##c##k));
#define LESS_OWN(r, c, k) s##r##c = MINUS(s##r##c, TIMES(s##r##k, OF(own, c, k)));
#define INVERTED(c) OF(w, c, c) = ENTRY(inverse, c);
#define ABOVE(r, c) OF(w, r, c) = zero;
#define PART(r, k, c) TIMES(OF(own, r, k), OF(w, k, c))
#define BELOW(r, c, sum) OF(w, r, c) = NEGATIVE(TIMES(ENTRY(inverse, r), sum));
#define SCALED(r, k, c) TIMES(OF(w, r, k), s##k##c)
#if TILE == 4
#define FACTOR_TILE                                                                    \
    ROOT(0) DIVIDE(1, 0) DIVIDE(2, 0) DIVIDE(3, 0)                                     \
    LESS(1, 1, 0) LESS(2, 1, 0) LESS(3, 1, 0) LESS(2, 2, 0) LESS(3, 2, 0) LESS(3, 3, 0)\
    ROOT(1) DIVIDE(2, 1) DIVIDE(3, 1) LESS(2, 2, 1) LESS(3, 2, 1) LESS(3, 3, 1)        \
    ROOT(2) DIVIDE(3, 2) LESS(3, 3, 2) ROOT(3)
#define SOLVE_LINE(r)                                                                  \
    DIVIDE(r, 0) LESS_OWN(r, 1, 0) DIVIDE(r, 1)                                        \
    LESS_OWN(r, 2, 0) LESS_OWN(r, 2, 1) DIVIDE(r, 2)                                   \
    LESS_OWN(r, 3, 0) LESS_OWN(r, 3, 1) LESS_OWN(r, 3, 2) DIVIDE(r, 3)
#define INVERT_TILE                                                                    \
    EACH_LINE(INVERTED) ABOVE(0, 1) ABOVE(0, 2) ABOVE(0, 3)                            \
    ABOVE(1, 2) ABOVE(1, 3) ABOVE(2, 3)                                                \
    BELOW(1, 0, PART(1, 0, 0)) BELOW(2, 1, PART(2, 1, 1)) BELOW(3, 2, PART(3, 2, 2))   \
    BELOW(2, 0, PLUS(PART(2, 0, 0), PART(2, 1, 0)))                                    \
    BELOW(3, 1, PLUS(PART(3, 1, 1), PART(3, 2, 1)))                                    \
    BELOW(3, 0, PLUS(PLUS(PART(3, 0, 0), PART(3, 1, 0)), PART(3, 2, 0)))
#define SCALE_COLUMN(c)                                                                \
    OF(to, 3, c) = NEGATIVE(PLUS(PLUS(SCALED(3, 0, c), SCALED(3, 1, c)),               \
                                     PLUS(SCALED(3, 2, c), SCALED(3, 3, c))));         \
    OF(to, 2, c) =                                                                     \
        NEGATIVE(PLUS(PLUS(SCALED(2, 0, c), SCALED(2, 1, c)), SCALED(2, 2, c)));       \
    OF(to, 1, c) = NEGATIVE(PLUS(SCALED(1, 0, c), SCALED(1, 1, c)));                   \
    OF(to, 0, c) = NEGATIVE(SCALED(0, 0, c));
#else
#define FACTOR_TILE ROOT(0) DIVIDE(1, 0) LESS(1, 1, 0) ROOT(1)
#define SOLVE_LINE(r) DIVIDE(r, 0) LESS_OWN(r, 1, 0) DIVIDE(r, 1)
#define INVERT_TILE EACH_LINE(INVERTED) ABOVE(0, 1) BELOW(1, 0, PART(1, 0, 0))
#define SCALE_COLUMN(c)                                                                \
    OF(to, 1, c) = NEGATIVE(PLUS(SCALED(1, 0, c), SCALED(1, 1, c)));                   \
    OF(to, 0, c) = NEGATIVE(SCALED(0, 0, c));
#endif

/* The lower triangle L with precision = L L^T, in its place; inverse: 1 / its diagonal. */
static inline void NAME(factor_lanes)(intptr_t n, double *a, double *inverses,
                                      double *least)
{
    for (intptr_t j = 0; j < n; j++) {
        VECTOR *inverse = (VECTOR *)inverses + j * TILE * PARTS;
        const VECTOR *own = (const VECTOR *)(a + TILE_AT(j, j));
        for (intptr_t i = j; i < n; i++) {
            VECTOR *to = (VECTOR *)(a + TILE_AT(i, j));
            const VECTOR *x = (const VECTOR *)(a + TILE_AT(i, 0));
            const VECTOR *y = (const VECTOR *)(a + TILE_AT(j, 0));
            EACH_ELEMENT(LOAD)
            for (intptr_t t = 0; t < j; t++) {
                for (intptr_t k = 0; k < TILE; k++) {
                    EACH_ELEMENT(LESS_ROWS)
                }
                x += TILE * TILE * PARTS;
                y += TILE * TILE * PARTS;
            }
            if (i == j) {
                FACTOR_TILE
            } else {
                EACH_LINE(SOLVE_LINE)
            }
            EACH_ELEMENT(STORE)
        }
    }
}

/* b = L^-1. */
static inline void NAME(invert_lanes)(intptr_t n, const double *a, const double *inverses,
                                      double *b)
{
    for (intptr_t i = 0; i < n; i++) {
        VECTOR *w = (VECTOR *)(b + TILE_AT(i, i));
        const VECTOR *own = (const VECTOR *)(a + TILE_AT(i, i));
        const VECTOR *inverse = (const VECTOR *)inverses + i * TILE * PARTS;
        const VECTOR zero = {0};
        INVERT_TILE
        for (intptr_t j = 0; j < i; j++) {
            VECTOR *to = (VECTOR *)(b + TILE_AT(i, j));
            EACH_ELEMENT(START)
            for (intptr_t t = j; t < i; t++) {
                const VECTOR *x = (const VECTOR *)(a + TILE_AT(i, t));
                const VECTOR *y = (const VECTOR *)(b + TILE_AT(t, j));
                for (intptr_t k = 0; k < TILE; k++) {
                    EACH_ELEMENT(PLUS_BOTH)
                }
            }
            EACH_LINE(SCALE_COLUMN)
        }
    }
}

/* a = the covariance L^-T L^-1. */
static inline void NAME(covary_lanes)(intptr_t n, const double *b, double *a)
{
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t j = 0; j <= i; j++) {
            VECTOR *to = (VECTOR *)(a + TILE_AT(i, j));
            EACH_ELEMENT(START)
            for (intptr_t t = i; t < n; t++) {
                const VECTOR *x = (const VECTOR *)(b + TILE_AT(t, i));
                const VECTOR *y = (const VECTOR *)(b + TILE_AT(t, j));
                for (intptr_t k = 0; k < TILE; k++) {
                    EACH_ELEMENT(PLUS_COLUMNS)
                }
            }
            EACH_ELEMENT(STORE)
        }
}

#define TERM_OF_LINE(r) t##r = PLUS(t##r, TIMES(OF(x, r, k), ENTRY(from, k)));
#define TERM_OF_COLUMN(r) t##r = PLUS(t##r, TIMES(OF(x, k, r), ENTRY(from, k)));
#define START_LINE(r) VECTOR t##r = {0};
#define STORE_LINE(r) ENTRY(to, r) = t##r;

/* m = b^T b m: of precision times mean, the mean. */
static inline void NAME(mean_lanes)(intptr_t n, const double *b, double *m)
{
    for (intptr_t i = n; i-- > 0;) {
        VECTOR *to = (VECTOR *)m + i * TILE * PARTS;
        EACH_LINE(START_LINE)
        for (intptr_t j = 0; j <= i; j++) {
            const VECTOR *x = (const VECTOR *)(b + TILE_AT(i, j));
            const VECTOR *from = (const VECTOR *)m + j * TILE * PARTS;
            for (intptr_t k = 0; k < TILE; k++) {
                EACH_LINE(TERM_OF_LINE)
            }
        }
        EACH_LINE(STORE_LINE)
    }
    for (intptr_t i = 0; i < n; i++) {
        VECTOR *to = (VECTOR *)m + i * TILE * PARTS;
        EACH_LINE(START_LINE)
        for (intptr_t j = i; j < n; j++) {
            const VECTOR *x = (const VECTOR *)(b + TILE_AT(j, i));
            const VECTOR *from = (const VECTOR *)m + j * TILE * PARTS;
            for (intptr_t k = 0; k < TILE; k++) {
                EACH_LINE(TERM_OF_COLUMN)
            }
        }
        EACH_LINE(STORE_LINE)
    }
}

#undef START
#undef OF
#undef ENTRY
#undef LOAD
#undef STORE
#undef LESS_ROWS
#undef PLUS_BOTH
#undef PLUS_COLUMNS
#undef ROOT
#undef DIVIDE
#undef LESS
#undef LESS_OWN
#undef INVERTED
#undef ABOVE
#undef PART
#undef BELOW
#undef SCALED
#undef FACTOR_TILE
#undef SOLVE_LINE
#undef INVERT_TILE
#undef SCALE_COLUMN
#undef TERM_OF_LINE
#undef TERM_OF_COLUMN
#undef START_LINE
#undef STORE_LINE
#undef VECTOR
#undef TILED_INLINE
#undef PLUS
#undef MINUS
#undef TIMES
#undef NEGATIVE
#undef EACH_LINE
#undef EACH_COLUMN
#undef EACH_ELEMENT

/* The sum of the logs of the diagonal of L, twice: the mantissas are multiplied, the
 * exponents are added up. */
static inline void NAME(log_lanes)(intptr_t d, const double *restrict a,
                                   double *restrict log_determinant)
{
    double products[LANES], exponents[LANES], infinite[LANES];
    for (intptr_t lane = 0; lane < LANES; lane++) {
        products[lane] = 1;
        exponents[lane] = infinite[lane] = 0;
    }
    for (intptr_t i = 0; i < d; i++) {
        const double *restrict root = a + AT(i, i);
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const double product = products[lane] * root[lane];
            uint64_t bits;
            memcpy(&bits, &product, sizeof(bits));
            exponents[lane] += (double)(int64_t)(bits >> 52) - 1023;
            infinite[lane] += root[lane] * 0; /* not a number, of what is infinite */
            bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
            memcpy(products + lane, &bits, sizeof(bits));
        }
    }
    for (intptr_t lane = 0; lane < LANES; lane++)
        log_determinant[lane] =
            2 * (log(products[lane]) + exponents[lane] * 0.6931471805599453)
            + infinite[lane];
}

/* Factors triangles in tiles, whose missing elements become those of a unit matrix;
 * `least` becomes 0 where one is not positive definite. */
static inline void NAME(factor_tiles)(intptr_t d, double *a, double *inverse,
                                      double *least)
{
    const intptr_t n = TILES(d);
    for (intptr_t i = d; i < n * TILE; i++)
        for (intptr_t j = 0; j <= i; j++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                a[AT(i, j) + lane] = i == j;
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS)
        NAME(factor_lanes)(n, a + part, inverse + part, least + part);
}

/* b = the inverses of these factors. */
static inline void NAME(invert_tiles)(intptr_t d, const double *a, const double *inverse,
                                      double *b)
{
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS)
        NAME(invert_lanes)(TILES(d), a + part, inverse + part, b + part);
}

/* Of precisions `a`, in tiles, and precisions times means `m`: the covariances in place
 * of `a`, the means in place of `m`, and the logs of the precisions' determinants, which
 * are NAN where these are not positive definite.  `b` has the room of `a`, `inverse` that
 * of `m`.  Returns how many of the first `n_lanes` are not positive definite. */
static inline intptr_t NAME(solve_lanes)(intptr_t d, intptr_t n_lanes, double *a,
                                         double *b, double *m, double *inverse,
                                         double *log_determinant)
{
    const intptr_t n = TILES(d);
    double least[LANES];
    intptr_t n_indefinite = 0;
    for (intptr_t lane = 0; lane < LANES; lane++)
        least[lane] = 1;
    memset(m + d * LANES, 0, (size_t)(n * TILE - d) * LANES * sizeof(double));
    NAME(factor_tiles)(d, a, inverse, least);
    NAME(log_lanes)(d, a, log_determinant);
    NAME(invert_tiles)(d, a, inverse, b);
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS) {
        NAME(mean_lanes)(n, b + part, m + part);
        NAME(covary_lanes)(n, b + part, a + part);
    }
    for (intptr_t lane = 0; lane < n_lanes; lane++)
        if (!(least[lane] > 0)) {
            n_indefinite++;
            log_determinant[lane] = NAN;
        }
    return n_indefinite;
}
#undef PARTS
