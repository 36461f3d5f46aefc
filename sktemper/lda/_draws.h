/* Statistics of sampled documents, from the draws that `_lanes.h` and `_chains.h` keep. */

/* sums += weight * the number of tokens of each topic.  All tokens of a topic are added at
 * once, because a large float does not change if 1 is added.  `of_word` has zeros. */
static void NAME(add_tokens)(const int32_t *topics, intptr_t n, intptr_t stride, REAL weight,
                             int32_t *of_word, REAL *sums)
{
    for (intptr_t i = 0; i < n * stride; i += stride)
        of_word[topics[i]]++;
    for (intptr_t i = 0; i < n * stride; i += stride) {
        sums[topics[i]] += weight * (REAL)of_word[topics[i]];
        of_word[topics[i]] = 0;
    }
}

/* Adds the draws of a document for the words from `first` to `end`.  The draws of up to
 * `few` tokens of a word are added one by one. */
static void NAME(add_draws_of)(const lda_block *block, intptr_t i, intptr_t few,
                               intptr_t first, intptr_t end)
{
    const REAL weight = (REAL)block->factors[i], *counts = block->counts;
    const intptr_t n_kept = block->n_kept, *slots = block->slots, stop = block->starts[i + 1];
    intptr_t n = block->starts[i], above = stop;
    if (weight == 0)
        return;
    while (n < above) { /* the first entry with a word from `first` on; words are sorted */
        const intptr_t middle = n + (above - n) / 2;
        if (slots[middle] < first)
            n = middle + 1;
        else
            above = middle;
    }
    for (; n < stop && slots[n] < end; n++) {
        const intptr_t count = (intptr_t)counts[n];
        const int32_t *draws = block->scratch.draws + block->first_tokens[n] * n_kept;
        REAL *sums = (REAL *)block->statistics + slots[n] * block->width;
        if (count <= few)
            for (intptr_t t = 0; t < n_kept * count; t++)
                sums[draws[t]] += weight;
        else
            for (intptr_t sweep = 0; sweep < n_kept; sweep++)
                NAME(add_tokens)(draws + sweep, count, n_kept, weight,
                                 block->scratch.chain_topics, sums);
    }
}

/* Computes the statistics of sampled documents for the words from `first` to `end`: means of
 * counts over the kept draws. */
LOOP void NAME(lda_add_draws)(const lda_block *block, intptr_t first, intptr_t end)
{
    const REAL share = (REAL)(1.0 / block->n_kept);
    REAL *restrict sums = (REAL *)block->statistics;
    memset(sums + first * block->width, 0,
           (size_t)((end - first) * block->width) * sizeof(REAL));
    for (intptr_t j = 0; j < block->n_in_lanes; j++)
        NAME(add_draws_of)(block, block->in_lanes[j], MANY - 1, first, end);
    for (intptr_t j = 0; j < block->n_in_chains; j++)
        NAME(add_draws_of)(block, block->in_chains[j], 1, first, end);
    VECTORISE
    for (intptr_t i = first * block->width; i < end * block->width; i++)
        sums[i] *= share;
}
