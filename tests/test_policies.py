"""Schedules, temperings, learning rates and noise: values, contracts and errors."""

import contextlib
import dataclasses
import math
import pickle
import re
import sys

import numpy as np
import pytest
from fits import Cdf, Hooks, data_of, mixture_of
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from sktemper import (
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
    TemperedMatrixFactorization,
)
from sktemper.lda._model import LDAModel
from sktemper.learning_rates import (
    AdaptiveRate,
    ConstantRate,
    HalfLife,
    LearningRate,
    PrintedAdaptiveRate,
    RobbinsMonro,
    TemperedRate,
)
from sktemper.model import LocalStep, Powers, all_finite
from sktemper.moves import (
    BirthMoves,
    Moves,
    MoveSequence,
    NoMoves,
    Proposal,
    ReheatMoves,
    SplitMergeMoves,
)
from sktemper.noise import GradientNoise, NoNoise, SVIPlusNoise
from sktemper.renewals import NoRenewals, Renewals
from sktemper.schedules import (
    AUTO_LENGTH,
    AUTO_START,
    STREAM_LENGTH,
    Clock,
    ConstantSchedule,
    CyclicSchedule,
    ExponentialSchedule,
    FunctionSchedule,
    LinearSchedule,
    Plan,
    RampSchedule,
    Schedule,
    StepSchedule,
    as_schedule,
)
from sktemper.tempering import (
    Annealing,
    GlobalTempering,
    LocalTempering,
    Tempering,
    Untempered,
)


def name_of(policy):
    """Return the name of a policy in test ids, which is the same in all processes."""
    return repr(policy).split(" at 0x")[0]


def parabola(t):
    return max(1.0, 4.0 - t * t / 100)


# One or more schedules of each class; add each new class.
SCHEDULES = [
    ConstantSchedule(2.5),
    LinearSchedule(start=3, stop=1, length=100),
    LinearSchedule(start=1, stop=5, length=2.5, unit="passes"),
    LinearSchedule(length=0),
    ExponentialSchedule(),
    ExponentialSchedule(start=4, length=0.5, unit="passes"),
    StepSchedule(LinearSchedule(start=3, length=90), every=40),
    StepSchedule(ExponentialSchedule(unit="passes"), every=0.25),
    StepSchedule(),
    RampSchedule(),
    RampSchedule(start=0.5, slope=2, unit="passes"),
    StepSchedule(RampSchedule(), every=3),
    CyclicSchedule(),
    CyclicSchedule(LinearSchedule(start=3, length=5), n_cycles=3, period=7),
    CyclicSchedule(RampSchedule(), period=4),
    FunctionSchedule(parabola),
]
ANNEALINGS = [
    Annealing(schedule, target)
    for schedule in (None, LinearSchedule(length=9))
    for target in ("local_step", "likelihood", "posterior")
]
TEMPERINGS = [
    Untempered(),
    *ANNEALINGS,
    GlobalTempering(),
    GlobalTempering(temperatures=[1, 2, 4], temperature_prior=[1, 0, 1], cap=None),
    LocalTempering(),
]
LEARNING_RATES = [
    RobbinsMonro(),
    RobbinsMonro(0, 1),
    ConstantRate(),
    AdaptiveRate(),
    HalfLife(),
    HalfLife("30D"),
    PrintedAdaptiveRate(),
    TemperedRate(),
]
NOISES = [
    NoNoise(),
    SVIPlusNoise(),
    SVIPlusNoise(LinearSchedule(1, 60)),
    SVIPlusNoise(RampSchedule(10, 3)),
]
MOVES = [
    NoMoves(),
    BirthMoves(),
    BirthMoves(n_moves=3, start=10.0),
    SplitMergeMoves(),
    ReheatMoves(),
    ReheatMoves(n_moves=2, n_iter=9, start=3.0),
    MoveSequence([SplitMergeMoves(patience=2), BirthMoves()]),
]
RENEWALS = [NoRenewals(), Renewals(), Renewals(memory=500, births=0.1)]
POLICIES = SCHEDULES + TEMPERINGS + LEARNING_RATES + NOISES + MOVES + RENEWALS


