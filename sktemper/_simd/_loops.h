/* Loops that Python calls: shared functions, from `functions.h`, and products of matrices. */
#include "products.h"
