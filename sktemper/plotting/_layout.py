"""Layout of a map of topics, on which each topic is a circle."""

import numpy as np

from .._utils._typing import ArrayLike, Float

#: Smallest distance between the centres of two circles, relative to the sum of their
#: radii, and largest number of steps of `push_apart`.
APART, N_PUSHES = 0.8, 200
#: Total area of the circles relative to the area of the map, and smallest radius of a
#: circle relative to the height of the map.
SHARE_OF_CIRCLES, LEAST_RADIUS = 0.12, 0.008


def topic_map_layout(
    topic_word: ArrayLike,
    prevalence: ArrayLike,
    *,
    width: Float = 1.0,
    height: Float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the circles of a map of topics, to be drawn with any library.

    Parameters
    ----------
    topic_word : array-like of shape (n_topics, n_features)
        Probabilities of words in topics, such as ``topic_word_``; rows are normalized.
    prevalence : array-like of shape (n_topics,)
        The topics' shares of the tokens; the areas of the circles are proportional to
        them.
    width, height : float, default=1.0
        Size of the map, in any unit.

    Returns
    -------
    centres : ndarray of shape (n_topics, 2)
        Centres in the unit of ``width``, on a map whose centre is (0, 0).  Classical
        multidimensional scaling of the Hellinger distances between topics places the
        circles; circles that would hide each other are then pushed apart.
    radii : ndarray of shape (n_topics,)
        Radii in the unit of ``width``.

    Raises
    ------
    ValueError
        If the number of shares differs from the number of topics.

    See Also
    --------
    TopicMapDisplay : Draws such a map with matplotlib.

    Examples
    --------
    >>> from sktemper.plotting import topic_map_layout
    >>> topic_word = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]]
    >>> centres, radii = topic_map_layout(topic_word, [0.2, 0.2, 0.6])
    >>> centres.shape, float(radii[2] / radii[0]) ** 2
    ((3, 2), 3.00)
    """
    topic_word = np.asarray(topic_word, dtype=np.float64)
    shares = np.asarray(prevalence, dtype=np.float64)
    if shares.shape != (len(topic_word),):
        raise ValueError(
            f"prevalence must have one share for each of the {len(topic_word)} rows of "
            f"topic_word, got shape {shares.shape}."
        )
    centres = positions_of(topic_word / topic_word.sum(axis=1, keepdims=True))
    area = SHARE_OF_CIRCLES * width * height * shares / max(shares.sum(), 1e-300)
    radii = np.maximum(np.sqrt(area / np.pi), LEAST_RADIUS * height)
    low, high = centres.min(axis=0), centres.max(axis=0)
    room = np.maximum(np.array([width, height]) - 2 * radii.max(), 0.5 * height)
    scale = (room / np.maximum(high - low, 1e-12)).min()
    centres = (centres - (low + high) / 2) * (scale if (high > low).any() else 0.0)
    return push_apart(centres, radii, (width, height)), radii


def positions_of(topic_word):
    """Place topics by classical multidimensional scaling of Hellinger distances."""
    root = np.sqrt(topic_word)
    root -= root.mean(axis=0)
    left, values, _ = np.linalg.svd(root @ root.T)
    points = left[:, :2] * np.sqrt(values[:2])
    if points.shape[1] < 2:
        points = np.hstack([points, np.zeros((len(points), 1))])
    # the sign of an axis is arbitrary; a fixed sign makes plots reproducible
    largest = np.abs(points).argmax(axis=0)
    signs = np.where(points[largest, [0, 1]] < 0, -1.0, 1.0)
    return points * signs


def push_apart(centres, radii, size=(np.inf, np.inf)):
    """Return the centres of circles, moved until no circle hides another one.

    The circles stay on a map of ``size``, whose centre is (0, 0), if they fit.
    """
    centres = np.array(centres, dtype=np.float64)
    room = np.maximum(np.asarray(size) / 2 - radii[:, None], 0.0)
    least = APART * (radii[:, None] + radii)
    np.fill_diagonal(least, 0.0)
    for _ in range(N_PUSHES):
        between = centres[:, None] - centres
        distance = np.hypot(*between.T).T
        lacking = np.maximum(least - distance, 0.0)
        if not lacking.any():
            break
        # coinciding centres move apart in directions that depend on their indices
        angle = np.arange(len(radii)) * 2.4
        fallback = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        fallback = fallback[:, None] - fallback
        close = (distance < 1e-6)[..., None]
        direction = np.where(close, fallback, between)
        length = np.maximum(np.hypot(*direction.T).T, 1e-12)[..., None]
        centres += 0.25 * (lacking[..., None] * direction / length).sum(axis=1)
        centres = np.clip(centres, -room, room)
    return centres
