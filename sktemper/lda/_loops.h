/* The loops of latent Dirichlet allocation, for one floating type. */
#include "_topics.h"
UNFUSED
#include "_sampled_rows.h"
#include "_chains.h"
#include "_lanes.h"
FUSED
#include "_sampling.h"
#include "_sweeps.h"
#include "_gamma.h"
#include "_statistics.h"
#include "_documents.h"
#include "_scratch.h"
#undef LAMBDA_ROW
#undef PARTS_OF_SUM
#undef MOST_ABREAST