def subclasses(cls):
    for subclass in cls.__subclasses__():
        module = sys.modules[subclass.__module__]
        if subclass.__module__.startswith("sktemper."):
            name = subclass.__name__  # not a class of a doctest
            if name[0] != "_" and getattr(module, name, None) is subclass:
                yield subclass
            yield from subclasses(subclass)


BASES = [Schedule, Tempering, LearningRate, GradientNoise, Moves]


@pytest.mark.parametrize("base", BASES)
def test_every_policy_is_tested_here(base):
    tested = {type(policy) for policy in POLICIES if isinstance(policy, base)}
    assert tested == set(subclasses(base))


# -- all policies ----------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_policies_are_values(policy):
    assert policy.validate() is policy
    assert "__eq__" not in vars(type(policy))
    for twin in (clone(policy), pickle.loads(pickle.dumps(policy))):
        assert type(twin) is type(policy)
        assert repr(twin) == repr(policy)
        assert vars(twin).keys() == policy.get_params(deep=False).keys()
    assert policy._repr_html_()


@pytest.mark.parametrize(
    "policy",
    [
        Annealing(),
        GlobalTempering(),
        ExponentialSchedule(),
        StepSchedule(LinearSchedule(3), 2),
        CyclicSchedule(),
        SVIPlusNoise(RampSchedule()),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_subclasses_stay_subclasses_when_auto_is_resolved(policy):
    class Own(type(policy)):
        def __init__(self, note, **parameters):
            super().__init__(**parameters)
            self.note = note

    own = Own("a note", **policy.get_params(deep=False)).resolved(Plan(100, 10))
    assert type(own) is Own and own.note == "a note"
    assert own.get_params().keys() == {"note"}
    same = policy.resolved(Plan(100, 10))
    for name in policy.get_params(deep=False):
        assert repr(getattr(own, name)) == repr(getattr(same, name))


# -- schedules -------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES, ids=name_of)
@pytest.mark.parametrize("plan", [Plan(), Plan(100, 10), Plan(7, 0.5)])
def test_schedules_keep_their_contract(schedule, plan):
    before = pickle.dumps(schedule)
    resolved = schedule.resolved(plan)
    assert resolved.unit == schedule.unit in ("steps", "passes")
    assert "auto" not in resolved.get_params().values()
    assert repr(resolved.resolved(Plan(10_000, 3))) == repr(resolved)

    end = resolved.settles_at()
    times = np.linspace(0, 10 if math.isinf(end) else 1.5 * end + 1, 25)
    values = [resolved(t) for t in times]
    assert all(np.isfinite(value) and value > 0 for value in values)
    assert values == [resolved(t) for t in times]  # pure
    late = [resolved(t) for t in times if t >= end]
    assert late == late[:1] * len(late)

    clock = Clock(steps=3, samples=30, total=20)
    value = resolved.at(clock)
    assert type(value) is float
    assert value == resolved(3 if resolved.unit == "steps" else 1.5)
    assert pickle.dumps(schedule) == before


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (ConstantSchedule(1.5), {0: 1.5, 10**9: 1.5}),
        (LinearSchedule(3, 1, 100), {0: 3, 25: 2.5, 99: 1.02, 100: 1, 10**9: 1}),
        (LinearSchedule(1, 2, 4), {0: 1, 1: 1.25, 5: 2}),
        (LinearSchedule(length=0), {0: 1}),
        (ExponentialSchedule(4, 1, 100), {0: 4, 25: 8**0.5, 50: 2, 100: 1, 101: 1}),
        (ExponentialSchedule(8, 2, 2, "passes"), {0: 8, 0.5: 32**0.5, 1: 4, 2.1: 2}),
        (StepSchedule(LinearSchedule(3, 1, 100), 30), {29: 3, 30: 2.4, 120: 1}),
        (StepSchedule(LinearSchedule(3, 1, 1, "passes"), 0.5), {0.4: 3, 0.6: 2, 1: 1}),
        (RampSchedule(), {t - 1: 50 * t for t in (1, 2, 3, 10**6)}),  # paper: 50 t
        (RampSchedule(3, 0.5, "passes"), {0: 3, 0.5: 3.25, 10: 8}),
        (StepSchedule(RampSchedule(), 10), {0: 50, 9: 50, 10: 550, 25: 1050}),
        (as_schedule(parabola), {0: 4, 10: 3, 100: 1}),
        (CyclicSchedule(LinearSchedule(3, 1, 4), 3), {2: 2, 7: 1, 8: 3, 18: 2, 24: 1}),
        (CyclicSchedule(RampSchedule(1, 1), 2, 5), {4: 5, 5: 1, 10: 6}),
        (CyclicSchedule(LinearSchedule(length=0)), {0: 1, 9: 1}),
    ],
    ids=name_of,
)  # fmt: skip
def test_values_of_schedules(schedule, values):
    for t, value in values.items():
        assert schedule(t) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "plan", "length"),
    [
        ("steps", Plan(), STREAM_LENGTH),
        ("steps", Plan(1000, 100), AUTO_LENGTH),
        ("steps", Plan(1000, 10), 50),  # at most five passes
        ("steps", Plan(1000, 7.5), 38),
        ("steps", Plan(100, 10), 50),  # at most half of the planned steps
        ("steps", Plan(100, 1, most_steps=30), 30),
        ("steps", Plan(1, 1), 0),
        ("passes", Plan(1000, 100), AUTO_LENGTH / 100),
        ("passes", Plan(1000, 10), 5),
        ("passes", Plan(100, 10), 5),
        ("passes", Plan(None, 30), STREAM_LENGTH / 30),
    ],
)
@pytest.mark.parametrize("cls", [LinearSchedule, ExponentialSchedule])
def test_auto_length(cls, unit, plan, length):
    auto = cls(unit=unit)
    assert auto.resolved(plan).length == pytest.approx(length)
    assert StepSchedule(auto).resolved(plan).schedule.length == pytest.approx(length)
    policy = Annealing(auto).resolved(plan)
    assert policy.schedule.length == pytest.approx(length)
    assert auto.length == "auto"
    assert cls(length=7, unit=unit).resolved(plan).length == 7


