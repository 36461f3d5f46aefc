/* Loops of conjugate families. */
#include "wishart.h"

#include "factor_gaussians.h"
#include "product_ascent.h"
#include "product_splits.h"
