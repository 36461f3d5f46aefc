"""Copies of fitted topic models for processes that only infer."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._estimator import ReadyModel, warn_once
from .._loop import State
from .._validation import check_sparse
from ._topics import Documents, Topics

__all__ = ["ServingMixin"]

#: Private attributes of an estimator that its copy for serving keeps.
KEPT = ("_names_", "_sklearn_output_config")
#: Prior of zeros for any number of words and topics, because its strides are 0.
NO_PRIOR = np.broadcast_to(np.float64(0.0), (2, 2))
#: Largest share of tokens in unknown columns that does not cause a warning.
MOST_UNKNOWN = 0.05


@dataclass(frozen=True)
class ServedTopics(Topics):
    """Read-only topics: lambda in float32, which may be memory-mapped."""

    @classmethod
    def of(cls, topics):
        """Return a copy of topics."""
        u = np.ascontiguousarray(topics.dense(), dtype=np.float32)
        return cls(u, u.sum(axis=0, dtype=np.float64), np.array(topics.prior))

    def on_block(self, block):
        """Return a block, and the topics' terms for its words; see `Topics.parts`."""
        u = self.u.take(block.words, axis=0).astype(np.float64)
        words = np.arange(len(u), dtype=np.intp)
        block = Documents(block.counts, block.starts, words, block.slots)
        return block, (u, NO_PRIOR, 1.0, 0.0, 0.0)


class ServingMixin:
    """Mixin of topic models that make copies for serving."""

    _serves = False

    def for_serving(self):
        """Return a copy for processes that only infer topics of documents.

        The copy has the topics in float32, and no data that only training needs
        (history, documents, state of the learning rate).  The copy does not change
        while the estimator is trained further, so that other threads can use it
        meanwhile.  Save the copy by ``joblib.dump(copy, path)`` and load it by
        ``joblib.load(path, mmap_mode="r")``: all processes of a machine then share the
        topics in memory.

        Returns
        -------
        copy : object
            Fitted estimator of the same class.  `transform`, `score`, `top_words` and
            all other methods that do not train work as before, up to rounding to
            float32; `fit` and `partial_fit` raise an error.  The copy also accepts data
            with more columns, for instance from a vectorizer whose vocabulary has grown
            meanwhile: the additional columns are ignored, with a warning if they have
            more than 5 % of the tokens.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        Call this method in the thread that trains, or while no thread trains.  The file
        is a pickle: load only files that you trust.

        Examples
        --------
        >>> import os, tempfile
        >>> import joblib
        >>> from sktemper import AnnealedLDA
        >>> from sktemper.datasets import make_lda_documents
        >>> X = make_lda_documents(300, 80, 5, random_state=0)
        >>> lda = AnnealedLDA(5, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "topics.joblib")
        ...     _ = joblib.dump(lda.for_serving(), path)
        ...     served = joblib.load(path, mmap_mode="r")
        ...     doc_topic = served.transform(X[:2])
        ...     del served
        >>> doc_topic.shape
        (2, 5)
        """
        check_is_fitted(self, "state_")
        state, parameters = self.state_, self.get_params(deep=False)
        copied = type(self)(**parameters)
        fitted = (name for name in vars(self) if name[-1] == "_" and name[0] != "_")
        kept = {
            name: vars(self)[name] for name in (*fitted, *KEPT) if name in vars(self)
        }
        served = State(
            globals_=ServedTopics.of(state.globals_),
            hyper=np.array(state.hyper),
            seed=state.seed,
            dtype=np.dtype(np.float32),
            n_features=state.n_features,
            fixed=state.fixed,
            progress=replace(state.progress),
            policies=replace(state.policies, learning_rate=None),
        )
        vars(copied).update(
            kept, state_=served, _serves=True, _warned={}, _ready=ReadyModel()
        )
        return copied

    def _check_trains(self):
        """Raise if this is a copy for serving."""
        if self._serves:
            raise ValueError(
                f"This {type(self).__name__} is a copy for serving, which cannot be "
                "trained: train the original estimator, or a clone of this copy."
            )

    def _validate(self, X, reset):
        if self._serves:
            X = self._known_columns(X)
        return super()._validate(X, reset)

    def _known_columns(self, X):
        """Return data without the columns that were added after the copy was made."""
        n_columns = self.n_features_in_
        if getattr(X, "ndim", 0) != 2 or X.shape[1] <= n_columns:
            return X
        if sparse.issparse(X):
            X = check_sparse(X).tocsr()  # not all formats have slices
        known = X.iloc[:, :n_columns] if hasattr(X, "iloc") else X[:, :n_columns]
        try:
            n_known, n_tokens = np.sum(known.sum()), np.sum(X.sum())
            is_much = n_tokens - n_known > MOST_UNKNOWN * n_tokens
        except TypeError:  # not numbers; validation of the known columns follows
            return known
        if is_much:
            warn_once(
                self,
                "unknown",
                f"{1 - n_known / n_tokens:.0%} of the tokens are in columns that were "
                "added after this copy for serving was made, and are ignored: make a "
                "new copy by for_serving.",
                UserWarning,
            )
        return known