@pytest.mark.every(29)
@pytest.mark.parametrize("cls", [LinearSchedule, ExponentialSchedule])
@pytest.mark.parametrize("share", [0.1, 1, 3, 10])
@pytest.mark.parametrize("batch_size", [30, 50, None])
def test_a_fit_with_larger_total_samples_reaches_temperature_1(
    documents, cls, share, batch_size
):
    """Both the plan and the clock count passes over ``total_samples`` rows."""
    lda = TemperedLDA(
        3,
        tempering=Annealing(cls(unit="passes")),
        total_samples=int(share * 120),
        batch_size=batch_size,
        learning_rate=0.5,
        random_state=0,
    )
    temperatures = lda.fit(documents).history_["temperature"]  # warnings are errors
    assert temperatures[-1] == 1
    by_steps = clone(lda).set_params(tempering__schedule__unit="steps").fit(documents)
    steps = by_steps.tempering_.schedule.length
    assert (temperatures > 1).sum() == pytest.approx(steps, abs=1)


@pytest.mark.parametrize("cls", [LinearSchedule, ExponentialSchedule])
def test_auto_start(cls):
    for plan, start in (
        (Plan(100, 10, 4.5), 4.5),
        (Plan(100, 10, 1.2), 1.2),
        (Plan(None, None, 4.5), AUTO_START),
        (Plan(None, None, 1.2), 1.2),
    ):
        resolved = cls(length=8).resolved(plan)
        assert resolved(0) == resolved.start == start
        assert StepSchedule(cls()).resolved(plan)(0) == start
        assert cls(start=7).resolved(plan)(0) == 7


