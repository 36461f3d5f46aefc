"""Plots of the topics of a model: their words, a map, and a document."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from .._utils._inference import TINY
from .._utils._labels import place_labels
from .._utils._typing import ArrayLike, Axes, DataLike, Float, Int
from .._utils._words import WORD
from ._axes import Display, check_indices, topic_colours, topic_labels


# -- words of topics -------------------------------------------------------------------
class TopicWordsDisplay(Display):
    """Plot of the most probable words of each topic, as panels of bars.

    The bars are the probabilities of the words in the topic.  Each panel has its own
    scale, because the top words of a narrow topic are many times as probable as the top
    words of a broad topic.

    Create a display with `from_estimator`.

    Parameters
    ----------
    words : list of list of str
        The words to show for each topic, from top to bottom.
    weights : list of ndarray
        The lengths of the words' bars, for each topic.
    topics : ndarray of int of shape (n_topics,)
        The indices of the topics.
    prevalence : ndarray of shape (n_topics,), default=None
        The topics' shares of the tokens, for the titles; None leaves them out.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The panel of each topic.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes that the panels replace, and the figure.

    See Also
    --------
    TopicMapDisplay : Map of topics by the similarity of their words.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> lda = AnnealedLDA(8, random_state=0).fit(debian.data[:4000])
    >>> plotting.TopicWordsDisplay.from_estimator(  # doctest: +SKIP
    ...     lda, feature_names=debian.feature_names
    ... )
    """

    words: Sequence
    weights: Sequence
    topics: np.ndarray
    prevalence: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        topics: ArrayLike | None = None,
        n_words: Int = 8,
        rank_by: Literal["term_score", "probability"] | Float = "term_score",
        n_columns: Int = 4,
        ax: Axes | None = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the words of a fitted topic model.

        Parameters
        ----------
        topics : array-like of int, default=None
            Indices of the topics to draw, of which empty ones are left out; None draws
            the 12 largest.
        n_words : int, default=8
            Number of words of each topic.
        rank_by : {"term_score", "probability"} or float, default="term_score"
            What chooses words, see the estimator's method ``topics``.
        n_columns : int, default=4
            Number of panels in a row.
        **bar_kw : dict
            Passed to matplotlib's ``barh``.
        """
        cls._check(estimator, cls._LDA)
        table = estimator.topics(feature_names, n_words, rank_by=rank_by)
        shown = table.groupby("topic")["prevalence"].first()
        if topics is None:
            numbers = shown.sort_values(ascending=False, kind="stable").index[:12]
        else:
            numbers = check_indices("topics", topics, estimator.n_components_)
            numbers = numbers[np.isin(numbers, shown.index)]
        by_topic = [table[table["topic"] == k] for k in numbers]
        return cls(
            words=[rows["word"].tolist() for rows in by_topic],
            weights=[rows["weight"].to_numpy() for rows in by_topic],
            topics=np.asarray(numbers),
            prevalence=shown[numbers].to_numpy(),
        ).plot(ax, n_columns=n_columns, **bar_kw)

    def plot(
        self, ax: Axes | None = None, *, n_columns: Int = 4, **bar_kw: Any
    ) -> Self:
        """Draw the words."""
        panel_size = 2.6, 0.6 + 0.19 * max(map(len, self.words))
        panels = self._make_panels(ax, len(self.words), n_columns, panel_size)
        colours = topic_colours(self.topics)
        for number, (panel, words) in enumerate(zip(panels, self.words, strict=True)):
            places = np.arange(len(words))
            style = {"color": colours[number], **bar_kw}
            panel.barh(places, self.weights[number], **style)
            panel.set_yticks(places, words, fontsize=self._SMALL)
            panel.invert_yaxis()
            title = f"topic {self.topics[number]}"
            if self.prevalence is not None:
                title += f", {self.prevalence[number]:.1%}"
            panel.set_title(title, fontsize=9, loc="left")
            panel.tick_params(axis="x", labelsize=self._SMALLEST)
            panel.tick_params(axis="y", length=0)
            panel.locator_params(axis="x", nbins=3)
        self._open_frame(*panels)
        return self


