"""Streams with a half-life: weights of old rows, memory, renewals and their records.

The memory is a sample of recent rows. A renewal is a fit of new topics to it.
"""

import datetime
import pickle
import zoneinfo

import numpy as np
import pandas as pd
import pytest
from fits import fitted_model
from registry import ROWS
from scipy import sparse
from sklearn.base import clone

from sktemper import AnnealedLDA, TemperedLDA
from sktemper._engine import _passes
from sktemper._engine._reservoir import (
    MOST_PREVALENCE_POINTS,
    Challenger,
    Prevalence,
    Reservoir,
    Stream,
    Watch,
    _on_columns,
)
from sktemper._engine._stream import _Pieces
from sktemper._utils._arguments import half_life_of
from sktemper.datasets import make_lda_documents
from sktemper.lda._model import LDAModel
from sktemper.lda._topics import Topics
from sktemper.learning_rates import HalfLife, RobbinsMonro
from sktemper.model import IllDefined, all_finite
from sktemper.renewals import Renewals

K, V, H = 10, 120, 1500
RENEWALS = Renewals(memory=1000, wait=200)


def documents(seed, n=1500, words=slice(0, 80)):
    """Return documents whose topics use some of the columns."""
    few = make_lda_documents(n, words.stop - words.start, 4, random_state=seed)
    X = sparse.lil_array((n, V), dtype=few.dtype)
    X[:, words] = few.toarray()
    return sparse.csr_array(X)


@pytest.fixture(scope="module")
def stream():
    """A stream of 4 topics, which are replaced by topics of other words halfway."""
    return sparse.vstack([documents(0), documents(1, words=slice(40, 120))], "csr")


def lda(**parameters):
    parameters = {"half_life": H, "renewals": RENEWALS, "random_state": 0} | parameters
    return AnnealedLDA(K, **parameters)


def learned(model, X, chunk=250, **kwargs):
    for start in range(0, X.shape[0], chunk):
        model.partial_fit(X[start : start + chunk], **kwargs)
    return model


@pytest.fixture(scope="module")
def fitted(stream):
    return learned(lda(), stream)


def same_bits(a, b):
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.renewals_.keys() == b.renewals_.keys()
    for name, values in a.renewals_.items():
        np.testing.assert_array_equal(values, b.renewals_[name])


# -- weights of old rows ---------------------------------------------------------------
def test_rate_and_scale_are_those_of_the_population_that_counts(stream):
    model = learned(lda(renewals=None, batch_size=250), stream[:1000])
    n, rates = 0.0, []
    for _ in range(4):
        n = n * 2 ** (-250 / H) + 250
        rates.append(250 / n)
    np.testing.assert_allclose(model.history_["learning_rate"], rates, rtol=1e-12)
    assert model.state_.policies.learning_rate.size == pytest.approx(n)
    # the expected mass: the first rate is 1, and each step adds its tokens
    tokens, mass = (
        [X.sum() for X in (stream[i : i + 250] for i in (0, 250, 500, 750))],
        0,
    )
    for rate, of_piece in zip(rates, tokens, strict=True):
        mass = (1 - rate) * mass + of_piece
    found = model.components_.sum(dtype=np.float64) - 0.1 * K * V
    assert found == pytest.approx(mass, rel=1e-4)


def test_a_batch_represents_the_weights_of_its_rows(stream):
    X, weight = stream[:250], np.linspace(0.0, 3.0, 250)
    model = lda(renewals=None, batch_size=250).partial_fit(X, sample_weight=weight)
    tokens = weight @ X.sum(axis=1)
    assert model.state_.globals_.tokens().sum() == pytest.approx(tokens, rel=1e-4)


def test_rows_without_weight_are_neither_remembered_nor_tested(stream):
    weight = np.arange(240) % 3
    model = lda().partial_fit(stream[:240], sample_weight=weight)
    memory, rows = model.state_.stream.memory, np.flatnonzero(weight)
    np.testing.assert_array_equal(memory.numbers, rows)
    logs = np.log(2) * np.cumsum(weight)[rows] / H + np.log(weight[rows])
    np.testing.assert_allclose(memory.logs, logs)
    assert model.state_.stream.watch.count == len(rows)


