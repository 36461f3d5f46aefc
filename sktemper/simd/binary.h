/* Binary latent features of samples, for one floating type: coordinate sweeps over
 * their mean-field probabilities, a panel of samples at a time, one a lane.  A lane
 * that has converged stays as it is, so that no sample depends on its neighbours. */

#define LANES (SIMD_BYTES / (intptr_t)sizeof(REAL))

/* One sweep over the features of a panel, its powers times `cooled`.  `fields` is
 * gram @ nu; `active` has 1 in the lanes that go on; `change` receives each lane's
 * largest change. */
static void NAME(binary_sweep)(intptr_t n_features, const REAL *restrict gram,
                               const REAL *restrict offsets, const REAL *restrict products,
                               const REAL *restrict powers, REAL cooled,
                               const REAL *restrict active, REAL *restrict nu,
                               REAL *restrict fields, REAL *restrict change)
{
    for (intptr_t lane = 0; lane < LANES; lane++)
        change[lane] = 0;
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL *restrict row = gram + k * n_features;
        const REAL offset = offsets[k], own = row[k];
        REAL *restrict p = nu + k * LANES;
        const REAL *restrict product = products + k * LANES;
        const REAL *restrict field = fields + k * LANES;
        REAL step[LANES], moved = 0;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL logit = cooled * powers[lane]
                               * (product[lane] + offset - field[lane] + own * p[lane]);
            const REAL old = p[lane];
            step[lane] = active[lane] * (1 / (1 + NAME(exp)(-logit)) - old);
            p[lane] = old + step[lane];
        }
        VECTORISE_REDUCTION(max : moved)
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL size = step[lane] < 0 ? -step[lane] : step[lane];
            change[lane] = size > change[lane] ? size : change[lane];
            moved = size > moved ? size : moved;
        }
        if (moved == 0)
            continue;
        for (intptr_t j = 0; j < n_features; j++) {
            const REAL coupling = row[j];
            REAL *restrict other = fields + j * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                other[lane] += coupling * step[lane];
        }
    }
}

/* The terms of a panel's bound: fits = nu . products - (nu . fields + the variances'
 * share) / 2, and the entropies of nu. */
static void NAME(binary_terms)(intptr_t n_features, const REAL *restrict gram,
                               const REAL *restrict products, const REAL *restrict nu,
                               const REAL *restrict fields, double *restrict fits,
                               double *restrict entropies)
{
    for (intptr_t lane = 0; lane < LANES; lane++)
        fits[lane] = entropies[lane] = 0;
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL own = gram[k * n_features + k];
        const REAL *restrict p = nu + k * LANES;
        const REAL *restrict product = products + k * LANES;
        const REAL *restrict field = fields + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL on = p[lane], off = 1 - on;
            const REAL safe_on = on > TINY_MASS ? on : TINY_MASS;
            const REAL safe_off = off > TINY_MASS ? off : TINY_MASS;
            fits[lane] += (double)(on * (product[lane] - (REAL)0.5 * (field[lane] + own * off)));
            entropies[lane] -=
                (double)(on * NAME(log)(safe_on) + off * NAME(log)(safe_off));
        }
    }
}

static int NAME(binary_local_step)(binary_block *block)
{
    const intptr_t K = block->n_features, n = block->n_samples;
    const REAL *restrict gram = block->gram, *restrict offsets = block->offsets;
    const REAL *restrict all_products = block->products;
    REAL *restrict all_nu = block->nu;
    REAL *restrict products = block->scratch;
    REAL *restrict nu = products + K * LANES;
    REAL *restrict fields = nu + K * LANES;
    REAL powers[LANES], active[LANES], change[LANES];
    double fits[LANES], entropies[LANES];
    const REAL tol = (REAL)block->tol;
    block->n_iterations = 0;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        /* lanes behind the last sample repeat it, and are never active */
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const intptr_t i = first + (lane < width ? lane : width - 1);
            powers[lane] = (REAL)block->powers[block->power_per_sample ? i : 0];
            active[lane] = lane < width;
            for (intptr_t k = 0; k < K; k++) {
                products[k * LANES + lane] = all_products[i * K + k];
                nu[k * LANES + lane] = all_nu[i * K + k];
            }
        }
        for (intptr_t j = 0; j < K * LANES; j++)
            fields[j] = 0;
        for (intptr_t k = 0; k < K; k++)
            for (intptr_t j = 0; j < K; j++) {
                const REAL coupling = gram[k * K + j];
                VECTORISE
                for (intptr_t lane = 0; lane < LANES; lane++)
                    fields[j * LANES + lane] += coupling * nu[k * LANES + lane];
            }
        intptr_t n_active = width, sweep = 0;
        double heat = block->heat;
        while (sweep < block->max_iter && n_active) {
            if (*block->stop)
                return -1;
            NAME(binary_sweep)(K, gram, offsets, products, powers, (REAL)(1 / heat),
                               active, nu, fields, change);
            block->n_iterations += n_active;
            if (heat > 1) { /* still cooling: not counted, and nothing has converged */
                heat = heat > block->cooling ? heat / block->cooling : 1;
                continue;
            }
            sweep++;
            n_active = 0;
            for (intptr_t lane = 0; lane < width; lane++) {
                active[lane] = active[lane] != 0 && !(change[lane] < tol);
                n_active += active[lane] != 0;
            }
        }
        NAME(binary_terms)(K, gram, products, nu, fields, fits, entropies);
        for (intptr_t lane = 0; lane < width; lane++) {
            const intptr_t i = first + lane;
            for (intptr_t k = 0; k < K; k++)
                all_nu[i * K + k] = nu[k * LANES + lane];
            block->fits[i] = fits[lane];
            block->entropies[i] = entropies[lane];
        }
    }
    return 0;
}

/* out[i] = the sum of squares of row i, in float64. */
static void NAME(row_squares)(intptr_t n_rows, intptr_t n_columns, intptr_t stride,
                              const REAL *restrict x, double *restrict out)
{
    for (intptr_t i = 0; i < n_rows; i++) {
        const REAL *restrict row = x + i * stride;
        double sum = 0;
        VECTORISE_REDUCTION(+ : sum)
        for (intptr_t d = 0; d < n_columns; d++)
            sum += (double)row[d] * (double)row[d];
        out[i] = sum;
    }
}

#undef LANES
