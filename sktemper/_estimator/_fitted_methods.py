"""Methods of fitted estimators: scores, bounds, and views of the state."""

import contextlib

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._arguments import positive_int, refuse
from .._data import data_of
from .._limits import checked_weights
from .._linalg import one_blas_thread
from .._loop import InlineWorkers, Problem, Workers
from .._validation import check_unmasked, is_small_matrix
from ..model import Request
from ._end_of_fit import warn_if_above_one
from ._pickles import Validation

__all__ = ["FittedMethodsMixin"]


def _has_sample_temperatures(estimator):
    """Return True, or raise if samples have no individual temperatures."""
    fitted = hasattr(estimator, "state_")
    tempering = estimator.tempering_ if fitted else estimator._tempering()
    if not tempering.per_sample:
        raise AttributeError(
            f"{type(tempering).__name__} infers no temperatures of single samples; "
            "use a tempering such as sktemper.tempering.LocalTempering."
        )
    return True


class FittedMethodsMixin:
    """Mixin with the methods of fitted estimators."""

    #: Largest numbers of rows and of values for which the calling thread computes,
    #: because the start of another thread would take longer.
    _max_inline_rows, _max_inline_values = 32, 100_000
    #: Largest limit of the iterations of a row for which the calling thread computes.
    #: With a larger limit, a row may take long, and the calling thread cannot be
    #: interrupted in a kernel.
    _max_inline_iterations = 1000
    #: Name of the parameter that limits the iterations of a row, or None.
    _iteration_limit = None

    def _check_fitted(self):
        """Raise if there is no fit; warn once if its temperature is above 1."""
        if "state_" not in vars(self):  # the function reads the estimator's tags
            check_is_fitted(self, "state_")
        warn_if_above_one(self)

    def _widened_for(self, X):
        """Return a copy that continues with ``X``, which may be wider."""
        return self._apart()

    def _fitted_model(self):
        """Return the model with the parameters of the fit."""
        return self._model_of(self._state().fixed or {})

    def _model_of(self, parameters):
        """Return the model of the fitted estimator with other parameters."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | parameters)
        state = self._state()
        return other._make_model(state.n_features, state.dtype)

    def _validation(self, X, method, reset):
        """Return the function that validates ``X`` by this method."""
        return Validation(self, method, reset)

    @contextlib.contextmanager
    def _fitted_problem(self, X, sample_weight=None):
        """Yield the `Problem` of the fitted model and ``X``."""
        if "state_" not in vars(self):
            check_is_fitted(self, "state_")
        data = data_of(X, self._validation(X, "_validate", reset=False))
        self._check_names(data)
        sample_weight = self._validate_weight(sample_weight, data)
        for matrix in data.validated:
            self._check_weighted(matrix, sample_weight)
        few = self._are_few(data)
        ready = vars(self).get("_ready") if few else None
        model = self._fitted_model() if ready is None else ready.model(self)
        warn_if_above_one(self)
        workers = self._workers(model, data, InlineWorkers if few else Workers)
        with workers:
            yield Problem(model, data, workers, sample_weight)

    def _are_few(self, data):
        """Return whether the calling thread computes with these rows."""
        if len(data) > self._max_inline_rows or not self._has_short_rows():
            return False
        return sum(X.size for X in data.validated) <= self._max_inline_values

    def _has_short_rows(self):
        """Return whether the limit of iterations keeps the time of a row short."""
        name = self._iteration_limit
        return name is None or getattr(self, name) <= self._max_inline_iterations

    def _is_few_rows(self, X):
        """Return whether data that are not validated yet are one small matrix."""
        is_ready = vars(self).get("_ready") is not None and self._has_short_rows()
        most = self._max_inline_rows, self._max_inline_values
        return is_ready and is_small_matrix(X, *most)

    def _of_few_rows(self, X, function):
        """Return ``function(model, block, prepared)`` for rows that are one block."""
        X = self._validate(X, reset=False)
        self._check_weighted(X, None)
        model = self._ready.model(self)
        warn_if_above_one(self)
        with one_blas_thread():
            block = model.take(X, slice(0, X.shape[0]))
            return function(model, block, self._prepared(model))

    def _names(self, feature_names=None):
        """Return ``feature_names`` as an array, or names from the training data.

        Raises
        ------
        ValueError
            If the number of names differs from the number of features.
        """
        if feature_names is None:
            known = vars(self).get("_names_")  # of a collection on disk
            numbers = np.arange(self.n_features_in_) if known is None else known
            feature_names = getattr(self, "feature_names_in_", numbers)
        names = np.asarray(feature_names, dtype=object)
        if names.ndim == 0:
            raise ValueError(
                "feature_names must be a list or an array of names in the order of the "
                "columns, as a vectorizer's get_feature_names_out() returns them, got "
                f"a {type(feature_names).__name__}."
            )
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names has shape {names.shape}, but the model was fitted to "
                f"{self.n_features_in_} features."
            )
        return names

    def _validate_weight(self, sample_weight, X):
        if sample_weight is None:
            return None
        if isinstance(sample_weight, bool):
            refuse("sample_weight", "an array of weights, or None", sample_weight)
        check_unmasked(sample_weight, "sample_weight", may_be_nan=False)
        return checked_weights(
            _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        )

    def _check_names(self, data):
        """Raise if the columns of a collection differ from the columns of the fit.

        A column of hashed words may represent several words, and its name contains only
        some of them.  Therefore columns are accepted if at least one name occurs in
        both, and all names that occur in both have the same positions.
        """
        found = data.feature_names
        known = vars(self).get("_names_")
        if known is None:
            known = vars(self).get("feature_names_in_")
        if found is None or known is None or found is known:
            return
        if np.array_equal(found, known):
            return
        places = {name: place for place, name in enumerate(known)}
        both = [(places[n], p) for p, n in enumerate(found) if n in places]
        if not both or any(there != here for there, here in both):
            raise ValueError(
                "The feature names of X should match those that were passed during "
                "fit, in the same order: the columns of this collection stand for "
                "other words. Write the collection with the vectorizer of the training "
                "data."
            )

    def _top_words(self, feature_names, n_words):
        """Return lists of the words with the largest ``components_``."""
        self._check_fitted()
        names = self._names(feature_names)
        n_words = positive_int(n_words, "n_words")
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n_words]
        return [[str(word) for word in names[row]] for row in order]

    def _map(self, X, function):
        """Return a list of ``function(model, block, prepared)``, one for each block."""
        if self._is_few_rows(X):
            return [self._of_few_rows(X, function)]
        with self._fitted_problem(X) as problem:
            model = problem.model
            return list(problem.map(function, self._prepared(model)))

    def _prepared(self, model):
        """Return the prepared parameters of the fit, cached for the ready model."""
        parameters = self.state_.globals_, self._hyper_of_predictions()
        ready = vars(self).get("_ready")
        if ready is not None and model is ready.last_model:
            return ready.prepared(model, *parameters)
        return model.prepare(*parameters)

    def _hyper_of_predictions(self):
        """Return the hyperparameters for predictions."""
        return self.state_.hyper

    def _local_parameters(self, X):
        """Return each row's local parameters at T=1."""

        def local(model, block, prepared):
            step = model.local_step(block, prepared, Request(want=("local",)))
            return step.local_parameters

        return np.concatenate(self._map(X, local))

    def _predictive_scores(self, X):
        parts = self._map(
            X, lambda model, block, prepared: model.predictive_scores(block, prepared)
        )
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def score_samples(self, X):
        """Return each row's held-out predictive log-likelihood at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log-likelihoods in nats, 0.0 for rows without held-out observations.
        """
        return self._predictive_scores(X)[0]

    def score(self, X, y=None, sample_weight=None):
        """Return the held-out log-likelihood per token, sample or rating at T=1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Ignored, for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each sample counts.

        Returns
        -------
        score : float
            Mean log-likelihood in nats per token, sample or rating, comparable between
            data sets of different sizes.  Higher is better.

        Raises
        ------
        ValueError
            If no observation is held out.
        """
        scores, n_held_out = self._predictive_scores(X)
        weight = self._validate_weight(sample_weight, scores)
        if weight is not None:
            scores, n_held_out = weight * scores, weight * n_held_out
        return _mean_score(scores.sum(), n_held_out.sum())

    def _score(self, X, sample_weight):
        """Return the score of data without gathering the scores of all rows."""
        with self._fitted_problem(X, sample_weight) as problem:
            weight = problem.sample_weight
            if weight is None:
                weight = np.ones(len(problem.data))
            hyper = self._hyper_of_predictions()
            prepared = problem.model.prepare(self.state_.globals_, hyper)
            blocks = problem.map(_score_of_block, prepared, values=weight)
            return _mean_score(*np.sum(list(blocks), axis=0))

    @available_if(_has_sample_temperatures)
    def temperatures(self, X):
        """Return each sample's temperature, inferred under the fitted model.

        A sample that the model explains badly, such as an outlier, has a high
        temperature.  This method is only available with a tempering that infers a
        temperature for each sample, such as `sktemper.tempering.LocalTempering`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            1 / b_d, from 1 to the highest temperature of ``tempering_.ladder()``.  A
            sample without observations has the temperature of the prior over
            temperatures.

        Raises
        ------
        AttributeError
            If the tempering does not infer a temperature for each sample.
        """
        check_is_fitted(self, "state_")
        tempering, state = self.tempering_, self.state_.policies.tempering
        return np.concatenate(
            self._map(
                X,
                lambda model, block, prepared: tempering.sample_temperatures(
                    model, block, prepared, state
                ),
            )
        )

    def lower_bound(self, X, sample_weight=None):
        """Return the evidence lower bound of ``X`` at T=1, with every constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit, which count as the whole data set.
        sample_weight : array-like of shape (n_samples,), default=None
            The sample weights of the fit.

        Returns
        -------
        bound : float
            Lower bound of log p(X) in nats.  A better optimum has a higher bound.
        """
        with self._fitted_problem(X, sample_weight) as problem:
            return problem.bound(self.state_.globals_, self.state_.hyper)

    # -- views of the state ------------------------------------------------------------
    @property
    def n_iter_(self):
        """Number of completed passes of `fit`."""
        return self._state().progress.passes

    @property
    def n_batch_iter_(self):
        """Number of completed steps."""
        return self._state().progress.steps

    @property
    def n_samples_seen_(self):
        """Total number of rows in the batches of all steps."""
        return self._state().progress.samples

    @property
    def temperature_(self):
        """Temperature of the last step."""
        return self._state().policies.temperature

    @property
    def history_(self):
        """History of the training: a dict of arrays with an entry for each step."""
        return self._state().history.to_dict()

    def _state(self):
        try:
            return vars(self)["state_"]
        except KeyError:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet."
            ) from None


def _score_of_block(model, block, prepared, weight):
    """Return the sum of the scores of a block, and its number of held-out units."""
    return [(weight * part).sum() for part in model.predictive_scores(block, prepared)]


def _mean_score(score, n_held_out):
    """Return the score per held-out observation; raise if there is none."""
    if n_held_out == 0:
        raise ValueError(
            "Nothing is held out to be scored: each row of X is empty, or too short to "
            "be split into an observed and a held-out half."
        )
    return float(score / n_held_out)
