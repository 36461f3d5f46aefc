"""Functions that several displays use: axes, colours and checks."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .._utils._typing import Axes, Figure

#: Colour map of topics and components, and the order of its colours.  Strong colours
#: come first, and grey is left out because it looks like no colour.
COLOURS = "tab20"
ORDER = [*range(0, 14, 2), 16, 18, *range(1, 14, 2), 17, 19]


class Display:
    """Base class of displays, which have axes and a figure."""

    ax_: Axes
    figure_: Figure

    @classmethod
    def _check_matplotlib(cls, method):
        """Raise scikit-learn's error if matplotlib is not installed."""
        check_matplotlib_support(f"{cls.__name__}.{method}")

    def _make_axes(self, ax, figsize=None):
        """Store and return the axes to draw on; None makes new ones."""
        self._check_matplotlib("plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def make_panels(ax, n_panels, n_columns):
    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(n_rows, n_columns)
    places = [divmod(number, n_columns) for number in range(n_panels)]
    panels = [ax.figure.add_subplot(grid[row, column]) for row, column in places]
    return np.array(panels, dtype=object)


def topic_colours(numbers):
    """Return the colours of topics, which are the same in every display.

    If two topics would have the same colour, the second topic gets an unused colour, as
    long as there are any.
    """
    import matplotlib

    colours, places = matplotlib.colormaps[COLOURS], {}
    for number in map(int, numbers):
        place = number % len(ORDER)
        taken = set(places.values())
        if number not in places and place in taken and len(taken) < len(ORDER):
            place = min(set(range(len(ORDER))) - taken)
        places.setdefault(number, place)
    return [colours(ORDER[places[int(number)]]) for number in numbers]


def select_topics(numbers, prevalence, most):
    """Return the indices of topics to show: ``numbers``, or the ``most`` largest."""
    n_topics = len(prevalence)
    if numbers is None:
        return np.argsort(-np.asarray(prevalence), kind="stable")[:most]
    numbers = np.atleast_1d(numbers)
    whole = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
    if not whole or numbers.min() < 0 or numbers.max() >= n_topics:
        raise ValueError(
            f"topics must be indices of topics, integers from 0 to {n_topics - 1}, got "
            f"{numbers.tolist()}."
        )
    return numbers


def require_attribute(estimator, attribute, what):
    """Raise if an estimator lacks an attribute; for a pipeline, name its last step."""
    if hasattr(estimator, attribute):
        return
    hint = ""
    if hasattr(estimator, "steps"):
        hint = (
            "; for a pipeline, pass the last step, pipeline[-1], and the data that "
            "pipeline[:-1].transform(X) returns"
        )
    elif hasattr(estimator, "best_estimator_"):
        hint = "; for a search, pass best_estimator_"
    raise TypeError(f"estimator must be {what}, got {type(estimator).__name__}{hint}.")


def topic_label(words, number):
    return f"{number}: {' '.join(words[:3])}"
