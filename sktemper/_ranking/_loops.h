/* Search for the best items of users, for one floating type, without a matrix of all scores.
 *
 * A tile has the scores of ROWS items for COLUMNS users.  A score is a sum over the inner
 * dimension.  All sums have the same order and the same instructions, as in `products.h`.
 * Therefore the bits of a user's scores do not depend on the other users, and are equal to
 * those of `product`.  For each user, the best items so far are kept.  A tile is dropped while
 * it is in registers if no score exceeds the lowest kept score of its user; nearly all tiles
 * are dropped.  Items are visited in their order, and an item whose score equals the lowest
 * kept score is dropped.  Therefore the first of several items with equal scores is kept. */

#include "tiles.h"

#define MASK NAME(ranking_mask)
VECTOR_TYPE(MASK, INTEGER, VECTOR_BYTES);
/* Number of vectors of LANES columns. */
#define N_VECTORS ((int)(LANES * sizeof(REAL) / sizeof(VECTOR)))

/* Items are prefetched TILES_AHEAD tiles before they are used.  For at most FEW_USERS users,
 * the lanes of vectors are items instead of users. */
#define TILES_AHEAD 8
#define FEW_USERS 2

/* Whether item a ranks behind item b: its score is lower, or equal with a larger index. */
static inline int NAME(is_worse)(REAL a, int64_t item_a, REAL b, int64_t item_b)
{
    return a < b || (a == b && item_a > item_b);
}

/* Replaces the root of a heap of n items by a new item.  The root is the worst item. */
static inline void NAME(sift)(intptr_t n, REAL *restrict scores, int64_t *restrict best,
                              REAL score, int64_t item)
{
    intptr_t at = 0;
    for (;;) {
        intptr_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && NAME(is_worse)(scores[child + 1], best[child + 1],
                                            scores[child], best[child]))
            child++;
        if (!NAME(is_worse)(scores[child], best[child], score, item))
            break;
        scores[at] = scores[child];
        best[at] = best[child];
        at = child;
    }
    scores[at] = score;
    best[at] = item;
}

/* Puts an item in place of the worst kept item of a user, unless the user has seen the new
 * item or it is barred. */
static inline void NAME(offer)(ranking_block *block, intptr_t user, int64_t item,
                               REAL score)
{
    if (block->barred && block->barred[item])
        return;
    if (block->seen) {
        int64_t next = block->next_seen[user];
        const int64_t end = block->seen_starts[user + 1];
        while (next < end && block->seen[next] < item)
            next++;
        block->next_seen[user] = next;
        if (next < end && block->seen[next] == item)
            return;
    }
    REAL *scores = (REAL *)block->scores + user * block->n_best;
    NAME(sift)(block->n_best, scores, block->best + user * block->n_best, score, item);
    ((REAL *)block->least)[user] = scores[0];
}

/* Computes the scores of a tile.  Returns 0 if no score exceeds the lowest kept score, in
 * `least`, of its user.  Otherwise returns -1 and writes the scores to `out`, of shape (ROWS,
 * COLUMNS). */
static inline int NAME(is_any)(MASK mask)
{
    int64_t parts[sizeof(MASK) / 8], any = 0;
    memcpy(parts, &mask, sizeof(parts));
    for (int i = 0; i < (int)sizeof(MASK) / 8; i++)
        any |= parts[i];
    return any != 0;
}

ALWAYS_INLINE int NAME(score_vectors)(const int n_vectors, intptr_t n_inner,
                                      const REAL *const *rows,
                                      const VECTOR *restrict columns, const REAL *least,
                                      REAL *restrict out)
{
    const VECTOR zero = {0};
    VECTOR sums[ROWS][2 * N_VECTORS];
    MASK beats = {0};
    UNROLLED
    for (int r = 0; r < ROWS; r++) {
        UNROLLED
        for (int v = 0; v < n_vectors; v++)
            sums[r][v] = zero;
    }
    for (intptr_t i = 0; i < n_inner; i++) {
        UNROLLED
        for (int r = 0; r < ROWS; r++) {
            UNROLLED
            for (int v = 0; v < n_vectors; v++)
                sums[r][v] += rows[r][i] * columns[i * n_vectors + v];
        }
    }
    UNROLLED
    for (int r = 0; r < ROWS; r++) {
        UNROLLED
        for (int v = 0; v < n_vectors; v++)
            beats |= sums[r][v] > ((const VECTOR *)least)[v];
    }
    if (!NAME(is_any)(beats))
        return 0;
    UNROLLED
    for (int r = 0; r < ROWS; r++) {
        UNROLLED
        for (int v = 0; v < n_vectors; v++)
            ((VECTOR *)(out + r * COLUMNS))[v] = sums[r][v];
    }
    return -1;
}

