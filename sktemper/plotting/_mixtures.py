"""Plots of the components of mixtures: ellipses, images, and profiles of classes."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils._typing import ArrayLike, Axes, DataFrame, Float, Int
from ._axes import Display, check_indices, require_attribute, topic_colours

# -- ellipses of a Gaussian mixture ----------------------------------------------------
#: Largest number of points that are drawn.
MOST_DRAWN = 10_000


class MixtureEllipsesDisplay(Display):
    """Plot of the components of a Gaussian mixture as ellipses, in two of the features.

    Components with a larger weight have a stronger colour.

    Parameters
    ----------
    means : ndarray of shape (n_components, 2)
        Centres of the components, in the two features.
    covariances : ndarray of shape (n_components, 2, 2)
        Covariances of the components, in the two features.
    weights : ndarray of shape (n_components,)
        Weights of the components.
    points : ndarray of shape (n_samples, 2), default=None
        Samples to draw under the ellipses.
    labels : ndarray of int of shape (n_samples,), default=None
        Index of the component of each sample, for its colour; -1 draws it grey.
    names : pair of str, default=("feature 0", "feature 1")
        Names of the axes.

    Attributes
    ----------
    ellipses_ : list of matplotlib Ellipse
        The ellipse of each component.
    points_ : matplotlib PathCollection or None
        The samples.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the ellipses, and the figure.

    See Also
    --------
    ComponentsDisplay : Components as images.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import AnnealedGaussianMixture, plotting
    >>> X, _ = make_blobs(300, centers=4, random_state=0)
    >>> mixture = AnnealedGaussianMixture(4, random_state=0).fit(X)
    >>> plotting.MixtureEllipsesDisplay.from_estimator(mixture, X)  # doctest: +SKIP
    """

    means: np.ndarray
    covariances: np.ndarray
    weights: np.ndarray
    points: np.ndarray | None = None
    labels: np.ndarray | None = None
    names: tuple[str, str] = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        features: tuple[int, int] = (0, 1),
        n_std: Float = 2.0,
        min_weight: Float = 0.01,
        ax: Axes | None = None,
        **ellipse_kw: Any,
    ) -> Self:
        """Draw the components of a fitted Gaussian mixture.

        Parameters
        ----------
        estimator : object
            A fitted Gaussian mixture, of this package or of scikit-learn.
        X : array-like of shape (n_samples, n_features), default=None
            Samples to draw under the ellipses, in the colours of their components.
            At most 10,000 samples are drawn, at equal intervals in the order of rows.
        features : pair of int, default=(0, 1)
            Indices of the features on the horizontal and the vertical axis.
        n_std : float, default=2.0
            Radius of an ellipse, in standard deviations.
        min_weight : float, default=0.01
            Smallest weight of a component that is drawn.  A Bayesian mixture may have
            nearly empty components.
        **ellipse_kw : dict
            Passed to matplotlib's ``Ellipse``.
        """
        cls._check(estimator)
        require_attribute(estimator, "means_", "a fitted Gaussian mixture")
        n_features = np.shape(estimator.means_)[1]
        features = check_indices("features", features, n_features, n_wanted=2)
        weights = np.asarray(estimator.weights_)
        kept = np.flatnonzero(weights >= min_weight)
        covariances = _full_covariances(estimator)[np.ix_(kept, features, features)]
        points = labels = None
        if X is not None:
            rows = slice(None, None, -(-np.shape(X)[0] // MOST_DRAWN))
            shown = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
            points = np.asarray(shown)[:, features]
            places = np.full(len(weights), -1)
            places[kept] = np.arange(len(kept))
            labels = places[estimator.predict(shown)]
        names = getattr(estimator, "feature_names_in_", None)
        return cls(
            means=np.asarray(estimator.means_)[np.ix_(kept, features)],
            covariances=covariances,
            weights=weights[kept],
            points=points,
            labels=labels,
            names=[f"feature {f}" if names is None else names[f] for f in features],
        ).plot(ax, n_std=n_std, **ellipse_kw)

    def plot(
        self, ax: Axes | None = None, *, n_std: Float = 2.0, **ellipse_kw: Any
    ) -> Self:
        """Draw the ellipses."""
        ax = self._make_axes(ax)
        from matplotlib.patches import Ellipse

        colours = topic_colours(range(len(self.means)))
        self.points_ = None
        if self.points is not None:
            tints = "0.6"
            if self.labels is not None:
                tints = [colours[k] if k >= 0 else "0.6" for k in self.labels]
            style = {"s": 8, "linewidths": 0, "alpha": 0.5, "c": tints}
            self.points_ = ax.scatter(*np.asarray(self.points).T, **style)
        largest = float(np.max(self.weights))
        self.ellipses_ = []
        for k, (mean, colour) in enumerate(zip(self.means, colours, strict=True)):
            opacity = 0.1 + 0.3 * float(self.weights[k]) / largest
            style = {"facecolor": (*colour[:3], opacity), "edgecolor": colour}
            widths, angle = _diameters(self.covariances[k], n_std)
            style |= {"angle": angle, "linewidth": 1.5, **ellipse_kw}
            self.ellipses_.append(ax.add_patch(Ellipse(mean, *widths, **style)))
        ax.plot(*np.asarray(self.means).T, "k+")
        ax.autoscale_view()
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


def _full_covariances(estimator):
    covariances = np.asarray(estimator.covariances_)
    n_components, n_features = np.shape(estimator.means_)
    if covariances.ndim == 3:
        return covariances
    # scikit-learn's mixtures have no `covariance_type_`
    kind = getattr(estimator, "covariance_type_", estimator.covariance_type)
    if kind == "tied":
        return np.broadcast_to(covariances, (n_components, n_features, n_features))
    diagonal = covariances if kind == "diag" else covariances[:, None]
    return np.ascontiguousarray(diagonal[..., None] * np.eye(n_features))


def _diameters(covariance, n_std):
    """Return the two diameters of an ellipse, and the angle of the first in degrees."""
    values, vectors = np.linalg.eigh(covariance)
    widths = 2.0 * n_std * np.sqrt(np.maximum(values, 0.0))
    return widths, np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))


# -- components as images --------------------------------------------------------------
#: Maximum number of images that are drawn by default.
MOST_IMAGES = 64


class ComponentsDisplay(Display):
    """Components as images, side by side on a common scale.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
        The components to draw, each as an image.
    numbers : ndarray of int of shape (n_images,)
        Indices of the components.

    Attributes
    ----------
    images_ : list of matplotlib AxesImage
        The image of each component.
    axes_ : ndarray of matplotlib Axes
        Panels of the images.
    colorbar_ : matplotlib Colorbar or None
        Colour bar shared by the panels.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes that the panels replace, and the figure.

    See Also
    --------
    MixtureEllipsesDisplay : Components of a Gaussian mixture as ellipses.

    Examples
    --------
    >>> from sktemper import AnnealedFactorialMixture, plotting
    >>> from sktemper.datasets import make_factorial_mixture
    >>> X = make_factorial_mixture(200, random_state=0)
    >>> mixture = AnnealedFactorialMixture(8, random_state=0)
    >>> mixture = mixture.fit(X)  # doctest: +SKIP
    >>> plotting.ComponentsDisplay.from_estimator(mixture, (4, 4))  # doctest: +SKIP
    """

    images: np.ndarray
    numbers: np.ndarray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        image_shape: tuple[int, int],
        *,
        components: ArrayLike | None = None,
        ax: Axes | None = None,
        **image_kw: Any,
    ) -> Self:
        """Draw the components of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator with ``components_`` or ``means_``.
        image_shape : pair of int
            Height and width of the images whose pixels are the features.
        components : array-like of int, default=None
            Indices of the components to draw; None draws the first 64.
        **image_kw : dict
            Passed to matplotlib's ``imshow``.
        """
        cls._check(estimator)
        name = "components_" if hasattr(estimator, "components_") else "means_"
        rows = np.asarray(getattr(estimator, name))
        shape = tuple(np.atleast_1d(image_shape).tolist())
        if len(shape) != 2 or math.prod(shape) != rows.shape[1]:
            raise ValueError(
                f"image_shape={shape} does not fit {rows.shape[1]} features: it must "
                "be (height, width) with height times width equal to that number."
            )
        numbers = np.arange(min(len(rows), MOST_IMAGES))
        if components is not None:
            numbers = check_indices("components", components, len(rows))
        images = rows[numbers].reshape(len(numbers), *image_shape)
        return cls(images=images, numbers=numbers).plot(ax, **image_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_columns: Int | None = None,
        colorbar: bool = True,
        **image_kw: Any,
    ) -> Self:
        """Draw the images.

        Parameters
        ----------
        n_columns : int, default=None
            Number of images in a row; None makes the plot about half as high as wide.
        colorbar : bool, default=True
            Whether there is a colour bar.
        """
        images = np.asarray(self.images)
        n_images, height, width = images.shape
        if n_columns is None:
            n_columns = max(1, round(math.sqrt(2.0 * n_images * height / width)))
        inches = min(1.1, 10.0 / min(n_columns, n_images))
        panel_size = inches, inches * height / width + 0.2
        panels = self._make_panels(ax, n_images, n_columns, panel_size, (1.0, 0.3))
        image_kw = {**_colour_scale(images), **image_kw}
        self.images_ = []
        for panel, image, number in zip(panels, images, self.numbers, strict=True):
            self.images_.append(panel.imshow(image, **image_kw))
            panel.set_title(str(number), fontsize=self._SMALLEST, pad=2)
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set_color("0.8")
        self.colorbar_ = None
        if colorbar:
            self._add_colorbar(self.images_[0], list(panels), shrink=0.8)
        return self


def _colour_scale(images):
    """Return a colour map and its limits, symmetric if the values have both signs."""
    low, high = float(images.min()), float(images.max())
    largest = max(abs(low), abs(high))
    if low < -0.02 * largest:
        return {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    return {"cmap": "gray_r", "vmin": min(low, 0.0), "vmax": high}


# -- profiles of classes ---------------------------------------------------------------
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
        cls._check(estimator)
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
            inks = np.where(row.colours > DARK, "white", "black")
            for k, (text, ink) in enumerate(zip(row.texts, inks, strict=True)):
                style = {"ha": "center", "va": "center", "fontsize": self._SMALLEST}
                ax.text(k, place, text, color=str(ink), **style)
            if place and row.item != rows[place - 1].item:
                ax.axhline(place - 0.5, color="white", linewidth=2.5)
                ax.axhline(place - 0.5, color="grey", linewidth=0.5)
        heads = [f"class {k}\n{sizes[k]:.0%}" for k in classes]
        ax.set_xticks(range(len(classes)), heads, fontsize=self._SMALL)
        ax.set_yticks(range(len(rows)), self.labels_, fontsize=self._SMALL)
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
        self.item, self.colours = item, values
        self.label = f"{_shorten(str(item))}: {_shorten(option)}"
        self.texts = [f"{value:.2f}".lstrip("0") for value in values]
        if kind in NUMBERS:
            self.colours = (values - values.min()) / (np.ptp(values) or 1.0)
            self.texts = [_number_text(value) for value in values]


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
    return classes, sizes, rows


def _number_text(value):
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"


def _shorten(text):
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


# -- path of temperatures of a mixture -------------------------------------------------
class TemperaturePathDisplay(Display):
    """Plot of the clusters of a mixture over temperatures of the model.

    The upper panel has a bar for each temperature, divided into clusters, with their
    number on the axis above.  The bar of the persistent partition has black edges, and
    clusters have the colour of the cluster of this partition with which they share most
    samples.  The lower panel shows how much each partition agrees with the others.

    Parameters
    ----------
    path : TemperaturePath
        Result of `sktemper.model_selection.temperature_path`.

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer
        The bar of each temperature, from bottom to top.
    line_ : matplotlib Line2D
        The agreement.
    axes_ : ndarray of matplotlib Axes
        The two panels.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes that the panels replace, and the figure.

    See Also
    --------
    sktemper.model_selection.temperature_path : Computes the path.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sktemper import AnnealedGaussianMixture, plotting
    >>> from sktemper.model_selection import temperature_path
    >>> X, _ = make_moons(500, noise=0.1, random_state=0)
    >>> path = temperature_path(AnnealedGaussianMixture(10, random_state=0), X)
    >>> plotting.TemperaturePathDisplay.from_path(path)  # doctest: +SKIP
    """

    path: Any

    @classmethod
    def from_path(cls, path: Any, *, ax: Axes | None = None, **bar_kw: Any) -> Self:
        """Draw a path of temperatures.

        Parameters
        ----------
        path : TemperaturePath
            Result of `sktemper.model_selection.temperature_path`.
        **bar_kw : dict
            Passed to matplotlib's ``bar``.
        """
        cls._check(by="from_path")
        require_attribute(path, "temperatures_", "a TemperaturePath")
        return cls(path=path).plot(ax, **bar_kw)

    def plot(self, ax: Axes | None = None, **bar_kw: Any) -> Self:
        """Draw the bars and the agreement."""
        upper, lower = self._make_panels(ax, 2, 1, (self._WIDE, self._WIDE / 4))
        path, places = self.path, np.arange(len(self.path.partitions_))
        kept, own = np.unique(path.labels_, return_inverse=True)
        colours, self.bars_ = topic_colours(range(len(kept))), []
        for place, partition in enumerate(path.partitions_):
            shares, groups = _ordered_shares(partition, own)
            style = {"color": [colours[group] for group in groups]}
            style["edgecolor"] = "black" if place == path.level_ else "white"
            style |= {"bottom": np.cumsum(shares) - shares, **bar_kw}
            self.bars_.append(upper.bar(np.full(len(shares), place), shares, **style))
        (self.line_,) = lower.plot(places, path.agreements_, "ko-", clip_on=False)
        found = "Gap" if path.separation_ > 1.0 else "No gap"
        upper.set_title(f"{found} between clusters: separation {path.separation_:.2g}")
        upper.xaxis.set_ticks_position("top")
        upper.xaxis.set_label_position("top")
        upper.set_xticks(places, path.numbers_of_clusters_)
        upper.set(xlabel="Number of clusters", ylabel="Share of samples", ylim=(0, 1))
        upper.yaxis.set_major_formatter(self._percent_formatter())
        lower.set_xticks(places, [f"{one:g}" for one in path.temperatures_])
        lower.set(xlabel="Temperature of the model", ylabel="Agreement")
        lower.set(xlim=upper.get_xlim(), ylim=(0, 1))
        self._open_frame(upper, lower)
        return self


def _ordered_shares(partition, own):
    """Return the shares of clusters, and the clusters of another partition they meet.

    They are in the order of these clusters.
    """
    _, labels = np.unique(partition, return_inverse=True)
    table = np.zeros((labels.max() + 1, own.max() + 1))
    np.add.at(table, (labels, own), 1.0 / len(own))
    groups = table.argmax(axis=1)
    order = np.argsort(groups, kind="stable")
    return table.sum(axis=1)[order], groups[order]
