"""What some models can do and others cannot: methods that a model may define."""

import numpy as np

__all__ = ["CAPABILITIES", "Capabilities"]

#: The methods that say how, by capability.
CAPABILITIES = {
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
}


class Capabilities:
    """The optional part of the contract of a model, see `CAPABILITIES`.

    A model has a capability once it defines the methods; a policy that needs one says
    so in `Policy.requires`, and is refused before the first step if the model has none.
    """

    @classmethod
    def capabilities(cls):
        """Return the names of those of `CAPABILITIES` whose methods are defined.

        Returns
        -------
        names : set of str
        """
        return {name for name in CAPABILITIES if not cls._missing(name)}

    @classmethod
    def _missing(cls, capability):
        return [
            method
            for method in CAPABILITIES[capability]
            if getattr(cls, method) is getattr(Capabilities, method)
        ]

    @classmethod
    def require(cls, capability, policy):
        """Raise if a policy needs what the model cannot do.

        Parameters
        ----------
        capability : str
            A key of `CAPABILITIES`.
        policy : object
            Named in the message.

        Raises
        ------
        ValueError
            If the model does not define its methods.
        """
        missing = cls._missing(capability)
        if missing:
            raise ValueError(
                f"{policy!r} needs a model with {capability}, and {cls.__name__} has "
                f"none: it does not define {', '.join(missing)}."
            )

    # -- dense_vectors: for adaptive rates, and tests ----------------------------------
    def natural_parameters(self, globals_):
        """Return the natural parameters as one vector; reading changes nothing.

        Parameters
        ----------
        globals_ : object

        Returns
        -------
        vector : ndarray of shape (n_parameters,)
            Contiguous, of float64.
        """
        raise NotImplementedError

    def from_natural_parameters(self, vector):
        """Return the global parameters of a vector: the inverse of the former.

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
            As of `ConjugateModel.step`.

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
            A change of the natural parameters.

        Returns
        -------
        product : ndarray of shape (n_parameters,)
            The change of the expected sufficient statistics.
        """
        raise NotImplementedError

    # -- largest_rates: for Gaussian noise, which makes factors of units negative ------
    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        """Return the rate at which a step would leave the parameters' domain.

        Only statistics with negative factors can lead there.

        Parameters
        ----------
        globals_, statistics, scale, powers, hyper
            As of `ConjugateModel.step`.

        Returns
        -------
        rate : float
            Infinite if none does.
        """
        return np.inf

    def is_valid(self, globals_):
        """Return whether these are parameters of distributions.

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

        It belongs to the ``score`` of `LocalStep`: log C(b) is the logarithm of the sum
        of exp(b score) over all that could be observed in the place of a sample.

        Parameters
        ----------
        inverse_temperatures : ndarray of shape (n_temperatures,)
        hyper : object
        random : numpy.random.Generator
        priors : object or None
            What stands for the model's priors, None for those themselves; "global" and
            "local" are what suits a temperature for all samples, and one for each.
        n_samples : int
            Where the normaliser is estimated by sampling.

        Returns
        -------
        log_partition : ndarray of shape (n_temperatures,) or object
            Log C(b) per observation, if that of a sample is its number of observations
            times this.  Otherwise a picklable value with ``of_rows(n_observed)``, which
            returns log C(b) of samples, of shape (n_rows, n_temperatures), given the
            numbers of observations, `LocalStep.row_observed`.
        """
        raise NotImplementedError

    # -- critical_temperatures: for annealings whose start is found ----------------
    def critical_temperatures(self, X, hyper, sample_weight=None):
        """Return the temperatures below which components become distinct.

        Above the first of them all components become equal in a fit at a constant
        temperature, if they are not yet; between the first and the second they differ
        in one direction; below the last one in as many directions as they can.  The
        temperature is that of local steps, the reciprocal of `Powers.local`.

        Parameters
        ----------
        X : array-like
            The data, or an even sample of at most `rows_looked_at` of their rows; of a
            stream its first chunk.
        hyper : object
            As at the start of a fit.
        sample_weight : ndarray of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        temperatures : ndarray of shape (n_components - 1,) or None
            Finite, positive and not increasing, without what the noise of a finite
            sample adds to them.  At values below 1 a direction is not seen at T=1.
            None if there are none: with priors by which components differ from the
            beginning, or if X has too few rows to tell.
        """
        raise NotImplementedError

    # -- births, splits ----------------------------------------------------------------
    def propose_birth(self, globals_, hyper, block, random, row_weight=None):
        """Propose global parameters with a component put where the fit is bad.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows that tell where that is.
        random : numpy.random.Generator
        row_weight : ndarray of shape (n_rows,) or None
            How often each of them counts; None is once.

        Returns
        -------
        globals_, hyper : object
        """
        raise ValueError(f"{type(self).__name__} makes no birth moves.")

    def propose_split_merge(
        self, globals_, hyper, block, random, refused, row_weight=None
    ):
        """Propose global parameters with a component split and two others merged.

        Parameters
        ----------
        globals_, hyper : object
        block : object
            Rows that tell which.
        random : numpy.random.Generator
        refused : frozenset
            Keys of proposals not to be made again.
        row_weight : ndarray of shape (n_rows,) or None
            As of `propose_birth`.

        Returns
        -------
        globals_, hyper, key : object
            Or None, if none promises a better bound.
        """
        raise ValueError(f"{type(self).__name__} makes no split and merge moves.")
