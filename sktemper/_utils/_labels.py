"""Labels beside the circles of a map."""

import numpy as np


def place_labels(candidates, halves, circles, prevalence, frame):
    """Return the centres of labels of circles; NaN for labels that do not fit.

    A label must be inside the map, and must not cover other circles or labels.  Labels
    of large circles are placed first.

    Parameters
    ----------
    candidates : callable
        ``candidates(centre, radius, half)`` returns the places to try for a label.
    halves : ndarray of shape (n_circles, 2)
        Half the widths and heights of the labels.
    circles : tuple of ndarray
        Centres, of shape (n_circles, 2), and radii.
    prevalence : ndarray of shape (n_circles,)
    frame : tuple of ndarray of shape (2,)
        Lower left and upper right corner of the map.
    """
    (centres, radii), (low, high) = circles, frame
    placed = np.full(centres.shape, np.nan)
    for number in np.argsort(-prevalence, kind="stable"):
        half, others = halves[number], np.arange(len(radii)) != number
        for place in candidates(centres[number], radii[number], half):
            inside = (low <= place - half).all() and (place + half <= high).all()
            nearest = np.clip(centres, place - half, place + half)
            covers = np.hypot(*(centres - nearest).T) < radii
            crosses = (np.abs(place - placed) < half + halves).all(axis=1)
            if inside and not covers[others].any() and not crosses.any():
                placed[number] = place
                break
    return placed
