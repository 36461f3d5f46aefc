"""Two objects with rows are paired by position: labels in another order are an error.

Every public function and method with two parameters of rows raises, with the remedy, if
both are pandas objects with the same row labels in different orders, and raises if
their numbers of rows differ.  Signatures find the parameters.
"""

import functools
import inspect
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import sktemper
from sktemper import AnnealedLDA, AnnealedMixedMixture, datasets, inspection, plotting

from .draws import generator
from .registry import documents, mixed

#: Parameters with a value for each row of another parameter.
OF_ROWS = set(
    "sample_weight sampling_weight covariates outcomes groups dates labels times "
    "tokens document_names documents memberships places items ratings weights "
    "X_seen".split()
)
MODULES = ["", *"inspection metrics plotting report text".split()]
MODULES += ["model_selection", "datasets"]
#: Functions without a second object of rows: their parameters are of other things.
SINGLE = set(
    "RecommenderMixin.similar_items RecommenderMixin.recommend "
    "TemperedMatrixFactorization.recommend TopicRegression.shares "
    "TopicRegression.tests ClassProfilesDisplay.from_estimator "
    "ClassProfilesDisplay.plot read_matrix_market "
    "TopicEffectsDisplay.from_regression".split()
)
N = 40
pytestmark = pytest.mark.filterwarnings("ignore")


@functools.cache
def members():
    """Return parameters of functions and methods of public modules by their names."""
    seen, found = set(), {}
    for name in MODULES:
        module = import_module(f"sktemper.{name}" if name else "sktemper")
        for public in map(functools.partial(getattr, module), module.__all__):
            own = [("", public)]
            if inspect.isclass(public):
                own = inspect.getmembers(public, inspect.isroutine)
            for member, function in own:
                is_own = str(getattr(function, "__module__", "")).startswith("sktemper")
                is_call = callable(function) and inspect.isroutine(function)
                if not (is_own and is_call) or member[:1] == "_":
                    continue
                label = function.__qualname__
                if member and "." not in label:  # a function that classes share
                    label = f"{public.__name__}.{member}"
                if function not in seen:
                    seen.add(function)
                    found[label] = inspect.signature(function).parameters
    return found


FOUND = {
    name: OF_ROWS & set(own) for name, own in members().items() if OF_ROWS & set(own)
}
FOUND = {name: own for name, own in FOUND.items() if name not in SINGLE}


@functools.cache
def words():
    counts = documents(generator("alignment"), N).toarray() + 1
    return pd.DataFrame(counts).add_prefix("w")


@functools.cache
def answers():
    return pd.DataFrame(mixed(generator("alignment"), N)).add_prefix("q")


@functools.cache
def fitted(name):
    if name == "lda":
        return AnnealedLDA(2, max_iter=2).fit(words(), covariates=rows("covariates"))
    return AnnealedMixedMixture(2, max_iter=2).fit(answers())


def rows(name):
    """Return a series or frame of N rows."""
    if name in ("times", "dates", "places"):
        return pd.Series(pd.date_range("2024", periods=N))
    if name in ("X_seen", "X_test"):
        return pd.DataFrame(np.eye(N, 9) if name == "X_seen" else np.ones((N, 9)))
    if name in ("posteriors", "doc_topic"):
        return pd.DataFrame(np.eye(2)[np.arange(N) % 2] * 0.8 + 0.1)
    if name in ("documents", "document_names"):
        return pd.Series([f"d{number}" for number in range(N)])
    if name in ("ratings", "weights", "outcomes", "tokens", "sample_weight"):
        return pd.Series(np.arange(N) % 5 + 1.0)
    if name == "users":
        return pd.Series(np.arange(N))
    return pd.Series(np.arange(N) // 3 % 2)


def case(name):
    """Return a function of rows by their names, and the name of the first rows."""
    owner, _, method = name.rpartition(".")
    if name in ("ratings_matrix", "interactions_matrix"):
        given = {"users": rows("users"), "items": rows("items")}
        if name == "ratings_matrix":
            given["ratings"] = rows("ratings")
        return getattr(datasets, name), given
    if name == "TopicEffectsDisplay.from_shares":
        x = rows("ratings")
        regression = inspection.topic_regression(fitted("lda"), words(), x, n_sweeps=10)
        draw = plotting.TopicEffectsDisplay.from_shares
        return functools.partial(draw, regression), {"covariates": x}
    if name == "ClassRegression.marginal_effects":
        x = rows("ratings")
        regression = sktemper.class_regression(rows("posteriors"), x)
        return regression.marginal_effects, {"covariates": x}
    for first in ("posteriors", "doc_topic"):
        if first in parameters(name):
            given = {first: rows(first)}
            for second in {"tokens", "outcomes", "covariates"} & set(parameters(name)):
                given[second] = rows(second)
            return public(name), given
    if "X_test" in parameters(name):
        scores = np.arange(9.0) + np.zeros((N, 1))
        return functools.partial(public(name), scores), {"X_test": rows("X_test")}
    is_lda = "covariates" in parameters(name) or owner == "TemperedLDA"
    is_lda |= name in ("word_contrasts", "topic_report", "cluster_words")
    is_lda |= name == "topic_consensus" or owner == "TopicPrevalenceDisplay"
    model, X = ("lda", words()) if is_lda else ("mixture", answers())
    if "." not in name or "Display" in owner:
        function = public(name)
        if name != "cluster_words":
            function = functools.partial(function, fitted(model))
        given = {} if name != "cluster_words" else {"memberships": rows("memberships")}
        return function, {"X": X} | given
    if owner == "TemperedMultinomialMixture":
        model = sktemper.AnnealedMultinomialMixture(2, max_iter=2).fit(words())
        return getattr(model, method), {"X": words()}
    if owner == "ImplicitFactorization":
        model = sktemper.ImplicitFactorization(2, max_iter=2).fit(words())
        return getattr(model, method), {"X": words()}
    return getattr(fitted(model), method), {"X": X}


def parameters(name):
    return members()[name]


def public(name):
    for part in MODULES:
        module = import_module(f"sktemper.{part}" if part else "sktemper")
        owner, _, method = name.rpartition(".")
        if hasattr(module, owner or name):
            found = getattr(module, owner or name)
            return getattr(found, method) if owner else found
    raise LookupError(name)


PAIRS = [(name, other) for name, own in FOUND.items() for other in sorted(own)]
PAIRS.remove(("TopicEffectsDisplay.from_shares", "labels"))


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_rows_in_another_order_or_number_raise(name, other):
    function, given = case(name)
    first = next(iter(given))
    if other in given:
        if other == first:
            return
        del given[other]
    for own in (rows(other).iloc[::-1], rows(other).iloc[:-1]):
        match = None
        if len(own) == N:
            match = rf"{other} has the row labels .*\.loc\[{first}\.index\]"
        with pytest.raises(ValueError, match=match):
            function(**given, **{other: own})


def test_other_labels_are_paired_by_position():
    weight = rows("sample_weight").set_axis(np.arange(100, 100 + N))
    fitted("mixture").score(answers(), sample_weight=weight)
