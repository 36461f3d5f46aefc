/* Moments of Gaussians from their natural parameters, the precision and the precision times
 * the mean.  Several Gaussians are processed at once, one in each lane.  The computations are
 * in float64 for both types REAL, because float32 would lose a small precision next to a large
 * precision.
 *
 * A lower triangle consists of tiles of TILE by TILE elements, one after the other.  Tiles
 * at the edge are filled up with elements of a unit matrix.  The terms of an element are
 * added in the same order in every lane. */

/* LANES is a macro, because other loops define the same name.  Loops that include one of
 * these undefine it at their end. */
#define LANES (SIMD_BYTES / (intptr_t)sizeof(double))
#include "turned_lanes.h"

/* Everything below is compiled once, since it does not depend on REAL. */
#ifndef SKTEMPER_GAUSSIAN_LANES_H
#define SKTEMPER_GAUSSIAN_LANES_H

/* TILE is the number of rows of a tile; a tile fits into registers.  The lanes are processed
 * in PARTS parts. */
#ifdef VECTOR_BYTES
enum { TILE = VECTOR_BYTES == 64 ? 4 : 2, PARTS = SIMD_BYTES / VECTOR_BYTES };
typedef double gaussian_vector
    __attribute__((vector_size(VECTOR_BYTES), aligned(VECTOR_BYTES), may_alias));
#else
enum { TILE = 2, PARTS = SIMD_BYTES / sizeof(double) };
typedef double gaussian_vector;
#endif
typedef gaussian_vector gaussian_tile[TILE][TILE];

/* Number of tiles in a column of d elements. */
static inline intptr_t n_tiles(intptr_t d) { return (d + TILE - 1) / TILE; }

/* Index of the tile in row i and column j of a triangle. */
static inline intptr_t tile_place(intptr_t i, intptr_t j)
{
    return (i * (i + 1) / 2 + j) * (TILE * TILE * LANES);
}

/* Index of an element of the lower triangle. */
static inline intptr_t element_place(intptr_t i, intptr_t j)
{
    return tile_place(i / TILE, j / TILE) + (i % TILE * TILE + j % TILE) * LANES;
}

/* Number of entries, in all lanes, of a triangle of order d, and of a vector of length d. */
static inline intptr_t triangle_entries(intptr_t d) { return tile_place(n_tiles(d), 0); }
static inline intptr_t vector_entries(intptr_t d) { return n_tiles(d) * TILE * LANES; }

/* The first vector of a tile of a triangle. */
ALWAYS_INLINE gaussian_vector *tile_at(const double *triangle, intptr_t i, intptr_t j)
{
    return (gaussian_vector *)(triangle + tile_place(i, j));
}

/* Index of an element within a tile, in vectors; its transpose has the other order. */
ALWAYS_INLINE int in_tile(int r, int c) { return (r * TILE + c) * PARTS; }

/* In the comments of the functions of tiles, the letters s, x, y, t and w are tiles. */

/* s = from, or 0 if `from` is NULL */
ALWAYS_INLINE void load_tile(const gaussian_vector *from, gaussian_tile s)
{
    const gaussian_vector zero = {0};
    UNROLLED
    for (int r = 0; r < TILE; r++)
        UNROLLED
        for (int c = 0; c < TILE; c++)
            s[r][c] = from ? from[in_tile(r, c)] : zero;
}

ALWAYS_INLINE void store_tile(gaussian_tile s, gaussian_vector *to)
{
    UNROLLED
    for (int r = 0; r < TILE; r++)
        UNROLLED
        for (int c = 0; c < TILE; c++)
            to[in_tile(r, c)] = s[r][c];
}

/* s += x y, x^T y, or -x y^T */
enum product { PRODUCT, OF_COLUMNS, OF_ROWS_NEGATIVE };

ALWAYS_INLINE void add_tile_product(const enum product kind, const gaussian_vector *x,
                                    const gaussian_vector *y, gaussian_tile s)
{
    for (int k = 0; k < TILE; k++)
        UNROLLED
        for (int r = 0; r < TILE; r++)
            UNROLLED
            for (int c = 0; c < TILE; c++)
                if (kind == OF_ROWS_NEGATIVE)
                    s[r][c] = s[r][c] - x[in_tile(r, k)] * y[in_tile(c, k)];
                else
                    s[r][c] = s[r][c]
                              + x[kind == PRODUCT ? in_tile(r, k) : in_tile(k, r)]
                                    * y[in_tile(k, c)];
}

/* Replaces a pivot by its root, or by 1 if it is not positive, and writes the inverse of the
 * result. */
ALWAYS_INLINE void root_lanes(gaussian_vector *pivot, gaussian_vector *inverse,
                              double *least)
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

