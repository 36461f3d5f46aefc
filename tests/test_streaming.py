"""`partial_fit`: division into batches (pieces), total numbers of samples, clocks."""

import contextlib
import pickle
import warnings

import numpy as np
import pytest
from fits import SCHEDULE, assert_same_fit
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sktemper import AnnealedLDA, TemperedGaussianMixture, TemperedLDA, schedules
from sktemper._engine._state import History
from sktemper.datasets import make_lda_documents
from sktemper.learning_rates import RobbinsMonro
from sktemper.schedules import LinearSchedule, StepSchedule
from sktemper.tempering import Annealing

RATE = RobbinsMonro()  # the default


def lda_of(cls=AnnealedLDA, **parameters):
    if cls is AnnealedLDA:
        parameters = {"schedule": SCHEDULE, **parameters}
    defaults = {"batch_size": 20, "random_state": 0, "topic_word_prior": 0.25}
    return cls(4, **{**defaults, **parameters})


def total_of_last_step(lda, X):
    """Return the total D: after a step of rate 1, lambda = eta + (D / S) (sum of X)."""
    assert lda.learning_rate_.rate == 1.0
    gained = (lda.components_ - 0.25).sum()
    return gained / X.sum() * X.shape[0]


# -- pieces ----------------------------------------------------------------------------


def test_a_pass_without_shuffling_takes_rows_in_order(counts):
    schedule = LinearSchedule(start=2, length=4)
    lda = lda_of(schedule=schedule, batch_size=20, max_iter=1, init_params="random")
    lda.set_params(total_samples=120, learning_rate=0.6)
    in_order = clone(lda).set_params(shuffle=False).fit(counts)
    streamed = clone(lda).partial_fit(counts)
    assert in_order.n_batch_iter_ == streamed.n_batch_iter_ == 6
    np.testing.assert_array_equal(in_order.components_, streamed.components_)
    assert not np.array_equal(lda.fit(counts).components_, streamed.components_)


def test_short_pieces_are_one_step_each(counts):
    lda = lda_of(total_samples=120)
    for rows, steps in [(7, 1), (1, 2), (20, 3), (21, 5), (45, 8)]:
        lda.partial_fit(counts[:rows])
        assert lda.n_batch_iter_ == steps
    assert lda.n_samples_seen_ == 94
    passes = np.cumsum([7, 1, 20, 20, 1, 20, 20, 5]) / 120
    np.testing.assert_allclose(lda.history_["passes"], passes)
    temperatures = [SCHEDULE(t) for t in range(8)]
    np.testing.assert_allclose(lda.history_["temperature"], temperatures)
    assert lda.temperature_ == temperatures[-1]
    assert lda.n_iter_ == 0  # passes of fit only


def test_auto_batches_of_a_stream_do_not_depend_on_its_first_chunk(counts):
    lda = lda_of(batch_size="auto").partial_fit(counts[:1])
    assert lda.partial_fit(counts).n_batch_iter_ == 2
    known = lda_of(batch_size="auto", total_samples=100).partial_fit(counts[:1])
    assert known.batch_size_ == 20


@pytest.mark.parametrize("doc_length", [4, 20])
def test_rows_without_weight_choose_neither_batches_nor_temperatures(doc_length):
    X = make_lda_documents(400, 30, 3, doc_length=doc_length, random_state=0).toarray()
    weight = (np.arange(400) >= 40).astype(float)
    lda, fits = AnnealedLDA(4, max_iter=3, random_state=0), []
    for rows in (X[40:80], 300):  # like the others, or long
        X[:40] = rows
        fits.append(clone(lda).fit(X, sample_weight=weight))
    assert repr(fits[0].schedule_) == repr(fits[1].schedule_)
    assert fits[0].n_batch_iter_ == fits[1].n_batch_iter_
    # long rows are computed in other groups, which rounds sums in float32 otherwise
    np.testing.assert_allclose(*(fit.components_ for fit in fits), rtol=1e-5)


def test_batches_of_a_stream_after_a_smaller_fit(counts):
    lda = lda_of(batch_size=60, max_iter=40).fit(counts[:30])
    steps = lda.n_batch_iter_
    assert lda.partial_fit(counts).n_batch_iter_ == steps + 2


def test_a_first_chunk_may_be_smaller_than_the_model(counts):
    lda = AnnealedLDA(30, batch_size=20, random_state=0)
    lda.partial_fit(counts[:1])
    assert lda.components_.shape == (30, 60)
    lda.partial_fit(counts[:0:-1])
    assert np.isfinite(lda.transform(counts)).all()


# -- totals ----------------------------------------------------------------------------