def test_time_passes_between_chunks(stream):
    model = lda(half_life="10D", batch_size=250)
    model.partial_fit(stream[:250], times="2024-01-01")
    model.partial_fit(stream[250:500], times=np.repeat("2024-01-11", 250))
    assert model.state_.policies.learning_rate.size == pytest.approx(125 + 250)
    assert model.state_.stream.half_lives == pytest.approx(1.0)
    with pytest.raises(ValueError, match="must not decrease"):
        model.partial_fit(stream[:250], times="2024-01-10")
    with pytest.raises(ValueError, match="needs times"):
        model.partial_fit(stream[:250])


def test_times_do_not_decrease_across_a_chunk_without_times(stream):
    model = lda(half_life=100, batch_size=250)
    model.partial_fit(stream[:250], times="2024-05-01").partial_fit(stream[:250])
    with pytest.raises(ValueError, match="must not decrease"):
        model.partial_fit(stream[:250], times="2023-01-01")


DAY = np.datetime64("2024-06-01")
BERLIN = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    "times",
    [
        "2024-06-01T12:00+02:00",
        datetime.datetime(2024, 6, 1, 12, tzinfo=BERLIN),
        [datetime.datetime(2024, 6, 1, 12, tzinfo=BERLIN)] * 250,
        pd.Timestamp("2024-06-01 12:00", tz="Europe/Berlin"),
        pd.Series([pd.Timestamp("2024-06-01 12:00", tz="Europe/Berlin")] * 250),
        ["2024-06-01T10:00"] * 125 + ["2024-06-01T12:00+02:00"] * 125,
    ],
    ids=["text", "datetime", "list", "timestamp", "series", "mixed"],
)
def test_times_with_a_zone_are_converted_to_utc(stream, times):
    model = lda(half_life="10D").partial_fit(stream[:250], times=times)
    assert model.state_.stream.time == np.datetime64("2024-06-01T10:00")


def test_the_first_moment_of_a_calendar_may_have_a_zone(stream):
    tokyo = datetime.datetime.min.replace(tzinfo=zoneinfo.ZoneInfo("Asia/Tokyo"))
    for time in datetime.datetime.min.replace(tzinfo=BERLIN), tokyo:
        model = lda(half_life="10D").partial_fit(stream[:50], times=time)
        hours = (np.datetime64("0001-01-01") - model.state_.stream.time).item()
        assert hours == time.utcoffset()


@pytest.mark.parametrize(
    "half_life, expected",
    [
        (np.timedelta64(1, "ns"), 50),
        ("1s", 50),
        ("1000000D", 50 * 2**-1.461 + 50),
        ("999999999W", 100),
    ],
)
def test_half_lives_of_any_length_count_time(stream, half_life, expected):
    """Differences of times in units of the half-life may exceed 64 bits."""
    model = lda(half_life=half_life).partial_fit(stream[:50], times="0001-01-01")
    model.partial_fit(stream[50:100], times="4001-01-01")
    size = model.state_.policies.learning_rate.size
    assert size == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("times", ["20240601", ["20240601"] * 250, "2024-W22-6"])
def test_dates_without_hyphens_are_not_years(stream, times):
    model = lda(half_life="10D").partial_fit(stream[:250], times=times)
    assert model.state_.stream.time == np.datetime64("2024-06-01")