/* Replaces a tile on the diagonal by its Cholesky factor. */
ALWAYS_INLINE void factor_tile(gaussian_tile s, gaussian_vector *inverse, double *least)
{
    UNROLLED
    for (int k = 0; k < TILE; k++) {
        root_lanes(&s[k][k], inverse + k * PARTS, least);
        UNROLLED
        for (int r = k + 1; r < TILE; r++)
            s[r][k] = s[r][k] * inverse[k * PARTS];
        UNROLLED
        for (int c = k + 1; c < TILE; c++)
            UNROLLED
            for (int r = c; r < TILE; r++)
                s[r][c] = s[r][c] - s[r][k] * s[c][k];
    }
}

/* s = s own^-T, for a tile below the diagonal. */
ALWAYS_INLINE void solve_tile(gaussian_tile s, const gaussian_vector *own,
                              const gaussian_vector *inverse)
{
    UNROLLED
    for (int r = 0; r < TILE; r++)
        UNROLLED
        for (int c = 0; c < TILE; c++) {
            UNROLLED
            for (int k = 0; k < c; k++)
                s[r][c] = s[r][c] - s[r][k] * own[in_tile(c, k)];
            s[r][c] = s[r][c] * inverse[c * PARTS];
        }
}

/* w = own^-1, for a tile on the diagonal. */
ALWAYS_INLINE void invert_tile(const gaussian_vector *own, const gaussian_vector *inverse,
                               gaussian_vector *w)
{
    const gaussian_vector zero = {0};
    UNROLLED
    for (int c = 0; c < TILE; c++) {
        UNROLLED
        for (int r = 0; r < c; r++)
            w[in_tile(r, c)] = zero;
        w[in_tile(c, c)] = inverse[c * PARTS];
        UNROLLED
        for (int r = c + 1; r < TILE; r++) {
            gaussian_vector sum = own[in_tile(r, c)] * w[in_tile(c, c)];
            UNROLLED
            for (int k = c + 1; k < r; k++)
                sum = sum + own[in_tile(r, k)] * w[in_tile(k, c)];
            w[in_tile(r, c)] = -(inverse[r * PARTS] * sum);
        }
    }
}

/* to = -w s, for a lower triangular w.  Pairs of terms are added first. */
ALWAYS_INLINE void scale_tile(const gaussian_vector *w, gaussian_tile s,
                              gaussian_vector *to)
{
    UNROLLED
    for (int c = 0; c < TILE; c++)
        UNROLLED
        for (int r = TILE - 1; r >= 0; r--) {
            gaussian_vector sum = w[in_tile(r, 0)] * s[0][c];
            if (r > 0)
                sum = sum + w[in_tile(r, 1)] * s[1][c];
            UNROLLED
            for (int k = 2; k <= r; k += 2) {
                gaussian_vector pair = w[in_tile(r, k)] * s[k][c];
                if (k < r)
                    pair = pair + w[in_tile(r, k + 1)] * s[k + 1][c];
                sum = sum + pair;
            }
            to[in_tile(r, c)] = -sum;
        }
}

/* Replaces the precision by its Cholesky factor, the lower triangle L with precision = L L^T,
 * and writes the inverses of the diagonal of L. */
static inline void factor_lanes(intptr_t n, double *a, double *inverses, double *least)
{
    for (intptr_t j = 0; j < n; j++) {
        gaussian_vector *inverse = (gaussian_vector *)inverses + j * TILE * PARTS;
        for (intptr_t i = j; i < n; i++) {
            gaussian_tile s;
            load_tile(tile_at(a, i, j), s);
            for (intptr_t t = 0; t < j; t++)
                add_tile_product(OF_ROWS_NEGATIVE, tile_at(a, i, t), tile_at(a, j, t), s);
            if (i == j)
                factor_tile(s, inverse, least);
            else
                solve_tile(s, tile_at(a, j, j), inverse);
            store_tile(s, tile_at(a, i, j));
        }
    }
}

/* b = L^-1. */
static inline void invert_lanes(intptr_t n, const double *a, const double *inverses,
                                double *b)
{
    for (intptr_t i = 0; i < n; i++) {
        gaussian_vector *w = tile_at(b, i, i);
        invert_tile(tile_at(a, i, i),
                    (const gaussian_vector *)inverses + i * TILE * PARTS, w);
        for (intptr_t j = 0; j < i; j++) {
            gaussian_tile s;
            load_tile(0, s);
            for (intptr_t t = j; t < i; t++)
                add_tile_product(PRODUCT, tile_at(a, i, t), tile_at(b, t, j), s);
            scale_tile(w, s, tile_at(b, i, j));
        }
    }
}

/* a = the covariance L^-T L^-1. */
static inline void covary_lanes(intptr_t n, const double *b, double *a)
{
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t j = 0; j <= i; j++) {
            gaussian_tile s;
            load_tile(0, s);
            for (intptr_t t = i; t < n; t++)
                add_tile_product(OF_COLUMNS, tile_at(b, t, i), tile_at(b, t, j), s);
            store_tile(s, tile_at(a, i, j));
        }
}

