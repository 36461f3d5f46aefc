/* The loops of latent Dirichlet allocation, for one floating type. */
#include "_topics.h"
#include "_sampling.h"
#include "_sweeps.h"
#include "_gamma.h"
#include "_statistics.h"
#include "_documents.h"