def test_the_total_of_a_stream(counts):
    lda = lda_of(learning_rate=1.0, batch_size=4)
    seen = 0
    for n_rows in (4, 20, 60, 26):  # unknown: rows so far, at least 25 batches
        lda.partial_fit(counts[:n_rows])
        seen += n_rows
        last = counts[:n_rows][-(n_rows % 4 or 4) :]
        assert total_of_last_step(lda, last) == pytest.approx(max(seen, 100))
    lda.partial_fit(counts)  # all rows of a call count from its first piece on
    assert total_of_last_step(lda, counts[-4:]) == pytest.approx(seen + 120)
    passes = lda.history_["passes"]
    np.testing.assert_allclose(passes[:6], np.arange(4, 28, 4) / 100)
    np.testing.assert_allclose(passes[-30:], np.arange(114, 234, 4) / 230)


def test_a_stream_represents_at_most_200_rows_of_a_topic(counts):
    many = sparse.vstack([counts] * 5, format="csr")
    for batch_size, total in ((100, 800), (30, 750)):  # four topics; 25 batches
        lda = lda_of(learning_rate=1.0, batch_size=batch_size)
        lda.partial_fit(counts[:batch_size])
        one_batch = counts[:batch_size]
        assert total_of_last_step(lda, one_batch) == pytest.approx(total)
        lda.partial_fit(many).partial_fit(many).partial_fit(one_batch)
        assert total_of_last_step(lda, one_batch) == pytest.approx(800)


