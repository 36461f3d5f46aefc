"""What is made of a fit once: kept while it lasts, and saved for those who serve it."""

import numpy as np

from ._memory import Memory

__all__ = ["ServingMixin"]

#: What is saved of a model that is to serve.
SERVED = (
    "prepared",
    "item_vectors",
    "user_vectors",
    "directions",
    "log_shares",
    "most_popular",
)


class ServingMixin:
    """Of an estimator that makes more of a fit than it keeps."""

    _rows_here = 4

    def _fits(self, prepared, model):
        """Return whether what a local step needs has the shapes that it should have."""
        raise NotImplementedError

    def _remembered(self, name, make):
        """Return a value made of the fit as it is, once."""
        values = self._memory.values(self._made_of())
        if name not in values:
            values[name] = make()
        return values[name]

    def _made_of(self):
        """Return what says which fit this is."""
        state = self._state()
        return state.globals_, state.hyper, vars(self).get("_users_")

    def _prepared(self, model):
        """Return what local steps need of the items: what is solved for once."""
        prepare = super()._prepared
        return self._remembered("prepared", lambda: prepare(model))

    def for_serving(self):
        """Return a copy to be saved for processes that recommend.

        It has what is made of the fit for recommendations: what the model itself makes
        when it is first asked, and never saves.  Save it by ``joblib.dump(copy, path)``
        and load it by ``joblib.load(path, mmap_mode="r")``: then nothing is solved for
        anew, its arrays stay on disk and are read when they are needed, and processes
        on a machine share the memory of them.

        Returns
        -------
        copy : object
            Of the same class, without callbacks.  It can be asked by several threads at
            once, as any fitted model can.

        Raises
        ------
        NotFittedError
            If there is no fit, or none that was completed.

        Notes
        -----
        As any pickle, load it only from whom you trust.

        Examples
        --------
        >>> import os, tempfile
        >>> import joblib
        >>> from sktemper import TemperedMatrixFactorization
        >>> from sktemper.datasets import make_ratings
        >>> X = make_ratings(300, 50, n_ratings=5000, random_state=0)
        >>> model = TemperedMatrixFactorization(5, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.joblib")
        ...     _ = joblib.dump(model.for_serving(), path)
        ...     served = joblib.load(path, mmap_mode="r")
        ...     items, ratings = served.recommend(X[:2], n_items=3)
        ...     del served
        >>> items.shape
        (2, 3)
        """
        self._ready()
        self._item_vectors(), self._user_vectors(), self._prepared(self._fitted_model())
        self._remembered("directions", self._directions)
        kept = {k: v for k, v in vars(self).items() if "callback" not in k}
        copied = object.__new__(type(self))
        vars(copied).update(kept, _serves=True)
        return copied

    def __getstate__(self):
        """Return the attributes; with what is made of the fit if they are to serve."""
        state = super().__getstate__()
        if vars(self).get("_serves"):
            values = self._memory.values(self._made_of())
            state["_served"] = {k: values[k] for k in SERVED if k in values}
        return state

    def __setstate__(self, state):
        """Take the attributes; see `PicklesMixin`."""
        state = dict(state)
        served = state.pop("_served", None)
        super().__setstate__(state)
        if "state_" in state:
            self._memory = Memory()
        if served:
            self._check_served(served)
            self._memory.values(self._made_of()).update(served)

    def _check_served(self, served):
        """Raise if what was made of a fit does not belong to it: kernels trust it."""
        sizes = self.n_features_in_, len(self._rated_.starts) - 1
        dtype, width = self.state_.dtype, served["item_vectors"].shape[1:]
        fits = [
            served.keys() <= set(SERVED),
            served["directions"].shape[:1] == sizes[:1],
            served["item_vectors"].shape[:1] == sizes[:1],
            "user_vectors" not in served
            or served["user_vectors"].shape == (sizes[1], *width),
            np.shape(served.get("most_popular", np.empty(sizes[:1]))) == sizes[:1],
            self._fits(served["prepared"], self._fitted_model()),
        ]
        arrays = (v for name, v in served.items() if name.endswith("vectors"))
        if not all(fits) or any(array.dtype != dtype for array in arrays):
            raise ValueError(
                f"This {type(self).__name__} cannot be loaded: its arrays for serving "
                "are damaged."
            )
