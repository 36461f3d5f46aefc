"""Effects of covariates on topics, and shares of topics, with intervals."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils._arguments import refuse
from .._utils._frames import check_same_rows
from .._utils._typing import ArrayLike, Axes, DataLike, Float
from ._axes import Display, select_topics, topic_colours

#: Largest numbers of topics that are drawn by default, as bars and as lines.
MOST_BARS, MOST_LINES = 30, 8


class TopicEffectsDisplay(Display):
    """Plot of effects of a covariate on topics, or of their shares, with intervals.

    Effects are points with intervals, one row for each topic.  Shares are drawn over
    the values of a covariate, one line with a band for each topic.

    Parameters
    ----------
    values : ndarray of shape (n_topics,) or (n_topics, n_places)
        Effects of a covariate, or shares at each place.
    low, high : ndarray of the shape of ``values``
        Ends of the intervals.
    labels : list of str
        Labels of the topics.
    topics : ndarray of int of shape (n_topics,)
        Indices of the topics, for their colours.
    places : array-like of shape (n_places,), default=None
        Dates or numbers at which ``values`` are shares; None for effects.
    name : str, default=None
        Label of the axis of effects, or of the places.

    Attributes
    ----------
    artists_ : list of matplotlib artists
        The containers of points and intervals, or the lines.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the plot, and the figure.

    See Also
    --------
    sktemper.inspection.topic_regression : Estimates the effects.
    TopicPrevalenceDisplay : Shares of the tokens, without intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.inspection import topic_regression
    >>> X = make_lda_documents(300, n_components=3, random_state=0)
    >>> lda = AnnealedLDA(3, random_state=0).fit(X)
    >>> year = np.arange(300)[:, None] // 30 + 2010
    >>> regression = topic_regression(lda, X, year, random_state=0)
    >>> plotting.TopicEffectsDisplay.from_regression(regression, "x0")  # doctest: +SKIP
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    labels: Sequence
    topics: np.ndarray
    places: ArrayLike | None = None
    name: str | None = None

    @classmethod
    def from_regression(
        cls,
        regression: Any,
        covariate: str,
        *,
        labels: ArrayLike | None = None,
        topics: ArrayLike | None = None,
        interval: Float = 0.95,
        ax: Axes | None = None,
        **artist_kw: Any,
    ) -> Self:
        """Draw the effects of a covariate on topics, largest first.

        Parameters
        ----------
        regression : TopicRegression
            Result of `sktemper.inspection.topic_regression`.
        covariate : str
            One of its ``names``.
        labels : array-like of shape (n_topics,), default=None
            Labels of all topics, such as their words; None takes their indices.
        topics : array-like of int, default=None
            Indices of the topics to draw; None draws the 30 largest effects.
        interval : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        **artist_kw : dict
            Passed to matplotlib's ``errorbar``.
        """
        cls._check(by="from_regression")
        if covariate not in regression.names:
            refuse("covariate", f"one of {regression.names}", covariate)
        table, column = regression.table(interval), regression.names.index(covariate)
        found = {
            name: table[name].to_numpy().reshape(regression.coef_.shape)[:, column]
            for name in ("coef", "low", "high")
        }
        kept = select_topics(topics, np.abs(found["coef"]), MOST_BARS)
        if topics is None:
            kept = kept[np.argsort(-found["coef"][kept], kind="stable")]
        fields = _of_topics(kept, labels, *found.values())
        return cls(name=covariate, **fields).plot(ax, **artist_kw)

    @classmethod
    def from_shares(
        cls,
        regression: Any,
        covariates: DataLike,
        places: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        topics: ArrayLike | None = None,
        interval: Float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **artist_kw: Any,
    ) -> Self:
        """Draw the mean shares of topics over a date or a number.

        Parameters
        ----------
        covariates : DataFrame or array-like of shape (n_places, n_covariates)
            Values of the covariates at each place, such as the columns of a spline.
        places : array-like of shape (n_places,)
            The dates or numbers.
        topics : array-like of int, default=None
            Indices of the topics to draw; None draws the 8 whose shares change most.
        name : str, default=None
            Label of the axis of the places.
        **artist_kw : dict
            Passed to matplotlib's ``plot``.
        """
        cls._check(by="from_shares")
        check_same_rows(covariates=covariates, places=places)
        table, places = regression.shares(covariates, interval), np.asarray(places)
        values, low, high = (
            table[column].to_numpy().reshape(-1, len(regression.coef_)).T
            for column in ("share", "low", "high")
        )
        if places.shape != values.shape[1:]:
            raise ValueError(
                f"places has the shape {places.shape}, but covariates has "
                f"{values.shape[1]} rows."
            )
        kept = select_topics(topics, np.ptp(values, axis=1), MOST_LINES)
        fields = _of_topics(kept, labels, values, low, high)
        return cls(places=places, name=name, **fields).plot(ax, **artist_kw)

    def plot(self, ax: Axes | None = None, **artist_kw: Any) -> Self:
        """Draw the effects or shares.

        Parameters
        ----------
        **artist_kw : dict
            Passed to matplotlib's ``errorbar`` or ``plot``.
        """
        if self.places is None:
            self._draw_effects(ax, artist_kw)
            return self
        order = np.argsort(self.places, kind="stable")
        values, *bands = (
            np.asarray(numbers)[:, order]
            for numbers in (self.values, self.low, self.high)
        )
        places, label = np.asarray(self.places)[order], "Mean share of a document"
        self._draw_shares(ax, places, values, label, artist_kw, bands)
        self.ax_.set_xlabel(self.name or "")
        return self

    def _draw_effects(self, ax, error_kw):
        ax = self._make_rows(ax, self.labels, 7)
        ends = np.stack([self.values, self.low, self.high], axis=1)[..., None]
        self.artists_ = []
        for row, colour in enumerate(topic_colours(self.topics)):
            style = {"color": colour, **error_kw}
            self._draw_intervals(ax, row, *ends[row], **style)
        self._draw_reference(ax, 0.0)
        ax.xaxis.set_major_formatter(self._percent_formatter())
        ax.set_xlabel(f"Change of the share: {self.name}")


def _of_topics(kept, labels, values, low, high):
    """Return the fields of a display that belong to the topics that are kept."""
    labels = _labels_of_topics(labels, len(values))
    fields = {"values": values[kept], "low": low[kept], "high": high[kept]}
    return {"labels": [labels[topic] for topic in kept], "topics": kept, **fields}


def _labels_of_topics(labels, n_topics):
    """Return a label of each topic; a list of words is joined."""
    if labels is None:
        return [str(topic) for topic in range(n_topics)]
    labels = [text if isinstance(text, str) else " ".join(text) for text in labels]
    if len(labels) != n_topics:
        raise ValueError(f"labels has {len(labels)} items for {n_topics} topics.")
    return [f"{topic}: {text}" for topic, text in enumerate(labels)]