/* Replaces the vectors i of m by the sum over j of b_ij m_j, or of b_ji^T m_j if `turned`. */
ALWAYS_INLINE void replace_mean(const int turned, intptr_t i, intptr_t first, intptr_t end,
                                const double *b, gaussian_vector *m)
{
    const gaussian_vector zero = {0};
    gaussian_vector t[TILE];
    UNROLLED
    for (int r = 0; r < TILE; r++)
        t[r] = zero;
    for (intptr_t j = first; j < end; j++) {
        const gaussian_vector *x = turned ? tile_at(b, j, i) : tile_at(b, i, j);
        for (int k = 0; k < TILE; k++)
            UNROLLED
            for (int r = 0; r < TILE; r++)
                t[r] = t[r]
                       + x[turned ? in_tile(k, r) : in_tile(r, k)]
                             * m[(j * TILE + k) * PARTS];
    }
    UNROLLED
    for (int r = 0; r < TILE; r++)
        m[(i * TILE + r) * PARTS] = t[r];
}

/* m = b^T b m: the mean, from the precision times the mean. */
static inline void mean_lanes(intptr_t n, const double *b, double *m)
{
    for (intptr_t i = n; i-- > 0;)
        replace_mean(0, i, 0, i + 1, b, (gaussian_vector *)m);
    for (intptr_t i = 0; i < n; i++)
        replace_mean(1, i, i, n, b, (gaussian_vector *)m);
}

/* Computes twice the sum of the logarithms of the diagonal of L.  To save logarithms, the
 * mantissas are multiplied, and the exponents are added. */
static inline void log_lanes(intptr_t d, const double *restrict a,
                             double *restrict log_determinant)
{
    double products[LANES], exponents[LANES], infinite[LANES];
    for (intptr_t lane = 0; lane < LANES; lane++) {
        products[lane] = 1;
        exponents[lane] = infinite[lane] = 0;
    }
    for (intptr_t i = 0; i < d; i++) {
        const double *restrict root = a + element_place(i, i);
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const uint64_t bits = to_bits_f64(products[lane] * root[lane]);
            exponents[lane] += (double)(int64_t)(bits >> 52) - 1023;
            infinite[lane] += root[lane] * 0; /* NAN if the root is infinite */
            products[lane] = from_bits_f64((bits & UINT64_C(0xfffffffffffff))
                                           | UINT64_C(0x3ff0000000000000));
        }
    }
    for (intptr_t lane = 0; lane < LANES; lane++)
        log_determinant[lane] =
            2 * (log(products[lane]) + exponents[lane] * 0.6931471805599453)
            + infinite[lane];
}

/* Computes the Cholesky factors of matrices whose lower triangles are stored in tiles.
 * `least` becomes 0 for matrices that are not positive definite. */
static inline void factor_tiles(intptr_t d, double *a, double *inverse, double *least)
{
    const intptr_t n = n_tiles(d);
    for (intptr_t i = d; i < n * TILE; i++)
        for (intptr_t j = 0; j <= i; j++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                a[element_place(i, j) + lane] = i == j;
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS)
        factor_lanes(n, a + part, inverse + part, least + part);
}

/* b = the inverses of the factors `a`. */
static inline void invert_tiles(intptr_t d, const double *a, const double *inverse,
                                double *b)
{
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS)
        invert_lanes(n_tiles(d), a + part, inverse + part, b + part);
}

/* Computes the moments of Gaussians with precisions `a`, in tiles, and precisions times means
 * `m`.  Replaces `a` by the covariances, unless `only_means` is set, and `m` by the means, and
 * writes the logarithms of the determinants of the precisions, or NAN for precisions that are
 * not positive definite.  Scratch memory: `b` has the size of `a`, and `inverse` has the size
 * of `m`.  Returns the number of the first `n_lanes` precisions that are not positive
 * definite. */
static inline intptr_t solve_lanes(intptr_t d, intptr_t n_lanes, int only_means, double *a,
                                   double *b, double *m, double *inverse,
                                   double *log_determinant)
{
    const intptr_t n = n_tiles(d);
    double least[LANES];
    intptr_t n_indefinite = 0;
    for (intptr_t lane = 0; lane < LANES; lane++)
        least[lane] = 1;
    memset(m + d * LANES, 0, (size_t)(n * TILE - d) * LANES * sizeof(double));
    factor_tiles(d, a, inverse, least);
    log_lanes(d, a, log_determinant);
    invert_tiles(d, a, inverse, b);
    for (intptr_t part = 0; part < LANES; part += LANES / PARTS) {
        mean_lanes(n, b + part, m + part);
        if (!only_means)
            covary_lanes(n, b + part, a + part);
    }
    for (intptr_t lane = 0; lane < n_lanes; lane++)
        if (!(least[lane] > 0)) {
            n_indefinite++;
            log_determinant[lane] = NAN;
        }
    return n_indefinite;
}
#endif
