"""Mixtures whose components have conjugate priors: what all of them share."""

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .._linalg import tiled_matmul
from ..model._values import LocalStep, Powers
from ._mixture_values import Mixture, MixtureHyper, Prepared
from ._moves import birth, split_merge
from ._natural import NaturalModel
from ._weights import WEIGHTS

__all__ = ["MixtureModel"]

#: Rows that a start looks at.
ROWS_LOOKED_AT = 20_000


class MixtureModel(NaturalModel):
    """A mixture of components that are exponential families with conjugate priors.

    A subclass says what a block is (`take`), what the log-likelihood of a sample is
    linear in (`moments`, and `log_base`), and the prior of a component
    (`prior_of_component`).

    Parameters
    ----------
    n_components, n_features : int
    family : Family
        Of the components' parameters.
    weight_prior : {"dirichlet_process", "dirichlet_distribution"}
    weight_concentration : float or None
        None is 1 / n_components.
    dtype : {float32, float64}
        Of public arrays; computed is in float64.
    """

    watches_bound = True
    scores_whole_rows = True
    parameters = Mixture
    birth_steps = 10

    def __init__(
        self,
        n_components,
        n_features,
        family,
        *,
        weight_prior="dirichlet_distribution",
        weight_concentration=None,
        dtype=np.float64,
    ):
        super().__init__()
        self.n_components, self.n_features = n_components, n_features
        self.family = family
        self.weights = WEIGHTS[weight_prior](n_components)
        if weight_concentration is None:
            weight_concentration = 1.0 / n_components
        self.weight_concentration = weight_concentration
        self.dtype = dtype

    # -- what a subclass says ----------------------------------------------------------
    def moments(self, block):
        """Return what the samples' log-likelihoods are linear in.

        Parameters
        ----------
        block : object
            From `take`.

        Returns
        -------
        moments : ndarray or CSR array of shape (n_rows, prod(family.shape))
        """
        raise NotImplementedError

    def log_base(self, block):
        """Return the part of the log-likelihoods that is the same in all components.

        Parameters
        ----------
        block : object
            From `take`.

        Returns
        -------
        logs : ndarray of shape (n_rows,)
            By default 0.
        """
        return np.zeros(self.moments(block).shape[0])

    def prior_of_component(self, X, sample_weight=None):
        """Return the natural parameters of a component's prior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, or the first chunk of a stream.
        sample_weight : ndarray of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        prior : ndarray of shape ``family.shape``
        """
        raise NotImplementedError

    def n_observed(self, block):
        """Return how many observations each row is: what scores are divided by.

        Parameters
        ----------
        block : object
            From `take`.

        Returns
        -------
        counts : ndarray of shape (n_rows,)
            By default 1.
        """
        return np.ones(self.moments(block).shape[0])

    def n_scored(self, n_observed):
        """Return what the score of rows with so many observations is divided by.

        Parameters
        ----------
        n_observed : ndarray of shape (n_rows,)

        Returns
        -------
        n_scored : ndarray of shape (n_rows,)
            By default 1.
        """
        return np.ones(len(n_observed))

    # -- the state of a fit ----------------------------------------------------------
    def initial_hyper(self, X, sample_weight=None):
        """Return the priors."""
        prior = self.prior_of_component(X, sample_weight)
        return MixtureHyper(self.weight_concentration, np.asarray(prior, np.float64))

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the optimum for samples dealt to the nearest of random ones.

        Nearest is in predictive density, under what each random sample alone tells.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        n_rows = X.shape[0]
        weight = np.ones(n_rows) if sample_weight is None else sample_weight
        weight = weight if weight.any() else np.ones(n_rows)
        known = np.flatnonzero(weight > 0)
        rows = known[:: -(-len(known) // ROWS_LOOKED_AT)]
        few = len(rows) < self.n_components
        shares = weight[rows] / weight[rows].sum()
        seeds = random.choice(len(rows), self.n_components, few, shares)
        scale = weight.sum() / weight[rows].sum()
        return self.dealt(self.take(X, rows), seeds, weight[rows], scale, hyper)

    def dealt(self, block, seeds, row_weight, scale, hyper):
        """Return the optimum for samples dealt to the nearest of some of them.

        Parameters
        ----------
        block : object
            From `take`.
        seeds : ndarray of int of shape (n_components,)
            Rows of the block.
        row_weight : ndarray of shape (n_rows,)
        scale : float
            Of the statistics.
        hyper : MixtureHyper

        Returns
        -------
        globals_ : Mixture
        """
        moments = self.moments(block)
        alone = self._dense(moments[seeds])
        alone = alone.reshape(-1, *self.family.shape) + hyper.component
        logs = self.family.log_predictive(alone, moments)
        shares = np.zeros(logs.shape)
        shares[np.arange(len(logs)), logs.argmax(axis=1)] = row_weight
        return self.target(self.statistics(block, shares), scale, Powers(), hyper)

    def prior(self, hyper):
        """Return the prior's natural parameters."""
        shape = (self.n_components, *self.family.shape)
        return Mixture(
            self.weights.prior(hyper.weight_concentration),
            np.broadcast_to(hyper.component, shape),
        )

    def shapes(self):
        """Return the shapes of the arrays of the parameters."""
        weights = self.weights.prior(1.0).shape
        return weights, (self.n_components, *self.family.shape)

    def hyper_shapes(self):
        """Return the shapes of the parts of `hyper`."""
        return [(), self.family.shape]

    def global_shapes(self, globals_):
        """Return the shapes of the parts of the global parameters."""
        return list(self.shapes())

    def is_valid(self, globals_):
        """Return whether these are parameters of distributions."""
        return bool((globals_.weights > -1).all()) and self.family.is_valid(
            globals_.components
        )

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step."""
        expected = self.family.expected(globals_.components)
        return Prepared(
            self.weights.expected_log(globals_.weights),
            np.ascontiguousarray(expected.reshape(self.n_components, -1).T),
            globals_,
            hyper,
        )

    # -- the step --------------------------------------------------------------------
    def local_step(self, block, prepared, request):
        """Compute the responsibilities of a block; see `ConjugateModel.local_step`."""
        logs = self.log_joint(block, prepared)
        return self.step_of(logs, self.n_observed(block), block, request)

    def step_of(self, logs, n_observed, block, request):
        """Return the local step of a block with these E log p(x, component).

        Parameters
        ----------
        logs : ndarray of shape (n_rows, n_components)
        n_observed : ndarray of shape (n_rows,)
        block : object
            For `statistics`.
        request : Request
        """
        n_rows = len(logs)
        tempered = logs * np.reshape(request.powers.local, (-1, 1))
        bounds = logsumexp(tempered, axis=1)
        responsibilities = np.exp(tempered - bounds[:, None])
        scores = (responsibilities * logs).sum(axis=1)
        statistics = None
        if "statistics" in request.want:
            shares = responsibilities * request.factors(n_rows)[:, None]
            statistics = self.statistics(block, shares)
        return LocalStep.of_rows(
            row_observed=n_observed,
            row_bounds=bounds,
            row_scores=scores,
            n_iterations=n_rows,
            statistics=statistics,
            local_parameters=responsibilities if "local" in request.want else None,
        )

    def log_joint(self, block, prepared):
        """Return E log p(x, component) of each row.

        A model with a kernel of its own calls it here.

        Parameters
        ----------
        block : object
            From `take`.
        prepared : Prepared
            ``log_weights``, E log pi, of shape (n_components,); ``expected``, E u of
            the components, of shape (prod(family.shape), n_components).

        Returns
        -------
        logs : ndarray of shape (n_rows, n_components)
            In float64.
        """
        logs = self.times(self.moments(block), prepared.expected)
        logs += prepared.log_weights
        return logs + self.log_base(block)[:, None]

    @staticmethod
    def times(moments, matrix):
        """Return ``moments @ matrix``, each row's bits whatever rows are around it.

        Parameters
        ----------
        moments : ndarray or CSR array of shape (n_rows, n_moments)
        matrix : ndarray of shape (n_moments, n_components)

        Returns
        -------
        products : ndarray of shape (n_rows, n_components)
        """
        if sparse.issparse(moments):
            return moments @ matrix
        return tiled_matmul(moments, matrix)

    def statistics(self, block, shares):
        """Return the sums over rows of what they tell, times their shares.

        Parameters
        ----------
        block : object
            From `take`.
        shares : ndarray of shape (n_rows, n_components)

        Returns
        -------
        statistics : Mixture
        """
        sums = self._dense(shares.T @ self.moments(block))
        shape = (self.n_components, *self.family.shape)
        return Mixture(self.weights.counted(shares.sum(axis=0)), sums.reshape(shape))

    @staticmethod
    def _dense(moments):
        return moments.toarray() if sparse.issparse(moments) else moments

    def fisher_product(self, globals_, vector):
        """Return the Fisher information of q(weights, components) times ``vector``."""
        change = self.from_natural_parameters(vector)
        return Mixture(
            self.weights.fisher_product(globals_.weights, change.weights),
            self.family.fisher_product(globals_.components, change.components),
        ).vector()

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(weights, components) - E log q, p = ``powers.prior``."""
        prior, power = self.prior(hyper), powers.prior
        bound = self.weights.bound(globals_.weights, prior.weights, power)
        components = self.family.bound(globals_.components, prior.components, power)
        return float(bound + components.sum())

    def predictive_scores(self, block, prepared):
        """Return the log posterior predictive of each row, and `n_scored`.

        Exact given q: a mixture of the components' predictive densities.
        """
        components = prepared.globals_.components
        logs = self.family.log_predictive(components, self.moments(block))
        logs = logs + np.log(self.weights.mean(prepared.globals_.weights))
        scores = logsumexp(logs, axis=1) + self.log_base(block)
        return scores, self.n_scored(self.n_observed(block))

    # -- leaving a poor optimum --------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, row_weight=None):
        """Return the mixture with one of its components begun anew."""
        row_weight = self._counts_of(block, row_weight)
        responsibilities = birth(self, globals_, hyper, block, random, row_weight)
        return self._optimum(
            block, responsibilities, globals_, hyper, row_weight
        ), hyper

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, row_weight=None
    ):
        """Return the mixture after the split and the merge that promise most."""
        row_weight = self._counts_of(block, row_weight)
        responsibilities, key = split_merge(
            self, globals_, hyper, block, random, refused, row_weight
        )
        if responsibilities is None:
            return None
        optimum = self._optimum(block, responsibilities, globals_, hyper, row_weight)
        return optimum, hyper, key

    def _counts_of(self, block, row_weight):
        return (
            np.ones(self.moments(block).shape[0]) if row_weight is None else row_weight
        )

    def _optimum(self, block, responsibilities, globals_, hyper, row_weight):
        """Return the optimal parameters for responsibilities of some of the rows."""
        order = self.weights.order(row_weight @ responsibilities)
        shares = row_weight[:, None] * responsibilities[:, order]
        prior = self.weights.prior(hyper.weight_concentration)
        counts = self.weights.counts(globals_.weights - prior)
        scale = counts.sum() / row_weight.sum()
        return self.target(self.statistics(block, shares), scale, Powers(), hyper)
