"""Placement of labels beside circles."""

import numpy as np

__all__ = ["label_places"]

#: Width of a letter and height of a line, in pixels.
LETTER, LINE = 6.9, 15.0
#: Gaps between a circle and its label that are tried, in pixels.
GAPS = (2.0, 9.0)


def label_places(centres, radii, prevalence, labels, size):
    """Return the centres of labels beside circles; NaN if a label would cover others.

    Parameters
    ----------
    centres : ndarray of shape (n_topics, 2)
        In pixels, around (0, 0).
    radii : ndarray of shape (n_topics,)
    prevalence : ndarray of shape (n_topics,)
        Labels of large circles are placed first.
    labels : list of str
    size : pair of float
        Width and height of the map in pixels.

    Returns
    -------
    places : ndarray of shape (n_topics, 2)
    """
    places, placed = np.full(centres.shape, np.nan), []
    for topic in np.argsort(-prevalence, kind="stable"):
        half = np.array([LETTER * len(labels[topic]), LINE]) / 2
        others = np.arange(len(radii)) != topic
        for place in _tried(centres[topic], radii[topic], half):
            inside = (np.abs(place) + half <= np.asarray(size) / 2).all()
            nearest = np.clip(centres, place - half, place + half)
            covers = np.hypot(*(centres - nearest).T) < radii
            crosses = any((np.abs(place - p) < half + h).all() for p, h in placed)
            if inside and not covers[others].any() and not crosses:
                places[topic] = place
                placed.append((place, half))
                break
    return places


def _tried(centre, radius, half):
    """Yield places around a circle: below, above, at the sides and at the corners."""
    for gap in GAPS:
        away = radius + gap + half
        for x, y in (0, -1), (0, 1), (1, 0), (-1, 0):
            yield centre + away * (x, y)
        corner = np.sqrt(0.5) * (radius + gap) + half
        for x, y in (1, -1), (-1, -1), (1, 1), (-1, 1):
            yield centre + corner * (x, y)
