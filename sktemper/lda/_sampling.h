/* Sampling of the documents of a block. */

/* Samples the documents of a block that the block marks for sampling.  Returns 0, or -1 if
 * `stop` is set. */
static int NAME(sample_documents)(lda_block *block)
{
    if (NAME(fill_mean_rows)(block) || NAME(sample_lanes)(block)
        || NAME(sample_chains)(block))
        return -1;
    block->n_iterations += (block->n_in_lanes + block->n_in_chains)
                           * (block->n_burn_in + block->n_kept);
    const REAL share = (REAL)(1.0 / block->n_kept);
    REAL *restrict sums = block->statistics;
    if (!sums)
        return 0;
    VECTORISE
    for (intptr_t i = 0; i < block->n_words * block->width; i++)
        sums[i] *= share;
    return 0;
}
