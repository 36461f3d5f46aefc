"""Capabilities of models: optional methods that some policies need."""

import numpy as np

from ._renewing import Renewing

__all__ = ["Capabilities"]

#: Methods of each capability.
_CAPABILITIES = {
    "dense_vectors": (
        "natural_parameters",
        "from_natural_parameters",
        "target_parameters",
    ),
    "fisher_products": ("fisher_product",),
    "largest_rates": ("largest_rate", "is_valid"),
    "log_partitions": ("log_partition",),
    "critical_temperatures": ("critical_temperatures",),
    "births": ("propose_birth",),
    "splits": ("propose_split_merge",),
    "other_features": ("on_features",),
    "renewals": (
        "with_births",
        "joined",
        "merged",
        "matched",
        "blended",
        "component_counts",
    ),
}


class Capabilities(Renewing):
    """Methods that a model may define so that policies can use them.

    A model has a capability if it defines all its methods, see `_CAPABILITIES`.  A
    policy lists the capabilities that it needs in `Policy.requires`.  If the model
    lacks one of them, `fit` raises before the first step.
    """

    @classmethod
    def capabilities(cls):
        """Return the names of the capabilities whose methods are defined.

        Returns
        -------
        names : set of str
        """
        return {name for name in _CAPABILITIES if not cls._missing(name)}

    @classmethod
    def _missing(cls, capability):
        return [
            method
            for method in _CAPABILITIES[capability]
            if getattr(cls, method) is getattr(Capabilities, method)
        ]

    @classmethod
    def require(cls, capability, policy):
        """Raise if the model lacks a capability that a policy needs.

        Parameters
        ----------
        capability : str
            Name of the capability.
        policy : object
            The policy, for the message.

        Raises
        ------
        ValueError
            If the model does not define the methods of the capability.
        """
        missing = cls._missing(capability)
        if missing:
            raise ValueError(
                f"{policy!r} needs a model with {capability}, and {cls.__name__} has "
                f"none: it does not define {', '.join(missing)}."
            )

    # -- dense_vectors: for adaptive rates, and tests ----------------------------------
    def natural_parameters(self, globals_):
        """Return the natural parameters as one vector; do not change ``globals_``.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        vector : ndarray of shape (n_parameters,)
            A contiguous vector of float64.
        """
        raise NotImplementedError

    def from_natural_parameters(self, vector):
        """Convert a vector of `natural_parameters` back to global parameters.

        Parameters
        ----------
        vector : ndarray of shape (n_parameters,)

        Returns
        -------
        globals_ : object
        """
        raise NotImplementedError

    def target_parameters(self, statistics, scale, powers, hyper):
        """Return the target of a step as a vector.

        Parameters
        ----------
        statistics, scale, powers, hyper
            As in `ConjugateModel.step`.

        Returns
        -------
        vector : ndarray of shape (n_parameters,)
        """
        raise NotImplementedError

    # -- fisher_products ---------------------------------------------------------------
    def fisher_product(self, globals_, vector):
        """Return the Fisher information of q(globals) times a vector.

        Parameters
        ----------
        globals_ : object
        vector : ndarray of shape (n_parameters,)
            Change of the natural parameters.

        Returns
        -------
        product : ndarray of shape (n_parameters,)
            Change of the expected sufficient statistics.
        """
        raise NotImplementedError

    # -- largest_rates: for Gaussian noise, whose factors may be negative --------------
    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which a step would leave the domain of the parameters.

        This can happen only if statistics have negative factors.

        Parameters
        ----------
        globals_, statistics, scale, powers, hyper
            As in `ConjugateModel.step`.

        Returns
        -------
        rate : float
            Infinity if no rate leaves the domain.
        """
        return np.inf

    def is_valid(self, globals_):
        """Return whether the parameters are in their domain.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        is_valid : bool
        """
        raise NotImplementedError

    # -- log_partitions: for temperatures that are inferred ----------------------------
    def log_partition(self, inverse_temperatures, hyper, random, priors, n_samples):
        """Return the log normaliser of the tempered likelihood.

        It normalises the ``score`` of `LocalStep`: log C(b) is the logarithm of the sum
        of exp(b score) over all values that a sample could have.

        Parameters
        ----------
        inverse_temperatures : ndarray of shape (n_temperatures,)
        hyper : object
        random : numpy.random.Generator
        priors : object or None
            Priors to use instead of the model's priors; None uses the model's priors.
            "global" means priors that suit a common temperature of all samples, and
            "local" priors that suit a temperature for each sample.
        n_samples : int
            Number of draws, if the normaliser is estimated by sampling.

        Returns
        -------
        log_partition : ndarray of shape (n_temperatures,) or object
            If log C(b) of a sample is proportional to its number of observations, an
            array of log C(b) per observation.  Otherwise a picklable object with the
            method ``of_rows(n_observed)``, which returns log C(b) of samples with the
            given numbers of observations, of shape (n_rows, n_temperatures).
        """
        raise NotImplementedError

    # -- critical_temperatures: for schedules with start="auto" ------------------------
    def critical_temperatures(self, X, hyper, sample_weight=None):
        """Return the temperatures below which components become distinct.

        In a fit at a constant temperature above the first critical temperature, all
        components become equal.  Between the first and the second critical temperature
        the components differ in one direction, and below the last critical temperature
        in all directions.  The temperature is the reciprocal of `Powers.local`.

        Parameters
        ----------
        X : array-like
            The data, or an even sample of at most `max_start_rows` rows of the data, or
            the first chunk of a stream.
        hyper : object
            Initial hyperparameters.
        sample_weight : ndarray of shape (n_samples,) or None
            Number of times that each row counts.

        Returns
        -------
        temperatures : ndarray of shape (n_components - 1,) or None
            Finite, positive and not increasing, corrected for the noise of a finite
            sample.  Components do not differ at T=1 in a direction whose temperature is
            below 1.  None if there are no critical temperatures: the priors of
            components differ, or X has too few rows.
        """
        raise NotImplementedError

    # -- births, splits ----------------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, row_weight=None):
        """Propose global parameters with a new component for rows that fit badly.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows among which badly fitting rows are chosen.
        random : numpy.random.Generator
        row_weight : ndarray of shape (n_rows,) or None
            Number of times that each row counts; None means once.

        Returns
        -------
        globals_, hyper : object
        """
        raise ValueError(f"{type(self).__name__} makes no birth moves.")

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, row_weight=None
    ):
        """Propose global parameters after splits and merges of components.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows from which the components are chosen.
        random : numpy.random.Generator
        refused : frozenset
            Keys of rejected proposals, which must not be repeated.
        row_weight : ndarray of shape (n_rows,) or None
            As in `propose_birth`.

        Returns
        -------
        globals_, hyper, key : object
            The proposal and its key.  If no proposal promises a better bound, a single
            None is returned instead.
        """
        raise ValueError(f"{type(self).__name__} makes no split and merge moves.")

    # -- other_features: for data with more columns, or fewer --------------------------
    def on_features(self, globals_, hyper, places, start_share):
        """Convert the parameters of a model with other features to this model.

        Parameters
        ----------
        globals_, hyper : object
            Parameters and hyperparameters of the other model.
        places : ndarray of int of shape (n_features,)
            Column in the other model for each feature of this model; -1 for a new
            feature, which no sample has contained so far.
        start_share : float
            Weight of the initial parameters in the current parameters.

        Returns
        -------
        globals_, hyper : object
            Parameters and hyperparameters of this model.
        """
        raise NotImplementedError
