"""Plot of the words of topics as bars."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils._typing import ArrayLike, Axes, Float, Int
from ._axes import Display, ranked_words, select_topics, topic_colours


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
        relevance: Float = 1.0,
        n_columns: Int = 4,
        ax: Axes | None = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the words of a fitted topic model.

        Parameters
        ----------
        topics : array-like of int, default=None
            Indices of the topics to draw; None draws the 12 largest.
        n_words : int, default=8
            Number of words of each topic.
        relevance : float, default=1.0
            Weight that determines which words are chosen; see the estimator's method
            ``topics``.
        n_columns : int, default=4
            Number of panels in a row.
        **bar_kw : dict
            Passed to matplotlib's ``barh``.
        """
        cls._check(estimator, "topics", "a fitted LDA")
        words = ranked_words(estimator, feature_names, n_words, relevance)
        by_topic, prevalence = words
        numbers = select_topics(topics, prevalence, 12)
        display = cls(
            words=[by_topic[k]["word"].tolist() for k in numbers],
            weights=[by_topic[k]["weight"].to_numpy() for k in numbers],
            topics=numbers,
            prevalence=prevalence[numbers],
        )
        return display.plot(ax, n_columns=n_columns, **bar_kw)

    def plot(
        self, ax: Axes | None = None, *, n_columns: Int = 4, **bar_kw: Any
    ) -> Self:
        """Draw the words."""
        panel_size = 2.6, 0.6 + 0.19 * max(map(len, self.words))
        panels = self._make_panels(ax, len(self.words), n_columns, panel_size)
        colours = topic_colours(self.topics)
        for number, panel in enumerate(panels):
            self._draw(panel, number, {"color": colours[number], **bar_kw})
        return self

    def _draw(self, panel, number, bar_kw):
        words, weights = self.words[number], self.weights[number]
        places = np.arange(len(words))
        panel.barh(places, weights, **bar_kw)
        panel.set_yticks(places, words, fontsize=8)
        panel.invert_yaxis()
        title = f"topic {self.topics[number]}"
        if self.prevalence is not None:
            title += f", {self.prevalence[number]:.1%}"
        panel.set_title(title, fontsize=9, loc="left")
        panel.tick_params(axis="x", labelsize=7)
        panel.tick_params(axis="y", length=0)
        panel.locator_params(axis="x", nbins=3)
        self._open_frame(panel)
