/* Gibbs sampling as in `_chains.h`, but of many documents at once, each in a lane of a
 * vector.  The probabilities of a token are summed over all topics, including topics that
 * the document does not have.  This is faster for few topics and short documents.
 *
 * The result of a lane does not depend on other lanes or on the width of vectors, because
 * the draws of a document depend only on the seed and on its index in the block.  Documents
 * of similar lengths share a vector.  A lane whose document has no token left draws the index
 * `height`, which is not a topic. */

#ifdef VECTOR_BYTES
/* Vectors have at most 32 bytes: with 64, the sums of 100 topics do not fit into a first-level
 * cache of 32 kB. */
#if VECTOR_BYTES < 32
#define LANE_BYTES VECTOR_BYTES
#else
#define LANE_BYTES 32
#endif
/* -1 in lanes in which the condition holds, otherwise 0.  This is a macro, because it applies
 * to conditions on numbers of both types. */
#define WHERE(condition) ((CHOICE)(condition))
#else
#define WHERE(condition) (-(INTEGER)(condition))
#endif
#define VECTOR NAME(lane_vector)
#define CHOICE NAME(lane_choice)
VECTOR_TYPE(VECTOR, REAL, LANE_BYTES);
VECTOR_TYPE(CHOICE, INTEGER, LANE_BYTES);
#define LANES ((int)(sizeof(VECTOR) / sizeof(REAL)))
/* Least number of tokens of a word in a document that are added to the statistics together. */
#define MANY 32
#define GROUP NAME(lane_group)

/* `SELECTED` for values. */
ALWAYS_INLINE VECTOR NAME(selected_real)(CHOICE mask, VECTOR x, VECTOR y)
{
#ifdef VECTOR_BYTES
    return (VECTOR)SELECTED(mask, (CHOICE)x, (CHOICE)y);
#else
    return mask ? x : y;
#endif
}

typedef struct {
    const lda_block *block;
    intptr_t n_topics, height;  /* height: n_topics rounded up to LANE_SUMS */
    intptr_t n_steps;           /* tokens of the longest document */
    REAL *prior;                /* (height + 1, LANES): alpha, and 1 in the last row */
    int raised;                 /* whether b is not 1 */
    REAL *panels;               /* (n_steps, height, LANES): rows of the tokens' words */
    REAL *counts;               /* (height + 1, LANES): tokens of a topic */
    REAL *weights;              /* (height + 1, LANES): (alpha + count)^b if b is not 1 */
    REAL *cumulated;            /* (height, LANES) */
    REAL *kept;                 /* (height, LANES): counts, summed over kept sweeps */
    INTEGER *places;            /* (1 + n_kept, n_steps, LANES): for each token, the
                                   index in `counts` of its topic */
    int32_t *slots;             /* (n_steps, LANES): rows of the tokens' words */
    intptr_t documents[LANES], n_few[LANES];
    intptr_t n_documents;
    INTEGER numbers[LANES];     /* 0, 1, 2, ... */
    INTEGER lengths[LANES];     /* tokens */
    uint64_t random[LANES];
    REAL powers[LANES];         /* b */
} GROUP;

/* Lists the word of each token of a lane's document.  Words with few tokens come first. */
static void NAME(place_document)(GROUP *g, intptr_t lane, intptr_t document)
{
    const lda_block *block = g->block;
    const REAL *counts = block->counts;
    int32_t *slots = g->slots + lane;
    intptr_t t = 0, most = 0;
    for (intptr_t n = block->starts[document]; n < block->starts[document + 1]; n++) {
        const int32_t slot = (int32_t)block->slots[n];
        const intptr_t count = (intptr_t)counts[n];
        most = count > most ? count : most;
        /* Two entries are written without a branch, because counts are mostly 1 or 2 and
         * the processor would often mispredict it.  A superfluous entry is overwritten. */
        slots[t * LANES] = slots[(t + 1) * LANES] = slot;
        for (intptr_t i = 2; count < MANY && i < count; i++)
            slots[(t + i) * LANES] = slot;
        t += count < MANY ? count : 0;
    }
    g->n_few[lane] = t;
    for (intptr_t n = block->starts[document];
         most >= MANY && n < block->starts[document + 1]; n++)
        for (intptr_t i = 0; counts[n] >= MANY && i < (intptr_t)counts[n]; i++, t++)
            slots[t * LANES] = (int32_t)block->slots[n];
    g->lengths[lane] = (INTEGER)t;
    g->n_steps = t > g->n_steps ? t : g->n_steps;
}

