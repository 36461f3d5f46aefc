"""Results of a fitted mixture: profiles, information criteria, samples, imputation."""

import numpy as np
from scipy import stats
from scipy.special import xlogy
from sklearn.utils import check_random_state

from .._arguments import is_number, refuse
from .._data import Source, matrices_of
from .._estimator import check_n_samples
from .._frames import data_frame, is_frame, with_values
from ._values import columns_of

__all__ = ["ClassResultsMixin", "all_components_are_used"]

#: With more components than this, some should stay empty.
FEW_COMPONENTS = 5
#: A component with a total responsibility above this value is a class, as in
#: `n_active_components_`.
ACTIVE = 0.5


class ClassResultsMixin:
    """Mixin with the tables and criteria that researchers report."""

    def profiles(self, interval=0.95, output="pandas"):
        """Return a table of the answers of each class.

        Parameters
        ----------
        interval : float, default=0.95
            Posterior probability of the intervals, between 0 and 1.
        output : {"pandas", "polars"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        profiles : DataFrame
            A row for each class, column of the data, and option.  "class" is the index
            of the component, "size" its weight, "item" the column, and "kind" the kind
            of the column.  "option" is a category or an interval, or "mean" or "sd" for
            a Gaussian column, or "rate" for a Poisson column.  "mean" is the posterior
            mean of the probability or number, and "low" and "high" are the ends of its
            interval.  Components without samples have no rows.

        Raises
        ------
        ValueError
            If ``interval`` is not between 0 and 1, or ``output`` is not a library.

        Notes
        -----
        The intervals do not include the uncertainty of the classes of samples.
        Therefore they are too narrow if classes overlap.
        `sktemper.model_selection.bootstrap_profiles` includes this uncertainty.
        """
        self._check_fitted()
        if not (is_number(interval) and 0 < interval < 1):
            refuse("interval", "a float between 0 and 1", interval)
        tails = 0.5 * (1.0 - interval), 0.5 * (1.0 + interval)
        names = "class", "size", "item", "kind", "option", "mean", "low", "high"
        rows = [
            (k, float(self.weights_[k]), name, column.kind, *one)
            for k in self._active().tolist()
            for name, column, place in self._places()
            for one in self._profile(column, place, k, tails)
        ]
        columns = zip(*rows, strict=True)
        table = {name: list(part) for name, part in zip(names, columns, strict=True)}
        return data_frame(output, table)

    def _active(self):
        """Return the indices of the components that have samples."""
        state, weights = self._state(), self._fitted_model().weights
        prior = weights.prior(state.hyper.weight_concentration)
        return np.flatnonzero(weights.counts(state.globals_.weights - prior) > ACTIVE)

    def _places(self):
        """Yield the name of each column, its `Column`, and its position in its kind."""
        places = {"options": 0, "poisson": 0, "gaussian": 0}
        for name, column in self._named_columns():
            kind = "options" if column.n_options else column.kind
            place = places[kind]
            places[kind] += column.n_options or 1
            yield name, column, place

    def _parameters(self):
        """Return the family, and the natural parameters of options, counts, normals."""
        family = self._fitted_model().family
        return family, family.of_kinds(self._state().globals_.components)

    def _profile(self, column, place, k, tails):
        """Return tuples of an option, its mean, and the ends of its interval."""
        family, (options, counts, normals) = self._parameters()
        if column.n_options:
            own = options[k, place : place + column.n_options] + 1.0
            rest = own.sum() - own
            ends = stats.beta.ppf(
                np.reshape(tails, (2, 1)), own, np.maximum(rest, 1e-9)
            )
            means = own / own.sum()
            parts = map(np.ndarray.tolist, (means, *ends))
            return list(zip(column.labels, *parts, strict=False))
        if column.kind == "poisson":
            shape, rate = counts[k, [place, place + len(family.counts)]] + [1.0, 0.0]
            low, high = stats.gamma.ppf(tails, shape, scale=1.0 / rate).tolist()
            return [("rate", float(shape / rate), low, high)]
        kappa, m, a, b = (part[k, place] for part in family.parts[-1].usual(normals))
        low, high = stats.t.ppf(tails, 2.0 * a, m, np.sqrt(b / (a * kappa)))
        spreads = np.sqrt(b / stats.gamma.ppf(tails[::-1], a))
        numbers = column.location + column.scale * np.array([m, low, high])
        sds = column.scale * np.array([np.sqrt(b / a), *spreads])
        return [("mean", *numbers.tolist()), ("sd", *sds.tolist())]

    # -- criteria ----------------------------------------------------------------------
    def entropy_r2(self, X, sample_weight=None):
        """Return how well the classes are separated, from 0 to 1.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        entropy_r2 : float
            One minus the mean entropy of the class probabilities of samples, divided by
            the logarithm of the number of classes with samples; 1.0 for one class.
        """
        entropy, total = self._entropy(X, sample_weight)
        n_classes = len(self._active())
        return 1.0 if n_classes < 2 else 1.0 - entropy / (total * np.log(n_classes))

    def _entropy(self, X, sample_weight):
        """Return the sum of the entropies of samples, and their number."""
        shares = self.predict_proba(X).astype(np.float64)
        weight = self._weights_of(shares, sample_weight)
        return float(-weight @ xlogy(shares, shares).sum(axis=1)), weight.sum()

    def _weights_of(self, rows, sample_weight):
        weight = self._validate_weight(sample_weight, rows)
        return np.ones(len(rows)) if weight is None else weight

    def _n_parameters(self):
        """Return the number of free parameters of the classes with samples."""
        n_classes, per_class = len(self._active()), 0
        for column in self.columns_:
            free = {"poisson": 1, "gaussian": 2}
            per_class += free.get(column.kind, column.n_options - 1)
        return n_classes * per_class + n_classes - 1

    def bic(self, X, sample_weight=None):
        """Return the Bayesian information criterion for data; lower is better.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        bic : float
            Criterion with the posterior predictive density as the likelihood, and the
            number of parameters of the classes that have samples.
        """
        deviance, total = self._deviance(X, sample_weight)
        return deviance + self._n_parameters() * float(np.log(total))

    def aic(self, X, sample_weight=None):
        """Return the Akaike information criterion for data; lower is better.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        aic : float
            Criterion with the posterior predictive density as the likelihood, and the
            number of parameters of the classes that have samples.
        """
        return self._deviance(X, sample_weight)[0] + 2.0 * self._n_parameters()

    def icl(self, X, sample_weight=None):
        """Return the integrated completed likelihood criterion; lower is better.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        icl : float
            `bic` plus twice the sum of the entropies of the class probabilities.  It
            prefers classes that are well separated.
        """
        return self.bic(X, sample_weight) + 2.0 * self._entropy(X, sample_weight)[0]

    def _deviance(self, X, sample_weight):
        """Return minus twice the log-likelihood, and the number of samples."""
        scores = self.score_samples(X)
        weight = self._weights_of(scores, sample_weight)
        return float(-2.0 * (weight @ scores)), float(weight.sum())

    # -- data --------------------------------------------------------------------------
    def sample(self, n_samples=1):
        """Draw samples from the classes at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            A data frame of pandas if the model was fitted to data with names.  A value
            of a binned column is the mean of the training values in its interval.
        y : ndarray of shape (n_samples,)
            Components of the samples.

        Raises
        ------
        ValueError
            If ``n_samples`` is less than 1.
        """
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        y = np.sort(random.choice(len(weights), n_samples, p=weights / weights.sum()))
        columns = {
            name: column.decoded(self._drawn(column, place, y, random))
            for name, column, place in self._places()
        }
        if vars(self).get("_names_") is not None:
            return data_frame("pandas", columns), y
        return np.column_stack(list(columns.values())), y

    def _drawn(self, column, place, y, random):
        """Draw values of a column, or indices of options, given components."""
        means = self._means(column, place)[y]
        if column.n_options:
            return (means.cumsum(axis=1) < random.uniform(size=(len(y), 1))).sum(axis=1)
        if column.kind == "poisson":
            return random.poisson(means).astype(float)
        family, (*_, normals) = self._parameters()
        _, _, a, b = family.parts[-1].usual(normals)
        spread = column.scale * np.sqrt(b / a)[y, place]
        return random.normal(means, spread)

    def _means(self, column, place):
        """Return the mean of a column in each component, or of each of its options."""
        family, (options, counts, normals) = self._parameters()
        if column.n_options:
            own = options[:, place : place + column.n_options] + 1.0
            return own / own.sum(axis=1, keepdims=True)
        if column.kind == "poisson":
            return (counts[:, place] + 1.0) / counts[:, place + len(family.counts)]
        usual = family.parts[-1].usual(normals)
        return column.location + column.scale * usual.means[:, place]

    def impute(self, X):
        """Return data in which expected values replace missing values.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; gaps are NaN or None.

        Returns
        -------
        X : DataFrame, ndarray or list
            A copy of ``X`` in the same container.  A missing option is replaced by the
            most probable option given the other values of the row, and a missing number
            by its posterior predictive mean, for which a column of integers becomes a
            column of floats.  A column without categories keeps its gaps.

        Raises
        ------
        TypeError
            If ``X`` is a collection on disk.
        """
        if isinstance(X, Source):
            raise TypeError(
                "impute needs rows in memory: pass parts of the collection."
            )
        if matrices_of(X) is X:
            return [self.impute(part) for part in X]
        shares = self.predict_proba(X).astype(np.float64)
        table = np.array(X, dtype=object) if isinstance(X, list | tuple) else X
        values = columns_of(table if is_frame(table) else np.asarray(table))
        filled = {}
        for number, ((_, column, place), one) in enumerate(
            zip(self._places(), values, strict=True)
        ):
            gaps = one.missing()
            if gaps.any() and (column.categories or not column.n_options):
                filled[number] = gaps, self._expected(column, place, shares[gaps])
        return with_values(X, filled)

    def _expected(self, column, place, shares):
        """Return the expected values of a column for rows with these shares."""
        means = shares @ self._means(column, place)
        if column.kind == "binned":
            return means @ np.asarray(column.centres)
        return column.decoded(means.argmax(axis=1)) if column.n_options else means


def all_components_are_used(estimator, run):
    """Return a warning if no component is empty: the data may have more classes."""
    n_components = estimator.n_components
    if n_components <= FEW_COMPONENTS or len(estimator._active()) < n_components:
        return None
    return (
        f"All {n_components} components are used, so that the data may have more "
        "classes: raise n_components until some components stay empty. If this never "
        "happens, columns do not fit their kinds: use 'binned' for skewed numbers, and "
        "leave out columns that nearly repeat other columns."
    )