@pytest.mark.parametrize(
    ("schedule", "settled"),
    [
        (ConstantSchedule(3), 0),
        (LinearSchedule(length=10), 10),
        (StepSchedule(LinearSchedule(length=10), every=4), 12),
        (CyclicSchedule(LinearSchedule(length=3), 2, 7), 10),
        (RampSchedule(), math.inf),
        (StepSchedule(RampSchedule(), every=4), math.inf),
        (as_schedule(parabola), 18),  # the first t at which it is 1
    ],
    ids=name_of,
)
def test_schedules_settle(schedule, settled):
    assert [schedule.is_settled(Clock(t)) for t in range(20)] == [
        t >= settled for t in range(20)
    ]


def test_passes_need_a_total():
    clock = Clock(steps=7, samples=30, total=20)
    assert (clock.time("steps"), clock.time("passes")) == (7, 1.5)
    with pytest.raises(ValueError, match="total_samples"):
        ExponentialSchedule(unit="passes").at(Clock(7, 30))


# -- temperings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "powers"),
    [
        (Untempered(), (1, 1, 1)),
        (Annealing(ConstantSchedule(4)), (1, 1, 0.25)),
        (Annealing(ConstantSchedule(4), "local_step"), (1, 1, 0.25)),
        (Annealing(ConstantSchedule(4), "likelihood"), (1, 0.25, 0.25)),
        (Annealing(ConstantSchedule(4), "posterior"), (0.25, 0.25, 0.25)),
    ],
    ids=name_of,
)
def test_powers(policy, powers):
    state = policy.initial_state(None, None, None)
    assert policy.powers(state, Clock()) == Powers(*powers)


@pytest.mark.every(2)
@pytest.mark.parametrize("policy", TEMPERINGS, ids=name_of)
def test_temperings_keep_their_contract(policy):
    before = pickle.dumps(policy)
    model = LDAModel(2, 9, np.full(2, 0.5), np.full((1, 1), 0.5))
    local_step = LocalStep(
        n_rows=10, n_observed=50.0, score=-100.0, temperatures=np.full(100, 0.1)
    )
    resolved = policy.resolved(Plan(100, 10))

    def run():
        random = np.random.default_rng(0)
        state = resolved.initial_state(model, model.initial_hyper(None), random)
        for clock in (Clock(0, 0, 20), Clock(3, 30, 20), Clock(1000, 10_000, 20)):
            temperature = resolved.temperature(state, clock)
            powers = resolved.powers(state, clock)
            assert 1 <= temperature < 20
            assert all(0 < power <= 1 for power in powers)
            settled = resolved.is_settled(state, clock)
            yield temperature, powers, settled
            content = pickle.dumps(state)
            after = resolved.next_state(state, local_step, 2.0, clock)
            assert pickle.dumps(state) == content  # pure
            state = pickle.loads(pickle.dumps(after))
        if settled and not isinstance(policy, LocalTempering):
            assert powers == Powers()

    assert list(run()) == list(run())
    assert pickle.dumps(policy) == before


@pytest.mark.parametrize(
    "schedule",
    [
        ExponentialSchedule(start=0.5),
        LinearSchedule(stop=0.5),
        ConstantSchedule(0.5),
        RampSchedule(0.5),
        StepSchedule(LinearSchedule(3, 0.99)),
    ],
    ids=name_of,
)
def test_schedules_below_1_are_no_temperatures(schedule):
    schedule.validate()
    with pytest.raises(InvalidParameterError, match="'schedule'.*at least 1"):
        Annealing(schedule).validate()
    with pytest.raises(InvalidParameterError, match="'cap'.*at least 1"):
        GlobalTempering(cap=schedule).validate()


class SteepRate(RobbinsMonro):
    def next_rate(self, state, clock, gradient):
        return 0.5 * (clock.steps + 1), state


class SteepTempering(Untempered):
    def temperature(self, state, clock):
        return 10.0 ** (20 * clock.steps)