@pytest.mark.parametrize(
    "times, message",
    [
        (np.arange(250), "numbers and durations"),
        (list(np.arange(250, dtype=object)), "numbers and durations"),
        (np.array([1] * 249 + ["2024-01-01"], dtype=object), "numbers and durations"),
        (np.timedelta64(3, "D"), "numbers and durations"),
        (pd.Timedelta("3D"), "numbers and durations"),
        (pd.NaT, "missing values"),
        ([pd.NaT] * 250, "missing values"),
        (np.array([np.nan] * 249 + ["2024-01-01"], dtype=object), "missing values"),
        (pd.Series(["2024-01-01"] * 249 + [pd.NA], dtype="string"), "missing values"),
        ("202406", "dates or times"),
        (["2024-01-01"] * 3, "shape"),
        (["NaT"] * 250, "NaT"),
        ("300000-01-01", "years above 99,999"),
        (np.array(["300000-01-01"] * 250, "datetime64[D]"), "years above 99,999"),
        (pd.Timestamp(np.datetime64("300000-01-01", "s")), "years above 99,999"),
        ([np.datetime64("-300000-01-01")] * 250, "years above 99,999"),
        (["yesterday"] * 250, "dates or times"),
    ],
)
def test_bad_times_are_refused(stream, times, message):
    with pytest.raises(ValueError, match=message):
        lda().partial_fit(stream[:250], times=times)


def test_masked_times_and_times_without_a_half_life_are_refused(stream):
    times = np.ma.array(np.repeat(DAY, 50), mask=[0] * 49 + [1])
    with pytest.raises(TypeError, match="times is a masked array"):
        lda().partial_fit(stream[:50], times=times)
    lda().partial_fit(stream[:49], times=times[:49])
    with pytest.raises(ValueError, match="half_life is None"):
        AnnealedLDA(K).partial_fit(stream[:250], times="2024-01-01")


@pytest.mark.parametrize(
    "value", ["30D", "12h", "90min", "2W", "45 s", datetime.timedelta(days=2), 0.5, 10]
)
def test_half_lives(value):
    assert HalfLife(value).validate().unit() == half_life_of(value)


def test_a_half_life_replaces_rate_and_total(stream):
    for name, value in (("learning_rate", RobbinsMonro()), ("total_samples", 100)):
        for method in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=name):
                getattr(lda(**{name: value}), method)(stream[:50])


def test_an_infinite_threshold_disables_alarms(stream):
    model = lda(renewals=Renewals(memory=300, threshold=np.inf))
    assert len(learned(model, stream[750:2250]).alarms_["sample"]) == 0


def test_nested_keys():
    model = AnnealedLDA(K, half_life=H).set_params(renewals__memory=300)
    assert clone(model).renewals.memory == 300
    with pytest.raises(ValueError, match="is off"):
        AnnealedLDA(K, renewals=None).set_params(renewals__memory=300)


