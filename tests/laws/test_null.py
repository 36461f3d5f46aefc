"""Without an effect, P(p < a) <= a, and intervals cover as often as they say.

This holds for groups of one row to half of the rows, heavy-tailed covariates, rare and
skewed outcomes and short texts; or a result is refused by name, or a warning says so.
"""

import functools
import inspect
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln

import sktemper
from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
    inspection,
    model_selection,
    plotting,
)
from sktemper._utils._inference import N_PERMUTATIONS, exceedance
from sktemper.inspection import _topic_regression, word_contrasts
from sktemper.inspection._gibbs import checked_documents, topic_draws
from sktemper.model_selection import (
    bootstrap_lrt,
    bootstrap_n_components,
    bootstrap_profiles,
    log_evidence,
    temperature_path,
)

from .draws import LENGTH, generator, too_many
from .registry import RESULTS
from .test_alignment import members

N = 200
N_DRAWS = 10 * LENGTH
#: Halves of p-values are below the first, of which 400 draws see a share of .62.
LEVELS = 0.5, 0.05, 0.005
#: Number of judgements of all tests, each of the levels and of the intervals.
N_JUDGED = 325 * (len(LEVELS) + 1)
#: Largest share by which intervals may cover less than they say.
SLACK = 0.02
#: The names of results of which a test below has simulations.
SIMULATED = set()


def simulates(*names):
    def decorate(test):
        SIMULATED.update(names)
        return test

    return decorate


# -- covariates and outcomes without an effect -----------------------------------------
def of_group(size):
    def draw(random):
        return (random.permutation(N) < size) * 1.0

    return draw


