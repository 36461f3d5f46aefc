"""Plots of fits: their history, searches, critical temperatures, and streams."""

import itertools
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from .._estimator._problems import critical_temperatures
from .._utils._arguments import refuse
from .._utils._typing import ArrayLike, Axes, DataLike, Int
from ._axes import Display, topic_colours, topic_labels

# -- history of a fit ------------------------------------------------------------------
#: Column of ``history_`` and label of the axis for each name of a quantity.
X_COLUMNS = {
    "passes": ("passes", "Passes over the data"),
    "seconds": ("seconds", "Training time (seconds)"),
    "steps": ("step", "Steps"),
}
Y_LABELS = {
    "heldout_score": "Held-out log-likelihood per unit (nats)",
    "batch_bound": "Evidence lower bound of the batch (nats)",
    "temperature": "Temperature",
}


def read_history(estimator, x, y, names):
    """Return columns x and y of the history, without rows in which one is missing."""
    check_name("x", x, X_COLUMNS)
    check_name("y", y, names)
    history = estimator.history_
    horizontal, vertical = history[X_COLUMNS[x][0]], history[y]
    known = np.isfinite(horizontal) & np.isfinite(vertical)
    if not known.any():
        advice = " Fit with evaluate_every=1 to record it."
        raise ValueError(
            f"The history of this {type(estimator).__name__} has no finite {y!r} with "
            f"a known value of {x!r}.{advice if y == 'heldout_score' else ''}"
        )
    return horizontal[known], vertical[known]


def check_name(parameter, name, names):
    if not isinstance(name, str) or name not in names:
        refuse(parameter, f"one of {list(names)}", name)


def draw_line(display, y, y_name, ax, name, line_kw):
    check_name("x_name", display.x_name, X_COLUMNS)
    check_name("y_name", y_name, Y_LABELS)
    ax = display._make_axes(ax)
    name = display.name if name is None else name
    if name is not None:
        line_kw = {"label": name, **line_kw}
    (display.line_,) = ax.plot(display.x, y, **line_kw)
    ax.set(xlabel=X_COLUMNS[display.x_name][1], ylabel=Y_LABELS[y_name])
    if "label" in line_kw:
        # a fixed location, because matplotlib's search for the best can take seconds
        ax.legend(loc="lower right" if y[-1] > y[0] else "upper right")
    return display