UNUSABLE = {
    "ramp": ({"tempering": Annealing(RampSchedule(slope=1e300))}, "temperature at t=1"),
    "passes": (
        {"tempering": Annealing(RampSchedule(slope=1e300, unit="passes"))},
        "temperature at t=0.5",
    ),
    "exponential": (
        {"tempering": Annealing(ExponentialSchedule(stop=1e300))},
        "temperature at t=1",
    ),
    "steps": (
        {"tempering": Annealing(StepSchedule(LinearSchedule(1, 1e300, 4), 3))},
        "temperature at t=3",
    ),
    "last": (
        {"tempering": Annealing(LinearSchedule(2, 1e301, 1e9)), "max_iter": 10**9},
        "temperature at t=",
    ),
    "function": (
        {"tempering": Annealing(lambda t: 1 - t)},
        "<lambda> gave .* temperature at t=1",
    ),
    "list": ({"tempering": Annealing(lambda t: [3.0, 2.0, 1.0][t])}, "out of range"),
    "cap": (
        {"tempering": GlobalTempering(5, n_samples=1, cap=RampSchedule(2, 1e300))},
        "temperature at t=1",
    ),
    "own": ({"tempering": SteepTempering()}, "temperature of step 3"),
    "sizes": ({"gradient_noise": SVIPlusNoise(lambda t: 2 - t)}, "batch size at t=2"),
    "rate": ({"learning_rate": SteepRate()}, "learning rate of step 3"),
}


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_plans_are_refused_before_the_first_step(documents, case, method):
    parameters, message = UNUSABLE[case]
    if method == "partial_fit" and "max_iter" in parameters:
        return
    lda = TemperedLDA(3, batch_size=60, max_iter=2, total_samples=120, random_state=0)
    for earlier in (False, True):
        if earlier and method == "fit":
            lda.set_params(tempering=None, learning_rate=None, gradient_noise=None)
            lda.set_params(max_iter=1).fit(documents)
        fit = vars(lda).get("state_")
        lda.set_params(max_iter=2).set_params(**parameters)
        began = []
        if hasattr(lda, "set_callbacks"):
            lda.set_callbacks(Beginning(began))
        X = documents if method == "fit" else sparse.vstack([documents] * 2).tocsr()
        with pytest.raises((ValueError, IndexError), match=message):
            getattr(lda, method)(X)
        assert vars(lda).get("state_") is fit and not began
        assert earlier or not any(name.endswith("_") for name in vars(lda))


class Beginning(Hooks):
    """A callback that notes the beginning of each pass."""

    def __init__(self, began):
        self.began = began

    def on_fit_task_begin(self, estimator, context):
        self.began.append(context.task_name)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_plan_is_checked_at_its_own_steps_only(documents):
    """Also with an early end, a fit that continues, and a plan of many steps."""
    shared = {"batch_size": 60, "random_state": 0}
    temperatures = [3.0, 2.0, 1.5, 1.0, 1.0, 1.0]
    lda = TemperedLDA(
        3, tempering=Annealing(temperatures.__getitem__), max_iter=2, **shared
    )
    lda.fit(documents)
    lda.set_params(warm_start=True, max_iter=1).fit(documents)
    assert lda.n_batch_iter_ == 6
    np.testing.assert_array_equal(lda.history_["temperature"], temperatures)
    with pytest.raises(IndexError):
        lda.fit(documents)
    asked = []
    mixture = TemperedGaussianMixture(
        2,
        tempering=Annealing(lambda t: asked.append(t) or 1.0),
        max_iter=10**8,
        tol=1e9,  # the fit converges at once
        batch_size=None,
        moves=None,
        random_state=0,
    )
    mixture.fit(np.random.default_rng(0).normal(size=(50, 2)))
    assert {0, 1, 10**8 - 1} <= set(asked) and len(asked) < 400