/* Puts documents of `in_lanes`, from index `first` on, into the lanes. */
static void NAME(place_documents)(GROUP *g, intptr_t first)
{
    const lda_block *block = g->block;
    const intptr_t left = block->n_in_lanes - first;
    g->n_documents = left < 0 ? 0 : left < LANES ? left : LANES;
    g->n_steps = 0;
    for (intptr_t lane = 0; lane < LANES; lane++) {
        const int some = lane < g->n_documents;
        const intptr_t i = some ? block->in_lanes[first + lane] : 0;
        g->lengths[lane] = 0;
        g->documents[lane] = i;
        g->random[lane] = random_stream(block->seed, (uint64_t)i);
        g->powers[lane] =
            (REAL)block->inverse_temperatures[block->temperature_per_document ? i : 0];
        const double *alpha = NAME(prior_of)(block, block->untempered_prior, i);
        for (intptr_t k = 0; k <= g->height; k++)
            g->prior[k * LANES + lane] = k < g->n_topics ? (REAL)alpha[k] : 1;
        if (some)
            NAME(place_document)(g, lane, i);
    }
    for (intptr_t lane = 0; lane < LANES; lane++)
        for (intptr_t t = g->lengths[lane]; t < g->n_steps; t++)
            g->slots[t * LANES + lane] = (int32_t)block->n_words; /* a row of zeros */
}

/* Copies the rows of one token of each lane into a panel, side by side. */
static void NAME(fill_panel)(const GROUP *g, const int32_t *slots, REAL *panel)
{
    const intptr_t width = g->block->width, height = g->height;
    const REAL *rows = g->block->scratch.rows, *row[LANES];
    for (int lane = 0; lane < LANES; lane++)
        row[lane] = rows + slots[lane] * width;
    for (intptr_t k = 0; k < height; k += LANES) {
        VECTOR v[LANES];
        for (int lane = 0; lane < LANES; lane++)
            v[lane] = *(const VECTOR *)(row[lane] + k);
        TRANSPOSE(VECTOR, LANE_BYTES, SUFFIX, v);
        for (int i = 0; i < LANES; i++)
            if (LANES <= LANE_SUMS || k + i < height)
                *(VECTOR *)(panel + (k + i) * LANES) = v[i];
    }
    if (!g->block->temperature_per_document)
        return;
    for (intptr_t k = 0; k < height; k++, panel += LANES)
        VECTORISE
        for (int lane = 0; lane < LANES; lane++)
            panel[lane] = NAME(unfused_exp)(g->powers[lane] * panel[lane]);
}

/* weights = base^b */
ALWAYS_INLINE void NAME(raise_lanes)(const GROUP *g, const REAL *restrict base,
                                     REAL *restrict weights)
{
    const int raised = g->raised;
    VECTORISE
    for (int lane = 0; lane < LANES; lane++)
        weights[lane] = base[lane];
    if (!raised)
        return;
    VECTORISE
    for (int lane = 0; lane < LANES; lane++)
        weights[lane] =
            NAME(unfused_exp)(g->powers[lane] * NAME(unfused_log)(base[lane]));
}

/* Sets counts and weights before any token is drawn. */
static void NAME(begin_lanes)(GROUP *g)
{
    for (intptr_t k = 0; k <= g->height; k++) {
        REAL base[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            base[lane] = g->prior[k * LANES + lane];
            g->counts[k * LANES + lane] = g->kept[k * LANES + lane] = 0;
        }
        NAME(raise_lanes)(g, base, g->weights + k * LANES);
    }
    for (intptr_t i = g->n_topics * LANES; i < g->height * LANES; i++)
        g->weights[i] = 0;
    for (intptr_t t = 0; t < g->n_steps; t++)
        NAME(fill_panel)(g, g->slots + t * LANES, g->panels + t * g->height * LANES);
}

