"""Families of Gaussian components: data, and the kernels of local steps."""

from typing import NamedTuple

import numpy as np

from .._contract import Ascent, IllDefined, Stopped
from .._families import _normal_wishart
from .._families._births import starts_of_axes
from .._families._family import ONCE
from .._utils._cache import twin
from .._utils._linalg import tiled_matmul
from . import _kernels

# -- families of Gaussian components: data, and the kernels of local steps -------------
#: Differences of logarithms to the largest value.  A responsibility is 0 below the
#: first number.  Components whose constants are below the second number are left out,
#: because they usually have no responsibilities.
NO_SHARE, NO_WEIGHT = -1e3, -1e6
#: Least number of columns for which components without any responsibility are left out.
MANY_COLUMNS = 16
#: Largest number of columns for which a kernel searches splits.  It computes products
#: of all columns; with more of them, principal axes are found faster without.
MOST_SPLIT_COLUMNS = 128


class GaussianTables(NamedTuple):
    """Tables of Gaussian components for the kernel.

    Attributes
    ----------
    means : ndarray of shape (n_components, n_features)
    factors : ndarray of shape (n_components, n_packed)
        Lower triangles by rows, or diagonals, of factors of the expected precisions.
    constants : ndarray of shape (n_components,)
        Expected log densities without the terms of the distances.
    usual : Usual
    """

    means: np.ndarray
    factors: np.ndarray
    constants: np.ndarray
    usual: _normal_wishart.Usual


