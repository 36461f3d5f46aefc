"""Words of a topic that groups use more than others, with intervals."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils._arguments import check_interval, is_integer, positive_int, refuse
from .._utils._typing import Axes, Float, Int
from ._axes import Display, topic_colours


class WordContrastsDisplay(Display):
    """Plot of the words of a topic that each group uses more than the others.

    A word is a point with an interval: how many times as frequent it is in this group.

    Parameters
    ----------
    ratio, low, high : ndarray of shape (n_rows,)
        Ratios, and the ends of their intervals.
    words : list of n_rows str
        The words.
    groups : list of n_rows objects
        Their groups.

    Attributes
    ----------
    artists_ : list of matplotlib artists
        The container of points and intervals of each group.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the plot, and the figure.

    See Also
    --------
    sktemper.inspection.word_contrasts : Estimates the ratios.
    TopicEffectsDisplay : Shares of topics by covariates.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import word_contrasts
    >>> X = make_lda_documents(300, n_components=3, random_state=0)
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> contrasts = word_contrasts(lda, X, ["old", "new"] * 150)
    >>> plotting.WordContrastsDisplay.from_contrasts(contrasts, 0)  # doctest: +SKIP
    """

    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    words: Sequence
    groups: Sequence

    @classmethod
    def from_contrasts(
        cls,
        contrasts: Any,
        topic: Int,
        *,
        n_words: Int = 10,
        interval: Float = 0.95,
        ax: Axes | None = None,
        **artist_kw: Any,
    ) -> Self:
        """Draw the words of each group in a topic, largest ratio first.

        Parameters
        ----------
        contrasts : WordContrasts
            Result of `sktemper.inspection.word_contrasts`.
        topic : int
            Index of the topic.
        n_words : int, default=10
            Largest number of words of each group, of those that ``top_words`` finds.
        interval : float, default=0.95
            Probability of the intervals, between 0 and 1.
        **artist_kw : dict
            Passed to matplotlib's ``errorbar``.
        """
        cls._check(by="from_contrasts")
        n_topics = contrasts.tokens_.shape[1]
        if not is_integer(topic) or not 0 <= topic < n_topics:
            refuse("topic", f"an int from 0 to {n_topics - 1}", topic)
        check_interval(interval)
        found = contrasts._found(positive_int(n_words, "n_words"), interval)
        found = [row for row in found if row["topic"] == topic]
        numbers = {
            name: np.array([row[name] for row in found])
            for name in ("ratio", "low", "high")
        }
        display = cls(
            words=[row["word"] for row in found],
            groups=[contrasts.groups[row["group"]] for row in found],
            **numbers,
        )
        return display.plot(ax, **artist_kw)

    def plot(self, ax: Axes | None = None, **artist_kw: Any) -> Self:
        """Draw the words."""
        ax = self._make_rows(ax, self.words, 6)
        rows, self.artists_ = np.arange(len(self.words)), []
        groups = list(dict.fromkeys(self.groups))
        colours = topic_colours(range(len(groups)))
        for group, colour in zip(groups, colours, strict=True):
            in_group = np.array([name == group for name in self.groups])
            values = self.ratio[in_group], self.low[in_group], self.high[in_group]
            style = {"color": colour, "label": str(group), **artist_kw}
            self._draw_intervals(ax, rows[in_group], *values, **style)
        self._draw_reference(ax, 1.0)
        ax.set_xscale("log", base=2)
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, 0.5), max(high, 2.0))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("Times as frequent as in the other groups")
        if groups:
            self._legend_beside(ax)
        return self
