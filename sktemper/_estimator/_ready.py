"""Cache of the model of a fit and its prepared parameters between calls."""

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

    def __reduce__(self):
        return ReadyModel, ()  # a pickle is empty

    def model(self, estimator):
        """Return the model of a fitted estimator."""
        state = estimator.state_
        parameters = (
            value
            for name, value in vars(estimator).items()
            if name[0] != "_" and name[-1] != "_"
        )
        key = (state.fixed, state.n_features, state.dtype, *parameters)
        self.last_model = self._model.of(key, lambda _: estimator._fitted_model())
        return self.last_model

    def prepared(self, model, globals_, hyper):
        """Return ``model.prepare(globals_, hyper)``."""
        key = model, globals_, hyper
        return self._prepared.of(key, lambda _: model.prepare(globals_, hyper))
