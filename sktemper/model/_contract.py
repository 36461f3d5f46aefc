"""What every model says; what some can do beside it stands in `_capabilities`.

A model holds shapes and settings.  What a fit changes stands in its `globals_` (the
variational parameters shared by all samples) and `hyper` (priors and variances, which
may be learned); both are values that the model makes and that the loop hands back.
"""

import numpy as np

from ._capabilities import Capabilities
from ._values import Powers, all_finite, check_numbers, numbers_in

__all__ = ["ConjugateModel"]


class ConjugateModel(Capabilities):
    r"""A conditionally conjugate model under mean-field inference.

    To add a model, subclass this in a folder of its own and say what follows; nothing
    else in the package has to know it.  A global step is

    .. math:: \lambda \leftarrow (1 - \rho) \lambda + \rho \hat\lambda, \quad
        \hat\lambda = \lambda_0(p) + (D / S) \sum_i w_i b_i E[t_i]

    with everything in natural parameters, so that it stays in their domain.

    Attributes
    ----------
    block_size : int
        Rows of a block, at most.  Part of the result's bits: blocks are summed in their
        order.
    parameter_dtype : dtype
        In which global parameters are kept; float64 unless a model says otherwise.
    rows_looked_at : int
        Rows of data in several parts that `initial_hyper`, `initial_globals` and
        `auto_batch_size` are given, at most, in place of all.
    watches_bound : bool
        Whether the lower bound is cheap enough for every step on all samples: a fit
        then ends when it has converged.
    keeps_local : bool
        Whether steps on all samples go on from the local parameters of the last one,
        because their optimum depends on where they start.
    n_local : int or None
        How many local parameters a row has, if a step goes on from them; None if that
        is not known.
    birth_steps : int
        Steps that bring a new component to its optimum.
    is_random : bool
        Whether local steps draw random numbers, from their ``seed``.
    local_tol : float
        How far the bound of a row may be from its optimum where a local step ends, in
        nats; 0 where the optimum is exact.
    scores_whole_rows : bool
        Whether `predictive_scores` is the predictive density of whole rows.
    scores_rankings : bool
        Whether the scores of `predictive_scores` measure rankings and are no
        log-likelihoods.
    weighs_observations : bool
        Whether observations have weights of their own, so that `LocalStep.row_observed`
        are no counts.
    has_continuous_local : bool or None
        Whether rows have continuous local parameters, whose prior has the power
        ``powers.prior``.  If this is None, `sktemper.testing.check_model` assumes them
        only where rows have no discrete ones.
    steps_in_place : bool
        Whether `step` changes the memory of the old parameters.  Then it raises before
        it does, see there.
    stop : ndarray of shape (1,), int
        Set to 1 by the loop on Ctrl-C.  A local step reads it at every inner iteration
        and then raises `Stopped`.
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
        """Return ``X[rows]`` as a block that `local_step` takes.

        Parameters
        ----------
        X : array-like
            As the estimator validated it; never changed.
        rows : slice or ndarray of int

        Returns
        -------
        block : object
        """
        raise NotImplementedError

    def units_per_row(self, X, rows):
        """Return how many units, each with noise and a power of its own, rows have.

        Parameters
        ----------
        X : array-like
        rows : ndarray of shape (n_rows,)

        Returns
        -------
        counts : ndarray of shape (n_rows,)
            By default 1: the rows are the units.
        """
        return np.ones(len(rows), dtype=np.intp)

    @classmethod
    def has_units(cls):
        """Return whether a row may have more units than one, or none."""
        return cls.units_per_row is not ConjugateModel.units_per_row

    def per_unit(self, block, values):
        """Return powers of what has temperatures of its own, as each unit has them.

        Parameters
        ----------
        block : object
        values : ndarray
            One a row of the block, or, where there are `LocalStep.unit_scores`, one a
            unit.

        Returns
        -------
        values : ndarray of shape (n_units,)
        """
        return values

    def auto_batch_size(self, X, total):
        """Return the size that ``batch_size="auto"`` stands for, from 1 up.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream.
        total : int or None
            Rows to be seen in a pass; None of a stream whose size is not known.

        Returns
        -------
        batch_size : int
        """
        return 256

    def auto_temperature(self, hyper):
        """Return where an annealing with ``start="auto"`` begins.

        Parameters
        ----------
        hyper : object
            As at the start.

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
            How often each row counts.

        Returns
        -------
        hyper : object
            Picklable; what `update_hyper` learns.
        """
        raise NotImplementedError

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the start of the global parameters.

        Parameters
        ----------
        X : array-like
            The data, or the first chunk of a stream: maybe fewer rows than components.
        random : numpy.random.RandomState
        hyper : object, default=None
            As at the start; None is `initial_hyper` of ``X``.
        sample_weight : ndarray of shape (n_samples,) or None
            How often each row counts.  Weights are repetitions where the start neither
            depends on the order of the rows.

        Returns
        -------
        globals_ : object
            Picklable.
        """
        raise NotImplementedError

    def prepare(self, globals_, hyper):
        """Return what `local_step` needs, computed once a step.

        Parameters
        ----------
        globals_, hyper : object

        Returns
        -------
        prepared : object
            What all blocks of a batch share; they only read it.
        """
        raise NotImplementedError

    def is_finite(self, globals_, hyper, prepared):
        """Return whether nothing in the state after a step is NaN or infinite.

        Such a step is not taken.  A model whose parameters are many may look only at
        what tells of all of them.

        Parameters
        ----------
        globals_, hyper : object
        prepared : object or None
            What `prepare` makes of them, if it was asked.

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
            From `take`.
        prepared : object
            From `prepare`.
        request : Request

        Returns
        -------
        LocalStep

        Raises
        ------
        Stopped
            If `stop` was set meanwhile.
        """
        raise NotImplementedError

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        """Return the global parameters after a step.

        May reuse the memory of the old where `steps_in_place` says so.  Then it looks
        itself whether what it adds is finite, and raises `IllDefined` if it is not,
        before it changes anything.

        Parameters
        ----------
        globals_ : object
        statistics : object
        scale : float
            D / S.
        powers : Powers
            Only ``powers.prior`` matters here: the rest is in ``statistics``.
        rate : float
            How much of the target, in [0, 1].
        hyper : object

        Returns
        -------
        globals_ : object
        """
        old = self.natural_parameters(globals_)
        target = self.target_parameters(statistics, scale, powers, hyper)
        return self.from_natural_parameters((1 - rate) * old + rate * target)

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        """Return learned priors and variances after a step; fixed ones unchanged.

        Parameters
        ----------
        hyper : object
        globals_ : object
            Those before the step, under which the statistics are.
        statistics, scale, rate, powers
            As of `step`.

        Returns
        -------
        hyper : object
        """
        return hyper

    # -- what was loaded ---------------------------------------------------------------
    def global_shapes(self, globals_):
        """Return the shapes that numbers and arrays in `globals_` must have, in order.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        shapes : list of tuple or None
            By default those that they have once their vector is taken apart again;
            None, which leaves them unchecked, of a model without dense vectors.
        """
        if "dense_vectors" not in self.capabilities():
            return None
        same = self.from_natural_parameters(self.natural_parameters(globals_))
        return [np.shape(part) for part in numbers_in(same)]

    def hyper_shapes(self):
        """Return the same of `hyper`; by default None, which leaves them unchecked."""
        return None

    def check(self, globals_, hyper):
        """Raise if these cannot be parameters of this model: kernels trust them.

        Parameters
        ----------
        globals_, hyper : object

        Raises
        ------
        ValueError
            If they are not numbers, finite, and of the right shapes.
        """
        check_numbers("global parameters", globals_, self.global_shapes(globals_))
        check_numbers("priors and variances", hyper, self.hyper_shapes())

    def check_local(self, local):
        """Raise if these cannot be the local parameters that a step goes on from.

        Raises
        ------
        ValueError
            If they are not numbers, finite, `n_local` of each row.
        """
        if not (isinstance(local, np.ndarray) and local.dtype.kind == "f"):
            raise ValueError("Local parameters must be an array of numbers.")
        width = local.shape[-1] if self.n_local is None else self.n_local
        check_numbers("local parameters", local, [(len(local), width)])

    # -- objectives ------------------------------------------------------------------
    def global_bound(self, globals_, hyper, powers=Powers()):  # noqa: B008
        """Return p E log p(globals) - E log q(globals), p = ``powers.prior``.

        With every constant: the bound is this and the sum of the local steps' bounds.

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
        """Return each row's held-out log-likelihood at T=1, and what it is a sum of.

        Parameters
        ----------
        block, prepared : object

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            In nats, 0 where nothing is held out.
        n_held_out : ndarray of shape (n_rows,)
            Tokens, values or ratings.
        """
        raise NotImplementedError
