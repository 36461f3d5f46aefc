"""The capability "renewals": in a stream, components appear and disappear.

In a renewal, new components are fitted to remembered rows, which are recent rows of the
stream, and similar components are merged.  The current components are the components
before the renewal; parameters named ``present`` hold them.
"""

__all__ = ["Renewing"]


class Renewing:
    """Methods of a model whose components are renewed in a stream, see `Renewals`."""

    def with_births(self, globals_, hyper, n_births, X, row_weight, random):
        """Return a larger model whose prior contains the current components.

        Parameters
        ----------
        globals_, hyper : object
            Current parameters.
        n_births : int
            Number of new components, which follow the current components.
        X : array-like
            Recent rows, to which the larger model will be fitted.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1 over all remembered rows.
        random : numpy.random.Generator

        Returns
        -------
        model : ConjugateModel
            Larger model with the same `stop`.
        globals_, hyper : object
            Initial parameters of a fit of the larger model.
        """
        raise NotImplementedError

    def joined(self, globals_, hyper, born, X, row_weight):
        """Return a model with the current and the new components.

        Parameters
        ----------
        globals_, hyper : object
            Current parameters.
        born : object
            Fitted parameters of the model that `with_births` returned.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        model : ConjugateModel
            Model with the prior of this model for all components.
        globals_, hyper : object
        """
        raise NotImplementedError

    def merged(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Merge components of the joined model until this model's number is left.

        A component that continues a current component keeps the index of the latter.

        Parameters
        ----------
        globals_, hyper : object
            Fitted parameters of the model that `joined` returned.
        present, present_hyper : object
            Current parameters.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        globals_, hyper : object
        is_new : ndarray of bool of shape (n_components,)
            Whether the component with each index is new.
        """
        raise NotImplementedError

    def matched(self, globals_, hyper, present, present_hyper, X, row_weight):
        """Order the components of a new fit by their similarity to current components.

        In the result, similar components have the same index.

        Parameters
        ----------
        globals_, hyper : object
            Parameters of a new fit.
        present, present_hyper : object
            Current parameters.
        X : array-like
            Remembered rows.
        row_weight : ndarray of shape (n_rows,)
            Weights of the rows, with mean 1.

        Returns
        -------
        globals_ : object
        is_same : ndarray of bool of shape (n_components,)
            Whether the component with each index continues the current component.
        """
        raise NotImplementedError

    def blended(self, globals_, hyper, present, may_be_same, share):
        """Return components that keep information of similar earlier components.

        Parameters
        ----------
        globals_, hyper : object
            Parameters after a renewal.
        present : object
            Global parameters before the renewal.
        may_be_same : ndarray of bool of shape (n_components,)
            Whether to compare the components with each index.
        share : float
            Weight of the components before the renewal: the weight of all rows that are
            no longer remembered, as a share of the weight of all rows.

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
            Amount that the data added to the prior, for instance expected tokens.
        """
        raise NotImplementedError