# -- memory ----------------------------------------------------------------------------
def test_memory_is_a_sample_by_age():
    # weights halve every 100 rows, which gives the shares of the last hundreds
    random, same, shares = *(np.random.default_rng(0) for _ in range(2)), np.zeros(6)
    for _ in range(60):
        memory, keys = Reservoir(), np.zeros(0)
        for start in range(0, 600, 50):
            numbers = np.arange(start, start + 50)
            logs = numbers / 100 * np.log(2)
            memory = memory.with_rows(numbers[:, None], logs, random, start, 20)
            keys = np.append(keys, logs + same.gumbel(size=50))
        assert memory.cut == np.delete(keys, memory.numbers).max()
        memory = memory.of_largest(20)
        later = memory.with_rows(numbers[:, None], logs - 50, random, 600, 20)
        same.gumbel(size=50)
        assert later.cut == memory.cut  # these rows are left out, too
        chosen, _ = memory.sample(20)
        rows, numbers = memory.matrix()[chosen], memory.numbers[chosen]
        assert (rows[:, 0] == numbers).all() and (np.diff(numbers) > 0).all()
        shares += np.bincount(numbers // 100, minlength=6)
    shares /= shares.sum()
    expected = 2.0 ** np.arange(6) / 63
    assert np.abs(shares - expected).max() < 0.05


def test_memory_is_bounded_and_owns_its_rows(stream, fitted):
    memory = fitted.state_.stream.memory
    assert len(memory) <= 1.25 * 1000 + 250
    assert not np.shares_memory(memory.pieces[-1].data, stream.data)


def test_a_fit_is_remembered(stream):
    model = lda(max_iter=6).fit(stream[:1400])
    assert len(model.state_.stream.memory) == 1000
    assert model.state_.stream.memory.cut < model.state_.stream.memory.keys.min()
    size = H / np.log(2) * (1 - 2 ** (-1400 / H))
    assert model.state_.policies.learning_rate.size == pytest.approx(size)
    assert model.partial_fit(stream[1400:1600]).history_["learning_rate"][-1] < 0.2
    plain = AnnealedLDA(K, max_iter=6, random_state=0).fit(stream[:1400])
    again = lda(max_iter=6).fit(stream[:1400])
    np.testing.assert_array_equal(plain.components_, again.components_)


def test_weights_of_a_fit_are_remembered(stream):
    X, weight = stream[:300], np.repeat([0.0, 3.0, 2.0], 100)
    model = lda(max_iter=6).fit(X, sample_weight=weight)
    memory = model.state_.stream.memory
    np.testing.assert_array_equal(memory.numbers, np.arange(100, 300))
    np.testing.assert_allclose(memory.logs, np.log(weight[100:]))
    size = H / np.log(2) * (1 - 2 ** (-500 / H))
    assert model.state_.policies.learning_rate.size == pytest.approx(size)


def test_a_change_after_a_fit_is_noticed(stream):
    """A renewal finds the change, as if the rows of the fit had been a stream."""
    model = lda(max_iter=6, renewals=Renewals(wait=200)).fit(stream[:1500])
    model = learned(model, stream[1500:])
    assert len(model.alarms_["sample"])
    renewals = model.renewals_
    assert renewals["sample"][0] < 3000
    assert set(renewals["reason"]) <= {"alarm", "schedule"}
    assert renewals["kept"][0]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_of_the_memory_get_other_columns(make):
    found = _on_columns(make([[1, 2, 3], [4, 0, 6]]), np.array([2, -1, 0, 1]))
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, [[3, 0, 1, 2], [6, 0, 4, 0]])


def test_memory_can_be_cleared(stream, fitted):
    model = pickle.loads(pickle.dumps(fitted))
    before = len(pickle.dumps(model))
    model.clear_memory()
    now, old = model.state_.stream, fitted.state_.stream
    assert len(now.memory) == 0 and now.challenger is None
    for name in ("samples", "time", "half_lives", "reason", "renewals", "alarms"):
        # gains are NaN, which differs from itself, where nothing is decided yet
        assert repr(getattr(now, name)) == repr(getattr(old, name)), name
    assert len(pickle.dumps(model)) < before / 2
    np.testing.assert_array_equal(model.components_, fitted.components_)
    assert learned(model, stream[:1500]).renewals_["sample"][-1] >= 4000


# -- renewals --------------------------------------------------------------------------
def test_new_topics_are_found_and_recorded(stream, fitted):
    renewals = fitted.renewals_
    assert list(renewals["reason"][:1]) == ["start"]
    after = renewals["sample"] > 1500
    assert (renewals["reason"][after] == "alarm").any()
    assert renewals["kept"][after].any()
    assert fitted.state_.stream.alarms[0].sample - 1500 <= 500
    plain = learned(AnnealedLDA(K, random_state=0), stream)
    X = stream[2700:]
    assert fitted.score(X) > plain.score(X)


def test_a_challenger_that_wins_replaces_all_parameters(monkeypatch):
    decide, won = _Pieces._decide, []

    def watched(pieces, challenger, decided):
        decide(pieces, challenger, decided)
        if decided.renewals[-1].kept:
            state, theirs = pieces.state, challenger.state
            won.append(
                state.globals_ is theirs.globals_ and state.hyper is theirs.hyper
            )

    monkeypatch.setattr(_Pieces, "_decide", watched)
    learned(*short("GaussianMixture", 500.0))
    assert won and all(won)


