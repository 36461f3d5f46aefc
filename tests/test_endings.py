"""Warnings at the end of a fit, and the state of an estimator after it."""

import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from fits import (
    Hooks,
    PressingAt,
    StopAt,
    data_of,
    factorization_of,
    lda_of,
    mixture_of,
    ratings_of,
    samples_of,
)
from registry import ROWS
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import sktemper
from sktemper import (
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedMatrixFactorization,
)
from sktemper._engine._state import Convergence
from sktemper._estimator._end_of_fit import bound_still_moved, has_converged
from sktemper._utils import _notices
from sktemper.moves import BirthMoves
from sktemper.schedules import ConstantSchedule, LinearSchedule

NAMES = [name for name in sktemper.__all__ if name[0].isupper()]
ANNEALED = [name for name in NAMES if name.startswith("Annealed")]
each_model = pytest.mark.parametrize("name", ANNEALED)
unconverged = pytest.mark.filterwarnings("ignore:.*did not converge.*")


def stream_of(name, **parameters):
    """Return an estimator with T > 1 after four steps and T = 1 after 100."""
    return getattr(sktemper, name)(
        3,
        schedule=LinearSchedule(start=2, length=100),
        batch_size=30,
        random_state=0,
        **parameters,
    )


# -- convergence -----------------------------------------------------------------------


def test_convergence_is_judged_by_what_more_steps_would_change():
    """Changes of .5, .25, ... leave as much as the last; steady changes do not end."""
    convergence = Convergence(lower_bound=0.0)
    assert convergence.gain_left == math.inf
    convergence.follow([1.0])
    assert convergence.gain_left == math.inf
    convergence.follow([1.5, 1.75])
    assert (convergence.bound_change, convergence.gain_left) == (0.25, 0.25)
    convergence.follow([2.0])
    assert convergence.gain_left == math.inf
    convergence.follow([1.9])
    assert convergence.gain_left == pytest.approx(0.1)
    convergence.follow([-1e9])
    progress = SimpleNamespace(total_rows=10)
    dtype = np.dtype(np.float32)
    state = SimpleNamespace(
        dtype=dtype, convergence=convergence, progress=progress, n_features=3
    )
    rounding = 8 * (1e9 + 30) * np.finfo(np.float32).eps
    for tol, least in ((1e-3, rounding), (200.0, 2000.0)):
        estimator = SimpleNamespace(tol=tol, _least_tol=0.0)
        assert has_converged(estimator, state, 0.99 * least)
        assert not has_converged(estimator, state, 1.01 * least)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_converged_bound_with_rounding_errors_does_not_warn(dtype):
    X = samples_of().astype(dtype)
    TemperedFactorialMixture(3, tempering=None, tol=0.0, random_state=0).fit(X)
    X = ratings_of().astype(dtype)[:60]
    model = TemperedMatrixFactorization(1, tempering=None, tol=0.0, random_state=0)
    assert model.set_params(max_iter=150).fit(X).n_iter_ == 150