# -- scores and bounds -----------------------------------------------------------------
class TrainingCurveDisplay(Display):
    """Plot the held-out score or the lower bound during a fit.

    Create a display with `from_estimator`.  To compare several estimators on one axis,
    pass the ``ax_`` of one display as the ``ax`` of the next.

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
        Progress of the fit at each point, and the score or bound there.
    x_name : {"passes", "seconds", "steps"}, default="passes"
        The unit of ``x``.
    y_name : {"heldout_score", "batch_bound"}, default="heldout_score"
        The quantity in ``y``.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the curve, and the figure.

    See Also
    --------
    TemperatureDisplay : The temperature during a fit.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, TemperedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(200, 60, 5, random_state=0)
    >>> ax = None
    >>> for LDA in AnnealedLDA, TemperedLDA:  # doctest: +SKIP
    ...     lda = LDA(5, evaluate_every=1, random_state=0).fit(X)
    ...     ax = plotting.TrainingCurveDisplay.from_estimator(lda, ax=ax).ax_
    """

    x: np.ndarray
    y: np.ndarray
    x_name: Literal["passes", "seconds", "steps"] = "passes"
    y_name: Literal["heldout_score", "batch_bound"] = "heldout_score"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        x: Literal["passes", "seconds", "steps"] = "passes",
        y: Literal["heldout_score", "batch_bound"] = "heldout_score",
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the training curve of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        x : {"passes", "seconds", "steps"}, default="passes"
            Unit of the horizontal axis.  Seconds do not include the time of scoring.
        y : {"heldout_score", "batch_bound"}, default="heldout_score"
            The score of the validation data, computed every ``evaluate_every`` passes,
            or the bound of the batch of each step at its temperature; bounds at
            different temperatures cannot be compared.
        **line_kw : dict
            Passed to matplotlib's ``plot``.
        """
        cls._check(estimator, fitted="history_")
        points = read_history(estimator, x, y, ("heldout_score", "batch_bound"))
        name = type(estimator).__name__ if name is None else name
        display = cls(x=points[0], y=points[1], x_name=x, y_name=y, name=name)
        return display.plot(ax, **line_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any
    ) -> Self:
        """Draw the curve."""
        return draw_line(self, self.y, self.y_name, ax, name, line_kw)


# -- temperatures ----------------------------------------------------------------------
class TemperatureDisplay(Display):
    """Plot of the temperature during a fit.

    The temperature is a line.  If the tempering infers a distribution over a ladder of
    temperatures, a heat map behind the line can show the distribution.

    Parameters
    ----------
    x, temperature : ndarray of shape (n_points,)
        Progress of the fit at each point, and the temperature there.
    ladder : ndarray of shape (n_temperatures,), default=None
        The temperatures over which ``probabilities`` is a distribution, increasing.
    probabilities : ndarray of shape (n_points, n_temperatures), default=None
        The distribution at each point, NaN at points without a distribution; None draws
        only the line.
    x_name : {"passes", "seconds", "steps"}, default="steps"
        The unit of ``x``.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    mesh_ : matplotlib QuadMesh or None
        The heat map.
    colorbar_ : matplotlib Colorbar or None
        Colour bar of the heat map.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the curve, and the figure.

    See Also
    --------
    TrainingCurveDisplay : Held-out score or lower bound during a fit.

    Examples
    --------
    >>> from sktemper import TemperedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(200, 60, 5, random_state=0)
    >>> lda = TemperedLDA(5, tempering="local", random_state=0)
    >>> lda = lda.fit(X)  # doctest: +SKIP
    >>> draw = plotting.TemperatureDisplay.from_estimator
    >>> draw(lda, kind="heatmap")  # doctest: +SKIP
    <sktemper.plotting._fits.TemperatureDisplay object at ...>
    """

    x: np.ndarray
    temperature: np.ndarray
    ladder: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    x_name: Literal["passes", "seconds", "steps"] = "steps"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Literal["line", "heatmap"] = "line",
        x: Literal["passes", "seconds", "steps"] = "steps",
        ax: Axes | None = None,
        name: str | None = None,
        mesh_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
        **line_kw: Any,
    ) -> Self:
        """Draw the temperatures during the fit of an estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        kind : {"line", "heatmap"}, default="line"
            "line" draws the temperature of each step.  "heatmap" also draws the
            distribution over the ladder, of which the temperature is 1 / E[1/T] or the
            cap; with `LocalTempering` it is the mean over samples.
        x : {"passes", "seconds", "steps"}, default="steps"
            Unit of the horizontal axis.
        mesh_kw : dict, default=None
            Passed to matplotlib's ``pcolormesh``.
        colorbar : bool, default=True
            Whether a heat map has a colour bar.
        **line_kw : dict
            Passed to matplotlib's ``plot``.
        """
        cls._check(estimator, fitted="history_")
        check_name("kind", kind, ("line", "heatmap"))
        points = read_history(estimator, x, "temperature", ("temperature",))
        distribution = _read_distribution(estimator, x) if kind == "heatmap" else {}
        name = type(estimator).__name__ if name is None else name
        return cls(
            x=points[0], temperature=points[1], x_name=x, name=name, **distribution
        ).plot(ax, mesh_kw=mesh_kw, colorbar=colorbar, **line_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        mesh_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
        **line_kw: Any,
    ) -> Self:
        """Draw the temperatures."""
        self.mesh_ = self.colorbar_ = None
        if self.probabilities is None:
            return draw_line(self, self.temperature, "temperature", ax, name, line_kw)
        self._check_distribution()
        if not {"c", "color"} & line_kw.keys():
            line_kw["color"] = "C1"  # C0 is blue, as is the heat map
        draw_line(self, self.temperature, "temperature", ax, name, line_kw)
        self._draw_distribution(mesh_kw or {}, colorbar)
        return self

    def _check_distribution(self):
        shape, points = np.shape(self.probabilities), np.shape(self.x)
        ladder = np.shape(self.ladder)
        are_vectors = len(points) == len(ladder) == 1
        if not are_vectors or shape != points + ladder or 0 in shape:
            raise ValueError(
                "probabilities must be of shape (n_points, n_temperatures), x of "
                "shape (n_points,) and ladder of shape (n_temperatures,), got shapes "
                f"{shape}, {points} and {ladder}."
            )

    def _draw_distribution(self, mesh_kw, colorbar):
        from matplotlib.ticker import LogFormatter

        defaults = {"cmap": "Blues", "zorder": 0}
        if "norm" not in mesh_kw:
            defaults["vmin"] = 0.0
        self.mesh_ = self.ax_.pcolormesh(
            _edges(np.asarray(self.x)),
            np.exp(_edges(np.log(self.ladder))),
            np.transpose(self.probabilities),
            **{**defaults, **mesh_kw},
        )
        self.ax_.set_yscale("log")
        # writes "2" instead of "2 x 10^0", also for ladders longer than a decade
        self.ax_.yaxis.set_major_formatter(LogFormatter())
        self.ax_.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        if colorbar:
            self._add_colorbar(self.mesh_, self.ax_, label="Probability")


def _read_distribution(estimator, x):
    """Return the ladder and the distributions over it; raise if there is no ladder."""
    ladder = estimator.tempering_.ladder()
    if ladder is None:
        raise ValueError(
            f"The tempering of this {type(estimator).__name__} has no ladder of "
            "temperatures: kind='heatmap' is for GlobalTempering and LocalTempering."
        )
    history = estimator.history_
    if (np.diff(history[X_COLUMNS[x][0]]) < 0).any():
        raise ValueError(
            f"The {x} of this {type(estimator).__name__} decrease somewhere, which "
            "happens if the total size of a stream is not known before; use x='steps'."
        )
    return {"ladder": ladder, "probabilities": history["temperature_probabilities"]}


def _edges(centres):
    """Return the edges of cells around points, halfway between neighbouring points."""
    if len(centres) == 1:
        return centres[0] + np.array([-0.5, 0.5])
    inner = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - inner[0], 2 * centres[-1] - inner[-1]
    return np.concatenate([[first], inner, [last]])


# -- number of components --------------------------------------------------------------
class NumberOfComponentsDisplay(Display):
    """Plot of held-out scores against the number of components, with two suggestions.

    A star marks the number of components with the best score.  A square marks the
    smallest number of components whose score is at most one standard error below the
    best score [1]_, because smaller differences may be noise.  A dotted line shows the
    best score minus one standard error.

    Parameters
    ----------
    n_components : ndarray of shape (n_points,)
        Numbers of components, increasing.
    scores : ndarray of shape (n_points,)
        Mean scores over the splits; higher is better.
    errors : ndarray of shape (n_points,)
        Standard errors of the mean scores.
    score_name : str, default="Held-out score"
        Label of the vertical axis.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    best_, one_standard_error_ : int
        The marked numbers of components: the one with the best score, and the smallest
        one within one standard error.
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the curve, and the figure.

    See Also
    --------
    TrainingCurveDisplay : Held-out score or lower bound during a fit.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). "Classification and
           regression trees". Section 3.4.3.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, 60, 5, random_state=0)
    >>> grid = {"n_components": [2, 3, 5, 8, 12]}
    >>> search = GridSearchCV(AnnealedLDA(random_state=0), grid)
    >>> search = search.fit(X)  # doctest: +SKIP
    >>> plotting.NumberOfComponentsDisplay.from_estimator(search)  # doctest: +SKIP
    """

    n_components: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    score_name: str = "Held-out score"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        param: str = "n_components",
        metric: str | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the scores of a search for the number of components.

        Parameters
        ----------
        estimator : object
            A fitted search of scikit-learn, such as ``GridSearchCV``.  If the search
            varied other parameters too, the best score for each number of components
            is drawn.
        param : str, default="n_components"
            The parameter that the search varied.  For a step of a pipeline, the full
            name, such as "lda__n_components", is needed only if the search varied this
            parameter in several steps.
        metric : str, default=None
            Score to draw from a search with several scores; None is the score that
            ``refit`` names.
        name : str, default=None
            Name in the legend; None leaves it out.
        **line_kw : dict
            Passed to matplotlib's ``errorbar``.
        """
        cls._check(estimator, fitted="cv_results_")
        results = estimator.cv_results_
        param = _parameter_name(results, param)
        metric = _metric_name(results, metric, estimator.refit)
        numbers = np.asarray(results[f"param_{param}"], dtype=float)
        scores = np.asarray(results[f"mean_test_{metric}"])
        errors = results[f"std_test_{metric}"] / np.sqrt(
            max(estimator.n_splits_ - 1, 1)
        )
        places = np.flatnonzero(np.isfinite(scores) & np.isfinite(numbers))
        if not len(places):
            raise ValueError(
                f"The search has no finite score {metric!r}. Set error_score='raise' "
                "in the search to see why its fits failed."
            )
        places = places[np.lexsort((-scores[places], numbers[places]))]
        places = places[np.unique(numbers[places], return_index=True)[1]]
        return cls(
            n_components=numbers[places].astype(int),
            scores=scores[places],
            errors=np.asarray(errors)[places],
            score_name="Held-out score" if metric == "score" else metric,
            name=name,
        ).plot(ax, **line_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any
    ) -> Self:
        """Draw the scores."""
        numbers, scores = np.asarray(self.n_components), np.asarray(self.scores)
        best = int(np.argmax(scores))
        least = scores[best] - np.asarray(self.errors)[best]
        enough = int(np.flatnonzero(scores >= least)[0])
        self.best_, self.one_standard_error_ = int(numbers[best]), int(numbers[enough])
        ax = self._make_axes(ax)
        name = self.name if name is None else name
        style = {"marker": "o", "capsize": 3, "label": name, **line_kw}
        container = ax.errorbar(numbers, scores, yerr=self.errors, **style)
        self.line_ = container.lines[0]
        colour = self.line_.get_color()
        ax.axhline(least, color=colour, linestyle=":", linewidth=1)
        whose = "" if name is None else f"{name}, "
        style = {"color": colour, "linestyle": "none", "markersize": 13}
        star, square = {"marker": "*"}, {"marker": "s", "fillstyle": "none"}
        few = "fewest above the dotted line"
        for place, text, symbol in (best, "best", star), (enough, few, square):
            label = f"{whose}{text}: {int(numbers[place])}"
            ax.plot(numbers[place], scores[place], label=label, **symbol, **style)
        ax.set(xlabel="Number of components", ylabel=self.score_name)
        handles, _ = ax.get_legend_handles_labels()
        # sorted labels keep the elements of one curve together
        handles.sort(key=lambda one: one.get_label())
        ax.legend(handles=handles, fontsize=self._SMALL)
        return self