/* Adds `change`, 1 or -1, to the count at the given index in each lane. */
ALWAYS_INLINE void NAME(count_tokens)(GROUP *g, const int weighted, REAL change,
                                      const INTEGER *places)
{
    /* volatile, so that the compiler reads memory instead of extracting from a vector */
    const volatile BITS *at = (const volatile BITS *)places;
    REAL base[LANES], weights[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        const BITS place = at[lane];
        const REAL count = g->counts[place] + change;
        g->counts[place] = count;
        if (weighted)
            base[lane] = g->prior[place] + count;
    }
    if (!weighted)
        return;
    NAME(raise_lanes)(g, base, weights);
    for (int lane = 0; lane < LANES; lane++)
        g->weights[at[lane]] = weights[lane];
}

/* Computes the sums of weight * row over the topics; `cumulated` receives the partial sums. */
ALWAYS_INLINE void NAME(sum_up)(GROUP *groups, const int weighted, const int n,
                                intptr_t t, VECTOR (*sums)[LANE_SUMS])
{
    const intptr_t height = groups->height;
    const VECTOR prior = (VECTOR){0} + groups->prior[0];
    const REAL *weights[LANE_GROUPS], *panels[LANE_GROUPS];
    REAL *cumulated[LANE_GROUPS];
    for (int i = 0; i < n; i++) {
        weights[i] = weighted ? groups[i].weights : groups[i].counts;
        panels[i] = groups[i].panels + t * height * LANES;
        cumulated[i] = groups[i].cumulated;
        for (int c = 0; c < LANE_SUMS; c++)
            sums[i][c] = (VECTOR){0};
    }
    for (intptr_t at = 0; at < height * LANES; at += LANE_SUMS * LANES)
        for (int c = 0; c < LANE_SUMS; c++)
            for (int i = 0; i < n; i++) {
                VECTOR weight = *(const VECTOR *)(weights[i] + at + c * LANES);
                if (!weighted)
                    weight += prior;
                sums[i][c] += weight * *(const VECTOR *)(panels[i] + at + c * LANES);
                *(VECTOR *)(cumulated[i] + at + c * LANES) = sums[i][c];
            }
}

/* Returns the topic at which the partial sums exceed `uniform` times the total. */
ALWAYS_INLINE CHOICE NAME(topic_of)(const GROUP *g, const VECTOR *sums, VECTOR uniform)
{
    const REAL *cumulated = g->cumulated;
    VECTOR below = sums[0], left = (VECTOR){0}, total = sums[0];
    CHOICE which = (CHOICE){0}, counts[LANE_SUMS];
    for (int c = 1; c < LANE_SUMS; c++)
        total += sums[c];
    /* index of the sum in which x is, and the remainder of x in that sum */
    const VECTOR x = uniform * total;
    left = x;
    for (int c = 1; c < LANE_SUMS; c++) {
        const CHOICE passed = WHERE(below <= x);
        which -= passed;
        left = NAME(selected_real)(passed, x - below, left);
        below += sums[c];
    }
    VECTOR limits[LANE_SUMS];
    for (int c = 0; c < LANE_SUMS; c++) {
        const CHOICE is_its_sum = WHERE(which == (CHOICE){0} + c);
        limits[c] = NAME(selected_real)(is_its_sum, left, (VECTOR){0} - 1);
        counts[c] = (CHOICE){0};
    }
    for (intptr_t at = 0; at < (g->height - LANE_SUMS) * LANES; at += LANE_SUMS * LANES)
        for (int c = 0; c < LANE_SUMS; c++)
            counts[c] -= WHERE(*(const VECTOR *)(cumulated + at + c * LANES) <= limits[c]);
    for (int c = 1; c < LANE_SUMS; c++)
        counts[0] += counts[c];
    const CHOICE topic = which + LANE_SUMS * counts[0];
    /* because of rounding, x may equal the total; the last topic is then drawn */
    const CHOICE last = (CHOICE){0} + (INTEGER)(g->n_topics - 1);
    return SELECTED(WHERE(topic <= last), topic, last);
}

/* Draws the topics of the t-th tokens, in the first sweep given the earlier tokens
 * only. */
