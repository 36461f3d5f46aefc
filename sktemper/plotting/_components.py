"""Components as images."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._typing import ArrayLike, Axes, Int
from ._axes import Display, check_indices

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
        cls._check()
        check_is_fitted(estimator)
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
            panel.set_title(str(number), fontsize=7, pad=2)
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
