"""Labels beside the circles of a map."""

import numpy as np


def free_place(candidates, half, own, circles, placed, frame):
    """Return the first free place for the centre of a label, or None.

    A label must be inside the map, and must not cover other circles or labels.

    Parameters
    ----------
    candidates : iterable of ndarray of shape (2,)
        Places to try.
    half : ndarray of shape (2,)
        Half the width and height of the label.
    own : int
        Index of the circle of the label.
    circles : tuple of ndarray
        Centres, of shape (n_circles, 2), and radii.
    placed : list of tuple
        Centres of labels that have a place, with ``half`` of each; the new label is
        added.
    frame : tuple of ndarray of shape (2,)
        Lower left and upper right corner of the map.
    """
    (centres, radii), (low, high) = circles, frame
    others = np.arange(len(radii)) != own
    for place in candidates:
        inside = (low <= place - half).all() and (place + half <= high).all()
        nearest = np.clip(centres, place - half, place + half)
        covers = np.hypot(*(centres - nearest).T) < radii
        crosses = any((np.abs(place - p) < half + h).all() for p, h in placed)
        if inside and not covers[others].any() and not crosses:
            placed.append((place, half))
            return place
    return None
