"""Attributes and methods of models that have defaults."""

import numpy as np

from ._values import all_finite, check_numbers, numbers_in

__all__ = ["Options"]


class Options:
    """Attributes and methods that a model may replace, see `ConjugateModel`."""

    block_size = 256
    parameter_dtype = np.dtype(np.float64)
    max_start_rows = 100_000
    stream_rows = None
    most_kept_rows = 0
    watches_bound = False
    keeps_local = False
    n_local = None
    birth_steps = 5
    products_per_value = np.inf
    is_random = False
    local_tol = 0.0
    scores_whole_rows = False
    scores_rankings = False
    weighs_observations = False
    has_continuous_local = None
    steps_in_place = False

    # -- the step ----------------------------------------------------------------------
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
        """Return priors and variances after a step; change only learned values.

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

    def is_finite(self, globals_, hyper, prepared):
        """Return whether all parameters after a step are finite.

        If some are not finite, the step is not taken.  A model with many parameters may
        check a few numbers instead, such as sums, if any parameter that is not finite
        makes one of them not finite.

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

    # -- units of a row ----------------------------------------------------------------
    def units_per_row(self, X, rows):
        """Return the number of units of each row.

        A unit is a part of a row with a separate noise factor and a separate power.

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
        """Return whether the number of units of a row can differ from 1."""
        return cls.units_per_row is not Options.units_per_row

    def per_unit(self, block, values):
        """Return an inverse temperature for each unit.

        Parameters
        ----------
        block : object
        values : ndarray
            One value for each unit if the model returns `LocalStep.unit_scores`,
            otherwise one value for each row of the block.

        Returns
        -------
        values : ndarray of shape (n_units,)
        """
        return values

    # -- values of "auto" --------------------------------------------------------------
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

    # -- checks of pickles -------------------------------------------------------------
    def global_shapes(self, globals_):
        """Return the shapes that numbers and arrays in `globals_` must have, in order.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        shapes : list of tuple or None
            None disables the check.  By default, the parameters are converted to a
            vector and back, and the shapes of the result are returned.  A model without
            the capability "dense_vectors" returns None.
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