def test_convergence_is_judged_after_moves():
    """Convergence is judged after the moves, not after the passes before them."""
    random = np.random.default_rng(2)
    centres = random.uniform(-10, 10, size=(8, 2))  # far apart
    X = centres[random.integers(8, size=300)] + 0.5 * random.normal(size=(300, 2))
    mixture = TemperedGaussianMixture(8, tempering=None, init_params="random")
    mixture.set_params(random_state=0, max_iter=500, tol=1e-6, covariance_type="full")
    before = clone(mixture).set_params(moves=None).fit(X)
    assert before.converged_
    mixture.set_params(moves=BirthMoves(20, n_iter=2))
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        mixture.fit(X)
    assert not mixture.converged_
    assert mixture.lower_bound_ > before.lower_bound_ + 1
    one_more = pickle.loads(pickle.dumps(mixture))
    one_more.set_params(warm_start=True, moves=None, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one_more.fit(X)
    change = one_more.lower_bounds_[-1] - mixture.state_.convergence.lower_bound
    assert one_more.state_.convergence.bound_change == pytest.approx(change)
    assert 0 < change < 10


def test_a_bound_that_fell_is_no_change_of_too_few_passes():
    convergence = Convergence(-10.0, -1.0)
    progress = SimpleNamespace(passes=7, planned_passes=7, steps=7)
    estimator = SimpleNamespace(n_iter_no_change=None, max_iter=7)
    estimator._has_converged = lambda state: False

    def message(**moves):
        history = SimpleNamespace(to_dict=lambda: moves)
        state = SimpleNamespace(
            progress=progress, convergence=convergence, history=history
        )
        return bound_still_moved(estimator, SimpleNamespace(state=state))

    assert "fell by 1 in the last of 7 passes" in message()
    assert "max_iter" not in message()
    moves = {"move_step": np.array([5, 7]), "move_kept": np.array([True, False])}
    assert message(**moves) == message()
    moves["move_kept"][1] = True
    assert "fell by 1 in the last step, after moves" in message(**moves)
    assert "max_iter" not in message(**moves)
    convergence.bound_change = 1.0
    assert "still changed by 1 in the last step" in message(**moves)
    moves["move_kept"][1] = False
    assert "Raise max_iter" in message(**moves)
    estimator.max_iter = 8  # the plan ended before
    assert "Raise tol" in message(**moves)


# -- temperatures above 1 --------------------------------------------------------------


@pytest.mark.every(11)
@each_model
@pytest.mark.parametrize("method", ["transform", "score", "lower_bound"])
def test_a_hot_stream_warns_once(name, method):
    stream = stream_of(name)
    X = data_of(stream)
    stream.partial_fit(X)
    with pytest.warns(ConvergenceWarning, match="still at temperature 1.97") as caught:
        getattr(stream, method)(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "shorten the schedule" in str(caught[0].message)
    before = vars(stream).copy()
    stream.transform(X), stream.score(X)  # no second warning
    stream.partial_fit(X).transform(X)
    assert vars(stream).keys() == before.keys()
    other = pickle.loads(pickle.dumps(stream))
    with pytest.warns(ConvergenceWarning, match="still at"):
        other.transform(X)  # a loaded pickle warns again
    other.set_params(schedule=LinearSchedule(start=2, length=3)).partial_fit(X)
    other.transform(X)  # T = 1
    other.set_params(schedule=LinearSchedule(start=2, length=1000)).partial_fit(X)
    with pytest.warns(ConvergenceWarning, match="still at temperature"):
        other.transform(X)  # T > 1 again


def test_only_one_of_many_threads_warns(documents, monkeypatch):
    lda = stream_of("AnnealedLDA").partial_fit(documents)
    said = []
    monkeypatch.setattr(_notices, "warn", lambda message, kind: said.append(message))
    with ThreadPoolExecutor(8) as pool:
        methods = [lda.score] * 7 + [lda.transform]
        list(pool.map(lambda method: method(documents), methods))
    assert len(said) == 1


def test_callbacks_may_ask_a_fit_that_is_hot(documents):
    class Asks(Hooks):
        n_hot = 0

        def at_pass(self, estimator, fitted_estimator):
            estimator.score(documents)
            fitted_estimator.score(documents)
            self.n_hot += estimator.temperature_ > 1

    asks = Asks()
    lda = lda_of().set_callbacks(asks).fit(documents)  # no warning
    assert asks.n_hot > 0
    lda.transform(documents)
    lda.set_params(schedule=LinearSchedule(start=3, length=100))
    with pytest.warns(ConvergenceWarning, match="The fit ended at temperature"):
        lda.fit(documents)
    lda.transform(documents)  # the fit has warned


def test_an_interrupted_fit_may_be_above_temperature_1(documents):
    lda = lda_of().set_callbacks(StopAt(1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    assert lda.temperature_ > 1
    with pytest.warns(ConvergenceWarning, match="still at temperature"):
        lda.transform(documents)


# -- streams with more samples than total_samples --------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ANNEALED)
def test_a_stream_beyond_its_total_warns_once(name):
    stream = stream_of(name, total_samples=40)
    X = data_of(stream)
    stream.partial_fit(X[:60]).partial_fit(X[60:100])
    with pytest.warns(ConvergenceWarning, match="120 samples were seen, but") as caught:
        stream.partial_fit(X[100:])
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "set total_samples to" in str(caught[0].message)
    stream.partial_fit(X[30:])  # no second warning
    again = clone(stream).set_params(total_samples=120)
    for _ in range(4):  # the same samples once more
        again.partial_fit(X[:60]).partial_fit(X[60:])
    clone(stream).set_params(total_samples=None).partial_fit(X)


# -- parameters of the fit -------------------------------------------------------------


def views(estimator, X):
    """Return all fitted attributes of an estimator, and its results on data."""
    names = [name for name in dir(type(estimator)) if name.endswith("_")]
    names = [name for name in names if not name.startswith("_")]
    expected = {k: getattr(estimator, k) for k in names if hasattr(estimator, k)}
    for method in ("transform", "score_samples", "lower_bound", "predict"):
        if hasattr(estimator, method):
            expected[method] = getattr(estimator, method)(X)
    expected["names"] = list(estimator.get_feature_names_out())
    arrays = np.ndarray | np.floating | tuple | list | dict | float
    return {k: v if isinstance(v, arrays) else repr(v) for k, v in expected.items()}


@pytest.mark.every(11)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_set_later_do_not_change_fitted_results(row):
    kind = "Annealed" if row.has_policies else ""
    estimator = getattr(sktemper, kind + row.name)(3, max_iter=4, random_state=0)
    X = row.data(120)
    estimator.fit(X)
    expected = views(estimator, X)
    given = estimator.get_params()
    others = {"n_components": 4, **row.fixed_by_fit}
    assert others.keys() == set(estimator._fixed_by_fit)
    for parameter, other in others.items():
        assert repr(given[parameter]) != repr(other)
        estimator.set_params(**{parameter: other})
        np.testing.assert_equal(views(estimator, X), expected, parameter)
        match = f"^{parameter} changed since the model was fitted"
        with pytest.raises(ValueError, match=match):
            estimator.partial_fit(X)
        with pytest.raises(ValueError, match=match):
            estimator.set_params(warm_start=True).fit(X)
        np.testing.assert_equal(views(estimator, X), expected, parameter)
        estimator.set_params(warm_start=False, **{parameter: given[parameter]})
    estimator.partial_fit(X)
    estimator.set_params(n_components=4, max_iter=1).fit(X)  # a new fit
    assert estimator.transform(X).shape[1] == 4


def test_equal_priors_are_not_changed_ones(documents):
    lda = lda_of(doc_topic_prior=[0.1, 0.2, 0.3, 0.4]).partial_fit(documents)
    lda.set_params(doc_topic_prior=np.array([0.1, 0.2, 0.3, 0.4]))
    lda.partial_fit(documents)
    prior = np.full(4, 0.1)
    lda = lda_of(doc_topic_prior=prior).fit(documents)
    prior[0] = 0.2  # changes the user's array in place
    with pytest.raises(ValueError, match="doc_topic_prior changed"):
        lda.partial_fit(documents)


# -- weights ---------------------------------------------------------------------------


def held_out_rows(estimator, X, weight, n):
    """Fit, and return the only ``n`` rows whose score is the held-out score."""
    estimator.fit(X, sample_weight=weight)
    places = [list(rows) for rows in combinations(np.flatnonzero(weight), n)]
    scores = [estimator.score(X[rows], sample_weight=weight[rows]) for rows in places]
    last = estimator.history_["heldout_score"][-1]
    (found,) = np.flatnonzero(np.isclose(scores, last, rtol=1e-6))
    return places[found]


@pytest.mark.parametrize("make", [lda_of, mixture_of, factorization_of])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_multiplies_the_score_of_its_held_out_row(make):
    estimator = make(evaluate_every=1, validation_fraction=0.25, batch_size=None)
    X, weight = data_of(estimator)[:8], np.linspace(0.5, 2, 8)
    assert len(held_out_rows(estimator, X, weight, 2)) == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_rows_are_a_share_of_the_rows_with_weight(documents):
    """They are two of eight rows, which the seed draws; all other rows are trained."""
    weight, found = np.repeat([1.0, 0.0], [8, 12]), set()
    for seed in range(4):
        lda = lda_of(evaluate_every=1, validation_fraction=0.25, random_state=seed)
        found.add(tuple(held_out_rows(lda, documents[:20], weight, 2)))
        assert lda.n_samples_seen_ == lda.n_iter_ * 18
    assert len(found) > 1
    with pytest.raises(ValueError, match="leaves none of 1 samples"):
        lda.fit(documents[:20], sample_weight=np.arange(20) == 3)


@pytest.mark.every(3)
@each_model
@unconverged
def test_weights_of_a_score_are_repetitions(name):
    estimator = getattr(sktemper, name)(3, max_iter=4, random_state=0)
    X = data_of(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    weight = np.arange(120) % 3
    repeated = X[np.repeat(np.arange(120), weight)]
    for method in ("score", "lower_bound"):
        method_of = getattr(estimator, method)
        assert method_of(X, sample_weight=weight) == pytest.approx(
            method_of(repeated), rel=1e-6
        )
        assert method_of(X, sample_weight=np.ones(120)) == pytest.approx(
            method_of(X), rel=1e-9
        )
        for bad in (-weight, weight[1:], np.full(120, np.nan)):
            with pytest.raises(ValueError, match="[Ww]eight"):
                method_of(X, sample_weight=bad)
    with pytest.raises(ValueError, match="[Ww]eights must contain|held out"):
        estimator.score(X, sample_weight=np.zeros(120))


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["GaussianMixture", "MultinomialMixture"])
def test_an_interrupted_fit_has_no_labels_of_another(name):
    estimator = getattr(sktemper, f"Annealed{name}")(3, moves=None, random_state=0)
    X = data_of(estimator)
    labels = estimator.fit(X[:60]).labels_
    schedule = PressingAt(2, ConstantSchedule(1))
    estimator.set_params(schedule=schedule, batch_size=30)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X)
    assert len(labels) == 60 and estimator.n_batch_iter_ == 2
    for attribute in ("labels_", "lower_bound_"):
        with pytest.raises(NotFittedError, match="was not completed"):
            getattr(estimator, attribute)
    estimator.set_params(schedule=ConstantSchedule(1), max_iter=4)
    assert len(estimator.predict(X)) == len(estimator.fit(X).labels_)
