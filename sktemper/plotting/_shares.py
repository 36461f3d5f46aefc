"""Plots of shares of topics and of their words: by group, over dates, by effects."""

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from .._engine._data import matrices_of
from .._utils._arguments import check_interval, is_integer, positive_int, refuse
from .._utils._dates import as_dates
from .._utils._frames import check_same_rows
from .._utils._inference import TINY
from .._utils._typing import ArrayLike, Axes, DataLike, Float, Int
from .._utils._validation import SUM_TOL, checked_floats
from .._utils._words import MOST_GROUPS, largest_groups
from ._axes import Display, select_topics, topic_colours, topic_labels

# -- shares of topics ------------------------------------------------------------------
#: Largest number of distinct dates or numbers that are not merged into intervals.
MOST_PLACES = 40
#: Largest number of topics that are drawn by default as lines.  There are as many bars
#: as groups.
MOST_LINES = 8


def topic_shares(
    doc_topic: ArrayLike,
    tokens: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    n_bins: Int = 20,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the topics' shares of the tokens: overall, over time, or by group.

    Parameters
    ----------
    doc_topic : array-like of shape (n_samples, n_topics)
        Topic weights of documents, as ``transform`` returns them; rows sum to 1.
    tokens : array-like of shape (n_samples,)
        Number of tokens of each document.
    groups : array-like of shape (n_samples,), default=None
        Date, number or name of the group of each document; None returns overall
        shares.  Documents without a date (NaT) or number (NaN) are left out.
    n_bins : int, default=20
        Number of intervals of equal length for dates or numbers, if there are more than
        40 different ones.

    Returns
    -------
    shares : ndarray of shape (n_topics,) or (n_topics, n_places)
        Shares of the tokens, overall or at each place; they sum to 1 over the topics.
    places : ndarray of shape (n_places,)
        Sorted dates or numbers, which are the middles of intervals if there are more
        than 40 different ones; or sorted names.  Not returned if ``groups`` is None.

    See Also
    --------
    TopicPrevalenceDisplay : Draws such shares with matplotlib.

    Examples
    --------
    >>> from sktemper.plotting import topic_shares
    >>> doc_topic = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    >>> topic_shares(doc_topic, [10, 20, 20])
    array([0.5, 0.5])
    >>> shares, places = topic_shares(doc_topic, [10, 20, 20], ["a", "b", "b"])
    >>> shares.tolist(), places.tolist()
    ([[0.5, 0.5], [0.5, 0.5]], ['a', 'b'])
    """
    check_same_rows(doc_topic=doc_topic, tokens=tokens, groups=groups)
    check_consistent_length(doc_topic, tokens)
    weights = check_array(
        doc_topic, dtype=np.float64, input_name="doc_topic", copy=True
    )
    if (np.abs(weights.sum(axis=1) - 1.0) > SUM_TOL).any():
        raise ValueError(
            "The rows of doc_topic must sum to 1: pass the result of transform(X), not "
            "of transform(X, normalize=False)."
        )
    tokens = checked_floats(tokens, "tokens", ensure_non_negative=True)
    weights *= tokens.reshape(-1, 1)
    if groups is None:
        return _normalize(weights.sum(axis=0))
    check_consistent_length(doc_topic, groups)
    groups = _as_values(groups)
    if groups.dtype.kind in "mMf":
        known = ~np.isnan(groups)
        groups, weights = groups[known], weights[known]
    places, numbers = _places_of(groups, n_bins)
    sums = np.zeros((len(places), weights.shape[1]))
    np.add.at(sums, numbers, weights)
    return _normalize(sums).T, places


def _normalize(sums):
    return sums / np.maximum(sums.sum(axis=-1, keepdims=True), TINY)


def _places_of(groups, n_bins):
    values, numbers = np.unique(groups, return_inverse=True)
    if groups.dtype.kind in "US" or len(values) <= MOST_PLACES:
        return values, numbers
    dates = groups.dtype.kind == "M"
    scale = groups.astype("datetime64[s]").astype(float) if dates else groups
    edges = np.linspace(scale.min(), scale.max(), n_bins + 1)
    numbers = np.clip(np.searchsorted(edges, scale, "right") - 1, 0, n_bins - 1)
    middle = (edges[:-1] + edges[1:]) / 2
    if dates:
        middle = middle.astype("int64").astype("datetime64[s]")
    filled, numbers = np.unique(numbers, return_inverse=True)
    return middle[filled], numbers


def _as_values(groups):
    """Return groups as dates, numbers or str; objects become dates or str."""
    groups = np.asarray(groups)
    if groups.dtype.kind == "O":
        first = next((group for group in groups if group is not None), None)
        if not hasattr(first, "year"):
            return groups.astype(str)
        return as_dates(groups).astype("datetime64[s]")
    return groups


# -- the plot --------------------------------------------------------------------------
#: Pattern that distinguishes dates from names of groups.
DAY_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")


class TopicPrevalenceDisplay(Display):
    """Plot of the prevalence of topics: overall, over time, or by group.

    Overall shares are drawn as bars, shares over dates or numbers as one line for each
    topic, and shares in named groups as a heat map.

    Parameters
    ----------
    shares : ndarray of shape (n_topics,) or (n_topics, n_places)
        Shares of the topics, overall or at each place.
    labels : list of str
        Labels of the topics.
    topics : ndarray of int of shape (n_topics,)
        Indices of the topics, for their colours.
    places : ndarray of shape (n_places,), default=None
        Dates, numbers, or names of groups; None for overall shares.
    n_groups : int, default=None
        Number of all groups, if ``places`` has only some of them.

    Attributes
    ----------
    artists_ : list of matplotlib artists
        The bars, lines, or mesh.
    colorbar_ : matplotlib Colorbar or None
        Colour bar of the heat map; None for bars and lines.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the plot, and the figure.

    See Also
    --------
    TopicMapDisplay : Map of topics by the similarity of their words.
    topic_shares : The shares as arrays.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import load_debian_descriptions
    >>> debian = load_debian_descriptions()
    >>> X = debian.data[:4000]
    >>> lda = AnnealedLDA(8, random_state=0).fit(X)
    >>> plotting.TopicPrevalenceDisplay.from_estimator(  # doctest: +SKIP
    ...     lda, X, feature_names=debian.feature_names
    ... )
    """

    shares: np.ndarray
    labels: Sequence
    topics: np.ndarray
    places: np.ndarray | None = None
    n_groups: Int | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: DataLike,
        groups: ArrayLike | None = None,
        *,
        feature_names: ArrayLike | None = None,
        topics: ArrayLike | None = None,
        n_bins: Int = 20,
        ax: Axes | None = None,
        **artist_kw: Any,
    ) -> Self:
        """Draw the topics' shares of the tokens of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        groups : array-like of shape (n_samples,), default=None
            Date, number or name of the group of each document; None draws overall
            shares.  Strings such as "2020-12-31" are dates if all of them have this
            form.  Of more than 30 named groups, the 30 with the most tokens are shown.
        feature_names : array-like of shape (n_features,), default=None
            Words for labels.  None uses the column names of the training data, or
            column indices.
        topics : array-like of int, default=None
            Indices of the topics to draw; None draws the 30 largest topics, or the 8
            largest over dates or numbers.
        n_bins : int, default=20
            Number of intervals of equal length for dates or numbers, if there are more
            than 40 different ones.
        **artist_kw : dict
            Passed to matplotlib's ``barh``, ``plot`` or ``pcolormesh``.
        """
        cls._check(estimator, cls._LDA)
        check_same_rows(X=X, groups=groups)
        weights = estimator.transform(X)
        tokens = _tokens(X)
        shares, places, most = topic_shares(weights, tokens), None, MOST_GROUPS
        overall, n_groups = shares, None
        if groups is not None:
            check_consistent_length(tokens, groups)
            groups = _with_dates(groups)
            shares, places = topic_shares(weights, tokens, groups, n_bins=n_bins)
            most = MOST_GROUPS if places.dtype.kind in "OUS" else MOST_LINES
            if places.dtype.kind in "OUS" and len(places) > MOST_GROUPS:
                n_groups, largest = len(places), largest_groups(groups, tokens)[2]
                largest = np.sort(largest)
                shares, places = shares[:, largest], places[largest]
        kept = select_topics(topics, overall, most)
        labels = topic_labels(estimator, feature_names)
        return cls(
            shares=shares[kept],
            labels=[labels[k] for k in kept],
            topics=kept,
            places=places,
            n_groups=n_groups,
        ).plot(ax, **artist_kw)

    def plot(self, ax: Axes | None = None, **artist_kw: Any) -> Self:
        """Draw the shares."""
        self.colorbar_ = None
        if self.places is None:
            self._draw_bars(ax, artist_kw)
        elif np.asarray(self.places).dtype.kind in "OUS":
            self._draw_mesh(ax, artist_kw)
        else:
            label = "Share of the tokens"
            self._draw_shares(ax, self.places, self.shares, label, artist_kw)
        return self

    def _draw_bars(self, ax, bar_kw):
        ax = self._make_rows(ax, self.labels, 7)
        bar_kw = {"color": topic_colours(self.topics), **bar_kw}
        self.artists_ = list(ax.barh(ax.get_yticks(), self.shares, **bar_kw))
        ax.xaxis.set_major_formatter(self._percent_formatter())
        ax.set_xlabel("Share of the tokens")

    def _draw_mesh(self, ax, mesh_kw):
        n_topics, n_places = np.shape(self.shares)
        size = 3.0 + max(0.45 * n_places, 2.0), 1.2 + 0.24 * n_topics
        ax = self._make_axes(ax, size)
        mesh_kw = {"cmap": "Blues", "vmin": 0.0, **mesh_kw}
        mesh = ax.pcolormesh(self.shares, **mesh_kw)
        self.artists_ = [mesh]
        ax.set_yticks(np.arange(n_topics) + 0.5, self.labels, fontsize=self._SMALL)
        names = [str(place) for place in self.places]
        ax.set_xticks(np.arange(n_places) + 0.5, names, rotation=45, ha="right")
        ax.tick_params(length=0)
        if self.n_groups is not None:
            ax.set_xlabel(f"The largest {n_places} of {self.n_groups} groups")
        ax.invert_yaxis()
        label = "Share of the group's tokens"
        self._add_colorbar(mesh, ax, label=label, format=self._percent_formatter())


def _with_dates(groups):
    """Return groups, converted to dates if all are dates; missing dates are NaT."""
    values = np.asarray(groups)
    if values.dtype.kind not in "OU":
        return groups
    texts = [one for one in values if not (one is None or isinstance(one, float))]
    if not texts or not all(
        isinstance(v, str) and DAY_OR_TIME.fullmatch(v) for v in texts
    ):
        return groups
    try:
        found = [one if isinstance(one, str) else "NaT" for one in values]
        return np.array(found, dtype="datetime64[s]")
    except ValueError:  # not a date of the calendar, such as June 31
        return groups


def _tokens(X):
    """Return the number of tokens of each document; ``X`` may be in parts."""
    parts = (X if sparse.issparse(X) else np.asarray(X) for X in matrices_of(X))
    return np.concatenate([np.ravel(part.sum(axis=1)) for part in parts])


# -- effects of covariates -------------------------------------------------------------


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
        table = regression.table(interval)
        rows = table[table["covariate"] == covariate]
        effects, *ends = (rows[name].to_numpy() for name in ("coef", "low", "high"))
        kept = select_topics(topics, np.abs(effects), MOST_GROUPS)
        if topics is None:
            kept = kept[np.argsort(-effects[kept], kind="stable")]
        fields = _of_topics(kept, labels, effects, *ends)
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
    names = list(map(str, kept))
    if labels is not None:
        labels = list(labels)
        if len(labels) != len(values):
            raise ValueError(
                f"labels has {len(labels)} items for {len(values)} topics."
            )
        texts = (labels[topic] for topic in kept)
        texts = (text if isinstance(text, str) else " ".join(text) for text in texts)
        names = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    fields = {"values": values[kept], "low": low[kept], "high": high[kept]}
    return {"labels": names, "topics": kept, **fields}


# -- words of groups -------------------------------------------------------------------
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
        return cls(
            words=[row["word"] for row in found],
            groups=[contrasts.groups[row["group"]] for row in found],
            ratio=np.array([row["ratio"] for row in found]),
            low=np.array([row["low"] for row in found]),
            high=np.array([row["high"] for row in found]),
        ).plot(ax, **artist_kw)

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
