/* Parts of the search for the best split of a component that all mixtures share.  `best_split`
 * in `_births.py` is the reference. */
#ifndef SKTEMPER_MIXTURE_SPLITS_H
#define SKTEMPER_MIXTURE_SPLITS_H

#include "sktemper/_families/_blocks.h"

/* Makes the vectors a and b orthonormal, with the signs of Householder reflections. */
static void orthonormalise(intptr_t D, double *restrict a, double *restrict b)
{
    double norm = 0, both = 0, rest = 0, square = 0;
    for (intptr_t d = 0; d < D; d++) {
        norm += a[d] * a[d];
        both += a[d] * b[d];
    }
    norm = a[0] > 0 ? -sqrt(norm) : sqrt(norm);
    if (norm == 0 || D == 1) {
        a[0] = 1;
        return;
    }
    /* the second element of the reflected b */
    const double place = a[0] - norm;
    rest = b[1] + a[1] * (b[0] + (both - a[0] * b[0]) / place) / norm;
    both /= norm;
    for (intptr_t d = 0; d < D; d++) {
        a[d] /= norm;
        b[d] -= both * a[d];
        square += b[d] * b[d];
    }
    const double length = (rest > 0) == (D > 2) ? -sqrt(square) : sqrt(square);
    for (intptr_t d = 0; d < D && length != 0; d++)
        b[d] /= length;
}
#endif
