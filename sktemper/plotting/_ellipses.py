"""Plot of the components of a Gaussian mixture as ellipses."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._typing import ArrayLike, Axes, Float
from ._axes import Display, check_indices, require_attribute, topic_colours

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
        cls._check()
        check_is_fitted(estimator)
        require_attribute(estimator, "means_", "a fitted Gaussian mixture")
        n_features = np.shape(estimator.means_)[1]
        features = check_indices("features", features, n_features, n_wanted=2)
        kept = np.flatnonzero(np.asarray(estimator.weights_) >= min_weight)
        covariances = _full_covariances(estimator)[np.ix_(kept, features, features)]
        points = labels = None
        if X is not None:
            rows = slice(None, None, -(-np.shape(X)[0] // MOST_DRAWN))
            shown = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
            labels = estimator.predict(shown)
            points = np.asarray(shown)[:, features]
            place = np.full(len(estimator.weights_), -1)
            place[kept] = np.arange(len(kept))
            labels = place[labels]
        names = getattr(estimator, "feature_names_in_", None)
        display = cls(
            means=np.asarray(estimator.means_)[np.ix_(kept, features)],
            covariances=covariances,
            weights=np.asarray(estimator.weights_)[kept],
            points=points,
            labels=labels,
            names=[f"feature {f}" if names is None else names[f] for f in features],
        )
        return display.plot(ax, n_std=n_std, **ellipse_kw)

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
        for mean, covariance, weight, colour in zip(
            self.means, self.covariances, self.weights, colours, strict=True
        ):
            style = {
                "facecolor": (*colour[:3], 0.1 + 0.3 * float(weight) / largest),
                "edgecolor": colour,
                "linewidth": 1.5,
                **ellipse_kw,
            }
            widths, angle = _diameters(covariance, n_std)
            ellipse = Ellipse(mean, *widths, angle=angle, **style)
            self.ellipses_.append(ax.add_patch(ellipse))
        ax.plot(*np.asarray(self.means).T, "k+", markersize=7)
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