def _parameter_name(results, param):
    names = _names(results, "param_")
    found = [name for name in names if name.endswith(f"__{param}")]
    if param not in names and len(found) != 1:
        start = f"param={param!r} must name one parameter that the search varied:"
        _refuse(start, names)
    return param if param in names else found[0]


def _metric_name(results, metric, refit):
    names = _names(results, "mean_test_")
    if metric is None:
        metric = refit if isinstance(refit, str) else "score"
        if metric not in names:
            _refuse("The search has several scores; set metric to one of", names)
    if metric not in names:
        _refuse(f"The search has no score metric={metric!r}, only", names)
    return metric


def _names(results, prefix):
    return [key.removeprefix(prefix) for key in results if key.startswith(prefix)]


def _refuse(message, names):
    raise ValueError(f"{message} {' or '.join(map(repr, names))}.")


# -- critical temperatures -------------------------------------------------------------
#: Number of points of the curve of a schedule.
N_TIMES = 200
#: Last time of the curve: a multiple of the time at which the schedule becomes
#: constant, or the second value for a schedule that never becomes constant.
BEYOND, WITHOUT_END = 1.2, 150.0


class CriticalTemperaturesDisplay(Display):
    """Plot of critical temperatures of data, and of the schedule that a fit would use.

    The left panel shows the temperatures below which the components become distinct in
    one, two, ... directions.  The right panel shows the schedule, and a band from the
    lowest to the highest critical temperature.  Annealing should begin slightly
    above the band.  Create a display with `from_estimator`.

    Parameters
    ----------
    critical_temperatures : ndarray of shape (n_components - 1,)
        The critical temperatures, in decreasing order.
    time, temperature : ndarray of shape (n_points,), default=None
        Points of the schedule; None leaves the right panel out.
    unit : {"steps", "passes"}, default="steps"
        The unit of ``time``.

    Attributes
    ----------
    points_ : matplotlib Line2D
        The critical temperatures.
    line_ : matplotlib Line2D or None
        The schedule.
    band_ : matplotlib Patch or None
        The range of the critical temperatures.
    axes_ : ndarray of matplotlib Axes
        The panels.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes that the panels are in, and the figure.

    See Also
    --------
    sktemper.critical_temperatures : The numbers, with their definition.
    TemperatureDisplay : The temperature in the course of a fit.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, 60, 5, random_state=0)
    >>> draw = plotting.CriticalTemperaturesDisplay.from_estimator
    >>> draw(AnnealedLDA(5), X)  # doctest: +SKIP
    <sktemper.plotting._fits.CriticalTemperaturesDisplay object at ...>
    """

    critical_temperatures: np.ndarray
    time: np.ndarray | None = None
    temperature: np.ndarray | None = None
    unit: Literal["steps", "passes"] = "steps"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: DataLike,
        sample_weight: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the critical temperatures of data under the model of an estimator.

        Parameters
        ----------
        estimator : estimator
            An estimator that `sktemper.critical_temperatures` accepts; it need not be
            fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data that the estimator would be fitted to.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample; None weights all equally.
        **line_kw : dict
            Passed to matplotlib's ``plot`` for the schedule.
        """
        cls._check()
        found, schedule = critical_temperatures(
            estimator, X, sample_weight, return_schedule=True
        )
        if schedule is None:
            return cls(critical_temperatures=found).plot(ax, **line_kw)
        end = schedule.settles_at() * BEYOND
        time = np.linspace(0.0, end if 0.0 < end < np.inf else WITHOUT_END, N_TIMES)
        return cls(
            critical_temperatures=found,
            time=time,
            temperature=np.array([schedule(t) for t in time]),
            unit=schedule.unit,
        ).plot(ax, **line_kw)

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> Self:
        """Draw the critical temperatures and the schedule."""
        if (self.time is None) != (self.temperature is None):
            raise ValueError("time and temperature must be given together.")
        n_panels = 1 if self.time is None else 2
        first, *others = self._make_panels(ax, n_panels, n_panels, (3.6, 3.2))
        spectrum = np.asarray(self.critical_temperatures, dtype=float)
        numbers = np.arange(2, len(spectrum) + 2)
        (self.points_,) = first.plot(numbers, spectrum, ".", color="C0")
        first.set(xlabel="Component", ylabel="Critical temperature")
        first.xaxis.get_major_locator().set_params(integer=True)
        self.line_ = self.band_ = None
        for panel in others:
            panel.sharey(first)
            self._draw_schedule(panel, spectrum, {"color": "C1", **line_kw})
        self._open_frame(*self.axes_)
        return self

    def _draw_schedule(self, panel, spectrum, line_kw):
        style = {"label": "critical temperatures", "alpha": 0.25, "linewidth": 0}
        self.band_ = panel.axhspan(spectrum.min(), spectrum.max(), color="C0", **style)
        line_kw = {"label": "schedule", **line_kw}
        (self.line_,) = panel.plot(self.time, self.temperature, **line_kw)
        name = "Steps" if self.unit == "steps" else "Passes over the data"
        panel.set(xlabel=name, ylabel="Temperature")
        panel.legend(loc="upper right", fontsize=self._SMALL)


# -- streams ---------------------------------------------------------------------------
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
        Recorded points of the stream, see ``stream_history_`` of the estimators.
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
        cls._check(estimator, ("partial_fit", "a topic model or mixture"))
        course = getattr(estimator, "stream_history_", {"sample": ()})
        if not len(course["sample"]):
            raise ValueError(
                f"This {type(estimator).__name__} has learned no stream with renewals: "
                "set half_life and call partial_fit."
            )
        n_columns = course["shares"].shape[1]
        labels, name = [f"component {k}" for k in range(n_columns)], "sample"
        if hasattr(estimator, "top_words"):
            labels, name = topic_labels(estimator, feature_names), "token"
        return cls(
            course=course,
            renewals=estimator.renewals_,
            alarms=estimator.alarms_,
            labels=dict(enumerate(labels)),
            n_components=n_components,
            score_name=f"Score before learning\n(nats per {name})",
        ).plot(ax, **line_kw)

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
        self._open_frame(*self.axes_)
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
            ends = itertools.pairwise([0, *points, len(samples)])
            for number, (start, stop) in enumerate(ends):
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
        kinds = (True, "^", "C2", "kept"), (False, "x", "0.5", "refused")
        for outcome, marker, colour, label in kinds:
            places = self._event_places(decided[[value == outcome for value in kept]])
            if len(places):
                style = {"color": colour, "label": f"renewal {label}"}
                style["transform"] = ax.get_xaxis_transform()
                ax.plot(places, np.full(len(places), 0.03), marker, **style)
        ax.set_ylabel(self.score_name)
        if len(scores) > 20:  # leave out scores of the untrained model
            low, high = np.quantile(scores[len(scores) // 20 :], [0.0, 1.0])
            room = 0.12 * (high - low) or 0.1
            ax.set_ylim(low - room, high + room)
        self._legend_beside(ax)

    def _draw_components(self, ax, line_kw):
        shares = self.course["shares"]

        def largest(life):
            return shares[life.points, life.column].max()

        ranked = sorted(self._lives(), key=largest, reverse=True)
        ranked = [life for life in ranked if largest(life) > LEAST_DRAWN]
        changes = [life for life in ranked if life.is_born or life.is_dead]
        first = changes[: (self.n_components + 1) // 2]  # half of what is drawn
        others = [life for life in ranked if life not in first]
        chosen = sorted((first + others)[: self.n_components], key=ranked.index)
        colours = topic_colours([life.column for life in chosen])
        self.lines_, has_dates = [], self._places.dtype.kind == "M"
        for number, (life, colour) in enumerate(zip(chosen, colours, strict=True)):
            places = self._places[life.points]
            means = _running_mean(shares[life.points, life.column], LEAST_OF_MEAN)
            label = self.labels[life.column]
            if life.is_dead:
                last = places[-1]
                until = last.astype("datetime64[D]") if has_dates else f"{last:,}"
                label = f"{life.column}: until {until}"
            style = {"color": colour, "label": label}
            style |= {"linestyle": self._style(number)[0], **line_kw}
            self.lines_ += ax.plot(places, means, **style)
            if life.is_born:
                ax.plot(places[0], means[0], "o", color=colour)
            if life.is_dead:
                ax.plot(places[-1], means[-1], "x", color=colour)
        self._finish_shares(ax, "Share of the data", self._places)
        if not has_dates:
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.set_xlabel("Samples")


def _running_mean(values, least):
    """Return means over windows of at least ``least`` points, fewer at the ends."""
    half = max(least, round(SHARE_OF_MEAN * len(values))) // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return (sums[high] - sums[low]) / np.maximum(high - low, 1)