COVARIATES = {f"{size} rows": of_group(size) for size in (1, 2, 3, 5, 10, N // 2)}
COVARIATES |= {
    "Pareto": lambda random: random.pareto(1.0, N),
    "normal": lambda random: random.normal(size=N),
    "almost constant": lambda random: 3.4 + (np.arange(N) == random.integers(N)) * 1e3,
}
OUTCOMES = {
    "normal": lambda random: random.normal(size=N),
    "lognormal": lambda random: random.lognormal(sigma=1.5, size=N),
    "rare": lambda random: (random.random(N) < 0.03) * 1,
    "outlier": lambda random: np.where(np.arange(N), random.normal(size=N), 9999.0),
    "text": lambda random: random.choice(list("abc"), p=[0.02, 0.18, 0.8], size=N),
}


def judge(cell, p_values, missed=()):
    """Raise if too many independent p-values are small, or intervals miss the truth."""
    assert np.isfinite(p_values).all()
    cases = [(level, np.array(p_values) < level) for level in LEVELS]
    cases += [(0.05 + SLACK, missed)] if len(missed) else []
    for level, found in cases:
        count = int(np.sum(found))
        assert not too_many(count, len(found), level, N_JUDGED), (cell, level, count)


def excludes(row, truth=0.0):
    return not row["low"] <= truth <= row["high"]


@pytest.mark.parametrize("tails", [1.0, 3.0, 1e6])
def test_ranks_among_permutations_are_p_values(tails):
    """A p-value of a table is the larger one of this and of another test."""
    squares = generator("ranks", tails).standard_t(
        tails, size=(N_PERMUTATIONS + 1, 400)
    )
    judge(tails, exceedance(squares[0] ** 2, squares[1:] ** 2, 1e-9))


# -- topics ----------------------------------------------------------------------------
@functools.cache
def texts(length):
    """Return a fit of texts, and draws of its topics, which are the same for groups."""
    random = generator("null", length)
    topic_word = random.dirichlet(np.full(60, 0.1), 4)
    doc_topic = random.dirichlet([0.02, 0.1, 0.3, 0.5], N)
    lengths = 1 + random.poisson(random.gamma(1.0, length, N))
    rows = zip(lengths, doc_topic @ topic_word, strict=True)
    X = sparse.csr_array(np.array([random.multinomial(*row) for row in rows]))
    lda = AnnealedLDA(4, random_state=0).fit(X)
    documents, seed = checked_documents(lda, X), np.random.RandomState(0)
    return lda, X, documents[0], list(topic_draws(lda, documents, 30, seed))


def regression(length, covariates):
    """Return what `topic_regression` returns, without new draws of topics."""
    lda, _, counts, draws = texts(length)
    original = _topic_regression.topic_draws
    _topic_regression.topic_draws = lambda *_: iter(draws)
    try:
        return inspection.topic_regression(lda, counts, covariates, random_state=0)
    finally:
        _topic_regression.topic_draws = original


@simulates(*(f"TopicRegression.{name}" for name in ("table", "tests", "shares")))
@pytest.mark.every(36)
@pytest.mark.parametrize("length", [3, 30])
@pytest.mark.parametrize("covariate", COVARIATES)
@pytest.mark.filterwarnings("ignore")
def test_topic_regression(covariate, length):
    p_values, together, missed, shares = [], [], [], []
    random = generator("topics", covariate, length)
    whole = regression(length, random.normal(size=N)).shares([0.0])["share"]
    for _ in range(N_DRAWS):
        own = COVARIATES[covariate](random)
        topic = int(random.integers(4))
        found = regression(length, own)
        row = found.table().query("covariate == 'x0'").iloc[topic]
        p_values.append(row["p_value"])
        missed.append(excludes(row))
        pair = regression(length, np.column_stack([own, COVARIATES["normal"](random)]))
        together.append(pair.tests()["p_value"][topic])
        if own.max() == 1.0:
            row = found.shares([1.0]).iloc[topic]
            shares.append(excludes(row, whole[topic]))
    judge(covariate, p_values, missed)
    judge(covariate, together, shares)


@simulates("WordContrasts.table")
@pytest.mark.every(6)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, N // 2])
@pytest.mark.filterwarnings("ignore")
def test_word_contrasts_find_no_words(size):
    """At most one draw in 20 has a word, where no word differs at all."""
    lda, X, *_ = texts(30)
    random, found, missed = generator("words", size), [], []
    for number in range(N_DRAWS):
        contrasts = word_contrasts(lda, X, of_group(size)(random))
        words = contrasts.top_words()
        found.append(any(map(len, (own for topic in words for own in topic.values()))))
        if number % 2:
            table = contrasts.table(None)
            missed.append(excludes(table.iloc[random.integers(len(table))], 1.0))
    assert not too_many(sum(found), len(found), 0.05, N_JUDGED)
    judge(("words", size), [1.0], missed)


@simulates(
    "TopicEffectsDisplay.from_regression",
    "TopicEffectsDisplay.from_shares",
    "WordContrastsDisplay.from_contrasts",
)
@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_displays_have_the_intervals_of_tables():
    found, places = regression(30, np.arange(N) % 2), np.arange(2.0)
    lda, X, *_ = texts(30)
    draw = plotting.TopicEffectsDisplay
    effects = draw.from_regression(found, "x0", interval=0.5)
    table = found.table(0.5).query("covariate == 'x0'")
    assert set(effects.low) == set(table["low"])
    shares = draw.from_shares(found, places[:, None], places, interval=0.5)
    assert set(np.ravel(shares.low)) == set(found.shares(places[:, None], 0.5)["low"])
    X = X.toarray()
    word = X.sum(axis=0).argmax()
    X[::2, word] = 0  # a word of one group
    contrasts = word_contrasts(lda, X, np.arange(N) % 2)
    low, topics = contrasts.table(None, 0.5)["low"], range(len(found.coef_))
    draw = plotting.WordContrastsDisplay.from_contrasts
    shown = [draw(contrasts, topic, interval=0.5).low for topic in topics]
    assert (
        0 < len(set(np.concatenate(shown))) == len(set(low) & {*np.concatenate(shown)})
    )


# -- classes ---------------------------------------------------------------------------
def posteriors(random, size):
    """Return two classes, the second of about so many rows, with certain posteriors."""
    y = (random.permutation(N) < size) * 1
    if size < N // 10:
        return np.eye(2)[y]
    certain = random.beta(4.0, 1.0, N)
    y = np.where(random.random(N) < certain, y, 1 - y)
    return np.where(y[:, None] == [0, 1], certain[:, None], 1.0 - certain[:, None])


@simulates("ClassOutcomes.table", "ClassOutcomes.tests")
@pytest.mark.every(31)
@pytest.mark.parametrize("method", ["bch", "ml"])
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, N // 2])
@pytest.mark.filterwarnings("ignore:The outcome 'x0' is far from normal")
def test_class_outcomes(outcome, size, method):
    p_values, missed = [], []
    random = generator("outcomes", outcome, size, method)
    truth = {"normal": 0.0, "rare": 0.03, "text": 0.8}.get(outcome)
    for _ in range(N_DRAWS):
        own = posteriors(random, size)
        found = sktemper.class_outcomes(own, OUTCOMES[outcome](random), method=method)
        p_values += found.tests()["p_value"].tolist()
        if truth is not None:
            missed.append(excludes(found.table().iloc[-1], truth))
    judge((outcome, size, method), p_values, missed)


@simulates("ClassRegression.table", "ClassRegression.marginal_effects")
@pytest.mark.every(108)
@pytest.mark.parametrize("method", ["bch", "ml"])
@pytest.mark.parametrize("covariate", COVARIATES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, N // 2])
def test_class_regression(covariate, size, method):
    p_values, effects, missed, others = [], [], [], []
    random = generator("classes", covariate, size, method)
    for _ in range(N_DRAWS):
        own, z = posteriors(random, size), COVARIATES[covariate](random)
        try:
            found = sktemper.class_regression(own, z, method=method)
        except ValueError as error:
            assert "has no optimum" in str(error)
            continue
        row, effect = found.table().iloc[1], found.marginal_effects(z).iloc[1]
        p_values.append(row["p_value"])
        missed.append(excludes(row))
        effects.append(effect["p_value"])
        others.append(excludes(effect))
    # a refusal is one draw without a finding
    refused = [1.0] * (N_DRAWS - len(p_values))
    covered = [False] * len(refused)
    judge((covariate, size, method), p_values + refused, missed + covered)
    judge((covariate, size, method), effects + refused, others + covered)


# -- mixtures --------------------------------------------------------------------------
def yes_or_no(random):
    chances = random.random(4)
    return AnnealedBernoulliMixture, (random.random((N, 4)) < chances) * 1.0, chances


def words(random):
    chances = random.dirichlet(np.ones(4))
    return AnnealedMultinomialMixture, random.multinomial(1, chances, N) * 1.0, chances


def normal(random):
    mean, sd = random.normal(size=3), random.gamma(4.0, 0.25, 3)
    X = mean + sd * random.normal(size=(N, 3))
    make = functools.partial(AnnealedGaussianMixture, covariance_type="diag")
    return make, X, np.column_stack([mean, sd]).ravel()


def several_kinds(random):
    chances, rate, mean = random.dirichlet([9.0] * 3), random.gamma(2.0, 5.0), 1.0
    parts = random.choice(3, size=N, p=chances), random.poisson(rate, N)
    X = np.column_stack([*parts, mean + random.normal(size=N)])
    kinds = ["categorical", "poisson", "gaussian"]
    make = functools.partial(AnnealedMixedMixture, kinds=kinds)
    return make, X, np.array([*chances, rate, mean, 1.0])


@simulates("MixtureMixin.profiles", "bootstrap_profiles")
@pytest.mark.every(4)
@pytest.mark.parametrize("draw", [yes_or_no, words, normal, several_kinds])
def test_profiles(draw):
    """Rows of one class have no uncertain classes, so that all intervals are right.

    An interval of the bootstrap ends between order statistics of a few fits.
    """
    random, missed, halves = generator("profiles", draw.__name__), [], []
    n_fits, tail = 39, 0.025
    for _ in range(N_DRAWS):
        make, X, truth = draw(random)
        mixture, place = make(1, random_state=0).fit(X), random.integers(len(truth))
        missed.append(excludes(mixture.profiles().iloc[place], truth[place]))
        if LENGTH > 1 and draw is normal:  # for which half of the rows suffice
            table = bootstrap_profiles(mixture, X, n_replicates=n_fits, random_state=0)
            halves.append(excludes(table.iloc[place], truth[place]))
    judge(draw.__name__, [1.0], missed)
    level = 2.0 * (tail * (n_fits - 1) + 1.0) / (n_fits + 1) + SLACK
    assert not too_many(sum(halves), max(len(halves), 1), level, N_JUDGED)


@simulates("log_evidence")
def test_the_evidence_of_one_class():
    """The estimate is the evidence of rows with Beta priors."""
    X = yes_or_no(generator("evidence"))[1]
    mixture = AnnealedBernoulliMixture(1, feature_prior=2.0, random_state=0).fit(X)
    found = log_evidence(mixture, X, n_temperatures=5, n_chains=2, random_state=0)
    truth = (
        betaln(2.0 + X.sum(axis=0), 2.0 + N - X.sum(axis=0)) - betaln(2.0, 2.0)
    ).sum()
    np.testing.assert_allclose(found.estimate, truth, rtol=1e-9)


@simulates("bootstrap_n_components")
def test_the_number_of_classes():
    """Almost all fits to halves find two classes that are far apart."""
    random, shares = generator("number"), []
    for _ in range(1 if LENGTH == 1 else N_DRAWS):
        X = random.random((N, 8)) < np.where(np.arange(N) % 3 == 0, 0.9, 0.1)[:, None]
        mixture = AnnealedBernoulliMixture(3, random_state=0).fit(X * 1.0)
        found = bootstrap_n_components(mixture, X * 1.0, n_replicates=5, random_state=0)
        shares.append(found.get(2, 0.0))
    assert np.mean(shares) >= 0.5


@simulates("temperature_path")
def test_gaps_between_clusters():
    """At most one data set of one cluster in 20 has a gap, whatever its shape."""
    random, found = generator("gaps"), []
    shapes = (
        random.normal,
        random.random,
        *(
            functools.partial(draw, parameter)
            for draw, parameter in ((random.standard_t, 3), (random.gamma, 2.0))
        ),
    )
    for seed in range(N_DRAWS):
        X = shapes[seed % len(shapes)](size=(2 * N, 2))
        mixture = AnnealedGaussianMixture(6, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = temperature_path(mixture, X, random_state=seed)
        found.append(path.n_clusters_ > 1 and path.agreement_ > 0)
    assert not too_many(sum(found), len(found), 0.05, N_JUDGED)


@simulates("alarms_")
def test_alarms_of_a_stream():
    """At most one stream without changes in 20 has an alarm."""
    random, found, n_rows = generator("alarms"), [], 2000
    for _ in range(N_DRAWS):
        is_first = random.random((n_rows, 1)) < 0.4
        X = (random.random((n_rows, 8)) < np.where(is_first, 0.9, 0.1)) * 1.0
        mixture = AnnealedBernoulliMixture(2, half_life=n_rows, random_state=0)
        found.append(len(mixture.partial_fit(X).alarms_["sample"]) > 0)
    assert not too_many(sum(found), len(found), 0.05, N_JUDGED)


@simulates("LikelihoodRatioTest")
@pytest.mark.deep
def test_bootstrap_lrt():
    random, p_values = generator("lrt"), []
    for seed in range(2 * N_DRAWS):
        X = (random.random((N, 5)) < random.beta(1.0, 1.0, 5)) * 1.0
        mixture = AnnealedBernoulliMixture(2, moves=None, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test = bootstrap_lrt(mixture.fit(X), X, n_components=1, n_replicates=39)
        p_values.append(test.p_value)
    judge("lrt", p_values)


# -- completeness ----------------------------------------------------------------------
def test_every_function_with_p_values_or_intervals_is_in_the_registry():
    """Its parameters have an ``interval``, or its documentation a ``p_value``."""
    found, owners = set(), set()
    for module in (sktemper, inspection, model_selection, plotting):
        for public in map(functools.partial(getattr, module), module.__all__):
            owners |= {public} if inspect.isclass(public) else {result_of(public)}
    for owner in owners - {None}:
        for function in (owner, *dict(inspect.getmembers(owner)).values()):
            text = str(inspect.getdoc(function)).partition("Examples")[0]
            is_named = '"p_value"' in text or "p_value :" in text
            takes = "interval" in getattr(function, "__annotations__", {})
            if is_named or takes:
                found.add(function.__qualname__)
    found |= {name for name, own in members().items() if "interval" in own}
    kinds = {"p-value", "interval"}
    assert found == {row.name for row in RESULTS if row.returns & kinds}
    kinds |= {"alarm", "number"}
    assert SIMULATED == {row.name for row in RESULTS if row.returns & kinds}


def result_of(function):
    """Return the class of the package that a function returns, or None."""
    result = getattr(function, "__annotations__", {}).get("return")
    is_own = inspect.isclass(result) and result.__module__.startswith("sktemper")
    return result if is_own else None
