/* Division of one piece of memory into the scratch arrays of a block. */

/* Returns a piece of `n_bytes` at `*at`, and moves `*at` to the next multiple of
 * SIMD_BYTES. */
static inline void *NAME(cut)(char **at, intptr_t n_bytes)
{
    char *piece = *at;
    *at += (n_bytes + SIMD_BYTES - 1) / SIMD_BYTES * SIMD_BYTES;
    return piece;
}

/* Cuts off an array of n elements.  This is a macro, because it casts to a type. */
#define CUT(type, n) ((type *)NAME(cut)(&at, (intptr_t)(n) * (intptr_t)sizeof(type)))

/* Cuts off the arrays of a block, which all threads use.  Here and below, arrays that must be
 * zeros come first. */
static char *NAME(cut_for_block)(lda_block *block, char *at, char *start)
{
    const intptr_t n_documents = block->n_documents, width = block->width;
    const intptr_t n_entries = block->starts[n_documents];
    /* see `note_statistics` */
    const int notes = block->statistics && !block->temperature_per_document;
    block->scratch.row_tops = CUT(double, block->n_words + 1);
    block->scratch.places = CUT(intptr_t, notes ? block->n_sections * block->n_words : 0);
    if (start)
        memset(start, 0, (size_t)(at - start));
    if (notes) {
        block->scratch.noted_documents = CUT(int32_t, n_entries);
        block->scratch.noted_ratios = CUT(REAL, n_entries);
        block->scratch.shares = CUT(REAL, n_documents * width);
        block->scratch.share_topics = CUT(int32_t, n_documents * width);
        block->scratch.n_shares = CUT(intptr_t, n_documents);
    }
    if (block->statistics && block->sampled)
        block->scratch.draws = CUT(int32_t, block->n_tokens * block->n_kept);
    return at;
}

/* Divides the memory at `start`, which is aligned to SIMD_BYTES, into the scratch arrays of one
 * thread, or into those of the block that all threads use.  Returns the number of bytes.  With
 * NULL for `start` it only computes this number. */
LOOP intptr_t NAME(lda_scratch)(lda_block *block, int of_block, void *start)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    const intptr_t own = block->temperature_per_document ? block->longest + 1 : 1;
    const intptr_t quarter = width / 4, few = width < 64 ? width : 64;
    const intptr_t lanes = SIMD_BYTES / sizeof(REAL);
    const intptr_t words = NAME(longest_abreast)(block) + MOST_ABREAST;
    /* not NULL, because differences of pointers to NULL are undefined */
    char *const origin = start ? start : (char *)(uintptr_t)SIMD_BYTES;
    char *at = origin;
    if (of_block)
        return (intptr_t)(NAME(cut_for_block)(block, at, start) - origin);
    block->longest_abreast = words - MOST_ABREAST;
    block->scratch.own_rows = CUT(REAL, own * width);
    block->scratch.topic_scratch = CUT(REAL, 6 * width);
    block->scratch.word_scratch = CUT(REAL, 3 * block->longest);
    block->scratch.double_scratch = CUT(double, 3 * n_topics);
    block->scratch.chain_topics = CUT(int32_t, 4 * n_topics);
    block->scratch.chain_weights = CUT(REAL, 3 * width);
    block->scratch.abreast_order = CUT(intptr_t, block->end - block->first + words);
    if (start)
        memset(origin, 0, (size_t)(at - origin));
    intptr_t *own_slots = CUT(intptr_t, own);
    for (intptr_t n = 0; start && n < own; n++)
        own_slots[n] = n;
    block->scratch.own_slots = own_slots;
    block->scratch.kept_topics = CUT(int32_t, 2 * width);
    block->scratch.kept_gamma = CUT(REAL, 2 * width);
    /* panels have all topics if these are few, and otherwise at most a quarter of them */
    block->scratch.kept_rows = CUT(REAL, block->longest * (quarter > few ? quarter : few));
    block->scratch.panel_sums = CUT(REAL, width * lanes);
    if (block->sampled) {
        const intptr_t height = (n_topics + LANE_SUMS - 1) / LANE_SUMS * LANE_SUMS;
        const intptr_t groups = block->n_lane_groups, tokens = block->longest_in_lanes * groups;
        block->scratch.chain_tokens = CUT(int32_t, block->longest_in_chains);
        block->scratch.lane_panels = CUT(REAL, tokens * height * lanes);
        block->scratch.lane_scratch = CUT(REAL, 5 * groups * (height + 1) * lanes);
        block->scratch.lane_places = CUT(REAL, (1 + block->n_kept) * tokens * lanes);
        block->scratch.lane_slots = CUT(int32_t, (tokens + 1) * lanes);
    }
    if (block->longest_abreast >= 0) {
        const intptr_t height = n_topics + MOST_ABREAST;
        block->scratch.abreast_scratch =
            CUT(REAL, (4 * height + words * (3 + height)) * lanes);
    }
    return (intptr_t)(at - origin);
}