class GaussianFamily(_normal_wishart.NormalWishartFamily):
    """Gaussian components with Normal-Wishart posteriors.

    Parameters
    ----------
    n_features : int
    covariance : Covariance
    dtype : {float32, float64}
        Dtype of the computations of kernels.

    Attributes
    ----------
    stop : ndarray of shape (1,), int
        See `ConjugateModel.stop`.
    reg_covar : ndarray of shape (n_features,)
        Variance added to the samples in the statistics.
    origin : ndarray of shape (n_features,)
        Origin of the coordinates of the parameters, which preserves digits of data far
        from 0.
    is_noisy : bool
        Whether local steps contain the variance `reg_covar`, too.
    added : ndarray of shape (n_kept,)
        Stored elements of the second moments that are added for each sample.
    has_scales : bool
        Whether rows have scales, so that fewer or more of them count for the means.
    """

    has_scales = False

    def __init__(self, covariance, *, dtype=np.float64):
        super().__init__(covariance)
        self.dtype, self.stop = dtype, np.zeros(1, dtype=np.intc)
        self._set(np.zeros(self.n_features), 0.0, False)

    def _set(self, origin, reg_covar, is_noisy):
        kind, self.origin, self.is_noisy = self.covariance, origin, is_noisy
        self.reg_covar = np.broadcast_to(reg_covar, self.n_features)
        self.added = kind.packed(kind.default_prior(np.diag(self.reg_covar)))

    @property
    def added_variances(self):
        """`reg_covar` of each variance that the covariance type stores."""
        return self.added[self.covariance.is_variance > 0]

    def shift(self, origin, reg_covar=0.0, is_noisy=False):
        """Return the family in other coordinates, and with other noise."""
        other = twin(self)  # shares the caches
        other._set(origin, reg_covar, is_noisy)
        return other

    # -- data --------------------------------------------------------------------------
    def block(self, rows):
        return np.ascontiguousarray(rows, dtype=self.dtype)

    def moments(self, block):
        """Return 1, x, the stored second moments, and 1, for each row."""
        rows = block - self.origin
        second = rows**2
        if self.covariance.products:
            one, other = np.triu_indices(self.n_features)
            second = rows[:, one] * rows[:, other]
        return self._natural_order(np.hstack([np.ones((len(rows), 1)), rows, second]))

    def coordinates(self, block, row_weight):
        """Return centred rows, divided by the columns' standard deviations."""
        rows = block - self.origin
        total = row_weight.sum()
        rows -= row_weight @ rows / total
        spread = np.sqrt(row_weight @ rows**2 / total)
        return rows / np.maximum(spread, np.finfo(spread.dtype).tiny)

    def counted(self, sums):
        """Return the sums of moments, with `reg_covar` added for each sample."""
        sums[:, 1 + self.n_features : -1] += sums[:, :1] * self.added
        return sums

    def _natural_order(self, sums):
        """Return sums of the kernel's moments in the order of natural parameters."""
        first = 1 + self.n_features
        natural = np.empty((len(sums), self.n_natural))
        natural[:, :first] = sums[:, :first]
        natural[:, first:-1] = self.covariance.kept(sums[:, first:])
        natural[:, -1] = sums[:, 0]
        return natural

    def split_finder(self, block):
        is_given = isinstance(block, np.ndarray) and block.dtype == self.dtype
        if not is_given or block.shape[1] > MOST_SPLIT_COLUMNS or self.is_noisy:
            return None
        return self._best_split

    def _best_split(self, block, coordinates, weight, prior, whole):
        shares, moved = np.empty(len(block)), np.empty(self.n_natural)
        status, entropy = _kernels.best_split(
            np.ascontiguousarray(block),
            np.ascontiguousarray(coordinates, dtype=block.dtype),
            weight,
            self.origin,
            self.added_variances,
            prior,
            whole.statistics,
            self.covariance.kinds,
            (whole.concentration, whole.count),
            self.stop,
            starts_of_axes(self.n_features).T.copy(),
            shares,
            moved,
        )
        if status == Ascent.STOPPED:
            raise Stopped
        if status == Ascent.ILL_DEFINED:
            raise IllDefined(_normal_wishart.ILL_DEFINED)
        return None if status else (shares, moved, moved[0], entropy)

    # -- local steps -------------------------------------------------------------------
    def prepare(self, parameters):
        usual = self.usual(parameters)
        means, factors = self._tables(usual)
        noise = 0.5 * self.squares_of_noise(usual) if self.is_noisy else 0.0
        return GaussianTables(
            np.ascontiguousarray(means, dtype=self.dtype),
            np.ascontiguousarray(factors, dtype=self.dtype),
            usual.terms[2] - noise,  # the expected log density falls by it
            usual,
        )

    def squares_of_noise(self, usual):
        """Return expected squares of the noise, in expected standard deviations."""
        squares = usual.factors**2 @ self.reg_covar
        squares = squares.reshape(np.size(usual.freedom), -1).sum(axis=1)
        return usual.freedom * squares

    def _tables(self, usual):
        factors = self.covariance.triangles(usual.factors, np.sqrt(usual.freedom))
        return usual.means + self.origin, factors

    def responsibilities(self, block, tables, log_weights, power):
        """Return responsibilities, bounds and scores, see `MixtureModel`.

        Empty components, whose weights are negligible, are not passed to the kernel.
        """
        constants = log_weights + tables.constants
        used = constants > constants.max() + NO_WEIGHT
        if used.all() or np.ndim(power) > 0:
            return self._run(block, tables, constants, power, False)
        some = tables._replace(means=tables.means[used], factors=tables.factors[used])
        found, bounds, scores = self._run(block, some, constants[used], power, False)
        # a row may be so far from all used components that an empty one explains it
        if power * constants[~used].max() > bounds.min() + NO_SHARE:
            return self._run(block, tables, constants, power, False)
        shares = np.zeros((len(block), len(used)), dtype=found.dtype)
        shares[:, used] = found
        return shares, bounds, scores

    def squares(self, block, tables):
        """Return squared distances of rows to components, (n_rows, n_components).

        The distances are in expected standard deviations.
        """
        return self._run(block, tables, tables.constants, np.ones(()), True)[0]

    def _rows_of(self, block, tables):
        return block

    def _run(self, block, tables, constants, power, only_squares):
        n_rows, power = len(block), np.asarray(power)
        out = np.empty((n_rows, len(tables.means)), dtype=self.dtype)
        bounds, scores = np.empty(n_rows), np.empty(n_rows)
        _kernels.local_step(
            block,
            tables.means,
            tables.factors,
            np.ascontiguousarray(constants),
            np.atleast_1d(power),
            self.stop,
            only_squares,
            out,
            bounds,
            scores,
        )
        return out, bounds, scores

    def log_likelihoods(self, block, tables):
        return tables.constants - 0.5 * self.squares(block, tables)

    def statistics(self, block, shares, factors=ONCE, tables=None):
        D, kind = self.n_features, self.covariance
        n_second = D * (D + 1) // 2 if kind.products else D
        sums = self._sums(block, shares, factors, 1 + D + n_second)
        return sums[:, 0], self.counted(self._natural_order(sums))

    def _sums(self, block, shares, factors, n_moments):
        """Return the sums of the first ``n_moments`` moments, (n_shares, n_moments)."""
        out = np.zeros((shares.shape[1], n_moments))
        if self.n_features >= MANY_COLUMNS:
            used = shares.any(axis=0)
            if used.any() and not used.all():
                out[used] = self._sums(block, shares[:, used], factors, n_moments)
                return out
        dtype = block.dtype if block.dtype == shares.dtype else np.float64
        _kernels.weighted_moments(
            np.asarray(block, dtype=dtype),
            self.origin,
            not self.covariance.products,
            np.ascontiguousarray(shares, dtype=dtype),
            factors,
            self.stop,
            out,
        )
        return out

    def in_float64(self, block, tables):
        """Return the family, rows and tables in float64, where distances are exact."""
        if self.dtype == np.float64:
            return self, block, tables
        family = twin(self, dtype=np.dtype(np.float64))
        both = map(np.ascontiguousarray, family._tables(tables.usual))
        tables = GaussianTables(*both, *tables[2:])
        return family, block.astype(np.float64), tables

    def log_predictive(self, block, tables, log_weights=0.0):
        each = [slice(k, k + 1) for k in range(len(tables.means))]
        return self._log_mixtures(block, tables, log_weights, each).T.copy()

    def log_mixture(self, block, tables, log_weights):
        """Return log densities of the mixture of the components' predictive densities.

        This is the log of the sum of the exponentials of `log_predictive`.
        """
        return self._log_mixtures(block, tables, log_weights, [slice(None)])[0]

    def _log_mixtures(self, block, tables, log_weights, mixtures):
        """Return log densities of mixtures of some components, (n_mixtures, n_rows)."""
        family, block, tables = self.in_float64(block, tables)
        usual, law = tables.usual, self.law
        nu = np.broadcast_to(usual.freedom, usual.precision.shape)
        spread = (usual.precision + 1.0) / usual.precision
        logs = law.log_student(nu, usual.log_determinants, spread) + log_weights
        scales = 1.0 / (law.width * (spread if law.is_product else nu * spread))
        rows, exponents = family._rows_of(block, tables), law.exponent(nu)
        scores, product = np.empty((len(mixtures), len(block))), (None, None, None)
        factors = self.covariance.each(usual.factors)
        for part, out in zip(mixtures, scores, strict=True):
            if law.is_product:
                product = self.origin, usual.means[part], factors[part].copy()
            _kernels.predictive(
                rows,
                tables.means[part],
                tables.factors[part],
                logs[part],
                exponents[part],
                scales[part],
                *product,
                self.stop,
                out,
            )
        return scores


