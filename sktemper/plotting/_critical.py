"""Plot of the critical temperatures of data, and of a schedule."""

from typing import Any, Literal, Self

import numpy as np

from .._estimator._critical import critical_temperatures
from .._utils._typing import ArrayLike, Axes, DataLike
from ._axes import Display

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
    <sktemper.plotting._critical.CriticalTemperaturesDisplay object at ...>
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
        display = cls(
            critical_temperatures=found,
            time=time,
            temperature=np.array([schedule(t) for t in time]),
            unit=schedule.unit,
        )
        return display.plot(ax, **line_kw)

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
        for panel in self.axes_:
            self._open_frame(panel)
        return self

    def _draw_schedule(self, panel, spectrum, line_kw):
        self.band_ = panel.axhspan(
            spectrum.min(), spectrum.max(), color="C0", alpha=0.25, linewidth=0
        )
        self.band_.set_label("critical temperatures")
        (self.line_,) = panel.plot(
            self.time, self.temperature, label="schedule", **line_kw
        )
        name = "Steps" if self.unit == "steps" else "Passes over the data"
        panel.set(xlabel=name, ylabel="Temperature")
        panel.legend(loc="upper right", fontsize=8)
