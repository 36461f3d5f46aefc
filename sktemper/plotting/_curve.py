"""Curves of scores and bounds during a fit."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .._utils._typing import Axes, Figure
from ._lines import X_COLUMNS, Y_LABELS, check_name, draw_line, read_history


class TrainingCurveDisplay:
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
    ax_ : matplotlib Axes
        The axes with the curve.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    TemperatureDisplay : The temperature during a fit.

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

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        x: np.ndarray,
        y: np.ndarray,
        x_name: Literal["passes", "seconds", "steps"] = "passes",
        y_name: Literal["heldout_score", "batch_bound"] = "heldout_score",
        name: str | None = None,
    ):
        self.x = x
        self.y = y
        self.x_name = x_name
        self.y_name = y_name
        self.name = name

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
            "heldout_score" is the score of the validation data, which `fit` computes
            every ``evaluate_every`` passes.  "batch_bound" is the bound of the batch of
            each step at the temperature of the step.  Bounds at different temperatures
            cannot be compared.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        name : str, default=None
            Name in the legend; None uses the name of the class.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TrainingCurveDisplay

        Raises
        ------
        ValueError
            If the history has no finite values of ``y``.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        points = read_history(estimator, x, y, {"heldout_score", "batch_bound"})
        name = type(estimator).__name__ if name is None else name
        display = cls(x=points[0], y=points[1], x_name=x, y_name=y, name=name)
        return display.plot(ax, **line_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        name : str, default=None
            Name in the legend; None uses the name of the display.
        **line_kw : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : TrainingCurveDisplay
            This display.
        """
        check_name("x_name", self.x_name, X_COLUMNS)
        check_name("y_name", self.y_name, Y_LABELS)
        labels = X_COLUMNS[self.x_name][1], Y_LABELS[self.y_name]
        return draw_line(self, self.x, self.y, labels, ax, name, line_kw)