# -- a covariance that all components share --------------------------------------------
class TiedFamily(GaussianFamily):
    """Gaussian components that share a covariance.

    The natural parameters of a mixture are one vector.  It has kappa and kappa m of all
    components, followed by means over the components of the second moments and of the
    degrees of freedom.

    The parameters are those of `GaussianFamily`; the covariance is `TiedFull`.
    """

    #: Class of `alone`.
    alone_class = GaussianFamily

    @property
    def n_components(self):
        return self.covariance.n_components

    @property
    def alone(self):
        covariance = self.covariance.single(self.n_features, self.law)
        family = self.alone_class(covariance, dtype=self.dtype)
        family.stop = self.stop
        return family.shift(self.origin, self.reg_covar)

    def resized(self, n_components):
        kind = type(self.covariance)
        return twin(self, covariance=kind(self.n_features, self.law, n_components))

    def reordered(self, components, order):
        K, D = self.n_components, self.n_features
        precision, means, shared = np.split(components, [K, K + K * D])
        means = means.reshape(K, D)[order].ravel()
        return np.concatenate([precision[order], means, shared])

    # -- parameters --------------------------------------------------------------------
    def shape(self, n_components):
        n_own = n_components * (1 + self.n_features)
        return (n_own + self.covariance.n_kept + 1,)

    def repeated(self, prior, n_components):
        first = 1 + self.n_features
        precision = np.full(n_components, prior[0])
        means = np.tile(prior[1:first], n_components)
        return np.concatenate([precision, means, prior[first:]])

    def split(self, parameters):
        K, D = self.n_components, self.n_features
        precision, means, second = np.split(parameters[:-1], [K, K + K * D])
        return _normal_wishart.NormalWishartParts(
            precision,
            means.reshape(K, D),
            self.covariance.unpacked(second),
            parameters[-1],
        )

    def joined(self, precision, means, kept, freedom):
        return np.concatenate([precision, means.ravel(), kept, [freedom]])

    def draws(self, parameters, random):
        raise NotImplementedError  # components are not independent

    # -- local steps -------------------------------------------------------------------
    def _tables(self, usual):
        """Return whitened means, and diagonal factors of 1."""
        return usual.means @ _whitening(usual), np.ones_like(usual.means)

    def _run(self, block, tables, *given):
        return super()._run(self._rows_of(block, tables), tables, *given)

    def _rows_of(self, block, tables):
        rows = block.astype(np.float64) - self.origin
        white = tiled_matmul(rows, _whitening(tables.usual))
        with np.errstate(over="ignore"):  # the kernel handles rows that are far away
            return white.astype(self.dtype)

    def statistics(self, block, shares, factors=ONCE, tables=None):
        """Return the sums of the moments; second moments are means over components."""
        first = 1 + self.n_features
        own = self._sums(block, shares, factors, first)
        totals = shares.sum(axis=1, dtype=np.float64, keepdims=True)
        n_moments = first + self.covariance.n_kept
        mean = self._sums(block, totals, factors, n_moments)[0, first:]
        return self._shared(own, mean / self.n_components)

    def _shared(self, own, mean):
        """Return counts and statistics.

        ``own`` has the sums of 1 and of x for each component, and ``mean`` the sums of
        products, averaged over the components.
        """
        counts = own[:, 0]
        n_mean = counts.mean()
        mean = mean + n_mean * self.added
        return counts, self.joined(counts, own[:, 1:], mean, n_mean)

    # -- moves -------------------------------------------------------------------------
    def gains(self, prior, statistics, removed, added):
        """Return the increases of the lower bound if new clusters replace old clusters.

        The lower bounds are computed for the best parameters; see `Family.gains`.  All
        clusters share the covariance.  Therefore the gain of two replacements together
        is not the sum of their gains.
        """
        shape, n_empty = removed.shape, removed.shape[1] - added.shape[1]
        added = np.pad(added, [(0, 0), (0, n_empty), (0, 0)])
        added = added.reshape(-1, added.shape[-1])
        values, inverse_scales = self._parts(prior + statistics)
        after, scales_after = self._parts(prior + added)
        rises = after.reshape(shape).sum(axis=1) - values[removed].sum(axis=1)
        changes = scales_after.reshape(*shape, *scales_after.shape[1:]).sum(axis=1)
        changes = changes - inverse_scales[removed].sum(axis=1)
        total = inverse_scales.sum(axis=0, keepdims=True)
        freedom = prior[-1] + self.law.shift
        freedom = freedom * len(statistics) + statistics[:, -1].sum()
        matrices = self.alone.covariance.matrices
        rise = np.linalg.slogdet(matrices(total + changes))[1]
        rise = rise - np.linalg.slogdet(matrices(total))[1]
        return rises - 0.5 * freedom * rise

    def _parts(self, posteriors):
        """Return a term of the bound and an inverse scale for each cluster."""
        usual = self.alone.usual(posteriors)
        return -0.5 * self.n_features * np.log(usual.precision), usual.inverse_scale


def _whitening(usual):
    return (usual.factors * np.sqrt(usual.freedom)).T
