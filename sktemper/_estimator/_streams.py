"""Streams: columns that appear or are dropped, and memory and records of a half-life.

`expand_features`, `drop_features` and `widened_for` are methods of the estimators whose
model has the capability `other_features`.  The records are methods of several
estimators.
"""

import copy
from dataclasses import replace

import numpy as np
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from .._engine._data import Source, matrices_of
from .._engine._reservoir import Alarm, Renewal, Stream
from .._utils._arguments import columns_of, positive_int
from .._utils._frames import as_frame
from .._utils._results import copy_fit, install_results
from .._utils._typing import ArrayLike, Int, Owner
from ._choices import choices_of
from ._problems import known_names, stream_rate


def copy_with_state(estimator, state, parameters, results=()):
    """Return a copy of a fitted estimator with a state for other parameters.

    Parameters
    ----------
    estimator : TemperedEstimator
    state : State
    parameters : dict
        Parameters that replace those of the estimator.
    results : dict
        Other attributes that the fit has.
    """
    results = dict(results) | {"state_": state, "_warned": {}}
    other = copy_fit(estimator, results, **parameters)
    other.state_ = replace(state, fixed=copy.deepcopy(other._fixed()))
    return other


def _copy_on_columns(estimator, places, names, parameters):
    """Return a copy of the fitted estimator after columns were added or removed.

    Parameters
    ----------
    places : ndarray of int
        Previous index of each column, -1 for a new column.
    names : ndarray of str or None
        Names of the columns.
    parameters : dict
        Result of `_parameters_on`.
    """
    settings = estimator._settings().replaced(**parameters)
    model = estimator._make_model(settings, len(places), estimator.state_.dtype)
    keeps_rate = stream_rate(estimator) is not None
    results = {"n_features_in_": len(places)}
    state = state_on_columns(model, estimator.state_, places, keeps_rate)
    if "feature_names_in_" in vars(estimator):
        results["feature_names_in_"] = names
    else:
        state.choices = replace(choices_of(estimator), names=names)
    return copy_with_state(estimator, state, parameters, results)


def state_on_columns(model, state, places, keeps_rate):
    """Return the state of a fit after columns were added or removed.

    Parameters
    ----------
    model : ConjugateModel
        Model of the new columns.
    state : State
    places : ndarray of int
        Previous index of each column, -1 for a new column.
    keeps_rate : bool
        Whether the state of the learning rate fits any number of columns.
    """
    share, size = state.convergence.start_share, {"n_features": len(places)}

    def converted(state):
        globals_, hyper = model.on_features(*state.parameters, places, share)
        return replace(state, globals_=globals_, hyper=hyper, local=None, **size)

    stream, policies = state.stream, state.policies
    return replace(
        converted(state),
        best=None,
        policies=policies if keeps_rate else replace(policies, learning_rate=None),
        stream=None if stream is None else stream.on_columns(places, converted),
        progress=replace(state.progress, first_rows_digest=None),
    )


# -- more columns in a stream ------------------------------------------------------
def widened_for(estimator, X):
    """Return a copy that continues with ``X``, which may be wider.

    Raises
    ------
    ValueError
        If ``X`` is wider, and its first columns differ from the columns of the
        model, or a parameter has a value for each column.
    """
    n_old, n_new = estimator.n_features_in_, _width(X)
    if n_new <= n_old:
        return copy_fit(estimator)
    places = np.append(np.arange(n_old), np.full(n_new - n_old, -1))
    parameters = estimator._parameters_on(places)
    if parameters:
        raise ValueError(
            f"X has {n_new} features, but {type(estimator).__name__} was fitted to "
            f"{n_old}, and {', '.join(parameters)} has a value for each: call "
            "expand_features first."
        )
    return _copy_on_columns(
        estimator, places, _names_of_wider(estimator, X), parameters
    )


