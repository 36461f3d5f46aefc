"""A picture of the answers of classes."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._typing import Axes, DataFrame
from ._axes import Display

#: Inches of a row and of a column, of the row labels, and of the column heads.
ROW, COLUMN, LABELS, HEAD = 0.24, 0.85, 3.2, 0.9
#: Largest width of a label, in characters.
LONGEST = 26
#: Kinds of columns without options, and their entries that are not drawn.
NUMBERS, SPREADS = ("gaussian", "lognormal", "poisson"), ("sd", "log sd")
#: Values of cells above this share of the range have white text.
DARK = 0.6


class ClassProfilesDisplay(Display):
    """Table of the answers of each class, coloured by probability.

    Each column is a class.  Each row is an option of an item, coloured by probability,
    or a numeric item, coloured by the place of the mean between the smallest and the
    largest mean of a class.  Of two options, only the second is drawn.

    Parameters
    ----------
    profiles : DataFrame
        From the method ``profiles`` of a mixture.

    Attributes
    ----------
    image_ : AxesImage
        The coloured cells.
    labels_ : list of str
        Labels of the rows.
    ax_, figure_ : object
        The axes and the figure.

    See Also
    --------
    sktemper.AnnealedMixedMixture.profiles : The table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import AnnealedMixedMixture, plotting
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> mixture = AnnealedMixedMixture(3, random_state=0).fit(X)
    >>> plotting.ClassProfilesDisplay.from_estimator(mixture)  # doctest: +SKIP
    """

    profiles: DataFrame

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, items: Sequence | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the profiles of a fitted mixture.

        Parameters
        ----------
        estimator : object
            A fitted mixture with a method ``profiles``.
        items : list of str, default=None
            Names of the columns of the data to draw, in this order; None draws all.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure whose height suits the rows.
        """
        cls._check()
        check_is_fitted(estimator)
        return cls(profiles=estimator.profiles()).plot(ax, items=items)

    def plot(self, ax: Axes | None = None, *, items: Sequence | None = None) -> Self:
        """Draw the profiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure whose height suits the rows.
        """
        classes, sizes, rows = _table_of_profiles(self.profiles, items)
        size = LABELS + COLUMN * len(classes), HEAD + ROW * len(rows)
        ax = self._make_axes(ax, size)
        colours = np.array([row.colours for row in rows])
        style = {"aspect": "auto", "cmap": "Blues", "vmin": 0.0, "vmax": 1.0}
        self.image_ = ax.imshow(colours, **style)
        self.labels_ = [row.label for row in rows]
        for place, row in enumerate(rows):
            for k, (value, colour) in enumerate(
                zip(row.texts, row.colours, strict=True)
            ):
                ink = "white" if colour > DARK else "black"
                ax.text(
                    k, place, value, ha="center", va="center", fontsize=7, color=ink
                )
            if place and row.item != rows[place - 1].item:
                ax.axhline(place - 0.5, color="white", linewidth=2.5)
                ax.axhline(place - 0.5, color="grey", linewidth=0.5)
        heads = [
            f"class {k}\n{size:.0%}" for k, size in zip(classes, sizes, strict=True)
        ]
        ax.set_xticks(range(len(classes)), heads, fontsize=8)
        ax.set_yticks(range(len(rows)), self.labels_, fontsize=8)
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        ax.spines[:].set_visible(False)
        return self


class _ProfileRow:
    """A row of the picture.

    Parameters
    ----------
    item, kind, option : str
    values : ndarray of shape (n_classes,)
    """

    def __init__(self, item, kind, option, values):
        self.item = item
        self.label = f"{_shorten(str(item))}: {_shorten(option)}"
        is_number = kind in NUMBERS
        if is_number:
            span = np.ptp(values)
            self.colours = (values - values.min()) / (span if span > 0 else 1.0)
            self.texts = [_number_text(value) for value in values]
        else:
            self.colours = values
            self.texts = [f"{value:.2f}".lstrip("0") for value in values]


def _table_of_profiles(profiles, items):
    """Return the classes, their sizes, and the rows of a table of profiles."""
    names = "class", "size", "item", "kind", "option", "mean"
    columns = [list(profiles[name]) for name in names]
    entries, kinds, sizes = {}, {}, {}
    for k, size, item, kind, option, mean in zip(*columns, strict=True):
        sizes[k], kinds[item] = size, kind
        entries.setdefault(item, {}).setdefault(option, {})[k] = mean
    items = list(entries) if items is None else list(items)
    unknown = [item for item in items if item not in entries]
    if unknown:
        raise ValueError(f"The profiles have no item {unknown[0]!r}.")
    classes = sorted(sizes, key=lambda k: -sizes[k])
    rows = []
    for item in items:
        options = list(entries[item])
        if kinds[item] in NUMBERS:
            options = [one for one in options if one not in SPREADS]
        elif len(options) == 2:
            options = options[1:]
        for option in options:
            means = np.array([entries[item][option][k] for k in classes], dtype=float)
            rows.append(_ProfileRow(item, kinds[item], option, means))
    return classes, [sizes[k] for k in classes], rows


def _number_text(value):
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"


def _shorten(text):
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
