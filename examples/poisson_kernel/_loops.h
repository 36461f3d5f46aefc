/* Compute out = constants + counts . log_rates for each row and component. Return 0, or
 * -1 if *stop became nonzero. */
LOOP int NAME(poisson_logs)(poisson_block *block)
{
    const intptr_t D = block->n_features, K = block->n_components;
    const REAL *restrict counts = block->counts;
    for (intptr_t i = 0; i < block->n_rows; i++) {
        const REAL *restrict row = counts + i * D, *restrict rates = block->log_rates;
        if (*block->stop)
            return -1;
        for (intptr_t k = 0; k < K; k++) {
            REAL sum = 0;
            VECTORISE_REDUCTION(+ : sum)
            for (intptr_t d = 0; d < D; d++)
                sum += row[d] * rates[k * D + d];
            block->out[i * K + k] = block->constants[k] + (double)sum;
        }
    }
    return 0;
}