def test_births_see_recent_rows_and_other_topics_are_means(stream, monkeypatch):
    """Recent rows have the largest weights; means are with the current topics."""
    blended, with_births, new = LDAModel.blended, LDAModel.with_births, []

    def watched(model, globals_, hyper, present, may_be_same, share):
        new.append(tuple(np.flatnonzero(~may_be_same)))
        return blended(model, globals_, hyper, present, may_be_same, share)

    def born(model, globals_, hyper, n_births, X, weight, random):
        assert weight.mean() > 1.0 and weight[-1] == weight.max()
        return with_births(model, globals_, hyper, n_births, X, weight, random)

    monkeypatch.setattr(LDAModel, "blended", watched)
    monkeypatch.setattr(LDAModel, "with_births", born)
    renewals = learned(lda(), stream).renewals_
    columns = [tuple(row) for row in renewals["columns"][renewals["reason"] != "start"]]
    assert new == columns and 0 < len(new[0]) < K / 2


def test_a_topic_that_lives_keeps_its_column():
    X = documents(0, 3000)
    model, before, n_before = lda(), None, 0
    for start in range(0, 3000, 250):
        model.partial_fit(X[start : start + 250])
        now, n_renewals = model.topic_word_, len(model.renewals_["sample"])
        if start >= 2000:
            changed = [c for row in model.renewals_["columns"][n_before:] for c in row]
            kept = [k for k in range(K) if k not in changed]
            unit = [t / np.linalg.norm(t, axis=1)[:, None] for t in (before, now)]
            cosines = unit[0] @ unit[1].T
            assert all(cosines[k, k] > 0.7 for k in kept)
        before, n_before = now, n_renewals


def test_alarms_detect_rises_and_falls_of_the_score():
    random, policy = np.random.default_rng(0), Renewals()
    for shift in (-0.3, 0.3):
        watch, fired = Watch(), []
        for number in range(40):
            scores = random.normal(-5 + shift * (number >= 30), 1.0, 250)
            watch, alarm = watch.after(scores, policy)
            fired.append(alarm)
        assert not any(fired[:30]) and any(fired[30:33])


def test_a_challenger_is_judged_by_its_gains():
    random = np.random.default_rng(0)
    none = np.zeros(0, dtype=int)
    assert Challenger(None, none).after(np.ones(100)).has_won(2000) is None
    for mean in (-1.0, 1.0):
        challenger = Challenger(None, none).after(random.normal(mean, 1, 300))
        assert challenger.has_won(2000) is (mean > 0)
    undecided = Challenger(None, none).after(np.tile([-1.0, 1.1], 150))
    assert undecided.has_won(2000) is None and undecided.has_won(300) is True


def test_scores_come_before_the_step(stream):
    model = lda(batch_size=250).partial_fit(stream[:250])
    score = model.score(stream[250:500])
    model.partial_fit(stream[250:500])
    assert model.history_["prequential_score"][-1] == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize("error", [IllDefined, np.linalg.LinAlgError])
def test_a_renewal_that_fails_leaves_the_model(stream, monkeypatch, error):
    def fails(*_):
        raise error("overflow")

    monkeypatch.setattr(LDAModel, "matched", fails)
    model = learned(lda(), stream[:1500])
    assert list(model.renewals_["kept"][:1]) == [False]
    assert np.isfinite(model.components_).all()


# -- half-lives far from the gaps between rows -----------------------------------------
RENEWED = {name: row for name, row in ROWS.items() if row.can(Renewals())}
each_renewed = pytest.mark.parametrize("name", RENEWED)


def short(name, half_life, **parameters):
    """Return an estimator with a memory of 100 rows, and data of few columns."""
    row = RENEWED[name]
    model = row.estimator("Annealed", n_components=2, **parameters)
    model.learning_rate = HalfLife(half_life)
    model.renewals = Renewals(memory=100, wait=100)
    X = row.data(4000)
    return model, X if name == "MixedMixture" else X[:, :6]