@pytest.mark.parametrize("temperature", [np.inf, np.nan, -np.inf, 0.5, 1e40])
def test_a_model_that_asks_for_infinite_heat_is_refused(temperature):
    """Extreme data can give an infinite temperature with ``start="auto"``."""
    plan = Plan(100, 10, temperature)
    for policy in (Annealing(), Annealing(LinearSchedule(length=3)), GlobalTempering()):
        with pytest.raises(ValueError, match="asks for a start.*Rescale"):
            policy.resolved(plan)
    assert Annealing(LinearSchedule(2)).resolved(plan).schedule.start == 2


def prior_of(policy):
    """Return the ladder of inverse temperatures, and its prior weights."""
    model = LDAModel(2, 9, np.full(2, 0.5), np.full((1, 1), 0.5))
    random = np.random.default_rng(0)
    state = policy.initial_state(model, model.initial_hyper(None), random)
    np.testing.assert_array_equal(state.probabilities, np.exp(state.log_prior))
    return state.inverse_temperatures, state.probabilities


@pytest.mark.parametrize(
    ("distribution", "weights"),
    [
        # the rungs 1, 1/2 and 1/4 have cells with the bounds 1, .75, .375 and 0
        (stats.uniform(), [0.25, 0.375, 0.375]),
        (stats.beta(1, 1), [0.25, 0.375, 0.375]),
        (stats.beta(2, 1), [1 - 9 / 16, 9 / 16 - 9 / 64, 9 / 64]),
        (Cdf(np.square), [1 - 9 / 16, 9 / 16 - 9 / 64, 9 / 64]),
        (stats.uniform(0.5, 0.5), [0.5, 0.5, 0]),
        (stats.uniform(0.5, 1), [0.5, 0.5, 0]),  # probability above 1 is dropped
        (stats.uniform(-1, 1.75), [0, 0.5, 0.5]),  # probability below 0 is dropped
        (stats.rv_discrete(values=([0, 1], [0.9, 0.1])), [1, 0, 0]),
    ],
)
def test_a_prior_distribution_is_put_on_the_ladder(distribution, weights):
    policy = GlobalTempering(temperatures=[1, 2, 4], temperature_prior=distribution)
    np.testing.assert_allclose(prior_of(policy)[1], weights, atol=1e-15)


def test_a_uniform_prior_weighs_the_rungs_by_their_cells():
    even = LocalTempering(7, 0.1, temperature_prior=stats.beta(1, 1))
    b, weights = prior_of(even)
    np.testing.assert_allclose(b, [1, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1])
    np.testing.assert_allclose(weights, [0.075, *[0.15] * 5, 0.175])
    _, weights = prior_of(GlobalTempering(3, 9.0, temperature_prior=stats.beta(1, 1)))
    np.testing.assert_allclose(weights, [1 / 3, 4 / 9, 2 / 9])  # weights of 1, 1/3, 1/9


# -- noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", NOISES, ids=name_of)
def test_noise_has_mean_one_and_its_own_random_numbers(policy):
    before = pickle.dumps(policy)
    draws = [
        policy.resolved(Plan(100, 10)).unit_noise(
            400, Clock(10), np.random.default_rng(seed)
        )
        for seed in (0, 0, 1)
    ]
    if isinstance(policy, NoNoise):
        assert draws == [None] * 3
        return
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert draws[0].mean() == pytest.approx(1)
    assert pickle.dumps(policy) == before


# -- parameters ------------------------------------------------------------------------
NOT_POSITIVE = (0, -2, np.nan, np.inf, "auto", "1", None, True)


