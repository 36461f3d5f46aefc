"""The contract of models: the required methods.

The optional methods are in `_options`, and the methods that only some policies need are
in `_capabilities`.

A model has shapes and settings, which are constant.  A fit changes two values:
`globals_`, the variational parameters that all samples share, and `hyper`, the priors
and variances, which may be learned.  The model creates both values, and the training
loop passes them to the methods of the model.
"""

import numpy as np

from ._capabilities import Capabilities
from ._options import Options
from ._values import Powers

__all__ = ["ConjugateModel"]


class ConjugateModel(Options, Capabilities):
    r"""A conditionally conjugate model under mean-field inference.

    A global step is

    .. math:: \lambda \leftarrow (1 - \rho) \lambda + \rho \hat\lambda, \quad
        \hat\lambda = \lambda_0(p) + (D / S) \sum_i w_i b_i E[t_i]

    in natural parameters.  Here :math:`\rho` is the learning rate, :math:`\lambda_0(p)`
    the prior with power p, and D / S the scale from a batch to all data.  Sample i has
    the weight :math:`w_i`, the power :math:`b_i` and the sufficient statistics
    :math:`t_i`.  The domain of natural parameters is convex, so a step stays in it.

    To add a model, derive a class from this class, in a new folder.  No other part of
    the package needs a change.  The contract has three parts:

    Required
        The attribute ``dtype``, and the methods `take`, `initial_hyper`,
        `initial_globals`, `prepare`, `local_step`, `global_bound` and
        `predictive_scores`; also either the method `step`, or the capability
        "dense_vectors", which the default of `step` needs.

    Optional, with defaults
        All other attributes, and the methods `step`, `update_hyper`, `is_finite`,
        `units_per_row`, `per_unit`, `auto_batch_size`, `auto_temperature`,
        `global_shapes`, `hyper_shapes`, `check` and `check_local`.

    Capabilities, each needed by some policies
        "dense_vectors" (`natural_parameters`, `from_natural_parameters`,
        `target_parameters`), "fisher_products" (`fisher_product`), "largest_rates"
        (`largest_rate`, `is_valid`), "log_partitions" (`log_partition`),
        "critical_temperatures" (`critical_temperatures`), "births" (`propose_birth`),
        "splits" (`propose_split_merge`), "other_features" (`on_features`) and
        "renewals" (`with_births`, `joined`, `merged`, `matched`, `blended`,
        `component_counts`).  A model has a capability if it defines all its methods;
        `capabilities` returns the names.

    Attributes
    ----------
    dtype : dtype
        Dtype of kernels and of public arrays, float32 or float64.  Required.
    block_size : int
        Largest number of rows of a block.  The bits of results depend on it, because
        blocks are added in their order.
    most_kept_rows : int
        Largest number of rows of data for which a fit caches the blocks that `take`
        returns; set it if `take` is slow.  Methods must not change a block.  By default
        0.
    parameter_dtype : dtype
        Dtype in which global parameters are stored, by default float64.
    max_start_rows : int
        Largest number of rows that `initial_hyper`, `initial_globals` and
        `auto_batch_size` get if the data are in several parts.
    stream_rows : int or None
        Largest number of rows that a batch represents in a stream of unknown length.
        The temperature falls while the first 40 % of this number of rows are processed,
        but in at least 5 and at most 15 steps.  By default None: the batch represents
        the rows so far, and the temperature falls in 15 steps.
    watches_bound : bool
        Whether the lower bound is cheap enough to be computed in each step on all
        samples.  A fit then ends when it has converged.
    keeps_local : bool
        Whether a step on all samples starts from the local parameters of the previous
        step, because the local optimum depends on the start.
    n_local : int or None
        Number of local parameters of a row, if a step starts from local parameters;
        None if the number is unknown.
    birth_steps : int
        Number of steps in which a new component reaches its optimum.
    products_per_value : float
        Approximate number of multiplications of a local step for each stored value of a
        row.  Several threads share the blocks only if each thread gets enough
        multiplications.  With the default, infinity, they always share the blocks.
    is_random : bool
        Whether local steps draw random numbers, from their ``seed``.
    local_tol : float
        Largest distance, in nats, of the bound of a row from its optimum at the end of
        a local step; 0 if the optimum is exact.
    scores_whole_rows : bool
        Whether `predictive_scores` is the predictive density of whole rows.
    scores_rankings : bool
        Whether the results of `predictive_scores` measure rankings.  Otherwise they are
        log-likelihoods.
    weighs_observations : bool
        Whether observations have weights.  `LocalStep.row_observed` is then a sum of
        weights instead of a number of observations.
    has_continuous_local : bool or None
        Whether rows have continuous local parameters, whose prior has the power
        ``powers.prior``.  If this is None, `sktemper.testing.check_model` assumes that
        rows have them if they have no discrete local parameters.
    steps_in_place : bool
        Whether `step` overwrites the old parameters.  If so, it must raise any
        exception before it changes them.
    stop : ndarray of shape (1,), int
        The loop sets it to 1 on Ctrl-C.  A local step reads it in each inner iteration,
        and raises `Stopped` if it is 1.
    """

    def __init__(self):
        self.stop = np.zeros(1, dtype=np.intc)

    def take(self, X, rows):
        """Return ``X[rows]`` as a block for `local_step`.

        Parameters
        ----------
        X : array-like
            Validated data, which must not be changed.
        rows : slice or ndarray of int

        Returns
        -------
        block : object
        """
        raise NotImplementedError

    def initial_hyper(self, X, sample_weight=None):
        """Return the starting values of priors and variances.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.

        Returns
        -------
        hyper : object
            A picklable value, which `update_hyper` may learn.
        """
        raise NotImplementedError

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the initial global parameters.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream, which may have fewer rows than
            components.
        random : numpy.random.RandomState
        hyper : object, default=None
            Initial hyperparameters; None means `initial_hyper` of ``X``.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.  If the start does not depend on the
            order of the rows, an integer weight has the effect of repeating the row.

        Returns
        -------
        globals_ : object
            A picklable value.
        """
        raise NotImplementedError

    def prepare(self, globals_, hyper):
        """Return values for `local_step` that are computed once for each step.

        Parameters
        ----------
        globals_, hyper : object

        Returns
        -------
        prepared : object
            The value is shared by all blocks of a batch, which only read it.
        """
        raise NotImplementedError

    def local_step(self, block, prepared, request):
        """Optimise the local parameters of a block.

        Parameters
        ----------
        block : object
            Result of `take`.
        prepared : object
            Result of `prepare`.
        request : Request

        Returns
        -------
        LocalStep

        Raises
        ------
        Stopped
            If `stop` was set.
        """
        raise NotImplementedError

    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return ``powers.prior`` E log p(globals) - E log q(globals).

        The value includes all constants.  The lower bound is the sum of this value and
        the bounds of all local steps.

        Parameters
        ----------
        globals_, hyper : object
        powers : Powers

        Returns
        -------
        bound : float
            In nats.
        """
        raise NotImplementedError

    def predictive_scores(self, block, prepared):
        """Return each row's held-out log-likelihood at T=1, and number of observations.

        Parameters
        ----------
        block, prepared : object

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Log-likelihoods in nats; 0 for rows without held-out observations.
        n_held_out : ndarray of shape (n_rows,)
            Number of held-out observations (tokens, values or ratings) of each row.
        """
        raise NotImplementedError
