"""Faults that cause warnings: data with and without them, and remedies as code.

Each function draws data, fits, and returns a number that is better if it is larger.
Its argument ``case`` is "fault", "sound" or "remedy".
"""

import re
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMatrixFactorization,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
    AnnealedStudentMixture,
    ImplicitFactorization,
    SVIPlusLDA,
    TemperedFactorialMixture,
    TemperedGaussianMixture,
    TemperedLDA,
)
from sktemper.moves import BirthMoves, SplitMergeMoves
from sktemper.schedules import LinearSchedule
from sktemper.tempering import GlobalTempering

from .registry import SUBJECTS, documents, features


class Warned(NamedTuple):
    """A warning.

    Attributes
    ----------
    name : str
        Name of the function that draws and fits.
    match : str
        Pattern of the message.
    sites : tuple of str
        Functions that issue it, and constants with the message.
    run : callable
    improves : bool
        Whether the remedy changes the result; else only the message is wrong for it.
    """

    name: str
    match: str
    sites: tuple
    run: Callable
    improves: bool


WARNED = []


def warned(match, *sites, improves=True):
    def note(run):
        WARNED.append(Warned(run.__name__, match, sites, run, improves))
        return run

    return note


# -- data ------------------------------------------------------------------------------
FEW = SplitMergeMoves(3)


def clusters(random, n_clusters=3, n_rows=150, n_columns=3, scale=6.0):
    """Draw clusters, whose centres are ten standard deviations apart or more."""
    least = 0.0
    while least < 10.0 * min(scale / 6.0, 1.0):
        centres = random.normal(0, scale, size=(n_clusters, n_columns))
        gaps = np.linalg.norm(centres[:, None] - centres, axis=-1)
        least = gaps[np.triu_indices(n_clusters, 1)].min(initial=np.inf)
        scale *= 1.02
    y = random.integers(n_clusters, size=n_rows)
    return centres[y] + random.normal(size=(n_rows, n_columns)), y


def texts(random, n_topics=6, n_rows=300, n_words=300, length=60):
    topics = random.dirichlet(np.full(n_words, 0.05), size=n_topics)
    weights = random.dirichlet(np.full(n_topics, 0.1), size=n_rows)
    rates = weights @ topics
    return np.array([random.multinomial(length, rate / rate.sum()) for rate in rates])


def _messages(estimator, X, start, **others):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, **others)
    found = [str(warning.message) for warning in caught]
    return [message for message in found if message.startswith(start)]


def agreement(estimator, X, y):
    return adjusted_rand_score(y, estimator.fit(X).labels_)


# -- convergence and temperatures ------------------------------------------------------
def _plain(**parameters):
    return TemperedGaussianMixture(5, tempering=None, random_state=0, **parameters)


@warned("did not converge", "bound_still_moved")
def few_passes(random, case):
    X, _ = clusters(random, scale=1.0)
    passes = {"fault": 3, "sound": 1000, "remedy": 1000}[case]
    mixture = _plain(moves=None, init_params="random", max_iter=passes)
    return mixture.fit(X).lower_bound_


@warned("One pass at T=1", "bound_still_moved")
def one_pass(random, case):
    X, _ = clusters(random)
    mixture = _plain(moves=None, max_iter=1 if case == "fault" else 1000)
    return mixture.fit(X).lower_bound_


@warned("ended at temperature", "ended_above_one")
def long_schedule(random, case):
    X, y = clusters(random)
    length = 40 if case != "fault" else 1000
    schedule = LinearSchedule(start=50, length=length)
    mixture = AnnealedGaussianMixture(5, schedule=schedule, random_state=0)
    return agreement(mixture, X, y)


@warned("No moves were made", "moves_waited", improves=False)
def moves_that_wait(random, case):
    """Without moves, the result is that of moves which were not made."""
    tempering = None if case == "sound" else "local"
    moves = None if case == "remedy" else BirthMoves(2)
    mixture = TemperedFactorialMixture(3, tempering=tempering, moves=moves, max_iter=20)
    mixture.set_params(random_state=0).fit(features(random))
    return 0.0


