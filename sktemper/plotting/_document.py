"""Plot of a text with words coloured by topic."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from .._utils._typing import ArrayLike, Axes, DataLike
from .._utils._words import WORD
from ._axes import Display, topic_colours, topic_labels

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
        cls._check(estimator, "topics", "a fitted LDA")
        if len(getattr(x, "shape", (1,))) == 2 and x.shape[0] != 1:
            raise ValueError(f"x must be one document, got {x.shape[0]} rows.")
        table = estimator.explain(x, feature_names)
        best = table.drop_duplicates("word")
        columns = best["topic"].tolist(), best["probability"].tolist()
        pairs = zip(*columns, strict=True)
        assigned = dict(zip(best["word"], pairs, strict=True))
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
        display = cls(
            pieces=[piece for piece, _ in pieces],
            topics=[topic for topic, _ in found],
            probabilities=[probability for _, probability in found],
            labels={topic: labels[topic] for topic, _ in counts.most_common()},
        )
        return display.plot(ax, **text_kw)

    def plot(self, ax: Axes | None = None, **text_kw: Any) -> Self:
        """Draw the document.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure whose height fits the text.
        """
        n_letters = sum(map(len, self.pieces))
        ax = self._make_axes(ax, (9, min(1.0 + 0.25 * (n_letters // 110 + 1), 20)))
        ax.set_axis_off()
        self._draw_legend(ax)
        text_kw = {"fontsize": 10, "family": "DejaVu Sans", "va": "baseline", **text_kw}
        self._write(ax, text_kw)
        return self

    def _draw_legend(self, ax):
        from matplotlib.patches import Patch

        if not self.labels:
            return
        handles = [
            Patch(color=colour, alpha=0.55, label=self.labels[topic])
            for topic, colour in zip(
                self.labels, topic_colours(self.labels), strict=True
            )
        ][:MOST_TOPICS]
        if len(self.labels) > MOST_TOPICS:
            left = len(self.labels) - MOST_TOPICS
            handles.append(Patch(color="none", label=f"and {left} more"))
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=4,
            fontsize=8,
            frameon=False,
            borderaxespad=0.2,
        )

    def _write(self, ax, text_kw):
        figure = self.figure_.figure
        figure.draw_without_rendering()  # computes the width of the axes
        renderer = figure.canvas.get_renderer()
        frame = ax.get_window_extent(renderer)
        height = text_kw["fontsize"] * figure.dpi / 72.0 * SPACING
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
