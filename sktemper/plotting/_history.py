"""Line plots of the history of a fit: scores, bounds and temperatures."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._arguments import refuse
from .._utils._typing import Axes
from ._axes import Display

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
    check_is_fitted(estimator, "history_")
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


def draw_line(display, x, y, labels, ax, name, line_kw):
    ax = display._make_axes(ax)
    name = display.name if name is None else name
    if name is not None:
        line_kw = {"label": name, **line_kw}
    (display.line_,) = ax.plot(x, y, **line_kw)
    ax.set(xlabel=labels[0], ylabel=labels[1])
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
        cls._check()
        points = read_history(estimator, x, y, ("heldout_score", "batch_bound"))
        name = type(estimator).__name__ if name is None else name
        display = cls(x=points[0], y=points[1], x_name=x, y_name=y, name=name)
        return display.plot(ax, **line_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any
    ) -> Self:
        """Draw the curve."""
        check_name("x_name", self.x_name, X_COLUMNS)
        check_name("y_name", self.y_name, Y_LABELS)
        labels = X_COLUMNS[self.x_name][1], Y_LABELS[self.y_name]
        return draw_line(self, self.x, self.y, labels, ax, name, line_kw)


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
    <sktemper.plotting._history.TemperatureDisplay object at ...>
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
        cls._check()
        check_name("kind", kind, ("line", "heatmap"))
        points = read_history(estimator, x, "temperature", ("temperature",))
        distribution = _read_distribution(estimator, x) if kind == "heatmap" else {}
        name = type(estimator).__name__ if name is None else name
        display = cls(
            x=points[0], temperature=points[1], x_name=x, name=name, **distribution
        )
        return display.plot(ax, mesh_kw=mesh_kw, colorbar=colorbar, **line_kw)

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
        check_name("x_name", self.x_name, X_COLUMNS)
        if self.probabilities is not None:
            self._check_distribution()
        labels = X_COLUMNS[self.x_name][1], Y_LABELS["temperature"]
        self.mesh_ = self.colorbar_ = None
        if self.probabilities is not None and not {"c", "color"} & line_kw.keys():
            line_kw["color"] = "C1"  # C0 is blue, as is the heat map
        draw_line(self, self.x, self.temperature, labels, ax, name, line_kw)
        if self.probabilities is not None:
            self._draw_distribution(mesh_kw or {}, colorbar)
        return self

    def _check_distribution(self):
        shape = np.shape(self.x) + np.shape([] if self.ladder is None else self.ladder)
        if np.shape(self.probabilities) != shape or len(shape) != 2 or 0 in shape:
            raise ValueError(
                "probabilities must be of shape (n_points, n_temperatures), x of "
                "shape (n_points,) and ladder of shape (n_temperatures,), got shapes "
                f"{np.shape(self.probabilities)}, {np.shape(self.x)} and "
                f"{np.shape(self.ladder)}."
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