@warned("had no scores to compare", "nothing_compared")
def nothing_to_compare(random, case):
    X = documents(random)
    schedule = LinearSchedule(start=3, length=4 if case == "remedy" else 1000)
    schedule = None if case == "sound" else schedule
    lda = AnnealedLDA(4, schedule=schedule, batch_size=30, random_state=0)
    lda.set_params(n_iter_no_change=2, max_iter=12).fit(X)
    return lda.score(X)


@warned("of the start is left", "start_is_left")
def start_left(random, case):
    X, _ = clusters(random)
    mixture = _plain(batch_size=30, moves=None, init_params="random")
    mixture.set_params(max_iter=1 if case == "fault" else 30)
    return mixture.fit(X).score(X)


@warned("the fit had no noise", "noise_was_none", improves=False)
def no_noise(random, case):
    """The noise leaves poor optima, which few fits have; the score may fall or rise."""
    X = documents(random)
    size = 60 if case == "fault" else 20
    lda = SVIPlusLDA(4, batch_size=30, effective_batch_size=size, random_state=0)
    return lda.fit(X).score(X)


@warned("do not match, so that temperatures", "_Ladder.check")
def other_normaliser(random, case):
    """The temperature stays too high with log C of another score."""
    X = documents(random)
    tempering = GlobalTempering(cap=None, partition_priors=None)
    if case != "sound":
        tempering.set_params(score="complete")
    if case == "remedy":
        tempering.set_params(log_partition="complete")
    lda = TemperedLDA(4, tempering=tempering, doc_topic_prior=0.2, random_state=0)
    return lda.set_params(topic_word_prior=0.1, batch_size=50).fit(X).score(X)


# -- weights ---------------------------------------------------------------------------
#: Each class with its first options.
CLASSES = list({type(one.make()): one for one in reversed(SUBJECTS)}.values())


def plausible(random, n_rows):
    """Return weights that count rows, of one of many kinds."""
    ages = np.sort(random.integers(0, 3 * n_rows, n_rows))
    chances = random.beta(1.0, 2.0, n_rows)
    kinds = [
        random.gamma(2.0, random.uniform(0.1, 1000), n_rows),  # of a survey
        0.5 ** (ages / random.uniform(0.1, 3.0) / n_rows),  # halved after some time
        chances,
        1.0 / np.maximum(chances, 1e-3),
        (random.random(n_rows) < random.uniform(0.1, 1.0)) * 1.0,  # of a part
        random.poisson(1.0, n_rows) * 1.0,  # of a bootstrap sample
        random.uniform(size=n_rows),
        random.dirichlet(np.ones(n_rows)) * n_rows,
    ]
    return kinds[random.integers(len(kinds))]


@warned("at most one row for each of", "warn_of_weights")
def light_weights(random, case):
    """The score of rankings hardly differs if most items are popular ones."""
    subject = CLASSES[random.integers(len(CLASSES))]
    X, weight = subject.draw(random, 120), random.uniform(0.5, 2.0, 120)
    estimator = subject.make()
    weight /= weight.sum() / random.choice([1e-3, 1.0, estimator.n_components])
    if case == "sound":
        weight = plausible(random, 120)
    if case == "remedy":
        (said,) = _messages(estimator, X, "sample_weight", sample_weight=weight)
        weight *= float(re.search(r"multiply them by (\S+),", said)[1])
    return estimator.fit(X, sample_weight=weight).lower_bound(X)


@warned("each row counts", "warn_of_weights")
def equal_weights(random, case):
    X, y = clusters(random, scale=2.2)
    weights = {"fault": np.full(len(X), 3.0), "sound": plausible(random, len(X))}
    mixture = AnnealedMixedMixture(8, random_state=0)
    mixture.fit(X, sample_weight=weights.get(case))
    return adjusted_rand_score(y, mixture.labels_)


# -- copies of rows --------------------------------------------------------------------
def _copied(estimator, random, case, X, y, n_ways=2):
    rows = np.arange(len(X))
    if case == "fault":
        numbers = random.integers(2, 12), random.integers(1, 4, len(rows))
        rows = random.permutation(np.repeat(rows, numbers[random.integers(n_ways)]))
    return agreement(estimator.set_params(random_state=0), X[rows], y[rows])