def test_streams_of_other_models_have_no_planned_length():
    """Only topics have `stream_rows`: other batches represent the rows so far."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    mixture = TemperedGaussianMixture(
        2, tempering=Annealing(), random_state=0, batch_size=10
    ).partial_fit(X)
    assert mixture.tempering_.schedule.length == schedules.STREAM_LENGTH
    assert mixture.state_.policies.plan.n_steps is None


@pytest.mark.parametrize("total", [10, 50, 1000])
def test_a_given_total_is_used_even_if_it_is_exceeded(counts, total):
    lda = lda_of(learning_rate=1.0, batch_size=40, total_samples=total)
    for rows in (slice(0, 40), slice(40, 50), slice(50, 90)):
        far_too_small = total == 10 and rows.start == 0
        with (
            pytest.warns(ConvergenceWarning, match="40 samples were seen, but")
            if far_too_small
            else contextlib.nullcontext()
        ):
            lda.partial_fit(counts[rows])
        assert total_of_last_step(lda, counts[rows]) == pytest.approx(total)
    assert lda.history_["passes"][-1] == 90 / total


def test_empty_documents_do_not_make_a_stream_repeated(counts):
    empty = sparse.csr_array((9, counts.shape[1]), dtype=counts.dtype)
    chunks = [sparse.vstack([empty, counts[i : i + 20]], format="csr") for i in (0, 60)]
    lda = lda_of(total_samples=10, batch_size=40)
    with pytest.warns(ConvergenceWarning, match="samples were seen, but"):
        for chunk in chunks:
            lda.partial_fit(chunk)
    same = lda_of(total_samples=10, batch_size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            same.partial_fit(counts[:20])


def test_the_total_after_fit(counts):
    lda = lda_of(learning_rate=1.0, max_iter=9, batch_size=60).fit(counts)
    lda.partial_fit(counts[:30])  # rows of fit count once, not in each pass
    assert total_of_last_step(lda, counts[:30]) == pytest.approx(150)
    lda.fit(counts[:60])  # a new fit
    lda.partial_fit(counts[:30])
    assert total_of_last_step(lda, counts[:30]) == pytest.approx(90)
    lda.set_params(total_samples=1000, batch_size=None).fit(counts)  # a given total
    assert total_of_last_step(lda, counts) == pytest.approx(1000)


# -- clocks ----------------------------------------------------------------------------


def test_steps_are_the_same_clock_in_fit_and_in_a_stream(counts):
    lda = lda_of(max_iter=4)
    fitted = clone(lda).fit(counts)
    streamed = clone(lda)
    for _ in range(4):
        streamed.partial_fit(counts)
    for column in ("step", "temperature", "learning_rate"):
        np.testing.assert_array_equal(
            fitted.history_[column], streamed.history_[column]
        )
    rates = [RATE(t) for t in range(1, 25)]
    np.testing.assert_array_equal(fitted.history_["learning_rate"], rates)
    assert fitted.n_batch_iter_ == streamed.n_batch_iter_ == 24
    assert fitted.n_samples_seen_ == streamed.n_samples_seen_ == 480
    assert (fitted.n_iter_, streamed.n_iter_) == (4, 0)


@pytest.mark.parametrize("cls", [AnnealedLDA, TemperedLDA])
def test_passes_in_a_stream_need_its_total(counts, cls):
    schedule = LinearSchedule(start=3, length=0.5, unit="passes")
    given = {"schedule": schedule}
    if cls is TemperedLDA:
        given = {"tempering": Annealing(schedule)}
    lda = lda_of(cls, **given)
    with pytest.raises(ValueError, match="total_samples"):
        lda.partial_fit(counts)
    assert not hasattr(lda, "components_")
    lda.set_params(total_samples=120).partial_fit(counts)
    expected = [schedule(t / 120) for t in range(0, 120, 20)]
    np.testing.assert_allclose(lda.history_["temperature"], expected)


def test_auto_length_in_a_stream(counts):
    lda = lda_of(schedule=None)  # 80 rows for each of 4 topics, in batches of 20
    for batch_size, length in ((20, 15), (32, 10), (40, 8), (100, 5)):
        lda.set_params(batch_size=batch_size)
        assert clone(lda).partial_fit(counts).schedule_.length == length
    short = clone(lda).partial_fit(counts[:32])  # the size of the steps counts
    assert short.schedule_.length == 10
    lda.set_params(batch_size=20, total_samples=1000)  # 50 steps: at most half of them
    assert clone(lda).partial_fit(counts).schedule_.length == 25
    lda.set_params(schedule__unit="passes")
    assert clone(lda).partial_fit(counts).schedule_.length == 0.5


@pytest.mark.parametrize("schedule", [SCHEDULE, None, StepSchedule(SCHEDULE, every=4)])
def test_a_stream_never_reheats(counts, schedule):
    lda = lda_of(schedule=schedule, max_iter=4).fit(counts)
    assert lda.temperature_ == 1
    steps = lda.n_batch_iter_
    lda.partial_fit(counts).partial_fit(counts[:5])
    assert (lda.history_["temperature"][steps:] == 1).all()
    assert lda.n_batch_iter_ == steps + 7
    rates = lda.history_["learning_rate"]
    np.testing.assert_array_equal(rates, [RATE(t + 1) for t in range(steps + 7)])
    assert (np.diff(lda.history_["temperature"]) <= 0).all()


def test_a_stream_continues_cooling_after_an_unfinished_fit(counts):
    lda = lda_of(max_iter=1, learning_rate=0.4)
    with pytest.warns(UserWarning, match="ended at temperature 2,"):
        lda.fit(counts[:100])
    lda.partial_fit(counts)
    expected = [SCHEDULE(t) for t in range(lda.n_batch_iter_)]
    np.testing.assert_allclose(lda.history_["temperature"], expected)


def test_fit_discards_the_state_of_a_stream(counts):
    lda = lda_of(max_iter=4)
    fresh = clone(lda).fit(counts)
    assert_same_fit(lda.partial_fit(counts[:50]).fit(counts), fresh)


def test_batch_size_none_in_a_stream(counts):
    """Each call is one step, with a rate below 1: a rate of 1 would forget all data."""
    lda = lda_of(batch_size=None)
    for n, rows in enumerate((counts[:9], counts, counts[:50]), start=1):
        assert lda.partial_fit(rows).n_batch_iter_ == n
    assert isinstance(lda.learning_rate_, RobbinsMonro)
    fitted = lda_of(batch_size=None).fit(counts).partial_fit(counts[:10])
    assert fitted.history_["learning_rate"][0] == 1
    assert fitted.history_["learning_rate"][-1] == RATE(fitted.n_batch_iter_)


# -- history ---------------------------------------------------------------------------


def test_the_history_of_an_endless_stream_stays_small():
    history, ladder = History(limit=10), np.array([1.0, 2.0])
    for step in range(1, 1001):
        shares = np.array([step, 1000 - step]) / 1000
        history.append(step=step, ladder=ladder, probabilities=shares)
        if step % 100 == 0:
            history.add_score(-step)
    table = history.to_dict()
    assert 10 < len(table["step"]) <= 20
    assert (np.diff(table["step"]) > 0).all()
    np.testing.assert_array_equal(
        table["temperature_probabilities"][:, 0], table["step"] / 1000
    )
    scored = ~np.isnan(table["heldout_score"])
    assert scored.sum() == 10  # no scored row was removed
    np.testing.assert_array_equal(
        table["heldout_score"][scored], -table["step"][scored]
    )
    assert len(set(np.diff(table["step"][~scored]))) == 1  # evenly spaced
    assert len(pickle.dumps(history)) < 10_000
