"""Placement of labels beside circles."""

import numpy as np

#: Assumed width of a letter and height of a line, in pixels.
LETTER, LINE = 6.9, 15.0
#: Gaps between a circle and its label, in pixels, in the order in which they are tried.
GAPS = (2.0, 9.0)


def label_places(centres, radii, prevalence, labels, size):
    """Return the centres of labels beside circles; NaN for labels that do not fit.

    A label must be inside the map, and must not cover other circles or labels.

    Parameters
    ----------
    centres : ndarray of shape (n_topics, 2)
        Centres of the circles in pixels, on a map whose centre is (0, 0).
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
    """Yield places for a label: below, above, beside and diagonally beside a circle."""
    for gap in GAPS:
        away = radius + gap + half
        for x, y in (0, -1), (0, 1), (1, 0), (-1, 0):
            yield centre + away * (x, y)
        corner = np.sqrt(0.5) * (radius + gap) + half
        for x, y in (1, -1), (-1, -1), (1, 1), (-1, 1):
            yield centre + corner * (x, y)