def _profiles(random, n_rows=150, n_columns=30):
    y = random.integers(3, size=n_rows)
    chances = random.beta(0.5, 0.5, size=(3, n_columns))
    return (random.random((n_rows, n_columns)) < chances[y]) * 1.0, y


@warned("occurs .* times on average", "about_components")
def copies(random, case):
    return _copied(AnnealedGaussianMixture(10), random, case, *clusters(random))


@warned("occurs .* times on average", "about_components")
def copies_of_heavy_tails(random, case):
    return _copied(AnnealedStudentMixture(10), random, case, *clusters(random))


@warned("occurs .* times on average", "about_components")
def copies_of_answers(random, case):
    """Answers of half of the columns are often equal by chance."""
    given = *_profiles(random), 1
    return _copied(AnnealedBernoulliMixture(10), random, case, *given)


@warned("occurs .* times on average", "about_components")
def copies_of_texts(random, case):
    y = random.integers(3, size=150)
    rates = random.dirichlet(np.full(60, 0.3), size=3)[y]
    X = np.array([random.multinomial(60, rate) for rate in rates])
    return _copied(AnnealedMultinomialMixture(10), random, case, X, y)


@warned("occurs .* times on average", "about_components")
def copies_of_mixed_rows(random, case):
    (X, y), chances = clusters(random), random.dirichlet(np.full(4, 0.5), size=3)
    options = [random.choice(4, p=chances[k]) for k in y]
    X = np.column_stack([X, options])
    return _copied(AnnealedMixedMixture(10), random, case, X, y)


# -- Gaussian components and columns ---------------------------------------------------
def _gaussian(n_components, covariance_type="auto", **parameters):
    parameters |= {"covariance_type": covariance_type, "random_state": 0}
    return AnnealedGaussianMixture(n_components, moves=FEW, **parameters)


@warned("reg_covar=1e-06 is added", "UNITS")
def small_units(random, case):
    X, y = clusters(random)
    reg_covar = "auto" if case == "sound" else 1e-6
    X = X.round(1)  # equal values are not what is wrong
    X = X if case == "remedy" else 1e-4 * X
    return agreement(_gaussian(5, "full", reg_covar=reg_covar), X, y)


@warned("have components of their own", "ATOMS")
def single_values(random, case):
    X, y = clusters(random, 4, 200)
    X = X[:, : 2 if case == "remedy" else 3].copy()
    if case == "fault":
        X[random.random(200) < 0.5, 2] = 0.0
    return agreement(_gaussian(8), X, y)


@warned("AnnealedMixedMixture", "FREQUENT_VALUES", "ATOMS")
def gifts(random, case):
    """Half of the gifts are zero."""
    X, y = clusters(random, 4, 600)
    gifts = np.exp(0.5 * y[:, None] + 0.5 * random.normal(size=(600, 2)))
    if case != "sound":
        X = np.hstack([X, gifts * (random.random((600, 2)) < 0.5)])
    if case == "remedy":
        return agreement(AnnealedMixedMixture(8, random_state=0), X, y)
    return agreement(_gaussian(8 if case == "sound" else 3), X, y)


@warned(
    "few or frequent values, .*AnnealedMixedMixture",
    "DISCRETE",
    "_GaussianMixture._inspect_training_data",
)
def discrete_columns(random, case):
    """0/1 columns, or these and counts."""
    X, y = _profiles(random, 300, 15)
    if random.random() < 0.5:
        X[:, :8] = random.poisson(random.gamma(1.0, 2.0, (3, 8))[y])
    if case == "remedy":
        return agreement(AnnealedMixedMixture(8, random_state=0), X, y)
    X = X + (0.1 * random.normal(size=X.shape) if case == "sound" else 0.0)
    return agreement(_gaussian(8), X, y)


