/* Rankings, see `_loops.h`.  Of each user the best are a heap of `n_best` places, the
 * worst of them first; in the end they are sorted, the best first. */
typedef struct {
    intptr_t n_items, n_inner, item_stride, n_users, n_best;
    const void *items;                   /* rows `item_stride` elements apart */
    const void *users;                   /* panels, see `pack_columns`; or rows of scores */
    const uint8_t *barred;               /* of each item; or NULL */
    const int64_t *seen_starts;          /* user r has seen seen_starts[r] .. [r + 1] */
    const int32_t *seen;                 /* increasing in each user */
    /* out */
    void *scores;                        /* (n_users, n_best) */
    int64_t *best;                       /* (n_users, n_best), -1 where there is none */
    /* in and out: where each user's next seen item stands */
    int64_t *next_seen;                  /* (n_users,), at first seen_starts */
    void *least;                         /* (n_users and lanes,): what is to be beaten */
    const volatile int *stop;
} ranking_block;

/* Items that are scored for all users before the next: they stay in the second cache. */
#define ITEMS_AT_ONCE 192
