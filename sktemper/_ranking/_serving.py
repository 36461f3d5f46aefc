"""Cache of values that are computed from a fit, and copies of models for serving."""

import numpy as np

from .._cache import LastCall, are_same_objects

__all__ = ["ServingMixin"]

#: Names of the cached values that `for_serving` saves.
SERVED = (
    "prepared",
    "item_vectors",
    "user_vectors",
    "directions",
    "log_shares",
    "most_popular",
)
#: Number of multiplications that take some milliseconds.
MOST_INLINE_COST = 2**23


class ServingMixin:
    """Mixin that caches values computed from a fit, and saves them for serving."""

    @property
    def _max_inline_rows(self):
        """Largest number of rows for which the calling thread computes.

        The cost of a row is the cube of the rank.  The calling thread cannot be
        interrupted in a kernel.
        """
        return max(min(MOST_INLINE_COST // self._vector_width() ** 3, 32), 4)

    def _fits(self, prepared, model):
        """Return whether prepared values are finite and have the right shapes."""
        raise NotImplementedError

    def _vector_width(self):
        """Return the length of the vectors of users and items."""
        raise NotImplementedError

    def _cached(self, name, make):
        """Return a value computed from the current fit, cached by name."""
        values = self._cached_values()
        if name not in values:
            values[name] = make()
        return values[name]

    def _cached_values(self):
        """Return the cached values of the current fit, as a dict by name."""
        key = self._fit_key()  # raises an error before a fit, when no cache exists
        return self._cache.of(key, lambda _: {})

    def _fit_key(self):
        """Return the objects that identify a fit, as the key of the cache."""
        state = self._state()
        return state.globals_, state.hyper, vars(self).get("_users_")

    def _prepared(self, model):
        """Return prepared values, cached because their computation takes long."""
        prepare = super()._prepared
        return self._cached("prepared", lambda: prepare(model))

    def for_serving(self):
        """Return a copy to be saved for processes that recommend.

        A fitted model computes some arrays at its first recommendation and does not
        save them.  The copy contains these arrays.  Save the copy by
        ``joblib.dump(copy, path)`` and load it by ``joblib.load(path, mmap_mode="r")``:
        the arrays are then not computed again, stay on disk until they are needed, and
        are shared in memory by all processes of a machine.

        Returns
        -------
        copy : object
            Estimator of the same class, without callbacks.  Several threads may use it
            at once, like any fitted model.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted, or the fit was not completed.

        Notes
        -----
        The file is a pickle: load only files that you trust.

        Examples
        --------
        >>> import os, tempfile
        >>> import joblib
        >>> from sktemper import TemperedMatrixFactorization
        >>> from sktemper.datasets import make_ratings
        >>> X = make_ratings(300, 50, n_ratings=5000, random_state=0)
        >>> model = TemperedMatrixFactorization(5, tol=1, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.joblib")
        ...     _ = joblib.dump(model.for_serving(), path)
        ...     served = joblib.load(path, mmap_mode="r")
        ...     items, ratings = served.recommend(X[:2], n_items=3)
        ...     del served
        >>> items.shape
        (2, 3)
        """
        self._check_fitted()
        self._item_vectors(), self._user_vectors(), self._prepared(self._fitted_model())
        self._cached("directions", self._directions)
        kept = {k: v for k, v in vars(self).items() if "callback" not in k}
        copied = object.__new__(type(self))
        vars(copied).update(kept, _serves=True)
        return copied

    def _pickled_attributes(self):
        """Return the attributes, and for a serving copy also the cached values."""
        state = super()._pickled_attributes()
        if vars(self).get("_serves"):
            values = self._cached_values()
            state["_served"] = {k: values[k] for k in SERVED if k in values}
        return state

    def __setstate__(self, state):
        """Restore the attributes; see `PicklesMixin`."""
        super().__setstate__(state)
        served = vars(self).pop("_served", None)
        if "state_" in state:
            self._cache = LastCall(are_same_objects)
        if served:
            self._check_served(served)
            self._cached_values().update(served)

    def _check_served(self, served):
        """Raise if saved values do not belong to the parameters."""
        try:
            fits = self._are_of_this_fit(served)
        except Exception:  # damaged values may raise anything
            fits = False
        if not fits:
            raise ValueError(
                f"This {type(self).__name__} cannot be loaded: its arrays for serving "
                "are damaged."
            )

    def _are_of_this_fit(self, served):
        """Return whether all values are finite and have the right shapes and types.

        Damaged values may raise any exception.
        """
        n_items, n_users = self.n_features_in_, len(self._rated_.starts) - 1
        dtype, width = self.state_.dtype, self._vector_width()
        expected = {
            "item_vectors": ((n_items, width), dtype),
            "user_vectors": ((n_users, width), dtype),
            "directions": ((n_items, served["directions"].shape[1]), dtype),
            "log_shares": ((n_items,), np.float64),
            "most_popular": ((n_items,), np.intp),
        }
        arrays = {name: served[name] for name in expected if name in served}
        order = arrays.get("most_popular", np.arange(n_items))
        return (
            {"item_vectors", "directions", "prepared"} <= served.keys() <= set(SERVED)
            and all(
                (array.shape, array.dtype) == expected[name]
                and isinstance(array, np.ndarray)
                and array.flags.c_contiguous  # required by kernels
                and _is_finite(array)
                for name, array in arrays.items()
            )
            and np.array_equal(np.sort(order), np.arange(n_items))
            and self._fits(served["prepared"], self._fitted_model())
        )


def _is_finite(array):
    """Return whether all numbers are finite.

    First, their sum is tested, which is fast and needs no memory.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum()) or np.isfinite(array).all())