@pytest.mark.parametrize("name", ["GaussianMixture", "StudentMixture"])
def test_steps_of_renewals_are_those_of_their_own_problem(name, monkeypatch):
    """They are not those of another model or of other rows, which may be as many."""
    known, n_ascents = _passes.ascent_on, []

    def checked(problem, rows, hyper):
        ascent = known(problem, rows, hyper)
        if ascent is not None:
            n_ascents.append(len(ascent.block))
            assert ascent.model is problem.model
            expected = problem.data.take(problem.model, rows)
            np.testing.assert_array_equal(ascent.block, expected)
        return ascent

    monkeypatch.setattr(_passes, "ascent_on", checked)
    model, X = short(name, 500.0)
    learned(model, X)
    assert len(set(n_ascents)) > 1


def assert_finite(model):
    state = model.state_
    assert all_finite(state.globals_, state.hyper)
    assert np.isfinite(model.stream_history_["shares"]).all()


@pytest.mark.every(7)
@each_renewed
def test_long_streams_continue_with_a_small_memory(name):
    model, X = short(name, 1e6, batch_size=2000)
    random = np.random.default_rng(0)
    for _ in range(6):
        model.partial_fit(X[random.integers(0, 4000, 10_000)])
    assert model.n_samples_seen_ == 60_000
    renewed = model.renewals_["sample"]
    assert (renewed > 20_000).any()
    # rows enter the memory more rarely, and renewals wait for two of them
    assert 2000 < np.diff(renewed)[-5:].mean()
    assert_finite(model)


@pytest.mark.every(5)
@each_renewed
@pytest.mark.parametrize("half_life", [5e-324, 0.1, 3.0, 1e9])
def test_streams_with_any_half_life(name, half_life):
    model, X = short(name, half_life, batch_size=250)
    weight = np.ones(1000)
    weight[250:500], weight[500:] = 0.0, 10.0 ** np.linspace(-12, 12, 500)
    for start in (0, 1000, 2000):
        model.partial_fit(X[start : start + 1000], sample_weight=weight)
        model.partial_fit(X[start : start + 1])
    assert model.n_samples_seen_ == 3003
    rates = model.history_["learning_rate"]
    assert (rates[1::5] == 0).all() and np.isfinite(model.history_["passes"]).all()
    if half_life < 1:  # effectively, the memory has one row
        assert not len(model.renewals_["sample"])
    assert_finite(model)


def test_weights_of_few_rows_do_not_underflow():
    model, X = short("LDA", 3.0)
    model.renewals = Renewals(memory=1000)
    learned(model, X[:1250])
    assert len(model.renewals_["sample"])
    memory = model.state_.stream.memory
    rows, weight = memory.sample(1000)
    # the weight of an older row is below 1e-30 of the largest weight
    assert 250 < len(rows) <= 300 < len(memory) and (weight > 0).all()
    ages = 1249 - memory.numbers[rows]
    np.testing.assert_allclose(weight / weight[-1], 2.0 ** (-ages / 3.0), rtol=1e-9)


@pytest.mark.parametrize("name", ["BernoulliMixture"])
def test_a_change_raises_an_alarm_while_renewals_wait(name):
    model, X = short(name, 0.1, batch_size=250)
    learned(model, X)
    assert not len(model.alarms_["sample"])
    learned(model, 1.0 - X[:1000])
    assert model.alarms_["sample"].tolist()[0] <= 5000
    assert not len(model.renewals_["sample"])


@pytest.mark.every(3)
@each_renewed
def test_a_stream_continues_after_an_invalid_chunk(name):
    models = [short(name, 500.0)[0] for _ in range(2)]
    X = short(name, 500.0)[1]
    for model in models:
        learned(model, X[:500])
        if model is models[0]:
            with pytest.raises(ValueError, match="infinity"):
                model.partial_fit(np.full((250, X.shape[1]), np.inf))
            with pytest.raises(ValueError, match="egative"):
                model.partial_fit(X[:250], sample_weight=-np.ones(250))
        learned(model, X[500:1000])
    one, other = (model.stream_history_["shares"] for model in models)
    np.testing.assert_array_equal(one, other)


