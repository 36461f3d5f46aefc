"""The capability "renewals": components of a stream appear and die."""

__all__ = ["Renewing"]


class Renewing:
    """Methods of a model whose components are renewed in a stream, see `Renewals`."""

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a larger model whose prior contains the present components.

        Parameters
        ----------
        globals_, hyper : object
            Present parameters.
        n_births : int
            Number of new components, which come after the present ones.
        X : array-like
            Recent rows, to which the larger model will be fitted.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1 over all remembered rows.
        random : numpy.random.Generator

        Returns
        -------
        model : ConjugateModel
            With the same `stop`.
        globals_, hyper : object
            Parameters from which its fit starts.
        """
        raise NotImplementedError

    def joined(self, globals_, hyper, born, X, row_weight):
        """Return a model with the present components and the new ones.

        Parameters
        ----------
        globals_, hyper : object
            Present parameters.
        born : object
            Parameters of the model of `with_births`, fitted.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        model : ConjugateModel
            With the prior of this model for all components.
        globals_, hyper : object
        """
        raise NotImplementedError

    def merged(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Merge the components of `joined` to the number of this model.

        Components that continue a present one keep its place.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of the model of `joined`, fitted.
        present, present_hyper : object
            Present parameters.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        globals_, hyper : object
        is_new : ndarray of bool of shape (n_components,)
            Places of new components.
        """
        raise NotImplementedError

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Order the components of a new fit such that those of each place are alike.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of a new fit.
        present, present_hyper : object
            Present parameters.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        globals_ : object
        is_same : ndarray of bool of shape (n_components,)
            Whether the component of a place is the present one.
        """
        raise NotImplementedError

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Return components with information of the present ones that are alike.

        Parameters
        ----------
        globals_, hyper : object
            Parameters after a renewal.
        present : object
            Present global parameters.
        may_be_same : ndarray of bool of shape (n_components,)
            Places to be compared.
        share : float
            Weight of the current components: the share of the weight of all rows that
            rows outside of the memory have.

        Returns
        -------
        globals_ : object
        """
        raise NotImplementedError

    def component_counts(self, globals_, hyper):
        """Return the number of observations that each component has.

        Parameters
        ----------
        globals_, hyper : object

        Returns
        -------
        counts : ndarray of shape (n_components,)
            What the data added to the prior, for instance expected tokens.
        """
        raise NotImplementedError
