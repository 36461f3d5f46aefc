"""The contract of models, except for the optional capabilities in `_capabilities`.

A model has shapes and settings, which are constant.  A fit changes `globals_`, the
variational parameters shared by all samples, and `hyper`, priors and variances that may
be learned.  The model creates both values, and the loop passes them to its methods.
"""

import numpy as np

from ._capabilities import Capabilities
from ._values import Powers, all_finite, check_numbers, numbers_in

__all__ = ["ConjugateModel"]


class ConjugateModel(Capabilities):
    r"""A conditionally conjugate model under mean-field inference.

    To add a model, subclass this class in a folder of its own and define the methods
    below.  No other part of the package needs a change.  A global step is

    .. math:: \lambda \leftarrow (1 - \rho) \lambda + \rho \hat\lambda, \quad
        \hat\lambda = \lambda_0(p) + (D / S) \sum_i w_i b_i E[t_i]

    in natural parameters.  Their domain is convex, so that a step stays in it.

    Attributes
    ----------
    block_size : int
        Largest number of rows of a block.  The bits of results depend on it, because
        blocks are added in their order.
    parameter_dtype : dtype
        Dtype in which global parameters are stored, by default float64.
    rows_looked_at : int
        Largest number of rows that `initial_hyper`, `initial_globals` and
        `auto_batch_size` get if the data are in several parts.
    watches_bound : bool
        Whether the lower bound is cheap enough to be computed in each step on all
        samples.  A fit then ends when it has converged.
    keeps_local : bool
        Whether a step on all samples starts from the local parameters of the previous
        step, because the local optimum depends on the start.
    n_local : int or None
        Number of local parameters of a row, if a step starts from them; None if it is
        unknown.
    birth_steps : int
        Number of steps in which a new component reaches its optimum.
    is_random : bool
        Whether local steps draw random numbers, from their ``seed``.
    local_tol : float
        Largest distance, in nats, of the bound of a row from its optimum at the end of
        a local step; 0 if the optimum is exact.
    scores_whole_rows : bool
        Whether `predictive_scores` is the predictive density of whole rows.
    scores_rankings : bool
        Whether the scores of `predictive_scores` measure rankings instead of being
        log-likelihoods.
    weighs_observations : bool
        Whether observations have weights, so that `LocalStep.row_observed` is not a
        number of observations.
    has_continuous_local : bool or None
        Whether rows have continuous local parameters, whose prior has the power
        ``powers.prior``.  If this is None, `sktemper.testing.check_model` assumes that
        rows have them if they have no discrete local parameters.
    steps_in_place : bool
        Whether `step` overwrites the old parameters.  It must then raise, if it raises,
        before it changes them.
    stop : ndarray of shape (1,), int
        The loop sets it to 1 on Ctrl-C.  A local step reads it in each inner iteration,
        and raises `Stopped` if it is 1.
    """

    block_size = 256
    parameter_dtype = np.dtype(np.float64)
    rows_looked_at = 100_000
    watches_bound = False
    keeps_local = False
    n_local = None
    birth_steps = 5
    is_random = False
    local_tol = 0.0
    scores_whole_rows = False
    scores_rankings = False
    weighs_observations = False
    has_continuous_local = None
    steps_in_place = False

    def __init__(self):
        self.stop = np.zeros(1, dtype=np.intc)

    # -- data ------------------------------------------------------------------------
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

    def units_per_row(self, X, rows):
        """Return the number of units of each row.

        A unit is the part of a row that has a noise factor and a power of its own.

        Parameters
        ----------
        X : array-like
        rows : ndarray of shape (n_rows,)

        Returns
        -------
        counts : ndarray of shape (n_rows,)
            By default 1, so that each row is one unit.
        """
        return np.ones(len(rows), dtype=np.intp)

    @classmethod
    def has_units(cls):
        """Return whether a row may have several units, or none."""
        return cls.units_per_row is not ConjugateModel.units_per_row

    def per_unit(self, block, values):
        """Return the inverse temperatures of rows, or of units, for each unit.

        Parameters
        ----------
        block : object
        values : ndarray
            One value for each unit if the model returns `LocalStep.unit_scores`, and
            otherwise one for each row of the block.

        Returns
        -------
        values : ndarray of shape (n_units,)
        """
        return values

    def auto_batch_size(self, X, total):
        """Return the batch size for ``batch_size="auto"``, at least 1.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream.
        total : int or None
            Number of rows of a pass; None for a stream of unknown size.

        Returns
        -------
        batch_size : int
        """
        return 256

    def auto_temperature(self, hyper):
        """Return the start temperature of schedules with ``start="auto"``.

        Parameters
        ----------
        hyper : object
            Initial hyperparameters.

        Returns
        -------
        temperature : float
        """
        return 2.0

    # -- the state of a fit ----------------------------------------------------------
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
            Number of times that each row counts.  Weights equal repetitions if the
            start does not depend on the order of the rows.

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

    def is_finite(self, globals_, hyper, prepared):
        """Return whether all parameters after a step are finite.

        Otherwise the step is not taken.  A model with many parameters may check fewer
        numbers, if these are finite only if all parameters are.

        Parameters
        ----------
        globals_, hyper : object
        prepared : object or None
            Result of `prepare`, if it was called.

        Returns
        -------
        is_finite : bool
        """
        return all_finite(globals_, hyper, prepared)

    # -- the step --------------------------------------------------------------------
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

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Return the global parameters after a step.

        If `steps_in_place` is True, the step may overwrite the old parameters.  It must
        then check that its target is finite, and raise `IllDefined` otherwise, before
        it changes anything.

        Parameters
        ----------
        globals_ : object
        statistics : object
        scale : float
            D / S.
        powers : Powers
            Only ``powers.prior`` is used; ``statistics`` contain the other powers.
        rate : float
            Weight of the target, in [0, 1].
        hyper : object

        Returns
        -------
        globals_ : object
        """
        old = self.natural_parameters(globals_)
        target = self.target_parameters(statistics, scale, powers, hyper)
        return self.from_natural_parameters((1 - rate) * old + rate * target)

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Return priors and variances after a step; those not learned are unchanged.

        Parameters
        ----------
        hyper : object
        globals_ : object
            Parameters before the step, under which the statistics were computed.
        statistics, scale, rate, powers
            As in `step`.

        Returns
        -------
        hyper : object
        """
        return hyper

    # -- checks of pickles -------------------------------------------------------------
    def global_shapes(self, globals_):
        """Return the shapes that numbers and arrays in `globals_` must have, in order.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        shapes : list of tuple or None
            By default the shapes after a conversion to a vector and back; None, which
            disables the check, for a model without the capability "dense_vectors".
        """
        if "dense_vectors" not in self.capabilities():
            return None
        same = self.from_natural_parameters(self.natural_parameters(globals_))
        return [np.shape(part) for part in numbers_in(same)]

    def hyper_shapes(self):
        """Return the shapes in `hyper`; by default None, which disables the check."""
        return None

    def check(self, globals_, hyper):
        """Raise if values cannot be parameters of this model; kernels do not check.

        Parameters
        ----------
        globals_, hyper : object

        Raises
        ------
        ValueError
            If they are not finite numbers of the right shapes.
        """
        check_numbers("global parameters", globals_, self.global_shapes(globals_))
        check_numbers("priors and variances", hyper, self.hyper_shapes())

    def check_local(self, local):
        """Raise if values cannot be the local parameters from which a step starts.

        Raises
        ------
        ValueError
            If they are not finite numbers, `n_local` for each row.
        """
        if not (isinstance(local, np.ndarray) and local.dtype.kind == "f"):
            raise ValueError("Local parameters must be an array of numbers.")
        width = local.shape[-1] if self.n_local is None else self.n_local
        check_numbers("local parameters", local, [(len(local), width)])

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(globals) - E log q(globals), p = ``powers.prior``.

        It includes all constants: the lower bound is this value plus the bounds of all
        local steps.

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
        """Return the held-out log-likelihood of each row at T=1, and its counts.

        Parameters
        ----------
        block, prepared : object

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Log-likelihoods in nats; 0 for rows without held-out observations.
        n_held_out : ndarray of shape (n_rows,)
            Number of held-out observations: tokens, values or ratings.
        """
        raise NotImplementedError