def test_a_challenger_whose_step_fails_loses(stream, monkeypatch):
    from sktemper._engine._step import Steps

    model = lda(renewals=Renewals(memory=1000, trial=1000, threshold=np.inf))
    learned(model, stream[:1100])
    assert model.state_.stream.challenger is not None
    real = Steps.commit_of

    def fails(self, *arguments, **noted):
        if "prequential_score" not in noted:
            raise IllDefined()
        return real(self, *arguments, **noted)

    monkeypatch.setattr(Steps, "commit_of", fails)
    model.partial_fit(stream[1100:1150])  # too few rows for another decision
    assert model.n_samples_seen_ == 1150
    assert model.renewals_["kept"].tolist() == [False]


# -- the same bits ---------------------------------------------------------------------
def test_bits_do_not_depend_on_threads_pickles_and_the_place_of_the_half_life(
    stream, fitted
):
    model = lda(half_life=None, learning_rate=HalfLife(H), n_jobs=2)
    for start in range(0, stream.shape[0], 250):
        model = pickle.loads(pickle.dumps(model))
        model.partial_fit(stream[start : start + 250])
    same_bits(model, fitted)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["_Renewing", "predictive_scores"])
def test_an_interruption_leaves_the_last_whole_piece(stream, fitted, monkeypatch, name):
    from sktemper._engine import _stream

    model, calls, real = lda(), 0, getattr(_stream, name)

    def interrupted(*arguments):
        nonlocal calls
        calls += 1
        if calls % 3 == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(_stream, name, interrupted)
    for start in range(0, stream.shape[0], 250):
        while True:
            seen = getattr(model, "n_samples_seen_", 0) if start else 0
            try:
                model.partial_fit(stream[start : start + 250])
                break
            except KeyboardInterrupt:
                assert getattr(model, "n_samples_seen_", 0) == seen
    assert calls > 3
    same_bits(model, fitted)


def test_renewals_of_other_estimators(stream):
    model = TemperedLDA(K, tempering=None, half_life=H, renewals=RENEWALS)
    assert len(learned(model, stream[:1500]).renewals_["sample"]) > 0


# -- other columns ---------------------------------------------------------------------
def test_a_stream_with_a_half_life_continues_with_more_or_fewer_columns():
    X = make_lda_documents(2600, 60, 5, doc_length=40, random_state=1)
    narrow = X[:1500, :50]
    lda = AnnealedLDA(5, half_life=800, random_state=0).partial_fit(narrow)
    population = lda.state_.policies.learning_rate.size
    lda.partial_fit(X[1500:1600])
    assert lda.state_.policies.learning_rate.size > 0.5 * population
    memory = lda.state_.stream.memory
    old = memory.numbers[: memory.numbers.searchsorted(1500)]
    found = memory.matrix()[: len(old)]
    np.testing.assert_array_equal(found[:, :50].toarray(), narrow[old].toarray())
    assert found.shape[1] == 60 and len(old) and not found[:, 50:].nnz
    lda.partial_fit(X[1600:])  # with renewals
    lda.drop_features([0, 7]).partial_fit(np.delete(X.toarray(), [0, 7], axis=1)[:100])
    assert lda.state_.stream.memory.matrix().shape[1] == 58
    assert np.isfinite(lda.components_).all() and lda.components_.shape == (5, 58)


