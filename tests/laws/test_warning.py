"""Law: warnings are right.

Data without a fault cause a warning at most once in 20 draws, data with it in at least
nine of ten; the remedy, followed literally, ends better, and the warning is gone.
"""

import ast
import contextlib
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

import sktemper
from sktemper import AnnealedGaussianMixture, AnnealedLDA, AnnealedStudentMixture
from sktemper.base import TemperedEstimator

from .draws import LENGTH, generator, too_few, too_many
from .registry import documents
from .warned import WARNED
from .warned import __file__ as file_of_cases

#: Numbers of draws of each row at length, and quick: the least that can break the law.
N_DRAWS = dict.fromkeys(("sound", "fault", "remedy"), 8 * LENGTH)
if LENGTH == 1:
    N_DRAWS = {"sound": 3, "fault": 4, "remedy": 3}
#: Of so many rows, one is quick.
N_QUICK = 11
FALSE_ALARMS, FOUND, HALF = 0.05, 0.9, 0.5
#: Functions that issue warnings.
ISSUES = {"warn", "warn_once"}
#: Sites whose warnings name a wrong argument or call, or an accident, instead of a
#: fault of data, or for which another test follows the advice.  No list may grow.
WITHOUT_ROW = {
    "warn": "issues the warnings of others",
    "warn_once": "issues the warnings of others",
    "warn_of_the_end": "issues the warnings of the checks",
    "set_state": "pickles of other versions",
    "_warn_of_versions": "versions of workers",
    "OnCluster._of_blocks": "workers of a cluster",
    "ShardWriter._resume": "an interrupted conversion goes on",
    "_report": "own models in `check_model`",
    "shown_documents": "texts in another order than X",
    "ShownTexts.warn": "texts in another order than X",
    "warn_if_above_one": "as ended_above_one, in methods; test_endings",
    "warn_of_a_long_stream": "total_samples of streams; test_endings",
    "inspect_counts": "other vocabulary of a chunk; test_silent_mistakes",
    "StreamingCountVectorizer._warn_once_if_refused": "max_features; test_vectorizer",
    "_known_columns": "columns newer than a copy for serving",
    "_similarity": "topics that sampling changes; test_topic_regression",
    "Cells.of_rows": "unknown covariates; test_covariates",
    "seeded_prior": "seeds that are no words; test_known_components",
    "_values": "k of metrics; test_silent_mistakes",
    "class_outcomes": "outcomes that are not normal; test_class_outcomes",
    "RecommenderMixin._inspect_training_data": "entries; test_silent_mistakes",
    "_warn_of_unknown": "unknown categories; test_mixed_mixture",
}
#: Names that look like sites: a part of other messages, and a function of a check.
NO_WARNINGS = {"MIXED", "_is_final"}


