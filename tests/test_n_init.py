"""Several starts (`n_init`): the best fit is kept, even if other fits end early."""

import copy
import logging
import pickle

import numpy as np
import pytest
from fits import (
    N_PASSES,
    N_STEPS,
    Broken,
    Recorder,
    assert_same_fit,
    data_of,
    factorization_of,
    lda_of,
    mixture_of,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper import AnnealedLDA, SVIPlusLDA, TemperedLDA
from sktemper.lda._model import LDAModel
from sktemper.moves import BirthMoves
from sktemper.schedules import ConstantSchedule


def fits_by_hand(lda, X, n, seed, **fit_params):
    """Fit ``n`` times, with starts that are drawn in turn from one RandomState."""
    random, fits = np.random.RandomState(seed), []
    for _ in range(n):
        one = clone(lda).set_params(n_init=1)
        fits.append(one.set_params(random_state=random).fit(X, **fit_params))
    return fits


def best(fits, X):
    """Return the fit with the best bound, the first one if bounds are equal."""
    return fits[int(np.argmax([lda.lower_bound(X) for lda in fits]))]


#: test_shared.py has each model with its default policies.
CONFIGURATIONS = {
    "annealed": lda_of(),
    "noisy": lda_of(SVIPlusLDA, n_jobs=2),
    "stopped early": lda_of(n_iter_no_change=1, tol=0.02, max_iter=20),
    # rows that are held out of the steps count in the bound
    "scored": lda_of(evaluate_every=1, validation_fraction=0.5, max_iter=8),
    # fits from a given start shuffle documents differently
    "started": lda_of(init=np.random.default_rng(0).gamma(1.0, size=(4, 60))),
    "mixture with moves": mixture_of(
        batch_size=None, max_iter=12, moves=BirthMoves(n_moves=2)
    ),
    "factorization in one batch": factorization_of(batch_size=None, max_iter=12),
}


# -- the best fit ----------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("lda", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_the_best_of_the_fits_is_kept(lda):
    winners, X = set(), data_of(lda)
    for seed in range(5):
        if winners - {0}:
            break
        fits = fits_by_hand(lda, X, 3, seed)
        bounds = [one.lower_bound(X) for one in fits]
        assert len(set(bounds)) == 3
        winners.add(int(np.argmax(bounds)))
        several = clone(lda).set_params(n_init=3, random_state=seed).fit(X)
        assert_same_fit(several, best(fits, X))
        assert several.lower_bound(X) == max(bounds)
        assert several.start_bounds_ == bounds and fits[0].start_bounds_ == []
    assert winners - {0}  # otherwise keeping the first fit would pass


def test_the_bound_is_weighted_as_the_samples_are(documents):
    weight = np.random.default_rng(0).integers(0, 4, documents.shape[0])
    repeated = documents[np.repeat(np.arange(documents.shape[0]), weight)]
    for seed in range(16, 36):  # the first of them tells the bounds apart
        fits = fits_by_hand(
            lda_of(init_params="random"), documents, 3, seed, sample_weight=weight
        )
        expected = int(np.argmax([one.lower_bound(repeated) for one in fits]))
        lda = lda_of(init_params="random", n_init=3, random_state=seed)
        assert_same_fit(lda.fit(documents, sample_weight=weight), fits[expected])
        if best(fits, documents) is not fits[expected]:
            break
    else:
        pytest.fail("bounds without weights would pass")


def test_the_first_of_equal_fits_is_kept(documents):
    init = np.random.default_rng(0).gamma(1.0, size=(4, 60))
    lda = lda_of(
        TemperedLDA, tempering=None, init=init, batch_size=None, shuffle=False, n_init=3
    )
    first = fits_by_hand(lda, documents, 1, 0)[0]
    assert lda.fit(documents).state_.seed == first.state_.seed


# -- callbacks and logs ----------------------------------------------------------------


def test_callbacks_are_called_for_the_passes_of_all_fits(documents):
    recorder = Recorder()
    lda = lda_of(n_init=3).set_callbacks(recorder).fit(documents)
    passes = [(hook, "pass", i) for i in range(15) for hook in ("begin", "end")]
    assert recorder.events == [
        ("setup", "fit", 0),
        ("begin", "fit", 0),
        *passes,
        ("end", "fit", 0),
        ("teardown", "fit", 0),
    ]
    assert recorder.max_subtasks == 15
    assert recorder.n_passes == [1, 2, 3, 4, 5] * 3
    assert_same_fit(recorder.copy, lda)  # the best fit, not the last


def test_a_callback_that_stops_a_fit_stops_that_one(documents):
    recorder = Recorder(lambda i: i in (1, 4))
    lda = lda_of(
        TemperedLDA, tempering=None, n_init=3, learning_rate=0.4, random_state=1
    )
    lda.set_callbacks(recorder).fit(documents)
    assert recorder.n_passes == [1, 2, 1, 2, 3, 1, 2, 3, 4, 5]
    random, fits = np.random.RandomState(1), []
    for n in (2, 3, 5):
        one = lda_of(
            TemperedLDA,
            tempering=None,
            learning_rate=0.4,
            max_iter=n,
            random_state=random,
        )
        fits.append(one.fit(documents))
    np.testing.assert_array_equal(lda.components_, best(fits, documents).components_)


def test_verbose_logs_the_bounds(documents, caplog):
    caplog.set_level(logging.INFO, logger="sktemper")
    lda_of(n_init=2).fit(documents)
    assert caplog.records == []
    lda_of(n_init=2, verbose=1).fit(documents)
    messages = [record.getMessage() for record in caplog.records]
    assert [m.split(":")[0] for m in messages if "lower bound" in m] == [
        "fit 1 of 2",
        "fit 2 of 2",
    ]
    fits = fits_by_hand(lda_of(), documents, 2, 0)
    assert f"{fits[1].lower_bound(documents):.6f}"[:8] in messages[-1]


def test_warnings_are_those_of_the_fit_that_is_kept(documents):
    lda = lda_of(schedule=ConstantSchedule(1.5), n_iter_no_change=1, n_init=3)
    with pytest.warns(ConvergenceWarning) as caught:
        lda.fit(documents)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "had no scores to compare" in messages[0]
    assert "ended at temperature 1.5" in messages[1]
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("hot", [0, 5])
def test_only_the_kept_fit_warns(documents, hot):
    """The first or the second fit ends above T=1, with a lower bound."""
    recorder = Recorder(lambda i: i == hot)
    lda = lda_of(n_init=2, learning_rate=0.5).set_callbacks(recorder).fit(documents)
    assert (lda.temperature_, lda.n_iter_) == (1.0, N_PASSES)


# -- fits that end early ---------------------------------------------------------------


def breaking_at(n_passes, error):
    def at_pass(i):
        if i == n_passes - 1:
            raise error

    return Recorder(at_pass)


@pytest.mark.every(11)
@pytest.mark.parametrize("n_passes", [1, 5, 6, 10, 14])
@pytest.mark.parametrize(
    ("cls", "error"), [(AnnealedLDA, Broken), (TemperedLDA, KeyboardInterrupt)]
)
def test_an_interrupted_fit_leaves_the_best_completed_one(
    documents, cls, error, n_passes
):
    lda = lda_of(cls, n_init=3, random_state=1, learning_rate=0.4)
    lda.set_callbacks(breaking_at(n_passes, error))
    with pytest.raises(error):
        lda.fit(documents)
    completed = (n_passes - 1) // N_PASSES
    if completed == 0:  # the last complete step of the first fit
        assert lda.n_batch_iter_ == n_passes * N_STEPS
        expected = fits_by_hand(lda.set_callbacks(), documents, 1, 1)[0]
    else:
        fits = fits_by_hand(lda.set_callbacks(), documents, completed, 1)
        expected = best(fits, documents)
        assert_same_fit(lda, expected)
        assert lda.state_.seed == expected.state_.seed
    # It continues like a fit from one start.
    for one in (lda, expected):
        one.set_params(warm_start=True, n_init=3)
    if n_passes < N_PASSES:
        assert_same_fit(lda.fit(documents), expected)
    assert_same_fit(lda.fit(documents), expected.fit(documents))
    assert_same_fit(lda.partial_fit(documents), expected.partial_fit(documents))


def test_the_policies_are_those_of_the_fit_that_is_kept(documents):
    seen = []

    def at_pass(i):
        seen.append(lda.tempering_)
        if i == 7:
            raise Broken

    lda = lda_of(n_init=2).set_callbacks(Recorder(at_pass))
    with pytest.raises(Broken):
        lda.fit(documents)
    assert lda.tempering_ is seen[0] is seen[4]
    assert lda.tempering_ is not seen[5]


@pytest.mark.every(3)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_interrupted_bound_leaves_a_completed_fit(documents, number, monkeypatch):
    bound, calls = LDAModel.global_bound, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == number:
            raise KeyboardInterrupt
        return bound(*args)

    fits = fits_by_hand(lda_of(), documents, 3, 0)
    expected = best(fits[: max(number - 1, 1)], documents)
    monkeypatch.setattr(LDAModel, "global_bound", interrupted)
    lda = lda_of(n_init=3)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(documents)
    assert_same_fit(lda, expected)


def test_an_error_before_the_first_step_leaves_an_earlier_fit_as_it_was(documents):
    lda = lda_of(n_init=2).fit(documents)
    before = pickle.dumps(lda.state_), lda.tempering_
    lda.set_params(schedule=lambda t: -1.0)
    with pytest.raises(ValueError, match="at least 1"):
        lda.fit(documents[:60])
    assert pickle.dumps(lda.state_) == before[0]
    assert lda.tempering_ is before[1]


# -- continued fits --------------------------------------------------------------------


def test_a_continued_fit_has_one_start(documents):
    lda = lda_of(n_init=3, warm_start=True).fit(documents)
    one = copy.deepcopy(lda).set_params(n_init=1)
    recorder = Recorder()
    lda.set_callbacks(recorder).fit(documents)
    assert recorder.max_subtasks == len(recorder.n_passes) == N_PASSES
    assert lda.n_iter_ == N_PASSES
    assert_same_fit(lda, one.fit(documents))


def test_a_stream_has_one_start(documents):
    one = lda_of(total_samples=120).partial_fit(documents)
    several = lda_of(total_samples=120, n_init=3).partial_fit(documents)
    assert_same_fit(several, one)
    assert_same_fit(several.partial_fit(documents), one.partial_fit(documents))