def _names_of_wider(estimator, X):
    """Return the names of the columns of wider data; None if there are none."""
    known = known_names(estimator)
    names = None if known is None else names_of(X)
    if names is None:
        if "feature_names_in_" in vars(estimator):
            raise ValueError(
                f"X has more features than the {len(known)} of the fit, whose "
                "columns had names: pass X with column names, or call "
                "expand_features first."
            )
        return None
    if not np.array_equal(names[: len(known)], known):
        place = next(i for i, name in enumerate(known) if names[i] != name)
        raise ValueError(
            "The first columns of wider data must be those of the fit, in the same "
            f"order: column {place} is {names[place]!r} instead of "
            f"{known[place]!r}."
        )
    return names


# -- columns that the user adds or removes -----------------------------------------
def expand_features(self: Owner, new_features: Int | ArrayLike) -> Owner:
    """Add columns to a fitted model, for features that it did not know.

    The model is the same as if the new features had been 0 in all samples so far.
    `partial_fit` adds columns by itself if the data have more of them.

    Parameters
    ----------
    new_features : int or array-like of str
        Number of new features, or their names if the training data had names.  The
        new columns follow the existing columns.

    Returns
    -------
    self : object
        The estimator.  The variational parameters of the existing features do not
        change; their probabilities decrease a little, because new features have
        positive probabilities.  A constructor parameter with a value for each
        feature, such as an array ``topic_word_prior``, is replaced by a longer
        array, in which new features have the smallest of the previous values.  An
        adaptive learning rate warms up again.

    Raises
    ------
    ValueError
        If the number is less than 1, if names are passed for training data without
        names, if a number is passed for training data with names, or if a name
        occurs twice.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, 80, 5, random_state=0)
    >>> lda = AnnealedLDA(5, total_samples=300, random_state=0)
    >>> lda = lda.partial_fit(X[:200, :60]).expand_features(20)
    >>> lda.partial_fit(X[200:]).components_.shape
    (5, 80)
    """
    check_is_fitted(self, "state_")
    names, n_old = _names_with(self, new_features), self.n_features_in_
    n_all = len(names) if names is not None else n_old + int(new_features)
    new = np.full(n_all - n_old, -1)
    return _move_to(self, np.append(np.arange(n_old), new), names)


def drop_features(self: Owner, features: ArrayLike) -> Owner:
    """Remove columns from a fitted model, and renumber the remaining columns.

    Use this method to remove old words from the growing vocabulary of a stream:
    `sktemper.text.StreamingCountVectorizer.drop_features` returns the columns of
    words that are no longer used.

    Parameters
    ----------
    features : array-like of int, str or bool
        Indices or names of columns, or a mask of all columns.

    Returns
    -------
    self : object
        The estimator.  The variational parameters of the remaining features do not
        change.  A constructor parameter with a value for each feature is replaced
        by a shorter array.

    Raises
    ------
    ValueError
        If a feature does not exist, or no feature would remain.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, 80, 5, random_state=0)
    >>> lda = AnnealedLDA(5, random_state=0).fit(X).drop_features([3, 7])
    >>> lda.components_.shape
    (5, 78)
    """
    check_is_fitted(self, "state_")
    names, n_old = known_names(self), self.n_features_in_
    columns = columns_of(features, range(n_old) if names is None else names)
    if len(columns) == n_old:
        raise ValueError("drop_features would leave no column.")
    if not len(columns):
        return self
    places = np.delete(np.arange(n_old), columns)
    return _move_to(self, places, None if names is None else names[places])


def _move_to(estimator, places, names):
    """Change to other columns; return the estimator."""
    parameters = estimator._parameters_on(places)
    other = _copy_on_columns(estimator, places, names, parameters)
    vars(estimator).update(parameters)
    install_results(estimator, other)
    return estimator


