"""Functions that several displays use: axes, colours and checks."""

from dataclasses import dataclass
from typing import dataclass_transform

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from .._utils._docstrings import complete, methods
from .._utils._typing import Axes, Figure

#: Colour map of topics and components, and the order of its colours.  Strong colours
#: come first, and grey is left out because it looks like no colour.
COLOURS = "tab20"
COLOUR_ORDER = [*range(0, 14, 2), 16, 18, *range(1, 14, 2), 17, 19]


#: Styles of lines, and number of lines of each style, because few colours are distinct.
STYLES, N_ALIKE = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D")), 6


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display:
    """Base class of displays, which are data classes, and have axes and a figure.

    The methods of displays take what they do not describe from the methods of this
    class, `_check` or `plot`, and then from the method before them.
    """

    ax_: Axes
    figure_: Figure
    # sizes of text, of labels and in narrow places; inches of a wide figure
    _SMALL, _SMALLEST, _WIDE = "small", "x-small", 9
    _LDA = "topics", "a fitted LDA"  # what displays of topics need, see `_check`

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        created = Display._check
        for name, function in methods(cls):
            if name == "plot":
                complete(function, Display.plot)
            complete(function, created)
            complete(function, Display.plot)
            created = function
            written = f"display : {cls.__name__}"
            function.__doc__ = function.__doc__.replace("display : Display", written)

    @classmethod
    def _check(cls, estimator=None, needs=None, fitted=None, by="from_estimator"):
        """Check whether a display can be created from a fitted estimator.

        It ``needs`` an attribute, given with a description of such estimators, and
        after the fit it has the attribute ``fitted``, or any by default.

        Parameters
        ----------
        estimator : object
            A fitted LDA of this package.
        feature_names : array-like of shape (n_features,), default=None
            The words; None uses the column names of the training data, or column
            indices.
        name : str, default=None
            Name in the legend; None uses the name of the class.

        Returns
        -------
        display : Display
        """
        check_matplotlib_support(f"{cls.__name__}.{by}")
        if needs is not None:
            require_attribute(estimator, *needs)
        if estimator is not None:
            check_is_fitted(estimator, fitted)

    def plot(self, ax=None, **style):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        name : str, default=None
            Name in the legend; None uses the name of the display.

        Returns
        -------
        display : Display
            This display.
        """
        raise NotImplementedError

    def _make_axes(self, ax, figsize=None):
        """Store and return the axes to draw on; None makes new ones."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _make_panels(self, ax, n_panels, n_columns, panel_size, margins=(0.0, 0.0)):
        """Divide the axes into panels; sizes are those of a new figure, in inches."""
        n_columns = min(n_columns, n_panels)
        n_rows = -(-n_panels // n_columns)
        counts = np.array([n_columns, n_rows])
        ax = self._make_axes(ax, counts * panel_size + margins)
        ax.set_axis_off()
        grid = ax.get_subplotspec().subgridspec(n_rows, n_columns)
        places = [divmod(number, n_columns) for number in range(n_panels)]
        panels = [ax.figure.add_subplot(grid[row, column]) for row, column in places]
        self.axes_ = np.array(panels, dtype=object)
        return self.axes_

    def _add_colorbar(self, artist, ax, **style):
        self.colorbar_ = self.figure_.colorbar(artist, ax=ax, **style)

    # -- parts of plots ----------------------------------------------------------------
    def _open_frame(self, *panels):
        """Hide the upper and the right edge of axes."""
        for panel in panels:
            panel.spines[["top", "right"]].set_visible(False)

    def _legend_beside(self, ax):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=self._SMALL)

    def _make_rows(self, ax, labels, width):
        """Return axes with the labelled rows 0, 1, ..., from top to bottom."""
        ax = self._make_axes(ax, (width, 1.0 + 0.22 * len(labels)))
        ax.set_yticks(np.arange(len(labels)), labels, fontsize=self._SMALL)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        self._open_frame(ax)
        return ax

    def _draw_intervals(self, ax, rows, values, low, high, **style):
        """Draw values with intervals in rows, and store the container of matplotlib."""
        ends = [values - low, high - values]
        style = {"fmt": "o", **style}
        self.artists_.append(ax.errorbar(values, rows, xerr=ends, **style))

    def _draw_reference(self, ax, value):
        """Draw the value of no effect."""
        ax.axvline(value, color="0.6", linewidth=0.8, zorder=0)

    def _style(self, number):
        """Return the line style and the marker of a line by its number in the plot."""
        return STYLES[number // N_ALIKE % len(STYLES)]

    def _draw_shares(self, ax, places, shares, label, line_kw, bands=None):
        """Draw a line of each topic, with markers, or with ``bands`` around the lines.

        The display has the indices of the topics and their labels.
        """
        ax = self._make_axes(ax, (self._WIDE, self._WIDE / 2))
        self.artists_ = []
        for number, colour in enumerate(topic_colours(self.topics)):
            line, marker = self._style(number)
            style = {"linestyle": line, "color": colour, "label": self.labels[number]}
            if bands is None:
                style["marker"] = marker
            else:
                low, high = (ends[number] for ends in bands)
                ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
            self.artists_ += ax.plot(places, shares[number], **style | line_kw)
        self._finish_shares(ax, label, places)

    def _percent_formatter(self):
        """Return a formatter of percentages, whose digits depend on the ticks."""
        from matplotlib.ticker import PercentFormatter

        return PercentFormatter(1.0)

    def _finish_shares(self, ax, label, places):
        """Complete the axes of lines of shares over dates or numbers."""
        ax.yaxis.set_major_formatter(self._percent_formatter())
        ax.set_ylim(bottom=0)
        ax.set_ylabel(label)
        self._legend_beside(ax)
        self._open_frame(ax)
        if np.asarray(places).dtype.kind == "M":
            ax.tick_params(axis="x", labelrotation=30)


def topic_colours(numbers):
    """Return the colours of topics, which are the same in every display.

    If two topics would have the same colour, the second topic gets an unused colour, as
    long as there are any.
    """
    import matplotlib

    colours, places = matplotlib.colormaps[COLOURS], {}
    for number in map(int, numbers):
        place = number % len(COLOUR_ORDER)
        taken = set(places.values())
        if number not in places and place in taken and len(taken) < len(COLOUR_ORDER):
            place = min(set(range(len(COLOUR_ORDER))) - taken)
        places.setdefault(number, place)
    return [colours(COLOUR_ORDER[places[int(number)]]) for number in numbers]


def select_topics(numbers, prevalence, most):
    """Return the indices of topics to show: ``numbers``, or the ``most`` largest."""
    if numbers is None:
        return np.argsort(-np.asarray(prevalence), kind="stable")[:most]
    return check_indices("topics", numbers, len(prevalence))


def check_indices(name, numbers, n, n_wanted=None):
    """Return indices of topics or components as an array, or raise an error."""
    numbers = np.atleast_1d(numbers)
    whole = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
    wrong = not whole or n_wanted not in (None, len(numbers))
    if wrong or numbers.min() < 0 or numbers.max() >= n:
        indices = "indices" if n_wanted is None else f"{n_wanted} indices"
        raise ValueError(
            f"{name} must be {indices} of {name}, integers from 0 to {n - 1}, got "
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


def topic_labels(estimator, feature_names):
    """Return labels of all topics: their indices and words."""
    words = estimator.top_words(feature_names, 3)
    return [f"{number}: {' '.join(top)}".rstrip() for number, top in enumerate(words)]