ALWAYS_INLINE void NAME(step_lanes)(GROUP *groups, const int weighted, const int n,
                                    intptr_t sweep, intptr_t t)
{
    const intptr_t n_burn_in = groups->block->n_burn_in;
    const intptr_t kept = sweep < n_burn_in ? 0 : sweep - n_burn_in + 1;
    REAL uniform[LANE_GROUPS][LANES];
    VECTOR sums[LANE_GROUPS][LANE_SUMS];
    INTEGER *new[LANE_GROUPS];
    for (int i = 0; i < n; i++) {
        const intptr_t plane = groups[i].n_steps * LANES;
        new[i] = groups[i].places + kept * plane + t * LANES;
        if (sweep)
            NAME(count_tokens)(groups + i, weighted, -1, kept ? new[i] - plane : new[i]);
        VECTORISE
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t state = groups[i].random[lane] + (uint64_t)t * RANDOM_STEP;
            uniform[i][lane] = NAME(uniform)(next_random(&state));
        }
    }
    NAME(sum_up)(groups, weighted, n, t, sums);
    for (int i = 0; i < n; i++) {
        GROUP *g = groups + i;
        const CHOICE topic = NAME(topic_of)(g, sums[i], *(const VECTOR *)uniform[i]);
        const CHOICE lengths = *(const CHOICE *)g->lengths;
        const CHOICE over = WHERE(lengths <= (CHOICE){0} + (INTEGER)t);
        const CHOICE row = SELECTED(over, (CHOICE){0} + (INTEGER)g->height, topic);
        *(CHOICE *)new[i] = row * LANES + *(const CHOICE *)g->numbers;
        NAME(count_tokens)(g, weighted, 1, new[i]);
    }
}

/* Stores the result of a sweep, and the states of the random numbers. */
static void NAME(end_sweep)(GROUP *g, intptr_t sweep)
{
    for (intptr_t i = 0; sweep >= g->block->n_burn_in && i < g->height * LANES; i++)
        g->kept[i] += g->counts[i];
    for (int lane = 0; lane < LANES; lane++)
        g->random[lane] += (uint64_t)g->lengths[lane] * RANDOM_STEP;
}

/* Stores the kept draws of n tokens of a lane, from token t on. */
static void NAME(keep_tokens)(const GROUP *g, intptr_t lane, intptr_t t, intptr_t n,
                              int32_t *restrict draws)
{
    const intptr_t n_kept = g->block->n_kept, plane = g->n_steps * LANES;
    const BITS *places = (const BITS *)g->places + plane + t * LANES + lane;
    for (intptr_t i = 0; i < n; i++, places += LANES)
        for (intptr_t sweep = 0; sweep < n_kept; sweep++)
            *draws++ = (int32_t)(places[sweep * plane] / LANES);
}

/* Stores the kept draws of a document in the order of its entries. */
static void NAME(keep_draws)(const GROUP *g, intptr_t lane)
{
    const lda_block *block = g->block;
    const intptr_t i = g->documents[lane], n_kept = block->n_kept;
    const REAL *counts = block->counts;
    intptr_t few = 0, many = g->n_few[lane], n = block->starts[i];
    if (many == (intptr_t)g->lengths[lane]) { /* the tokens are in this order already */
        NAME(keep_tokens)(g, lane, 0, many,
                          block->scratch.draws + block->first_tokens[n] * n_kept);
        return;
    }
    for (; n < block->starts[i + 1]; n++) {
        const intptr_t count = (intptr_t)counts[n];
        intptr_t *t = count < MANY ? &few : &many;
        NAME(keep_tokens)(g, lane, *t, count,
                          block->scratch.draws + block->first_tokens[n] * n_kept);
        *t += count;
    }
}

/* Stores the kept draws, and adds their means to gamma. */
static void NAME(end_lanes)(const GROUP *g)
{
    const lda_block *block = g->block;
    const intptr_t n_topics = g->n_topics;
    const REAL share = (REAL)(1.0 / block->n_kept);
    for (intptr_t lane = 0; lane < g->n_documents; lane++) {
        REAL *gamma = (REAL *)block->gamma + g->documents[lane] * n_topics;
        for (intptr_t k = 0; k < n_topics; k++)
            gamma[k] = g->prior[k * LANES + lane] + share * g->kept[k * LANES + lane];
        if (block->statistics && block->factors[g->documents[lane]] != 0)
            NAME(keep_draws)(g, lane);
    }
}

/* Samples the documents of some groups.  The groups alternate, so that the processor
 * can overlap their draws, as long as all have tokens, and then the longer half of them. */