@pytest.mark.parametrize(
    ("policy", "parameter"),
    [
        *((ConstantSchedule(v), "value") for v in NOT_POSITIVE),
        *((cls(**{name: v}), name) for cls in (LinearSchedule, ExponentialSchedule)
          for name in ("start", "stop")
          for v in NOT_POSITIVE if (name, v) != ("start", "auto")),
        *((LinearSchedule(length=v), "length") for v in (-1, np.inf, "long", None)),
        (LinearSchedule(length=True), "length"),
        *((LinearSchedule(unit=v), "unit") for v in ("epochs", None, 1)),
        *((RampSchedule(**{name: v}), name) for name in ("start", "slope")
          for v in NOT_POSITIVE),
        (RampSchedule(unit="epochs"), "unit"),
        *((StepSchedule(every=v), "every") for v in (0, -1, np.nan, "1")),
        (StepSchedule(2.0), "schedule"),
        (StepSchedule(LinearSchedule(start=-1)), "start"),
        (FunctionSchedule(3), "function"),
        (Annealing(3.0), "schedule"),
        (Annealing(target="prior"), "target"),
        (Annealing(StepSchedule(LinearSchedule(stop=0))), "stop"),
        *((RobbinsMonro(offset=v), "offset") for v in (-1, np.nan, np.inf, "1", True)),
        *((RobbinsMonro(decay=v), "decay") for v in (0.49, 1.01, np.nan, "1")),
        *((ConstantRate(v), "rate") for v in (0, -0.1, 1.1, np.nan, "1", True)),
        *((AdaptiveRate(max_rate=v), "max_rate") for v in (0, 1.1, "1")),
        *((SVIPlusNoise(v), "effective_batch_size") for v in (0, 1.5, -1, "auto")),
        (SVIPlusNoise(True), "effective_batch_size"),
        (SVIPlusNoise(distribution="cauchy"), "distribution"),
        (SVIPlusNoise(RampSchedule(slope=-1)), "slope"),
        (GlobalTempering(max_temperature=1), "max_temperature"),
        (GlobalTempering(n_samples=True), "n_samples"),
        (LocalTempering(n_alternations=True), "n_alternations"),
        (GlobalTempering(cap=2.0), "cap"),
        (GlobalTempering(cap=LinearSchedule(start=0)), "start"),
        (LocalTempering(min_inverse_temperature=-0.1), "min_inverse_temperature"),
        *((cls(**{name: v}), name) for cls in (BirthMoves, ReheatMoves)
          for name, v in (("n_moves", -1), ("n_moves", 1.5), ("n_moves", True),
                          ("n_iter", 0), ("start", 0.5), ("max_samples", 0))),
        (BirthMoves(patience=0), "patience"),
        (ReheatMoves(start=1.0), "start"),
        *((cls(temperature_prior=v), "temperature_prior")
          for cls in (GlobalTempering, LocalTempering) for v in (2.0, "beta")),
    ],
    ids=name_of,
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(policy, parameter):
    with pytest.raises(InvalidParameterError, match=f"The '{parameter}' parameter"):
        policy.validate()


# -- users' policies with invalid results ----------------------------------------------

WRONG = [np.nan, np.inf, -np.inf, 0, -1, None, "x"]


class WrongSchedule(Schedule):
    def __init__(self, value):
        self.value = value

    def __call__(self, t):
        return self.value if t == 1 else 2.0


class NeverSettling(WrongSchedule):
    def __call__(self, t):
        return 1.0

    def settles_at(self):
        return self.value


class WrongTempering(Untempered):
    def __init__(self, what, value):
        self.what = what
        self.value = value

    def temperature(self, state, clock):
        return self.value if (self.what, clock.steps) == ("temperature", 1) else 1.0

    def powers(self, state, clock):
        if clock.steps != 1 or self.what not in ("local", "prior", "all"):
            return Powers()
        one = {} if self.what == "all" else {self.what: self.value}
        return Powers()._replace(**one) if one else self.value

    def ladder(self):
        return np.ones(2) if self.what == "ladder" else None

    def probabilities(self, state):
        return np.array([1.0, self.value])


class WrongRate(ConstantRate):
    def next_rate(self, state, clock, gradient):
        return self.rate if clock.steps == 1 else 0.5, state


class WrongPair(WrongRate):
    def next_rate(self, state, clock, gradient):
        return self.rate if clock.steps == 1 else (0.5, state)


class WrongNoise(GradientNoise):
    def __init__(self, what, value):
        self.what = what
        self.value = value

    def unit_noise(self, n_units, clock, random):
        if clock.steps != 1:
            return np.linspace(-0.1, 1, n_units) if self.what == "guard" else None
        weights = np.ones(n_units, dtype=np.asarray(self.value).dtype)
        weights[slice(1 if self.what == "one" else None)] = self.value
        return self.value if self.what == "no array" else weights

    def guarded(self, rate, largest_rate):
        if self.what == "guard":
            return self.value
        return super().guarded(rate, largest_rate)


def at_step_1(value):
    """Yield parameters with policies that return a given value in the second step."""
    for target in ("local_step", "likelihood", "posterior"):
        annealing = Annealing(WrongSchedule(value), target)
        yield {"tempering": annealing}, "WrongSchedule"
    yield {"tempering": Annealing(NeverSettling(value))}, "NeverSettling"
    tempering = GlobalTempering(5, n_samples=1, cap=WrongSchedule(value))
    yield {"tempering": tempering}, "WrongSchedule"
    for what in ("temperature", "local", "prior", "all", "ladder"):
        yield {"tempering": WrongTempering(what, value)}, "WrongTempering"
    for cls in (WrongRate, WrongPair):
        yield {"learning_rate": cls().set_params(rate=value)}, cls.__name__
    yield {"gradient_noise": SVIPlusNoise(WrongSchedule(value))}, "WrongSchedule"
    for what in ("no array", "one", "all", "guard"):
        yield {"gradient_noise": WrongNoise(what, value)}, "WrongNoise"


TEMPERED = {
    "lda": TemperedLDA,
    "mixture": TemperedFactorialMixture,
    "factorization": TemperedMatrixFactorization,
    "gaussian mixture": TemperedGaussianMixture,
}


@pytest.mark.every(29)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("model", TEMPERED)
def test_results_of_policies_are_finite_or_refused(model, value):
    """The state before the error remains complete and usable."""
    shared = {"batch_size": 60, "max_iter": 2, "random_state": 0}
    X = data_of(TEMPERED[model]())
    for parameters, name in at_step_1(value):
        estimator = TEMPERED[model](3, tempering=None).set_params(**shared)
        estimator.set_params(learning_rate=0.3).set_params(**parameters)
        if "moves" in estimator.get_params():
            estimator.set_params(moves=None)
        try:
            estimator.fit(X)
        except (ValueError, TypeError) as error:
            assert re.search(name, str(error)), (parameters, error)
        else:
            assert estimator.n_batch_iter_ == 4
        if hasattr(estimator, "state_"):
            assert estimator.n_batch_iter_ >= 1
            assert all_finite(estimator.state_.globals_, estimator.state_.hyper)
            assert all_finite(estimator.history_["batch_bound"])
            assert np.isfinite(estimator.transform(X)).all()


class WrongMoves(BirthMoves):
    def __init__(self, what=None, value=None, n_moves=1):
        super().__init__(n_moves)
        self.what = what
        self.value = value

    def propose(self, model, globals_, hyper, block, random, refused, row_weight=None):
        if self.what == "propose":
            return self.value
        if self.what == "globals_":
            means = globals_.means() * self.value
            spoilt = dataclasses.replace(globals_, weighted_means=means)
            return Proposal(spoilt, hyper)
        return Proposal(globals_, hyper)

    def n_steps(self, model):
        return self.value if self.what == "n_steps" else 1

    def tempering(self, n_steps):
        return self.value if self.what == "tempering" else Untempered()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("value", WRONG, ids=str)
@pytest.mark.parametrize("what", ["propose", "n_steps", "tempering", "globals_"])
def test_results_of_moves_are_finite_or_refused(what, value):
    mixture = mixture_of(moves=WrongMoves(what, value), max_iter=3)
    if what == "globals_" and not isinstance(value, float):
        return
    expected = contextlib.nullcontext()
    if what != "globals_" and (what, value) != ("propose", None):
        expected = pytest.raises((ValueError, TypeError), match="WrongMoves")
    X = data_of(mixture)
    with expected:
        mixture.fit(X)
    assert mixture.n_batch_iter_ == 12
    assert np.isfinite(mixture.transform(X)).all()
