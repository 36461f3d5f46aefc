/* Sampling of the documents of a section. */

/* Computes the rows of the words from `first` to `end` for sampled documents.  Returns 0, or
 * -1 if `stop` is set. */
LOOP int NAME(lda_mean_rows)(const lda_block *block, intptr_t first, intptr_t end)
{
    if (NAME(fill_mean_rows)(block, first, end))
        return -1;
    if (block->n_in_chains && !block->temperature_per_document)
        NAME(fill_masses)(block, first, end);
    return 0;
}

/* Samples the documents `in_lanes` and `in_chains`.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(lda_sample)(const lda_block *block)
{
    return NAME(sample_lanes)(block) || NAME(sample_chains)(block) ? -1 : 0;
}