# -- layout of a map of topics ---------------------------------------------------------
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
    area = SHARE_OF_CIRCLES * width * height * shares / max(shares.sum(), TINY)
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
    points = np.pad(points, [(0, 0), (0, 2 - points.shape[1])])
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
    topics : ndarray of int of shape (n_topics,), default=None
        The indices of the topics; None counts them.

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
    topics: np.ndarray | None = None

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
        """Draw the map of the topics of a model that are not empty.

        Parameters
        ----------
        n_words : int, default=3
            Number of words of a label.
        **scatter_kw : dict
            Passed to matplotlib's ``scatter``.
        """
        cls._check(estimator, cls._LDA)
        by_topic = estimator.topics(feature_names, n_words).groupby("topic")
        prevalence = by_topic["prevalence"].first()
        topic_word = np.asarray(estimator.topic_word_, np.float64)
        return cls(
            positions=place_topics(topic_word[prevalence.index]),
            prevalence=prevalence.to_numpy(),
            labels=[" ".join(rows["word"]) for _, rows in by_topic],
            topics=prevalence.index.to_numpy(),
        ).plot(ax, **scatter_kw)

    def plot(self, ax: Axes | None = None, **scatter_kw: Any) -> Self:
        """Draw the map."""
        n_topics = len(self.labels)
        topics = range(n_topics) if self.topics is None else self.topics
        ax = self._make_axes(ax, (self._WIDE, 7))
        points = ax.get_window_extent().size / _per_point(ax)
        area = SHARE_OF_CIRCLES * points.prod() * np.asarray(self.prevalence)
        defaults = {
            "s": np.maximum(area, LEAST_AREA),
            "c": topic_colours(topics),
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
        style = {"fontsize": self._SMALL if n_topics <= 30 else self._SMALLEST}
        style |= {"ha": "center", "va": "center"}
        for topic, place in zip(topics, self.circles_.get_offsets(), strict=True):
            ax.annotate(str(topic), place, **style)
        self._place_labels(ax, style)
        return self

    def _circles(self, ax):
        """Return centres and radii of the circles in pixels, in the final layout."""
        self.figure_.figure.draw_without_rendering()
        centres = ax.transData.transform(self.circles_.get_offsets())
        return centres, np.sqrt(self.circles_.get_sizes() / np.pi) * _per_point(ax)

    def _place_labels(self, ax, style):
        """Put labels next to their circles if there is room, largest circles first."""
        centres, radii = circles = self._circles(ax)
        renderer = self.figure_.figure.canvas.get_renderer()
        prevalence, per_point = np.asarray(self.prevalence), _per_point(ax)
        order, halves = np.argsort(-prevalence, kind="stable"), np.empty(centres.shape)
        arrow = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5}
        style |= {"xytext": (0, 0), "textcoords": "offset points", "color": "0.15"}
        labels, offsets = {}, self.circles_.get_offsets()
        for topic in order:
            text, place = self.labels[topic], offsets[topic]
            label = ax.annotate(text, place, arrowprops=arrow, **style)
            labels[topic] = label
            halves[topic] = label.get_window_extent(renderer).size / 2 + 1

        turns = 2 * np.pi * (np.arange(N_DIRECTIONS) / N_DIRECTIONS + 0.25)
        directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)

        def around(centre, radius, half):
            for gap in GAPS:
                yield from centre + (radius + gap * per_point + half) * directions

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


# -- text of a document ----------------------------------------------------------------
#: Largest number of topics in the legend, which shows the most frequent topics.
MOST_TOPICS = 10
#: Line height divided by the height of letters.
SPACING = 1.7


