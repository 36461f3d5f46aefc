"""Plot of a stream: scores, alarms and renewals, and the prevalence of components."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._typing import ArrayLike, Axes, Int
from ._axes import Display, topic_colours, topic_labels

#: Width of running means as a share of all points, and smallest number of points in a
#: running mean of the components' shares.
SHARE_OF_MEAN, LEAST_OF_MEAN = 0.02, 3
#: Components whose share of the rows never exceeds this share are not drawn.
LEAST_DRAWN = 1e-3


class Life(NamedTuple):
    """Interval of a stream in which one column of the parameters is one component.

    A renewal may replace a component by a new one, which gets its column.

    Attributes
    ----------
    column : int
    points : slice
        The recorded points of the stream in this interval.
    is_born, is_dead : bool
        Whether the interval begins with a renewal, and whether it ends with one.
    """

    column: int
    points: slice
    is_born: bool
    is_dead: bool


class StreamDisplay(Display):
    """Plot of a stream with a half-life: score, alarms, renewals, births and deaths.

    The upper panel shows the score of each mini-batch before it is learned, and the
    running mean of these scores.  A line marks each alarm, which is a change of the
    mean score.  A symbol marks each renewal that was kept or refused; a renewal fits
    the components again to recent rows and can replace some of them (see
    `sktemper.renewals.Renewals`).  The lower panel shows the shares of the largest
    components over the stream.  Up to half of the drawn components were born or have
    ended during the stream.  A circle marks the birth of a component by a renewal, and
    a cross the end of a component that a renewal replaced.

    Parameters
    ----------
    course : dict of ndarrays
        Recorded points of the stream, see ``prevalence_`` of the estimators.
    renewals, alarms : dict of ndarrays
        See ``renewals_`` and ``alarms_`` of the estimators.
    labels : dict of str
        Labels of the present components, by column.
    n_components : int, default=8
        Number of components to draw.
    score_name : str, default="Score (nats)"
        Label of the scores.

    Attributes
    ----------
    score_line_ : matplotlib Line2D
        The running mean of the scores.
    alarms_ : list of matplotlib Line2D
        Lines of the alarms.
    lines_ : list of matplotlib Line2D
        Lines of the components, the largest first.
    ax_ : matplotlib Axes
        The axes that contains the panels.
    axes_ : ndarray of matplotlib Axes of shape (2,)
        The panels.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    TopicPrevalenceDisplay : Plot of the shares of the present topics in documents.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> halves = [make_lda_documents(2000, 60, 4, random_state=s) for s in (0, 1)]
    >>> X = sparse.vstack(halves, "csr")
    >>> lda = AnnealedLDA(12, half_life=2000, random_state=0)
    >>> for start in range(0, 4000, 250):
    ...     lda = lda.partial_fit(X[start : start + 250])
    >>> plotting.StreamDisplay.from_estimator(lda)  # doctest: +SKIP
    """

    course: dict[str, Any]
    renewals: dict[str, Any]
    alarms: dict[str, Any]
    labels: dict[str, Any]
    n_components: Int = 8
    score_name: str = "Score (nats)"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        n_components: Int = 8,
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the stream that an estimator has learned.

        Parameters
        ----------
        estimator : object
            An estimator that has learned a stream with a ``half_life`` and renewals.
        feature_names : array-like of shape (n_features,), default=None
            Words for the labels of topics.  None uses the column names of the training
            data, or column indices.
        n_components : int, default=8
            Number of components to draw.  Components are ranked by their largest share
            at any time.  Up to half of the drawn components are the first ones that
            were born or have ended during the stream.
        ax : matplotlib Axes, default=None
            Axes that the panels replace; None makes a figure.
        **line_kw : dict
            Passed to matplotlib's ``plot`` for the lines of components.
        """
        cls._check(estimator, "partial_fit", "a topic model or mixture")
        check_is_fitted(estimator)
        course = getattr(estimator, "prevalence_", {"sample": ()})
        if not len(course["sample"]):
            raise ValueError(
                f"This {type(estimator).__name__} has learned no stream with renewals: "
                "set half_life and call partial_fit."
            )
        n_columns = course["shares"].shape[1]
        labels, name = [f"component {k}" for k in range(n_columns)], "sample"
        if hasattr(estimator, "top_words"):
            labels, name = topic_labels(estimator, feature_names), "token"
        display = cls(
            course=course,
            renewals=estimator.renewals_,
            alarms=estimator.alarms_,
            labels=dict(enumerate(labels)),
            n_components=n_components,
            score_name=f"Score before learning\n(nats per {name})",
        )
        return display.plot(ax, **line_kw)

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes that the panels replace; None makes a figure.
        """
        above, below = self._make_panels(ax, 2, 1, (10, 3))
        self._places = self._all_places()
        self._draw_scores(above)
        self._draw_components(below, line_kw)
        above.sharex(below)
        above.tick_params(axis="x", labelbottom=False, labelrotation=0)
        for panel in self.axes_:
            self._open_frame(panel)
        return self

    # -- places ------------------------------------------------------------------------
    def _all_places(self):
        """Return each point's place on the axis: its time, or the number of rows."""
        times = self.course["time"]
        if any(time is None for time in times):
            return self.course["sample"]
        return np.array(list(times), dtype="datetime64[us]")

    def _event_places(self, samples):
        """Return, for each number of learned rows, the place of the next point."""
        points = np.searchsorted(self.course["sample"], samples)
        return self._places[np.minimum(points, len(self._places) - 1)]

    def _lives(self):
        """Return the intervals of all columns, in the order of the columns."""
        samples = self.course["sample"]
        births = [[] for _ in range(self.course["shares"].shape[1])]
        names = "reason", "kept", "decided", "columns"
        rows = zip(*(self.renewals[name] for name in names), strict=True)
        for reason, kept, decided, columns in rows:
            if kept and reason != "start":
                for column in columns:
                    births[column].append(int(np.searchsorted(samples, decided)))
        lives = []
        for column, points in enumerate(births):
            ends = [0, *points, len(samples)]
            for number, start in enumerate(ends[:-1]):
                stop = min(ends[number + 1], len(samples))
                if start < stop:
                    is_dead = number < len(points)
                    lives.append(Life(column, slice(start, stop), number > 0, is_dead))
        return lives

    # -- panels ------------------------------------------------------------------------
    def _draw_scores(self, ax):
        scores = np.asarray(self.course["score"], dtype=float)
        known = np.isfinite(scores)
        places, scores = self._places[known], scores[known]
        ax.plot(places, scores, color="0.75", linewidth=1)
        (self.score_line_,) = ax.plot(
            places, _running_mean(scores, 1), color="C0", label="running mean"
        )
        self.alarms_ = [
            ax.axvline(place, color="C3", linestyle="--", linewidth=1, zorder=0)
            for place in self._event_places(self.alarms["sample"])
        ]
        if self.alarms_:
            self.alarms_[0].set_label("alarm")
        kept, decided = self.renewals["kept"], self.renewals["decided"]
        for outcome, marker, label in (True, "^", "kept"), (False, "x", "refused"):
            samples = decided[[value == outcome for value in kept]]
            if len(samples):
                ax.plot(
                    self._event_places(samples),
                    np.full(len(samples), 0.03),
                    marker,
                    color="C2" if outcome else "0.5",
                    transform=ax.get_xaxis_transform(),
                    label=f"renewal {label}",
                )
        ax.set_ylabel(self.score_name)
        if len(scores) > 20:  # leave out scores of the untrained model
            low, high = np.quantile(scores[len(scores) // 20 :], [0.0, 1.0])
            room = 0.12 * (high - low) or 0.1
            ax.set_ylim(low - room, high + room)
        self._legend_beside(ax)

    def _draw_components(self, ax, line_kw):
        shares, lives = self.course["shares"], self._lives()
        largest = [shares[life.points, life.column].max() for life in lives]
        order = np.argsort(-np.array(largest), kind="stable")
        ranked = [lives[i] for i in order if largest[i] > LEAST_DRAWN]
        changes = [life for life in ranked if life.is_born or life.is_dead]
        changes = changes[: -(-self.n_components // 2)]
        chosen = changes + [life for life in ranked if life not in changes]
        chosen = sorted(chosen[: self.n_components], key=ranked.index)
        colours = topic_colours([life.column for life in chosen])
        self.lines_ = []
        for number, (life, colour) in enumerate(zip(chosen, colours, strict=True)):
            places = self._places[life.points]
            means = _running_mean(shares[life.points, life.column], LEAST_OF_MEAN)
            label = self.labels[life.column]
            if life.is_dead:
                label = f"{life.column}: until {_format_place(places[-1])}"
            style = {"color": colour, "label": label}
            style |= {"linestyle": self._style(number)[0], **line_kw}
            self.lines_ += ax.plot(places, means, **style)
            for happens, place, marker in (
                (life.is_born, 0, "o"),
                (life.is_dead, -1, "x"),
            ):
                if happens:
                    ax.plot(places[place], means[place], marker, color=colour)
        self._finish_shares(ax, "Share of the data", self._places)
        if self._places.dtype.kind != "M":
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.set_xlabel("Samples")


def _running_mean(values, least):
    """Return means over windows of at least ``least`` points, fewer at the ends."""
    half = max(least, round(SHARE_OF_MEAN * len(values))) // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return (sums[high] - sums[low]) / np.maximum(high - low, 1)


def _format_place(place):
    """Return a place on the axis as text: a date, or a number of rows."""
    if isinstance(place, np.datetime64):
        return str(place.astype("datetime64[D]"))
    return f"{place:,}"