@warned('covariance_type="full"', "CORRELATED")
def correlated_columns(random, case):
    X, y = clusters(random, 4, 300, 12)
    if case != "sound":
        X += 4 * random.normal(size=(300, 2)) @ np.ones((2, 12))
    return agreement(_gaussian(6, "full" if case == "remedy" else "diag"), X, y)


@warned('covariance_type="low_rank"', "CORRELATED")
def many_correlated_columns(random, case):
    y = random.integers(4, size=300)
    own, shared = random.normal(size=(2, 8, 160))
    X = random.normal(0, 2, (4, 8))[y] @ own + random.normal(size=(300, 160))
    if case != "sound":
        X += random.normal(size=(300, 8)) @ shared
    kind = "low_rank" if case == "remedy" else "diag"
    return agreement(AnnealedGaussianMixture(8, covariance_type=kind), X, y)


@warned("Use AnnealedStudentMixture", "HEAVY_TAILS")
def heavy_tails(random, case):
    X, y = clusters(random, 4, 900, 8)
    if case != "sound":
        centres = np.array([X[y == k].mean(axis=0) for k in range(4)])[y]
        X = centres + (X - centres) / np.sqrt(random.chisquare(3, (900, 1)) / 3)
    kind = AnnealedStudentMixture if case == "remedy" else AnnealedGaussianMixture
    return agreement(kind(12, random_state=0), X, y)


@warned("are skewed within", "SKEWED")
def skewed_columns(random, case):
    X, y = clusters(random, 3, 400, 4)
    X = X if case == "sound" else np.exp(2.0 * X / X.std(axis=0))
    mixture = AnnealedGaussianMixture(10, random_state=0)
    while case == "remedy" and (said := _messages(mixture, X, "Columns are skewed")):
        named = [int(j) for j in re.findall(r"\d+", said[0])]
        X[:, named] = np.log(X[:, named])
    return agreement(mixture, X, y)


@warned("Raise n_components", "MORE_COMPONENTS")
def few_components(random, case):
    X, y = clusters(random, 8, 300, 5)
    return agreement(_gaussian(4 if case == "fault" else 12, "full"), X, y)


@warned('Use priors="learned"', "OTHER_PRIORS")
def priors_that_merge(random, case):
    """In many columns, the priors of scikit-learn merge clusters."""
    y = random.choice(5, size=500)
    centres = random.normal(size=(5, 48)) * 6 / np.sqrt(2 * 48)
    X = centres[y] + random.normal(size=(500, 48))
    priors = "scikit-learn" if case == "fault" else "learned"
    return agreement(_gaussian(10, "diag", priors=priors), X, y)


@warned("too few rows for full", "_GaussianMixture._check_enough")
def few_rows(random, case):
    X, y = clusters(random, 3, 60, 20 if case == "sound" else 80)
    return agreement(_gaussian(5, "auto" if case == "remedy" else "full"), X, y)


# -- mixed rows ------------------------------------------------------------------------
@warned("components are in use", "about_components")
def few_classes(random, case):
    X, y = clusters(random, 8, 400, 5)
    X = np.column_stack([X, y % 2])
    n_components = 6 if case == "fault" else 15
    return agreement(AnnealedMixedMixture(n_components, random_state=0), X, y)


