/* The loops of latent Dirichlet allocation, for one floating-point type.
 *
 * The local step, NAME(lda_local_step) in _documents.h, has three routes.  The
 * route of a document does not depend on the other documents:
 *   _abreast.h   variational, several short documents at once, one in each lane
 *   _gamma.h     variational, one document after the other, without irrelevant topics
 *   _sampling.h  sampled: in _lanes.h many documents at once, in _chains.h one by one */
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