# -- the course of a stream ------------------------------------------------------------
def test_prevalence_is_that_of_the_rows_of_each_step(stream):
    model = lda(batch_size=250, doc_update="variational")
    learned(model, stream[:750])
    model.partial_fit(stream[750:1000])
    table = model.stream_history_
    assert table["sample"].tolist() == [250, 500, 750, 1000]
    np.testing.assert_array_equal(table["score"], model.history_["prequential_score"])
    np.testing.assert_allclose(table["shares"].sum(axis=1), 1.0, rtol=1e-6)
    # the statistics of a step are expected numbers of tokens in its documents
    before = lda(batch_size=250, doc_update="variational")
    learned(before, stream[:750])
    step = fitted_model(before)
    block = step.take(stream[750:1000], slice(0, 250))
    from sktemper.model import Request

    state = before.state_
    found = step.local_step(
        block, step.prepare(state.globals_, state.hyper), Request(want=("statistics",))
    )
    tokens = found.statistics.dense().sum(axis=0)
    np.testing.assert_allclose(
        table["shares"][-1], tokens / tokens.sum(), rtol=1e-4, atol=1e-6
    )


def test_the_course_of_a_stream_is_thinned():
    table, counts, n_steps = Prevalence(), np.zeros(3), 4 * MOST_PREVALENCE_POINTS
    for number in range(1, n_steps + 1):
        add = np.array([number % 2, 1.0, 0.0])
        counts += add
        table = table.after(10 * number, None, float(number), add)
    columns = table.to_dict()
    assert (
        256 <= len(columns["sample"]) <= 513 and columns["sample"][-1] == 10 * n_steps
    )
    assert (np.diff(columns["sample"]) > 0).all()
    total = np.sum([point.counts for point in table.points], axis=0)
    np.testing.assert_allclose(total, counts)
    n = [point.n_scored for point in table.points]
    assert sum(n) == n_steps
    assert len(set(n)) == 1  # of steps of each point
    assert np.average(columns["score"], weights=n) == pytest.approx((n_steps + 1) / 2)


def test_alarms_are_reported(fitted):
    alarms = fitted.alarms_
    assert alarms["sample"].tolist() == [a.sample for a in fitted.state_.stream.alarms]
    assert list(alarms) == ["sample", "step", "time"]
    assert not len(AnnealedLDA(2).fit(documents(0, 20)).alarms_["sample"])


def test_a_challenger_survives_wider_data():
    X = documents(0, 1250)
    model = lda(renewals=Renewals(memory=1000, wait=200, trial=1000))
    learned(model, X[:1000, :100])
    state = model.partial_fit(X[1000:1100, :100]).state_
    challenger = state.stream.challenger
    assert challenger.count == 100  # not decided yet
    model.partial_fit(X[1100:1150])
    wider = model.state_.stream.challenger
    assert wider.count == 150 and len(wider.state.globals_.u) == V
    assert model.renewals_["kept"].tolist() == [None]


# -- long streams ----------------------------------------------------------------------


def test_records_of_a_stream_are_bounded():
    stream = Stream(renewals=(None,) * 1000, alarms=(None,) * 1000)
    assert len(stream.renewed(None, 100, 100, 1).renewals) == 1000
    assert len(stream.alarmed(10, 1).alarms) == 1000


def test_a_topic_dominated_by_a_new_topic_is_new():
    prior = np.full((4, 12), 0.1)
    model = LDAModel(3, 12, np.full(3, 0.1), prior[:1])
    alive = np.repeat(np.eye(3), 4, axis=1)  # each topic has four words
    alive[2] *= [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]
    born = np.array([[0.0] * 8 + [30.0] * 4])
    present = Topics.from_dense(100.0 * alive.T + 0.1, prior[:1].T)
    for size, is_new in (3.0, True), (300.0, False):
        tokens = np.vstack([100.0 * alive[:2], size * alive[2:], born])
        union = Topics.from_dense(tokens.T + 0.1, prior.T)
        X, weight = sparse.csr_array((1, 12)), np.ones(1)
        merged, _, found = model.merged(union, None, present, None, X, weight)
        assert found.tolist() == [False, False, is_new]
        np.testing.assert_allclose(merged.tokens()[:, 2], tokens[2] + tokens[3])
