"""Pictures of a training: displays by scikit-learn's conventions."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

__all__ = ["TemperatureDisplay", "TrainingCurveDisplay"]

# The columns of ``history_`` by the names that they have here, and their labels.
_X = {
    "passes": ("passes", "Passes over the data"),
    "seconds": ("seconds", "Training time (seconds)"),
    "steps": ("step", "Steps"),
}
_Y = {
    "heldout_score": "Held-out log-likelihood per unit (nats)",
    "batch_bound": "Evidence lower bound of the batch (nats)",
    "temperature": "Temperature",
}


def _read_history(estimator, x, y, names):
    """Return columns x and y of the history where both are known."""
    constraints = {"x": [StrOptions(set(_X))], "y": [StrOptions(names)]}
    validate_parameter_constraints(constraints, {"x": x, "y": y}, "from_estimator")
    check_is_fitted(estimator, "history_")
    history = estimator.history_
    horizontal, vertical = history[_X[x][0]], history[y]
    known = np.isfinite(horizontal) & np.isfinite(vertical)
    if not known.any():
        raise ValueError(
            f"The history of this {type(estimator).__name__} has no {y!r} by {x!r}."
            + " Fit with evaluate_every=1 to have some." * (y == "heldout_score")
        )
    return horizontal[known], vertical[known]


def _draw(display, x, y, labels, ax, name, line_kw):
    """Draw a line on ``ax``, or on an axis of its own, and set what was drawn."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    name = display.name if name is None else name
    if name is not None:
        line_kw = {"label": name, **line_kw}
    (display.line_,) = ax.plot(x, y, **line_kw)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if "label" in line_kw:
        ax.legend()
    display.ax_, display.figure_ = ax, ax.figure
    return display


class TrainingCurveDisplay:
    """How good a model was in the course of its training.

    Make one by `from_estimator`; pass its ``ax_`` to the next one to compare several
    estimators on one axis.

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
        Progress of the training, and how good the model was there.
    x_name : {"passes", "seconds", "steps"}, default="passes"
        What ``x`` is.
    y_name : {"heldout_score", "batch_bound"}, default="heldout_score"
        What ``y`` is.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        The axis with the curve.
    figure_ : matplotlib Figure
        The figure with the axis.

    See Also
    --------
    TemperatureDisplay : The temperature in the course of a training.

    Examples
    --------
    >>> from sktemper import AnnealedLDA, TemperedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.plotting import TrainingCurveDisplay
    >>> X = make_lda_documents(200, 60, 5, random_state=0)
    >>> ax = None
    >>> for LDA in AnnealedLDA, TemperedLDA:  # doctest: +SKIP
    ...     lda = LDA(5, evaluate_every=1, random_state=0).fit(X)
    ...     ax = TrainingCurveDisplay.from_estimator(lda, ax=ax).ax_
    """

    def __init__(self, *, x, y, x_name="passes", y_name="heldout_score", name=None):
        self.x = x
        self.y = y
        self.x_name = x_name
        self.y_name = y_name
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, *, x="passes", y="heldout_score", ax=None, name=None, **line_kw
    ):
        """Draw the training curve of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        x : {"passes", "seconds", "steps"}, default="passes"
            What the curve runs over; seconds are of training, without scoring.
        y : {"heldout_score", "batch_bound"}, default="heldout_score"
            "heldout_score" is the score of the validation data, which `fit` takes every
            ``evaluate_every`` passes.  "batch_bound" is the bound of each step's batch,
            at that step's temperature: it compares steps only once that has settled.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Name in the legend; None takes that of the class.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TrainingCurveDisplay

        Raises
        ------
        ValueError
            If the history has no such points.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        points = _read_history(estimator, x, y, {"heldout_score", "batch_bound"})
        name = type(estimator).__name__ if name is None else name
        display = cls(x=points[0], y=points[1], x_name=x, y_name=y, name=name)
        return display.plot(ax, **line_kw)

    def plot(self, ax=None, *, name=None, **line_kw):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Name in the legend; None takes the display's own.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TrainingCurveDisplay
            Itself.
        """
        labels = _X[self.x_name][1], _Y[self.y_name]
        return _draw(self, self.x, self.y, labels, ax, name, line_kw)


class TemperatureDisplay:
    """At what temperature a model was seen in the course of its training.

    Parameters
    ----------
    x, temperature : ndarray of shape (n_points,)
        Progress of the training, and the temperature there.
    x_name : {"passes", "seconds", "steps"}, default="steps"
        What ``x`` is.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        The axis with the curve.
    figure_ : matplotlib Figure
        The figure with the axis.

    See Also
    --------
    TrainingCurveDisplay : How good a model was in the course of its training.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> from sktemper.plotting import TemperatureDisplay
    >>> X = make_lda_documents(200, 60, 5, random_state=0)
    >>> lda = AnnealedLDA(5, random_state=0).fit(X)  # doctest: +SKIP
    >>> TemperatureDisplay.from_estimator(lda, x="passes")  # doctest: +SKIP
    <sktemper.plotting.TemperatureDisplay object at ...>
    """

    def __init__(self, *, x, temperature, x_name="steps", name=None):
        self.x = x
        self.temperature = temperature
        self.x_name = x_name
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, x="steps", ax=None, name=None, **line_kw):
        """Draw the temperatures of a fitted estimator's training.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        x : {"passes", "seconds", "steps"}, default="steps"
            What the curve runs over.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Name in the legend; None takes that of the class.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TemperatureDisplay

        Raises
        ------
        ValueError
            If the history has no such points.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        points = _read_history(estimator, x, "temperature", {"temperature"})
        name = type(estimator).__name__ if name is None else name
        display = cls(x=points[0], temperature=points[1], x_name=x, name=name)
        return display.plot(ax, **line_kw)

    def plot(self, ax=None, *, name=None, **line_kw):
        """Draw the temperatures.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Name in the legend; None takes the display's own.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TemperatureDisplay
            Itself.
        """
        labels = _X[self.x_name][1], _Y["temperature"]
        return _draw(self, self.x, self.temperature, labels, ax, name, line_kw)