class DocumentDisplay(Display):
    """Plot of a text with words coloured by their topics.

    The colour is stronger if the topic is more probable.  Words that are not in the
    vocabulary have no colour.

    Parameters
    ----------
    pieces : list of str
        The text cut into pieces, in order: words, and the characters between words.
    topics : list of int
        Index of the topic of each piece; -1 for a piece without a topic.
    probabilities : list of float
        Probability of the topic of each piece.
    labels : dict of int to str
        Names of the topics by index, in decreasing order of their numbers of words.

    Attributes
    ----------
    texts_ : list of matplotlib Text
        The drawn pieces of text.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the text, and the figure.

    See Also
    --------
    TopicWordsDisplay : The words of topics.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> X = debian.data[:4000]
    >>> lda = AnnealedLDA(8, random_state=0).fit(X)
    >>> plotting.DocumentDisplay.from_estimator(  # doctest: +SKIP
    ...     lda, X[[0]], feature_names=debian.feature_names
    ... )
    """

    pieces: Sequence
    topics: Sequence
    probabilities: Sequence
    labels: dict[str, Any]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: DataLike,
        *,
        text: str | None = None,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        **text_kw: Any,
    ) -> Self:
        """Draw a document with the topics that a fitted model assigns to its words.

        Parameters
        ----------
        x : {array-like, sparse matrix} of shape (1, n_features) or (n_features,)
            The word counts of one document.
        text : str, default=None
            The text of the document.  It is split into words by the default pattern of
            scikit-learn's vectorizers, and the words are looked up in lower case.  None
            draws the words counted in ``x``, in the order of their columns.
        **text_kw : dict
            Passed to matplotlib's ``text``.
        """
        cls._check(estimator, cls._LDA)
        if len(getattr(x, "shape", (1,))) == 2 and x.shape[0] != 1:
            raise ValueError(f"x must be one document, got {x.shape[0]} rows.")
        best = estimator.explain(x, feature_names).drop_duplicates("word")
        assigned = {row.word: (row.topic, row.probability) for row in best.itertuples()}
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text must be a str, got {text!r}.")
        if text is None:
            pieces = []
            for word, count in zip(assigned, best["count"], strict=True):
                repeated = f"{word} ×{count:g}" if count != 1 else word
                pieces += [(repeated, word), (" ", None)]
        else:
            pieces = _pieces(text)
        found = [assigned.get(word, (-1, 0.0)) for _, word in pieces]
        labels = topic_labels(estimator, feature_names)
        counts = Counter(sorted(topic for topic, _ in found if topic >= 0))
        return cls(
            pieces=[piece for piece, _ in pieces],
            topics=[topic for topic, _ in found],
            probabilities=[probability for _, probability in found],
            labels={topic: labels[topic] for topic, _ in counts.most_common()},
        ).plot(ax, **text_kw)

    def plot(self, ax: Axes | None = None, **text_kw: Any) -> Self:
        """Draw the document.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure whose height fits the text.
        """
        n_lines = sum(map(len, self.pieces)) // 110 + 1
        ax = self._make_axes(ax, (self._WIDE, min(1.0 + 0.25 * n_lines, 20)))
        ax.set_axis_off()
        self._draw_legend(ax)
        text_kw = {"fontsize": 10, "family": "DejaVu Sans", "va": "baseline", **text_kw}
        self._write(ax, text_kw)
        return self

    def _draw_legend(self, ax):
        from matplotlib.patches import Patch

        if not self.labels:
            return
        pairs = zip(self.labels.values(), topic_colours(self.labels), strict=True)
        handles = [Patch(color=c, alpha=0.55, label=label) for label, c in pairs]
        if (left := len(handles) - MOST_TOPICS) > 0:
            handles[MOST_TOPICS:] = [Patch(color="none", label=f"and {left} more")]
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=4,
            fontsize=self._SMALL,
            frameon=False,
            borderaxespad=0.2,
        )

    def _write(self, ax, text_kw):
        figure = self.figure_.figure
        figure.draw_without_rendering()  # computes the width of the axes
        renderer = figure.canvas.get_renderer()
        frame = ax.get_window_extent(renderer)
        height = text_kw["fontsize"] * _per_point(ax) * SPACING
        tints = dict(zip(self.labels, topic_colours(self.labels), strict=True))
        x, y = 0.0, height
        self.texts_ = []
        for piece, topic, sure in zip(
            self.pieces, self.topics, self.probabilities, strict=True
        ):
            for number, part in enumerate(piece.split("\n")):
                if number:
                    x, y = 0.0, y + height
                if not part:
                    continue
                drawn = ax.text(0, 0, part, transform=None, **text_kw)
                width = _drawn_width(drawn, part, renderer)
                if x + width > frame.width and x > 0:
                    x, y = 0.0, y + height
                if x == 0 and part.isspace():
                    drawn.remove()
                    continue
                drawn.set_transform(ax.transAxes)
                drawn.set_position((x / frame.width, 1.0 - y / frame.height))
                if topic >= 0:
                    box = {"facecolor": tints[topic], "alpha": 0.15 + 0.5 * sure}
                    drawn.set_bbox({**box, "edgecolor": "none", "pad": 1.2})
                self.texts_.append(drawn)
                x += width


def _drawn_width(drawn, part, renderer):
    """Return the width of a text in pixels, including spaces at its ends."""
    width = drawn.get_window_extent(renderer).width
    drawn.set_text("n" + part + "n")
    around = drawn.get_window_extent(renderer).width
    drawn.set_text("nn")
    width = max(width, around - drawn.get_window_extent(renderer).width)
    drawn.set_text(part)
    return width


def _pieces(text):
    """Return each piece of a text with its lower-case word, or None between words."""
    # words alternate with what is between them
    pieces = enumerate(re.split(f"({WORD})", text))
    return [(one, one.lower() if place % 2 else None) for place, one in pieces if one]
