/* Arguments of the loops that rank items, see `_loops.h`.  During the search, the `n_best` best
 * items of a user are stored as a heap, whose first item is the worst.  At the end the items
 * are sorted, the best first. */
typedef struct {
    intptr_t n_items, n_inner, item_stride, n_users, n_best;
    const void *items;                   /* rows `item_stride` elements apart */
    const void *users;                   /* panels, see `pack_columns`; or rows of scores */
    const uint8_t *barred;               /* nonzero: no user gets the item; or NULL */
    const int64_t *seen_starts;          /* user r: entries seen_starts[r] .. [r + 1] */
    const int32_t *seen;                 /* items to exclude, increasing for each user */
    /* out */
    void *scores;                        /* (n_users, n_best) */
    int64_t *best;                       /* (n_users, n_best), -1 without an item */
    /* in and out: index in `seen` of each user's next item, and the lowest score among the
     * items that are kept for each user */
    int64_t *next_seen;                  /* (n_users,), initially seen_starts */
    void *least;                         /* (n_users,), padded by lanes */
    const volatile int *stop;
} ranking_block;

/* Number of items that are scored for all users at a time, so that the items stay in the
 * second cache. */
#define ITEMS_AT_ONCE 192
