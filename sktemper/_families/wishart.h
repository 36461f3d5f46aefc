/* Wishart distributions of many components: factors of their scales, and terms of lower
 * bounds.  Computations are in float64 for both types REAL. */
#include "gaussian_lanes.h"
#include "mixture_ascent.h"
#include "precision_laws.h"
#include "sparse_products.h"

/* Computes the lower triangular F with F^T F = matrix^-1, unless `factors` is NULL, and
 * log |matrix^-1|, for symmetric matrices.  Only the lower triangles of the matrices are read.
 * `scratch` has memory for two triangles and a vector in each lane.  Returns the number of matrices
 * that are not positive definite, whose log |matrix^-1| is NaN. */
LOOP intptr_t NAME(inverse_factors)(intptr_t n, intptr_t d,
                                    const double *restrict matrices,
                                    double *restrict factors,
                                    double *restrict log_determinants,
                                    double *restrict scratch)
{
    double *restrict a = scratch, *restrict b = a + triangle_entries(d);
    double *restrict inverse = b + triangle_entries(d);
    intptr_t n_bad = 0;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        double least[LANES], logs[LANES] = {0};
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const double *restrict own =
                matrices + (first + (lane < width ? lane : width - 1)) * d * d;
            least[lane] = 1;
            for (intptr_t i = 0; i < d; i++)
                for (intptr_t j = 0; j <= i; j++)
                    a[element_place(i, j) + lane] = own[i * d + j];
        }
        factor_tiles(d, a, inverse, least);
        if (factors)
            invert_tiles(d, a, inverse, b);
        for (intptr_t i = 0; i < d; i++) {
            const double *restrict own = inverse + i * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                logs[lane] += 2 * log_f64(own[lane]);
        }
        for (intptr_t lane = 0; lane < width; lane++) {
            double *restrict own = factors + (first + lane) * d * d;
            double top = 0;
            for (intptr_t i = 0; i < d; i++) {
                for (intptr_t j = 0; factors && j < d; j++)
                    own[i * d + j] = j <= i ? b[element_place(i, j) + lane] : 0;
                /* the root is checked because the inverse of an infinite root is finite */
                top = a[element_place(i, i) + lane] > top
                          ? a[element_place(i, i) + lane]
                          : top;
            }
            const int is_bad = !(least[lane] > 0) || !(top < HUGE_VAL);
            log_determinants[first + lane] = is_bad ? NAN : logs[lane];
            n_bad += is_bad;
        }
    }
    return n_bad;
}

/* Computes means and inverse scales from natural parameters of Normal-Wishart
 * distributions. */
LOOP void NAME(centred)(intptr_t n, intptr_t d, const double *restrict precisions,
                        const double *restrict sums, const double *restrict second,
                        double *restrict means, double *restrict inverse_scales)
{
    for (intptr_t k = 0; k < n; k++) {
        const double precision = precisions[k];
        for (intptr_t i = 0; i < d; i++)
            means[i] = sums[i] / precision;
        for (intptr_t i = 0; i < d; i++) {
            const double factor = precision * means[i];
            VECTORISE
            for (intptr_t j = 0; j < d; j++)
                inverse_scales[j] = second[j] - factor * means[j];
            inverse_scales += d;
            second += d;
        }
        means += d;
        sums += d;
    }
}

/* traces = tr(F^T F matrix) and squares = |F vector|^2 for each lower triangular F. */
LOOP void NAME(traces_and_squares)(intptr_t n, intptr_t d, const double *restrict factors,
                                   const double *restrict matrices,
                                   const double *restrict vectors,
                                   double *restrict traces, double *restrict squares,
                                   double *restrict scratch)
{
    for (intptr_t k = 0; k < n; k++) {
        double trace = 0, square = 0;
        for (intptr_t i = 0; i < d; i++) {
            const double *restrict row = factors + i * d;
            double sum = 0, part = 0;
            for (intptr_t j = 0; j <= i; j++) {
                scratch[j] = 0;
                sum += row[j] * vectors[j];
            }
            for (intptr_t l = 0; l <= i; l++) {
                const double *restrict other = matrices + l * d;
                const double factor = row[l];
                VECTORISE
                for (intptr_t j = 0; j <= i; j++)
                    scratch[j] += factor * other[j];
            }
            for (intptr_t j = 0; j <= i; j++)
                part += row[j] * scratch[j];
            trace += part;
            square += sum * sum;
        }
        traces[k] = trace;
        squares[k] = square;
        factors += d * d;
        matrices += d * d;
        vectors += d;
    }
}

/* See `law_terms`; the scratch memory has 2 n d + n numbers. */
LOOP void NAME(precision_terms)(int law, intptr_t d, intptr_t n, const double *precision,
                                const double *freedom, const double *log_determinants,
                                double *scratch, double *log_precisions,
                                double *log_normalisers, double *log_densities)
{
    law_terms(law, d, n, precision, freedom, log_determinants, scratch, scratch + n * d,
              scratch + 2 * n * d, log_precisions, log_normalisers, log_densities);
}

/* bounds = power * E log p - E log q for each of `n` distributions q, of which `shift` is that of
 * the law.  Both q and p have precisions, degrees of freedom, and the first two results of
 * `precision_terms`.  For traces and squares, see `traces_and_squares`: F are the factors of q, the
 * matrices are inverse scales of p, and the vectors are differences of the means of q and p. */
LOOP void NAME(precision_bounds)(intptr_t n, intptr_t d, double shift, double power,
                                 const double *q, const double *p,
                                 const double *restrict traces,
                                 const double *restrict squares, double *restrict bounds)
{
    for (intptr_t k = 0; k < n; k++) {
        const double precision = q[k], nu = q[n + k], log_precision = q[2 * n + k];
        const double log_q =
            q[3 * n + k] + 0.5 * (nu - shift) * log_precision - 0.5 * d * (1 + nu);
        const double log_p = p[3 * n + k] + 0.5 * (p[n + k] - shift) * log_precision
                             - 0.5 * p[k] * (d / precision + nu * squares[k])
                             - 0.5 * nu * traces[k];
        bounds[k] = power * log_p - log_q;
    }
}

#undef LANES
