"""Cache of the model of a fit and its prepared parameters between calls."""

import operator

from .._cache import LastCall, are_same_objects

__all__ = ["ReadyModel"]


class ReadyModel:
    """Cache of the model of a fit, and of the parameters prepared from it.

    Calls with few rows use the cache, because they would spend most of their time on
    making the model and preparing the parameters.  Calls that use a pool of threads
    need separate models, because Ctrl-C stops all threads that share a model.
    """

    def __init__(self):
        self._model = LastCall(are_same_objects)
        self._prepared = LastCall(are_same_objects)
        self.last_model = None
        self._parameters = (), operator.itemgetter("state_")

    def __reduce__(self):
        return ReadyModel, ()  # a pickle is empty

    def model(self, estimator):
        """Return the model of a fitted estimator."""
        attributes = vars(estimator)
        known, values_of = self._parameters
        if known != (names := tuple(attributes)):
            parameters = (n for n in names if n[0] != "_" and n[-1] != "_")
            values_of = operator.itemgetter("state_", "state_", *parameters)
            self._parameters = names, values_of
        state, _, *parameters = values_of(attributes)
        key = (state.fixed, state.n_features, state.dtype, *parameters)
        self.last_model = self._model.of(key, lambda _: estimator._fitted_model())
        return self.last_model

    def prepared(self, model, globals_, hyper):
        """Return ``model.prepare(globals_, hyper)``."""
        key = model, globals_, hyper
        return self._prepared.of(key, lambda _: model.prepare(globals_, hyper))
