/* The loops of latent Dirichlet allocation, for one floating-point type.
 *
 * The local step, whose phases _documents.h lists, has several routes, which
 * SKTEMPER_LDA_ROUTES can force.  The choice for a document does not depend on the other
 * documents:
 *   abreast  _abreast.h  variational inference, several short documents side by side
 *   alone    _gamma.h    variational inference, one document, without irrelevant topics
 *   lanes    _lanes.h    Gibbs sampling, many documents side by side in vectors
 *   chains   _chains.h   Gibbs sampling, one document at a time */
#include "_topics.h"
UNFUSED
#include "_sampled_rows.h"
#include "_chains.h"
#include "_lanes.h"
#include "_draws.h"
FUSED
#include "_sweeps.h"
#include "_gamma.h"
#include "_statistics.h"
#include "_documents.h"
#include "_scratch.h"
