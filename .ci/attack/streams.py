"""Streams with a half-life.

streams     Pickles, invalid chunks and queries between chunks leave the bits, also with
            `fit`, `clear_memory`, wider chunks, gaps and zero weights in any order.
chunks      Chunks of whole batches leave the results of one chunk.
times       Equal times and half-lives in other types leave the results.
"""

import copy
import datetime

import numpy as np
import pandas as pd
import polars as pl
from common import Draws, equal
from digests import attempt, bits, copied
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from scipy import sparse

import sktemper
from sktemper.learning_rates import HalfLife
from sktemper.renewals import Renewals

MODELS = "LDA", "GaussianMixture", "MultinomialMixture", "BernoulliMixture", "Mixed"
N_FEATURES = 5


# -- models and data -------------------------------------------------------------------
def stream_data(draw, model, n):
    """Return rows of four kinds, of which two occur in the first half of the rows."""
    random = draw.generator()
    kind = random.integers(2, size=n) + 2 * (np.arange(n) > n / 2)
    if model in ("LDA", "MultinomialMixture"):
        rates = random.gamma(0.5, 2.0, (4, N_FEATURES)) + 0.05
        X = random.poisson(rates[kind]).astype(float)
        return sparse.csr_array(X) if draw.between(0, 1) else X
    if model == "BernoulliMixture":
        chances = random.beta(0.5, 0.5, (4, N_FEATURES))
        return (random.random((n, N_FEATURES)) < chances[kind]) * 1.0
    X = random.normal(size=(n, N_FEATURES)) + 3.0 * kind[:, None]
    if draw.happens(0.3):
        X[random.random(X.shape) < 0.1] = np.nan
    return X


def renewals(draw):
    policy = Renewals(
        memory=100, wait=draw.between(1, 79), trial=draw.between(1, 199), threshold=1.0
    )
    return draw.one_of(policy, policy, None)


def stream_model(draw, model, half_life, renewals, **parameters):
    kind = draw.one_of("Annealed", "Tempered")
    cls = getattr(sktemper, kind + model + "Mixture" * (model == "Mixed"))
    parameters |= {"n_components": draw.between(1, 4), "random_state": 0, "max_iter": 2}
    if kind == "Tempered" and draw.between(0, 1):
        parameters["tempering"] = None
    if model == "Mixed":
        rate = HalfLife(half_life)
        return cls(kinds="gaussian", learning_rate=rate, **parameters)
    if model == "GaussianMixture":
        shapes = "full", "tied", "diag", "spherical"
        parameters["covariance_type"] = draw.one_of(*shapes)
    return cls(half_life=half_life, renewals=renewals, **parameters)


def cuts(draw, n):
    """Return slices of consecutive chunks, the first of at least 10 rows."""
    inner = draw(st.sets(st.integers(10, n - 1), max_size=8))
    ends = [0, *sorted(inner), n]
    return [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]


def finite(estimator, X):
    assert np.isfinite(estimator.transform(X)).all(), "transform is not finite"
    assert not np.isinf(estimator.renewals_["gain"]).any(), "gain is infinite"
    shares = estimator.stream_history_["shares"].astype(float)
    assert np.isfinite(shares).all(), "shares are not finite"


# -- calls in any order ----------------------------------------------------------------
class Streams(RuleBasedStateMachine):
    """A stream, and the same stream that is disturbed between its chunks."""

    @initialize(data=st.data())
    def begin(self, data):
        draw = Draws(data)
        self.model = draw.one_of(*MODELS)
        self.X = stream_data(draw, self.model, draw.between(60, 499))
        powers = -300, -3, 0, 1, 2, 2.5, 3, 6, 18, 300
        self.half_life = 10.0 ** draw.one_of(*powers)
        policy = renewals(draw)
        self.clean = stream_model(draw, self.model, self.half_life, policy)
        self.disturbed = copy.deepcopy(self.clean)

    def both(self, method, *arguments, **options):
        for estimator in (self.clean, self.disturbed):
            getattr(estimator, method)(*arguments, **options)

    def begun(self):
        return hasattr(self, "clean") and hasattr(self.clean, "state_")

    @rule(data=st.data())
    def chunk(self, data):
        draw, begun = Draws(data), self.begun()
        start = draw.between(0, self.X.shape[0] - 30) if begun else 0
        X = self.X[start : start + draw.between(10, self.X.shape[0])]
        random = draw.generator()
        scale = draw.one_of(1.0, 1e-9, 1e9, *[0.0] * begun)
        whole = scale * random.integers(0, 3, X.shape[0])
        weight = draw.one_of(whole, random.gamma(1.0, 1.0, X.shape[0]), None)
        if weight is None:
            return self.both("partial_fit", converted(draw, X))
        weight[:1] = max(scale, 1e-9)
        self.both("partial_fit", converted(draw, X), sample_weight=weight)
        size = self.clean.state_.policies.learning_rate.size
        assert size > 0 and np.isfinite(size), f"the size is {size}"

    @precondition(begun)
    @rule()
    def pickle(self):
        self.disturbed = copied(self.disturbed)

    @precondition(begun)
    @rule()
    def query(self):
        self.disturbed.transform(self.X[:3])

    @precondition(begun)
    @rule(data=st.data())
    def error(self, data):
        X, options = bad_chunk(Draws(data), self.X)
        if attempt(copied(self.disturbed), "partial_fit", X, **options)[1]:
            attempt(self.disturbed, "partial_fit", X, **options)

    @precondition(begun)
    @rule()
    def clear_memory(self):
        self.both("clear_memory")

    @precondition(begun)
    @rule()
    def fit(self):
        self.both("fit", self.X)

    @precondition(lambda self: self.begun() and self.model == "LDA")
    @rule()
    def wider(self):
        """Fit to a chunk with another column, as LDA allows."""
        more = sparse.csr_array(np.arange(self.X.shape[0])[:, None] % 3 * 1.0)
        X = sparse.hstack([sparse.csr_array(self.X), more], format="csr")
        self.X = X if sparse.issparse(self.X) else X.toarray()
        self.both("partial_fit", self.X[:20])

    def teardown(self):
        if self.begun():
            finite(self.disturbed, self.X)
            assert bits(self.disturbed) == bits(self.clean), f"{self.model}: other bits"
            again = copied(self.clean).partial_fit(self.X)
            same = bits(again) == bits(self.clean.partial_fit(self.X))
            assert same, f"{self.model}: a pickle goes on otherwise"


