/* What Python sees of the functions that all kernels share, and products of matrices. */
#include "products.h"