static int NAME(score_tile)(intptr_t n_inner, const REAL *const *rows, const REAL *panel,
                            int wide, const REAL *least, REAL *restrict out)
{
    const VECTOR *columns = (const VECTOR *)panel;
    if (wide)
        return NAME(score_vectors)(2 * N_VECTORS, n_inner, rows, columns, least, out);
    return NAME(score_vectors)(N_VECTORS, n_inner, rows, columns, least, out);
}

/* Offers an item to `width` users, starting at index `user`, if their scores of the item exceed
 * their lowest kept scores. */
static inline void NAME(offer_row)(ranking_block *block, intptr_t user, intptr_t width,
                                   int64_t item, const REAL *restrict scores)
{
    const REAL *least = (const REAL *)block->least + user;
    int beats = 0;
    VECTORISE_REDUCTION(| : beats)
    for (intptr_t j = 0; j < width; j++)
        beats |= scores[j] > least[j];
    if (!beats)
        return;
    for (intptr_t j = 0; j < width; j++)
        if (scores[j] > least[j])
            NAME(offer)(block, user + j, item, scores[j]);
}

/* Sorts the kept items of each user, the best first. */
static void NAME(sort_best)(ranking_block *block)
{
    for (intptr_t user = 0; user < block->n_users; user++) {
        REAL *scores = (REAL *)block->scores + user * block->n_best;
        int64_t *best = block->best + user * block->n_best;
        for (intptr_t n = block->n_best - 1; n > 0; n--) {
            const REAL score = scores[n];
            const int64_t item = best[n];
            scores[n] = scores[0];
            best[n] = best[0];
            NAME(sift)(n, scores, best, score, item);
        }
    }
}

/* Prefetches the items of a later tile, TILES_AHEAD tiles after the tile that begins at `item`.
 * Processors do not prefetch these items, because a tile has more rows than they can track. */
static inline void NAME(fetch)(const ranking_block *block, intptr_t item, intptr_t rows)
{
#ifdef VECTOR_BYTES
    const intptr_t stride = block->item_stride, first = item + TILES_AHEAD * rows;
    const intptr_t end = first + rows < block->n_items ? first + rows : block->n_items;
    const REAL *items = block->items;
    for (intptr_t at = first * stride; at < end * stride; at += 64 / (int)sizeof(REAL))
        __builtin_prefetch(items + at);
#endif
}

#ifdef VECTOR_BYTES
/* Adds the products of some columns of LANES items with the columns of FEW_USERS users. */
ALWAYS_INLINE void NAME(add_columns)(intptr_t n_columns, const VECTOR *columns,
                                     const REAL *panel, VECTOR *sums)
{
    for (intptr_t i = 0; i < n_columns; i++)
        for (intptr_t u = 0; u < FEW_USERS; u++)
            sums[u] += columns[i] * panel[i * LANES + u];
}

/* Writes the scores of LANES items for FEW_USERS users.  Each lane is an item, because with so
 * few users most lanes of a tile would be empty.  The sums have the same order as in a tile. */
static void NAME(score_few)(intptr_t n_inner, const REAL *const *rows, const REAL *panel,
                            VECTOR *sums)
{
    VECTOR columns[LANES];
    intptr_t i = 0;
    for (intptr_t u = 0; u < FEW_USERS; u++)
        sums[u] = (VECTOR){0};
    for (; i + LANES <= n_inner; i += LANES) {
        for (intptr_t r = 0; r < LANES; r++)
            columns[r] = *(const VECTOR *)(rows[r] + i);
        TRANSPOSE(VECTOR, VECTOR_BYTES, SUFFIX, columns);
        NAME(add_columns)(LANES, columns, panel + i * LANES, sums);
    }
    for (; i < n_inner; i++) {
        VECTOR column = {0};
        for (intptr_t r = 0; r < LANES; r++)
            column[r] = rows[r][i];
        NAME(add_columns)(1, &column, panel + i * LANES, sums);
    }
}