def messages_of(row, case, number):
    """Return the number of a run on a draw, and whether its warning was issued.

    The warning names a line of the caller, not of the package.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = row.run(generator("warning", row.name, number), case)
    own = [one for one in caught if re.search(row.match, str(one.message))]
    assert {one.filename for one in own} <= {file_of_cases}, row.name
    return result, bool(own)


@pytest.mark.every(N_QUICK)
@pytest.mark.parametrize("row", WARNED, ids=lambda row: row.name)
def test_warnings_are_right(row):
    runs = {
        case: [messages_of(row, case, number) for number in range(n_draws)]
        for case, n_draws in N_DRAWS.items()
    }
    n_warned = {case: sum(said for _, said in found) for case, found in runs.items()}
    n_cells = len(WARNED) if LENGTH > 1 else -(-len(WARNED) // N_QUICK)
    for case in "sound", "remedy":
        n_draws = N_DRAWS[case]
        assert not too_many(n_warned[case], n_draws, FALSE_ALARMS, n_cells), n_warned
    assert not too_few(n_warned["fault"], N_DRAWS["fault"], FOUND, n_cells), n_warned
    if row.improves and LENGTH > 1:
        results = {case: np.array([one for one, _ in runs[case]]) for case in runs}
        n_better = (results["remedy"] > results["fault"]).sum()
        assert not too_few(n_better, N_DRAWS["fault"], HALF, n_cells), results
        assert results["remedy"].mean() > results["fault"].mean()


# -- rows without weight ---------------------------------------------------------------
#: Half as many rows of these values are appended, in mixtures with another text.
STRANGE_VALUE, STRANGE_TEXT = 70, "seventy"
#: Fits of topics take other batches if there are more rows.
WITHOUT_BATCHES = [
    row for row in WARNED if "AnnealedLDA" not in row.run.__code__.co_names
]


def with_strange_rows(X):
    strange = X[: max(2, X.shape[0] // 2)].copy()
    if isinstance(X, pd.DataFrame):
        for name in X:
            is_number = X[name].dtype.kind in "if"
            strange[name] = STRANGE_VALUE if is_number else STRANGE_TEXT
        return pd.concat([X, strange], ignore_index=True)
    if sparse.issparse(X):
        strange.data[:] = STRANGE_VALUE
        return sparse.vstack([X, strange], format="csr")
    strange[:] = STRANGE_VALUE
    return np.concatenate([X, strange])


@pytest.mark.every(2 * N_QUICK)
@pytest.mark.parametrize("row", WITHOUT_BATCHES, ids=lambda row: row.name)
@pytest.mark.parametrize("case", ["fault", "sound"])
def test_warnings_do_not_depend_on_rows_without_weight(row, case, monkeypatch):
    fit = TemperedEstimator._fit

    def fit_to_more(self, X, y, sample_weight, *others):
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        X = with_strange_rows(X)
        weight = np.pad(weight, (0, X.shape[0] - len(weight)))
        return fit(self, X, y, weight, *others)

    def messages():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with contextlib.suppress(ValueError):  # there are more labels
                row.run(generator("without weight", row.name), case)
        found = {re.sub(r"\d[\d.e%+-]*", "", str(one.message)) for one in caught}
        # sums of more rows round otherwise, which may decide the last pass
        return {text for text in found if "still changed" not in text}

    expected = messages()
    monkeypatch.setattr(TemperedEstimator, "_fit", fit_to_more)
    assert messages() == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mixture", [AnnealedGaussianMixture, AnnealedStudentMixture])
def test_columns_without_width_are_not_correlated(mixture):
    """Single values have no correlations, whose matrix is singular."""
    X = np.random.default_rng(0).normal(size=(3, 2))[np.arange(150) % 3]
    assert mixture(5, random_state=0).fit(X).n_active_components_ == 3


def test_merged_topics_are_no_copies():
    """Merges of small topics are cheaper, and come before those of copies."""
    random = np.random.default_rng(37)
    X, n_topics = documents(random, int(random.integers(60, 400))), 23
    lda = AnnealedLDA(n_topics, max_iter=8, random_state=0)
    with pytest.warns(ConvergenceWarning, match="near copies") as caught:
        lda.fit(X)
    (message,) = (str(one.message) for one in caught if "copies" in str(one.message))
    merged = lda.merge_topics(int(re.search(r"merge_topics\((\d+)\)", message)[1]))
    topics = normalize(merged.components_ - merged.topic_word_prior_)
    assert np.triu(topics @ topics.T, 1).max() < 0.95


def sites():
    """Yield the names of functions that issue warnings, of checks, and of messages."""
    for path in Path(sktemper.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if "warn" in text or "estimator, run" in text:
            yield from sites_in(ast.parse(text), "")
        if path.name == "_advice.py":
            yield from re.findall("^([A-Z_]+) = [(]$", text, re.MULTILINE)


def sites_in(tree, name):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            full = f"{name}.{node.name}".lstrip(".")
            if ast.unparse(getattr(node, "args", ast.Name(""))) == "estimator, run":
                yield full
            yield from sites_in(node, full)
            continue
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            if called in ISSUES:
                yield name
        yield from sites_in(node, name)


def test_each_warning_has_a_row():
    known = {site for row in WARNED for site in row.sites} | WITHOUT_ROW.keys()
    assert known == set(sites()) - NO_WARNINGS