def _names_with(estimator, new_features):
    """Return the names of all features, or None if they have none."""
    old = vars(estimator).get("feature_names_in_")
    if np.ndim(new_features) == 0 and not isinstance(new_features, str):
        positive_int(new_features, "new_features")
        if old is not None:
            raise ValueError(
                "The training data had column names: new_features must be the "
                "names of the new features."
            )
        return None
    new = np.asarray(new_features, dtype=object)
    if new.ndim != 1 or len(new) == 0:
        raise ValueError(
            "new_features must be a number of features, or a list of their names."
        )
    if old is None:
        raise ValueError(
            "The training data had no column names: new_features must be the "
            "number of new features."
        )
    if not all(isinstance(name, str) for name in new):
        raise ValueError(f"new_features must be names of type str, got {list(new)}.")
    names = np.concatenate([old, new])
    if len(set(names)) < len(names):
        raise ValueError("new_features repeats a name, or has one that exists.")
    return names


def _width(X):
    """Return the number of columns of data that are not validated yet, 0 if unknown."""
    first = X if isinstance(X, Source) else matrices_of(X)[0]
    shape = getattr(first, "shape", None)
    if shape is None and isinstance(first, list | tuple) and first:
        row = first[0] if isinstance(first[0], list | tuple | np.ndarray) else ()
        shape = (len(first), np.size(row) if np.ndim(row) == 1 else 0)
    # the shape of other objects may be lazy; validation checks it later
    return shape[1] if isinstance(shape, tuple) and len(shape) == 2 else 0


def names_of(X):
    """Return the names of the columns of data, or None."""
    if isinstance(X, Source):
        return getattr(X, "feature_names", None)
    return _get_feature_names(as_frame(matrices_of(X)[0]))


# -- memory and records of streams with a half-life -----------------------------------
def _table(records, columns):
    table = {}
    for name in columns:
        values = [getattr(record, name) for record in records]
        if name in ("time", "kept", "columns"):
            column = np.empty(len(values), dtype=object)
            column[:] = values
        else:
            kind = {"reason": str, "gain": float}.get(name, np.int64)
            column = np.array(values, dtype=kind)
        table[name] = column
    return table


def clear_memory(self: Owner) -> Owner:
    """Delete the memory of a stream, which consists of rows of the training data.

    With a half-life, the estimator and its pickles contain up to
    ``renewals.memory`` rows of the training data.  The predictions of the estimator
    do not depend on these rows.  If `partial_fit` follows, the memory fills again,
    and renewals begin after 1,000 further rows.

    Returns
    -------
    self : object
        The estimator.
    """
    state = self._state().copied()
    if state.stream is not None:
        stream = state.stream
        state.stream = replace(
            stream,
            memory=Stream.memory,
            watch=Stream.watch,
            challenger=None,
            last=stream.samples,
            due=stream.samples + 1000,
            changed=Stream.changed,
        )
        self.state_ = state
    return self


@property
def alarms(self) -> dict[str, np.ndarray]:
    """Alarms of a stream: a dict of arrays with an entry for each alarm.

    "sample" and "step" are the numbers of rows and steps before the alarm, and
    "time" is the last known time before it, or None.
    """
    return _table((self._state().stream or Stream()).alarms, Alarm._fields)


@property
def stream_history(self) -> dict[str, np.ndarray]:
    """Scores and components along a stream: a dict of arrays, at most 513 points.

    A point summarises consecutive batches of a stream with renewals.  "sample" is
    the number of rows up to the end of the point, "time" is the last known
    time or None, "score" is the mean score that its rows had before they were
    learned, and "shares", of shape (n_points, n_components), are the shares of the
    components in its rows.
    """
    return (self._state().stream or Stream()).prevalence.to_dict()


@property
def renewals(self) -> dict[str, np.ndarray]:
    """Renewals of a stream: a dict of arrays with an entry for each renewal.

    "sample", "step" and "time" are those of `alarms_`; "reason" is "start",
    "schedule" or "alarm"; "kept" is whether the result replaced the parameters,
    None until "decided", a number of rows; "gain" is the mean gain of the rows that
    decided, in nats per observation; "columns" are the new components.
    """
    return _table((self._state().stream or Stream()).renewals, Renewal._fields)
