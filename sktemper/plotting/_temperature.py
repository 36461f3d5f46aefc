"""A display of the temperature in the course of a training."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints

from ._lines import X_COLUMNS, Y_LABELS, check_name, draw_line, read_history

__all__ = ["TemperatureDisplay"]


class TemperatureDisplay:
    """The temperature in the course of a training.

    A line; and behind it, where the tempering infers a distribution over a ladder of
    temperatures, that distribution as a heat map.

    Parameters
    ----------
    x, temperature : ndarray of shape (n_points,)
        Progress of the training, and the temperature there.
    ladder : ndarray of shape (n_temperatures,), default=None
        The temperatures of the distribution, increasing.
    probabilities : ndarray of shape (n_points, n_temperatures), default=None
        The distribution at each point, NaN where there was none; None draws the line
        alone.
    x_name : {"passes", "seconds", "steps"}, default="steps"
        What ``x`` is.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    mesh_ : matplotlib QuadMesh or None
        The heat map.
    colorbar_ : matplotlib Colorbar or None
        What its colours mean.
    ax_ : matplotlib Axes
        The axis with the curve.
    figure_ : matplotlib Figure
        The figure with the axis.

    See Also
    --------
    TrainingCurveDisplay : How good a model was in the course of its training.

    Examples
    --------
    >>> from sktemper import TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.plotting import TemperatureDisplay
    >>> X = make_lda_documents(200, 60, 5, random_state=0)
    >>> lda = TemperedLDA(5, tempering="local", random_state=0)
    >>> lda = lda.fit(X)  # doctest: +SKIP
    >>> TemperatureDisplay.from_estimator(lda, kind="heatmap")  # doctest: +SKIP
    <sktemper.plotting._temperature.TemperatureDisplay object at ...>
    """

    def __init__(
        self,
        *,
        x,
        temperature,
        ladder=None,
        probabilities=None,
        x_name="steps",
        name=None,
    ):
        self.x = x
        self.temperature = temperature
        self.ladder = ladder
        self.probabilities = probabilities
        self.x_name = x_name
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        kind="line",
        x="steps",
        ax=None,
        name=None,
        mesh_kw=None,
        colorbar=True,
        **line_kw,
    ):
        """Draw the temperatures of a fitted estimator's training.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        kind : {"line", "heatmap"}, default="line"
            "line" is the temperature of each step.  "heatmap" draws it, 1 / E[1/T] or
            the cap if that is less, over the distribution from which it came; with
            `LocalTempering` that is the mean of the samples' distributions.
        x : {"passes", "seconds", "steps"}, default="steps"
            What the curve runs over.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        name : str, default=None
            Name in the legend; None takes that of the class.
        mesh_kw : dict, default=None
            Passed to matplotlib's ``pcolormesh``.
        colorbar : bool, default=True
            Whether a heat map has a colour bar.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TemperatureDisplay

        Raises
        ------
        ValueError
            If the history has no such points; for a heat map, if the tempering has no
            ladder of temperatures, or ``x`` does not only grow.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        constraints = {"kind": [StrOptions({"line", "heatmap"})]}
        validate_parameter_constraints(constraints, {"kind": kind}, "from_estimator")
        points = read_history(estimator, x, "temperature", {"temperature"})
        distribution = _read_distribution(estimator, x) if kind == "heatmap" else {}
        name = type(estimator).__name__ if name is None else name
        display = cls(
            x=points[0], temperature=points[1], x_name=x, name=name, **distribution
        )
        return display.plot(ax, mesh_kw=mesh_kw, colorbar=colorbar, **line_kw)

    def plot(self, ax=None, *, name=None, mesh_kw=None, colorbar=True, **line_kw):
        """Draw the temperatures.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        name : str, default=None
            Name in the legend; None takes the display's own.
        mesh_kw : dict, default=None
            Passed to matplotlib's ``pcolormesh``.
        colorbar : bool, default=True
            Whether a heat map has a colour bar.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TemperatureDisplay
            Itself.
        """
        check_name("x_name", self.x_name, X_COLUMNS)
        if self.probabilities is not None:
            self._check_distribution()
        labels = X_COLUMNS[self.x_name][1], Y_LABELS["temperature"]
        self.mesh_ = self.colorbar_ = None
        if self.probabilities is not None and not {"c", "color"} & line_kw.keys():
            line_kw["color"] = "C1"  # C0 is as blue as the map
        draw_line(self, self.x, self.temperature, labels, ax, name, line_kw)
        if self.probabilities is not None:
            self._draw_distribution(mesh_kw or {}, colorbar)
        return self

    def _check_distribution(self):
        """Raise if the distribution is of other points or temperatures."""
        shape = np.shape(self.x) + np.shape([] if self.ladder is None else self.ladder)
        if np.shape(self.probabilities) != shape or len(shape) != 2 or 0 in shape:
            raise ValueError(
                "probabilities must be of shape (n_points, n_temperatures), x of "
                "shape (n_points,) and ladder of shape (n_temperatures,); they have "
                f"{np.shape(self.probabilities)}, {np.shape(self.x)} and "
                f"{np.shape(self.ladder)}."
            )

    def _draw_distribution(self, mesh_kw, colorbar):
        """Put the heat map behind the line."""
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
        # "2" and not "2 x 10^0", and also where the ladder is longer than a decade
        self.ax_.yaxis.set_major_formatter(LogFormatter())
        self.ax_.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.mesh_, ax=self.ax_, label="Probability"
            )


def _read_distribution(estimator, x):
    """Return the ladder and the distributions over it; raise if there are none."""
    ladder = estimator.tempering_.ladder()
    if ladder is None:
        raise ValueError(
            f"The tempering of this {type(estimator).__name__} has no ladder of "
            "temperatures: kind='heatmap' is for GlobalTempering and LocalTempering."
        )
    history = estimator.history_
    if (np.diff(history[X_COLUMNS[x][0]]) < 0).any():
        raise ValueError(
            f"The {x} of this {type(estimator).__name__} went back, as they do where "
            "the size of a stream is learned on the way; use x='steps'."
        )
    return {
        "ladder": ladder,
        "probabilities": history["temperature_probabilities"],
    }


def _edges(centres):
    """Return the edges of the cells around points, halfway between them."""
    if len(centres) == 1:
        return centres[0] + np.array([-0.5, 0.5])
    inner = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - inner[0], 2 * centres[-1] - inner[-1]
    return np.concatenate([[first], inner, [last]])
