"""Checkpoints of a fit: pickles of the estimator at regular steps."""

import hashlib
import pickle
import re
from pathlib import Path

import cloudpickle
import numpy as np

from .._engine._fit import is_finished
from .._utils._arguments import positive_int
from .._utils._files import replacing
from .._utils._results import install_results, portable_copy

#: Names of the files of an unfinished and of a finished fit.
UNFINISHED, FINISHED = "unfinished.pkl", "estimator.pkl"
#: Number of bytes of the digest at the end of a file.
DIGEST_SIZE = hashlib.blake2b().digest_size
#: Parameters that may change before a fit continues: they do not change its results.
FREE = {"n_jobs", "verbose", "warm_start"}


class Checkpoints:
    """The checkpoints of one fit, in a folder.

    ``every`` is the number of steps and moves between two checkpoints.
    """

    def __init__(self, estimator, folder, every):
        self.every = positive_int(every, "every")
        if estimator.n_init > 1:
            raise ValueError(
                f"A fit with n_init={estimator.n_init} has no checkpoints: fit with "
                "n_init=1 and other seeds, each into a folder of its own."
            )
        self.estimator, self.folder = estimator, Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"{folder} is a file, not a folder.") from error
        self._before = vars(estimator).get("state_")
        self._written = 0

    def fit(self, X, sample_weight, X_val, more):
        """Start a fit, continue the fit in the folder, or load its result."""
        estimator = self.estimator
        if self._found(FINISHED):
            self._check_width(X)
            return estimator
        if self._found(UNFINISHED):
            labels = more.get("covariates")
            estimator._fit(X, None, sample_weight, True, X_val, labels)
        else:
            estimator.fit(X, sample_weight=sample_weight, X_val=X_val, **more)
        self._write(FINISHED)
        (self.folder / UNFINISHED).unlink(missing_ok=True)
        return estimator

    def after(self):
        """Write a checkpoint with the last committed step, if one is due."""
        state = vars(self.estimator).get("state_")
        if state is None or state is self._before or is_finished(state):
            return  # a finished fit that is continued would plan further passes
        done = _progress(state)
        if done >= self._written + self.every:
            self._write(UNFINISHED)
            self._written = done

    def _found(self, name):
        """Load the fit of a file into the estimator; return whether the file exists."""
        path = self.folder / name
        if not path.exists():
            return False
        content = path.read_bytes()
        pickled, digest = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
        try:
            if hashlib.blake2b(pickled).digest() != digest:
                raise ValueError("its checksum differs")
            found = pickle.loads(pickled)
        except Exception as error:  # other code may raise anything
            raise ValueError(
                f"{path} is damaged, or was written by other code: {error}. Delete it "
                "to fit anew."
            ) from error
        self._check(found, path)
        install_results(self.estimator, found)
        self._before, self._written = found.state_, _progress(found.state_)
        return True

    def _check(self, found, path):
        """Raise if a checkpoint belongs to another fit."""
        theirs, ours = (one.get_params(deep=False) for one in (found, self.estimator))
        changed = [
            name
            for name in ours
            if name not in FREE and not _is_same(ours[name], theirs.get(name))
        ]
        if type(found) is not type(self.estimator):
            changed = ["the estimator's class"]
        if changed:
            raise ValueError(
                f"{path} is of another fit: {', '.join(changed)} differs. Choose "
                "another folder, or delete this one to fit anew."
            )

    def _check_width(self, X):
        """Raise if the data of the finished fit had another number of columns."""
        shape = getattr(X.X, "shape", None)
        width = shape[1] if shape is not None and len(shape) == 2 else np.nan
        if not np.isnan(width) and width != self.estimator.n_features_in_:
            raise ValueError(
                f"X has {width} features, but the data of the fit in {self.folder} had "
                f"{self.estimator.n_features_in_}. Choose another folder."
            )

    def _write(self, name):
        """Write the estimator atomically: on failure the old file stays.

        The digest of the pickle follows it in the file; `pickle.load` ignores it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / name) as file:
            cloudpickle.dump(portable_copy(self.estimator), file, protocol=5)
            file.seek(0)
            file.write(hashlib.file_digest(file, "blake2b").digest())


def _progress(state):
    return state.progress.steps + state.moves.n_proposed


def _is_same(one, other):
    """Return whether two values of a parameter are equal; one is from a pickle."""
    if isinstance(one, np.random.RandomState):
        return isinstance(other, np.random.RandomState)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one == other or _shown(one) == _shown(other)


def _shown(value):
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