def converted(draw, X):
    """Return a chunk in another container with the same values."""
    if sparse.issparse(X):
        return draw.one_of(X, X.tocsc(), X.tocoo(), sparse.csr_matrix(X))
    others = np.asfortranarray(X), X[::-1].copy()[::-1], X.astype(">f8")
    return (X, *others)[draw.between(0, 3)]


def bad_chunk(draw, X):
    few = X[:3].toarray() if sparse.issparse(X) else X[:3].copy()
    infinite = few.copy()
    infinite[0, 0] = np.inf
    bad = (
        (infinite, {}),
        (few[:, :1], {"times": "2024"}),
        (few[:0], {}),
        (few, {"sample_weight": -np.ones(3)}),
        (few, {"sample_weight": np.ones(4)}),
        (few, {"times": ["2024", "2023", "2022"]}),
        (few, {"times": 3}),
        (few, {"times": "no time"}),
        (few, {"times": np.datetime64("NaT")}),
        (few[0], {}),
    )
    return bad[draw.between(0, len(bad) - 1)]


# -- chunks and times ------------------------------------------------------------------
def chunks(draw):
    model, size = draw.one_of(*MODELS), draw.between(10, 59)
    n = size * draw.between(3, 8)
    X = stream_data(draw, model, n)
    half_life, policy = 10.0 ** draw.between(0, 4), renewals(draw)
    one = stream_model(draw, model, half_life, policy, batch_size=size)
    one.partial_fit(X[:size])
    other = copy.deepcopy(one).partial_fit(X[size:])
    steps = draw(st.sets(st.integers(2, n // size - 1), max_size=4))
    ends = [size, *(size * step for step in sorted(steps)), n]
    for start, stop in zip(ends, ends[1:], strict=False):
        one.partial_fit(X[start:stop])
    equal(one.transform(X), other.transform(X), f"{model}: chunks", 1e-5, 1e-7)
    samples = [estimator.renewals_["sample"].tolist() for estimator in (one, other)]
    assert samples[0] == samples[1], f"{model}: renewals {samples}"


ZONE = datetime.timezone(datetime.timedelta(hours=5))
TIMES = {
    "strings": lambda t: [str(x) for x in t],
    "seconds": lambda t: t.astype("M8[s]"),
    "ns": lambda t: t.astype("M8[ns]"),
    "datetimes": lambda t: t.astype("M8[us]").tolist(),
    "series": lambda t: pd.Series(t, index=range(5, 5 + len(t))),
    "index": pd.DatetimeIndex,
    "UTC": lambda t: pd.Series(t).dt.tz_localize("UTC"),
    "zone": lambda t: pd.Series(t).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "zones": lambda t: [
        x.replace(tzinfo=datetime.UTC).astimezone(ZONE) for x in t.tolist()
    ],
    "polars": lambda t: pl.Series(t.astype("M8[us]")),
    "polars, UTC": lambda t: pl.Series(t.astype("M8[us]")).dt.replace_time_zone("UTC"),
    "arrow": lambda t: pd.Series(t).astype("timestamp[us][pyarrow]"),
    "objects": lambda t: t.astype(object),
    "timestamps": lambda t: [pd.Timestamp(x) for x in t],
}
#: Numbers of days, and durations that are as long.
LENGTHS = {
    2: ("2D", "48h", datetime.timedelta(2), np.timedelta64(2880, "m"), " 2 D "),
    7: ("1W", "7D", np.timedelta64(1, "W"), pd.Timedelta("7D"), "168h"),
    1: ("86400s", "1440min", np.timedelta64(10**6 * 86400, "us"), "1D"),
}


def times(draw):
    model, n = draw.one_of(*MODELS), draw.between(40, 249)
    X = stream_data(draw, model, n)
    days, name = draw.one_of(*LENGTHS), draw.one_of(*TIMES)
    one = stream_model(draw, model, LENGTHS[days][0], renewals(draw))
    length = LENGTHS[days][draw.between(1, len(LENGTHS[days]) - 1)]
    other = copy.deepcopy(one)
    if model == "Mixed":
        other.set_params(learning_rate=HalfLife(length))
    else:
        other.set_params(half_life=length)
    seconds = draw.generator().integers(0, 10 ** draw.between(1, 6), n).cumsum()
    at = np.datetime64("1999-12-31T23:00:00") + seconds.astype("m8[s]")
    for rows in cuts(draw, n):
        one.partial_fit(X[rows], times=at[rows])
        other.partial_fit(X[rows], times=TIMES[name](at[rows]))
    equal(one.transform(X), other.transform(X), f"{model}: {name}", 1e-6, 1e-8)
    ages = [estimator.state_.stream.half_lives for estimator in (one, other)]
    equal(*ages, f"{name}: ages", 1e-9)
    equal(ages[0], (seconds[-1] - seconds[0]) / 86400 / days, "age", 1e-9)


SURFACES = {"streams": Streams, "chunks": chunks, "times": times}