/* Computes the same as `best_products`, for at most FEW_USERS users. */
static int NAME(best_of_few)(ranking_block *block)
{
    const intptr_t n_items = block->n_items;
    const REAL *items = block->items, *least = block->least;
    for (intptr_t item = 0; item < n_items; item += LANES) {
        const intptr_t n_rows = n_items - item < LANES ? n_items - item : LANES;
        const REAL *rows[LANES];
        VECTOR sums[FEW_USERS];
        if (item % (LANES * ITEMS_AT_ONCE) == 0 && *block->stop)
            return -1;
        NAME(fetch)(block, item, LANES);
        for (intptr_t r = 0; r < LANES; r++)
            rows[r] = items + (item + (r < n_rows ? r : n_rows - 1)) * block->item_stride;
        NAME(score_few)(block->n_inner, rows, block->users, sums);
        for (intptr_t u = 0; u < block->n_users; u++) {
            if (!NAME(is_any)(sums[u] > least[u]))
                continue;
            for (intptr_t r = 0; r < n_rows; r++)
                if (sums[u][r] > least[u])
                    NAME(offer)(block, u, item + r, sums[u][r]);
        }
    }
    NAME(sort_best)(block);
    return 0;
}
#endif

/* Finds the best items of all users from products of vectors.  Returns 0, or -1 if `stop` is
 * set. */
LOOP int NAME(best_products)(ranking_block *block)
{
#ifdef VECTOR_BYTES
    if (block->n_users <= FEW_USERS && FEW_USERS <= LANES)
        return NAME(best_of_few)(block);
#endif
    const intptr_t n_items = block->n_items, n_inner = block->n_inner;
    const REAL *items = block->items, *panels = block->users;
    REAL tile[ROWS * COLUMNS];
    for (intptr_t top = 0; top < n_items; top += ITEMS_AT_ONCE) {
        const intptr_t end = n_items - top < ITEMS_AT_ONCE ? n_items : top + ITEMS_AT_ONCE;
        if (*block->stop)
            return -1;
        for (intptr_t user = 0; user < block->n_users; user += COLUMNS) {
            const intptr_t left = block->n_users - user;
            const intptr_t width = left < COLUMNS ? left : COLUMNS;
            const int wide = width > LANES;
            const REAL *panel = panels + user * n_inner;
            const REAL *least = (const REAL *)block->least + user;
            for (intptr_t item = top; item < end; item += ROWS) {
                const intptr_t n_rows = end - item < ROWS ? end - item : ROWS;
                const REAL *rows[ROWS];
                /* missing rows repeat the last row, so that one loop serves all tiles */
                for (intptr_t r = 0; r < ROWS; r++)
                    rows[r] =
                        items + (item + (r < n_rows ? r : n_rows - 1)) * block->item_stride;
                if (user == 0)
                    NAME(fetch)(block, item, ROWS);
                if (!NAME(score_tile)(n_inner, rows, panel, wide, least, tile))
                    continue;
                for (intptr_t r = 0; r < n_rows; r++)
                    NAME(offer_row)(block, user, width, item + r, tile + r * COLUMNS);
            }
        }
    }
    NAME(sort_best)(block);
    return 0;
}

/* Finds the best items of all users from given scores.  Row u of `users` has the scores of
 * user u; rows are `item_stride` elements apart.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(best_of_scores)(ranking_block *block)
{
    const REAL *least = block->least;
    for (intptr_t user = 0; user < block->n_users; user++) {
        const REAL *restrict scores = (const REAL *)block->users + user * block->item_stride;
        if (*block->stop)
            return -1;
        for (intptr_t item = 0; item < block->n_items; item += COLUMNS) {
            const intptr_t left = block->n_items - item;
            const intptr_t width = left < COLUMNS ? left : COLUMNS;
            const REAL bar = least[user];
            int beats = 0;
            VECTORISE_REDUCTION(| : beats)
            for (intptr_t j = 0; j < width; j++)
                beats |= scores[item + j] > bar;
            if (!beats)
                continue;
            for (intptr_t j = 0; j < width; j++)
                if (scores[item + j] > least[user])
                    NAME(offer)(block, user, item + j, scores[item + j]);
        }
    }
    NAME(sort_best)(block);
    return 0;
}
