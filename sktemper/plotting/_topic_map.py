"""Map of topics, each a circle, by the similarity of their words."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils._labels import place_labels
from .._utils._typing import ArrayLike, Axes, Float, Int
from ._axes import Display, ranked_words, topic_colours

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
    centres = place_topics(topic_word)
    area = SHARE_OF_CIRCLES * width * height * shares / max(shares.sum(), 1e-300)
    radii = np.maximum(np.sqrt(area / np.pi), LEAST_RADIUS * height)
    low, high = centres.min(axis=0), centres.max(axis=0)
    room = np.maximum(np.array([width, height]) - 2 * radii.max(), 0.5 * height)
    scale = (room / np.maximum(high - low, 1e-12)).min()
    centres = (centres - (low + high) / 2) * (scale if (high > low).any() else 0.0)
    return push_apart(centres, radii, (width, height)), radii


def place_topics(topic_word):
    """Place topics by classical multidimensional scaling of Hellinger distances."""
    root = np.sqrt(topic_word / topic_word.sum(axis=1, keepdims=True))
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


# -- the map ---------------------------------------------------------------------------
#: Tried places of a label: number of directions around its circle, and gaps between the
#: circle and the label, in points.
N_DIRECTIONS, GAPS = 16, (3, 9, 18, 30)
#: Smallest area of a circle, in square points, so that the index of the topic fits in.
LEAST_AREA = 110.0


class TopicMapDisplay(Display):
    """Map of topics, on which topics with similar words are close.

    Each topic is a circle, whose area is proportional to the topic's share of the
    tokens.  Classical multidimensional scaling [1]_ places the circles so that their
    distances approximate the Hellinger distances between the topics; circles that would
    hide each other are then pushed apart.  The index of the topic is written in its
    circle.  A label with the topic's words is next to the circle, and is left out if it
    would cover other labels or circles.

    Parameters
    ----------
    positions : ndarray of shape (n_topics, 2)
        Positions of the topics on the map.
    prevalence : ndarray of shape (n_topics,)
        The topics' shares of the tokens.
    labels : list of str
        Labels of the circles.

    Attributes
    ----------
    circles_ : matplotlib PathCollection
        The circles at their final places.
    labels_ : list of matplotlib Annotation
        The labels that were drawn.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the map, and the figure.

    See Also
    --------
    TopicWordsDisplay : The words of topics.
    topic_map_layout : Centres and radii of the circles.

    References
    ----------
    .. [1] W. S. Torgerson (1952). "Multidimensional scaling: I. Theory and method".
           Psychometrika 17, 401-419.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> lda = AnnealedLDA(8, random_state=0).fit(debian.data[:4000])
    >>> plotting.TopicMapDisplay.from_estimator(  # doctest: +SKIP
    ...     lda, feature_names=debian.feature_names
    ... )
    """

    positions: np.ndarray
    prevalence: np.ndarray
    labels: Sequence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        n_words: Int = 3,
        ax: Axes | None = None,
        **scatter_kw: Any,
    ) -> Self:
        """Draw the map of a fitted topic model.

        Parameters
        ----------
        n_words : int, default=3
            Number of words of a label.
        **scatter_kw : dict
            Passed to matplotlib's ``scatter``.
        """
        cls._check(estimator, "topics", "a fitted LDA")
        by_topic, prevalence = ranked_words(estimator, feature_names, n_words, 0.6)
        display = cls(
            positions=place_topics(np.asarray(estimator.shown_topic_word_, np.float64)),
            prevalence=prevalence,
            labels=[" ".join(rows["word"]) for rows in by_topic],
        )
        return display.plot(ax, **scatter_kw)

    def plot(self, ax: Axes | None = None, **scatter_kw: Any) -> Self:
        """Draw the map."""
        n_topics = len(self.labels)
        ax = self._make_axes(ax, (9, 7))
        points = ax.get_window_extent().size / _per_point(ax)
        area = SHARE_OF_CIRCLES * points.prod() * np.asarray(self.prevalence)
        defaults = {
            "s": np.maximum(area, LEAST_AREA),
            "c": topic_colours(range(n_topics)),
            "alpha": 0.55,
            "edgecolors": "white",
        }
        self.circles_ = ax.scatter(
            *np.asarray(self.positions).T, **{**defaults, **scatter_kw}
        )
        ax.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
        ax.margins(0.15)
        # circles that hide each other are moved, without a change of ``positions``
        centres = push_apart(*self._circles(ax))
        self.circles_.set_offsets(ax.transData.inverted().transform(centres))
        ax.set_title(
            f"{n_topics} topics: close topics are similar, area is the share of tokens",
            fontsize=10,
        )
        size = 8 if n_topics <= 30 else 6.5
        for topic, place in enumerate(self.circles_.get_offsets()):
            ax.annotate(str(topic), place, ha="center", va="center", fontsize=size)
        self._place_labels(ax, size)
        return self

    def _circles(self, ax):
        """Return centres and radii of the circles in pixels, in the final layout."""
        self.figure_.figure.draw_without_rendering()
        centres = ax.transData.transform(self.circles_.get_offsets())
        return centres, np.sqrt(self.circles_.get_sizes() / np.pi) * _per_point(ax)

    def _place_labels(self, ax, size):
        """Put labels next to their circles if there is room, largest circles first."""
        centres, radii = circles = self._circles(ax)
        renderer = self.figure_.figure.canvas.get_renderer()
        prevalence, per_point = np.asarray(self.prevalence), _per_point(ax)
        order, halves = np.argsort(-prevalence, kind="stable"), np.empty(centres.shape)
        labels = {}
        for topic in order:
            label = labels[topic] = ax.annotate(
                self.labels[topic],
                self.circles_.get_offsets()[topic],
                xytext=(0, 0),
                textcoords="offset points",
                fontsize=size,
                ha="center",
                va="center",
                color="0.15",
                arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5},
            )
            halves[topic] = label.get_window_extent(renderer).size / 2 + 1

        def around(centre, radius, half):
            for gap in GAPS:
                for angle in np.arange(N_DIRECTIONS) / N_DIRECTIONS + 0.25:
                    turn = 2 * np.pi * angle
                    direction = np.array([np.cos(turn), np.sin(turn)])
                    away = (radius + gap * per_point) * direction
                    yield centre + away + half * direction

        frame = ax.get_window_extent(renderer).get_points()
        places = place_labels(around, halves, circles, prevalence, frame)
        self.labels_ = []
        for topic, label in labels.items():
            away = places[topic] - centres[topic]
            if np.isnan(away).any():
                label.remove()
                continue
            label.set_position(away / per_point)
            near = radii[topic] + halves[topic].sum() + GAPS[1] * per_point
            label.arrow_patch.set_visible(np.hypot(*away) >= near)
            self.labels_.append(label)


def _per_point(ax):
    """Return the number of pixels of a point."""
    return ax.figure.dpi / 72.0