ALWAYS_INLINE int NAME(sample_groups)(GROUP *groups, const int weighted, const int n)
{
    const lda_block *block = groups->block;
    const int half = n / 2;
    intptr_t shared = groups->n_steps, of_half = groups[half].n_steps;
    for (int i = 0; i < n; i++) {
        const intptr_t n_steps = groups[i].n_steps;
        NAME(begin_lanes)(groups + i);
        shared = n_steps < shared ? n_steps : shared;
        of_half = i >= half && n_steps < of_half ? n_steps : of_half;
    }
    for (intptr_t sweep = 0; sweep < block->n_burn_in + block->n_kept; sweep++) {
        if (*block->stop)
            return -1;
        for (intptr_t t = 0; t < shared; t++)
            NAME(step_lanes)(groups, weighted, n, sweep, t);
        for (intptr_t t = shared; half > 1 && t < of_half; t++)
            NAME(step_lanes)(groups + half, weighted, half, sweep, t);
        for (int i = 0; i < n; i++) {
            const intptr_t done = half > 1 && i >= half ? of_half : shared;
            for (intptr_t t = done; t < groups[i].n_steps; t++)
                NAME(step_lanes)(groups + i, weighted, 1, sweep, t);
            NAME(end_sweep)(groups + i, sweep);
        }
    }
    for (int i = 0; i < n; i++)
        NAME(end_lanes)(groups + i);
    return 0;
}

static int NAME(sample_some)(GROUP *groups, int weighted, int n)
{
    if (n == LANE_GROUPS)
        return weighted ? NAME(sample_groups)(groups, 1, LANE_GROUPS)
                        : NAME(sample_groups)(groups, 0, LANE_GROUPS);
    if (n == LANE_GROUPS / 2)
        return weighted ? NAME(sample_groups)(groups, 1, LANE_GROUPS / 2)
                        : NAME(sample_groups)(groups, 0, LANE_GROUPS / 2);
    return weighted ? NAME(sample_groups)(groups, 1, 1)
                    : NAME(sample_groups)(groups, 0, 1);
}

/* Returns a group that uses the i-th scratch memory. */
static GROUP NAME(group)(const lda_block *block, intptr_t i)
{
    GROUP g = {0};
    g.block = block;
    g.n_topics = block->n_topics;
    g.height = (block->n_topics + LANE_SUMS - 1) / LANE_SUMS * LANE_SUMS;
    g.raised = block->temperature_per_document || block->inverse_temperatures[0] != 1.0;
    const intptr_t rows = (g.height + 1) * LANES;
    g.counts = (REAL *)block->scratch.lane_scratch + 5 * i * rows;
    g.weights = g.counts + rows;
    g.cumulated = g.weights + rows;
    g.kept = g.cumulated + rows;
    g.prior = g.kept + rows;
    for (int lane = 0; lane < LANES; lane++)
        g.numbers[lane] = lane;
    return g;
}

/* Puts documents into n groups, whose arrays of tokens follow one another. */
static void NAME(place_groups)(GROUP *groups, int n, intptr_t first)
{
    const lda_block *block = groups->block;
    REAL *panels = block->scratch.lane_panels;
    INTEGER *places = block->scratch.lane_places;
    int32_t *slots = block->scratch.lane_slots;
    for (int i = 0; i < n; i++) {
        GROUP *g = groups + i;
        g->panels = panels;
        g->places = places;
        g->slots = slots;
        NAME(place_documents)(g, first + i * LANES);
        const intptr_t plane = g->n_steps * LANES;
        panels += plane * g->height;
        places += plane * (1 + block->n_kept);
        slots += plane;
    }
}

/* Samples the documents `in_lanes`.  Returns 0, or -1 if `stop` is set. */
static int NAME(sample_lanes)(const lda_block *block)
{
    GROUP groups[LANE_GROUPS];
    for (int i = 0; i < LANE_GROUPS; i++)
        groups[i] = NAME(group)(block, i);
    int weighted = groups->raised || block->prior_rows;
    for (intptr_t k = 0; k < block->n_topics; k++)
        weighted |= (REAL)block->untempered_prior[k] != (REAL)block->untempered_prior[0];
    const int n = (int)block->n_lane_groups;
    for (intptr_t first = 0; first < block->n_in_lanes; first += n * LANES) {
        NAME(place_groups)(groups, n, first);
        if (NAME(sample_some)(groups, weighted, n))
            return -1;
    }
    return 0;
}

#undef LANES
#undef VECTOR
#undef GROUP