def _survey(random, case, column):
    X, y = clusters(random, 3, 120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if case == "fault":
        frame["d"] = column
    return agreement(AnnealedMixedMixture(6, random_state=0), frame, y)


@warned("values of an earlier column", "warn_of_columns")
def copied_column(random, case):
    X, y = clusters(random, scale=2.2, n_columns=4)
    X = np.column_stack([X, X[:, 0]]) if case == "fault" else X
    kinds = _gaussian(8, "diag"), AnnealedMixedMixture(8, random_state=0)
    return agreement(kinds[random.integers(2)], X, y)


@warned("one value only, like more than half", "warn_of_columns")
def constant_columns(random, case):
    X, y = _profiles(random)
    if case == "fault":
        X = np.hstack([X, np.tile(random.integers(2, size=400), (len(X), 1))])
    return agreement(AnnealedBernoulliMixture(6, random_state=0), X, y)


@warned("looks like an identifier", "warn_of_columns", improves=False)
def identifiers(random, case):
    """No class explains an identifier, so that it hardly changes others."""
    return _survey(random, case, [f"id{i}" for i in random.permutation(120)])


@warned("has no values", "warn_of_columns", improves=False)
def empty_column(random, case):
    """It does not change the fit, which the message says."""
    return _survey(random, case, np.nan)


# -- counts, answers and pairs ---------------------------------------------------------
@warned("Empty topics", "topics_are_empty")
def empty_topics(random, case):
    X = texts(random, n_rows=300, n_words=400)
    lda = AnnealedLDA(3 if case == "sound" else 30, random_state=0)
    if case == "remedy":
        while said := _messages(lda, X[:40], "Empty topics"):
            lda.set_params(n_components=int(re.search(r"to (\d+)", said[0])[1]))
    return lda.fit(X[:40]).score(X[40:])


@warned("near copies", "topics_are_copies")
def copied_topics(random, case):
    X = documents(random, 400)
    lda = AnnealedLDA(4 if case == "sound" else 20, random_state=0)
    if case == "remedy":
        while said := _messages(lda, X[:300], "Topics that are near copies"):
            n_topics = int(re.search(r"merge_topics\((\d+)\)", said[0])[1])
            lda = lda.merge_topics(n_topics).set_params(warm_start=True, max_iter=5)
    return lda.fit(X[:300]).score(X[300:])


@warned("in common: .*max_df=0.3", "words_are_common")
def common_words(random, case):
    """Stop words are 85 % of the tokens."""
    topics = random.dirichlet(np.full(470, 0.05), 6)
    common = np.tile(random.dirichlet(np.full(30, 4.0)), (6, 1))
    weights = random.dirichlet(np.full(6, 0.1), 400)
    rates = weights @ np.hstack([0.85 * common, 0.15 * topics])
    X = np.array([random.multinomial(80, rate) for rate in rates])
    if case != "fault":
        X = X[:, (X > 0).mean(axis=0) <= 0.3]
    kept, y = X.any(axis=1), weights.argmax(axis=1)
    lda = AnnealedLDA(6, max_iter=8, random_state=0).fit(X[kept])
    return adjusted_rand_score(y[kept], lda.transform(X[kept]).argmax(axis=1))


@warned("scaled to length 1", "inspect_counts")
def scaled_counts(random, case):
    X = texts(random)
    given = TfidfTransformer().fit_transform(X) if case == "fault" else X
    return AnnealedLDA(6, random_state=0).fit(given).score(X)


@warned("other than 0 and 1", "TemperedBernoulliMixture._inspect_training_data")
def codes(random, case):
    X, y = _profiles(random)
    X = X if case == "sound" else X + 1
    mixture = AnnealedBernoulliMixture(6, random_state=0)
    return agreement(mixture.set_params(binarize=1.5 * (case == "remedy")), X, y)


@warned("are taken as weights", "ImplicitFactorization._inspect_training_data")
def heavy_pairs(random, case):
    affinity = random.normal(size=(120, 2)) @ random.normal(size=(2, 15))
    X = sparse.csr_array(random.poisson(np.exp(affinity - 1.0)).astype(float))
    X.data = np.ones_like(X.data) if case == "sound" else 50.0 * X.data
    X = X / X.data.mean() if case == "remedy" else X
    found = ImplicitFactorization(3, random_state=0).fit(X)
    scores = found.user_factors_ @ found.components_
    return np.corrcoef(scores.ravel(), affinity.ravel())[0, 1]


@warned(
    "are zeros and none is missing",
    "TemperedMatrixFactorization._inspect_training_data",
)
def zeros_for_gaps(random, case):
    users, items = random.normal(size=(120, 2)), random.normal(size=(2, 15))
    full = np.clip(
        np.rint(3 + users @ items + 0.3 * random.normal(size=(120, 15))), 1, 5
    )
    is_known = random.random(full.shape) < 0.5
    X = np.where(is_known, full, 0.0 if case == "fault" else np.nan)
    found = AnnealedMatrixFactorization(2, random_state=0).fit(X).predict(X)
    return -np.square(found - full)[~is_known].mean()
