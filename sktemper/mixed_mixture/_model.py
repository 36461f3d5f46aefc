"""Mixture of tables with columns of several kinds, as a `ConjugateModel`."""

import numpy as np

from .._expfam import MixtureModel
from ._family import MixedFamily
from ._partition import draw_partition

__all__ = ["MixedMixtureModel"]

#: Largest number of moments of a block.
VALUES_OF_BLOCK = 2**17
#: Largest number of moments of all rows that a fit caches.
KEPT_VALUES = 2**23
#: Prior of a normal column, in units of the standard deviation of all rows: the number
#: of rows to which the prior mean is equivalent, the shape of the Gamma distribution of
#: the precision, and the rate of this distribution divided by its shape (a variance).
MEAN_PRECISION, SHAPE, VARIANCE = 0.1, 1.0, 0.25
#: Variances below this are rounding errors, because columns are standardized.
LEAST_VARIANCE = 1e-10
#: Smallest prior mean of counts.
LEAST_MEAN = 1e-3


class MixedMixtureModel(MixtureModel):
    """Mixture of rows of options, counts and normal values.

    The values of a row are independent given the component.

    Parameters
    ----------
    n_components, n_features : int
    columns : sequence of Column
    feature_prior : float
        Concentration of the Dirichlet prior of the options of a column.
    **others : dict
        See `MixtureModel`.
    """

    def __init__(
        self, n_components, n_features, *, columns, feature_prior=1.0, **others
    ):
        family = MixedFamily(columns)
        super().__init__(n_components, n_features, family, **others)
        self.feature_prior = feature_prior
        self.block_size = int(
            np.clip(VALUES_OF_BLOCK // family.n_natural // 16 * 16, 16, 1024)
        )
        self.most_kept_rows = KEPT_VALUES // family.n_natural

    def log_partition(
        self, inverse_temperatures, hyper, random, priors=None, n_samples=8
    ):
        """Return log C(b) as a `MixturePartition`.

        ``priors`` are the concentrations of weights and of options.
        """
        return draw_partition(
            self, inverse_temperatures, hyper, random, priors, n_samples
        )

    def auto_batch_size(self, X, total):
        """Return a tenth of the samples, at least 20 per component, at most 5,000."""
        fewest = 20 * self.n_components
        if total is None:
            return max(1000, fewest)
        return max(1, min(max(round(total / 10), fewest), 5000, total // 2))

    def prior_of_component(self, X, sample_weight=None):
        """Return the prior of a component.

        Options have a symmetric prior.  The priors of counts and of normal values have
        the means of all rows, and the priors of normal values have variances in
        proportion to the variances of all rows.
        """
        family = self.family
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        weight = weight if weight.any() else np.ones(X.shape[0])
        options = np.full(family.n_natural, self.feature_prior - 1.0)
        (options,), (counts,), (normals,) = family.of_kinds(options[None])
        n = len(family.counts)
        counts[:n] = 0.0
        for place, number in enumerate(family.counts):
            mean = weighted_mean(X[:, number], weight)
            counts[n + place] = 1.0 / max(mean, LEAST_MEAN)
        means, variances = [], []
        for place, number in enumerate(family.normals):
            values = (X[:, number] - family.location[place]) / family.scale[place]
            means.append(weighted_mean(values, weight))
            variance = weighted_mean((values - means[-1]) ** 2, weight)
            variances.append(variance if variance > LEAST_VARIANCE else 1.0)
        if len(normals):
            shape = np.ones((1, len(means)))
            usual = (
                MEAN_PRECISION * shape,
                np.array([means]),
                SHAPE * shape,
                SHAPE * VARIANCE * np.array([variances]),
            )
            normals[:] = family.parts[-1].natural(usual)[0]
        return np.concatenate([options, counts, normals])


def weighted_mean(values, weight):
    """Return the weighted mean of the values that are not missing, or 0."""
    known = ~np.isnan(values)
    total = weight[known].sum()
    return float(weight[known] @ values[known] / total) if total > 0 else 0.0
