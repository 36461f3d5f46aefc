/* Loops of conjugate families. */
#include "wishart.h"

#include "product_ascent.h"
#include "product_splits.h"
