"""Copies for serving, and calls with few rows, have the same results as the model."""

import pickle
import threading

import joblib
import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from sktemper import AnnealedLDA, SVIPlusLDA, TemperedLDA
from sktemper._utils._validation import _is_plainly_valid as is_plainly_valid
from sktemper._utils._validation import check_data
from sktemper.base import TemperedEstimator
from sktemper.learning_rates import AdaptiveRate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted(counts):
    return AnnealedLDA(4, random_state=0).fit(counts)


# -- copies of topic models ------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("cls", [AnnealedLDA, TemperedLDA, SVIPlusLDA])
@pytest.mark.parametrize("prior", ["number", "words"])
def test_a_copy_infers_the_same_up_to_rounding(cls, prior, counts):
    eta = 0.1 if prior == "number" else np.linspace(0.1, 0.3, 60)
    lda = cls(4, topic_word_prior=eta, random_state=0).fit(counts)
    served = lda.for_serving()
    assert type(served) is cls and served.get_params().keys() == lda.get_params().keys()
    np.testing.assert_allclose(
        served.transform(counts), lda.transform(counts), atol=2e-3
    )
    np.testing.assert_allclose(served.components_, lda.components_, rtol=1e-6)
    assert served.components_.dtype == np.float32
    assert served.score(counts) == pytest.approx(lda.score(counts), abs=1e-4)
    assert served.top_words() == lda.top_words()
    assert served.n_samples_seen_ == lda.n_samples_seen_
    hot = {"temperature": 2.5}
    np.testing.assert_allclose(
        served.transform(counts, **hot), lda.transform(counts, **hot), atol=2e-3
    )
    assert served.lower_bound(counts) == pytest.approx(
        lda.lower_bound(counts), rel=1e-4
    )
    assert len(served.topics(n_words=3)) == len(lda.topics(n_words=3))


def test_a_copy_has_the_topics_and_nothing_that_only_training_needs(counts):
    lda = TemperedLDA(
        4,
        tempering=None,
        learning_rate=AdaptiveRate(n_warmup_batches=2),
        random_state=0,
    )
    for start in range(0, 120, 20):
        lda.partial_fit(counts[start : start + 20])
    served = lda.for_serving()
    assert len(served.history_["step"]) == 0
    assert served.state_.policies.learning_rate is None
    assert served.state_.globals_.u.nbytes == 4 * 60 * 4
    assert served.state_.choices.lengths is None
    assert len(pickle.dumps(served)) < 0.7 * len(pickle.dumps(lda))


def test_a_copy_is_mapped(tmp_path, fitted, counts):
    joblib.dump(fitted.for_serving(), tmp_path / "topics.joblib")
    served = joblib.load(tmp_path / "topics.joblib", mmap_mode="r")
    u = served.state_.globals_.u
    assert isinstance(u, np.memmap) and not u.flags.writeable
    expected = fitted.for_serving()
    np.testing.assert_array_equal(served.transform(counts), expected.transform(counts))
    np.testing.assert_array_equal(served.components_, expected.components_)
    assert served.score(counts[:3]) == expected.score(counts[:3])


def test_a_copy_cannot_be_trained(fitted, counts):
    served = pickle.loads(pickle.dumps(fitted.for_serving()))
    for train in served.fit, served.partial_fit:
        with pytest.raises(ValueError, match="copy for serving"):
            train(counts)
    assert clone(served).fit(counts).n_iter_ == fitted.n_iter_
    again = served.for_serving()
    np.testing.assert_array_equal(again.components_, served.components_)
    with pytest.raises(NotFittedError):
        AnnealedLDA(4).for_serving()


@pytest.mark.parametrize("kind", ["sparse", "bsr", "coo", "dense", "frame"])
def test_a_copy_ignores_columns_that_were_added_later(kind, counts):
    wide = sparse.hstack([counts, np.ones((120, 2))], format="csr")
    dense = wide.toarray()
    names = [f"w{i}" for i in range(62)]
    X = {
        "sparse": wide,
        "bsr": wide.tobsr((2, 2)),
        "coo": wide.tocoo(),
        "dense": dense,
        "frame": pandas.DataFrame(dense, columns=names),
    }[kind]
    known = X.iloc[:, :60] if kind == "frame" else dense[:, :60]
    served = AnnealedLDA(4, max_iter=2, random_state=0).fit(known).for_serving()
    share = 240 / dense.sum()
    assert share > 0.05
    with pytest.warns(UserWarning, match=f"{share:.0%} of the tokens"):
        found = served.transform(X)
    np.testing.assert_array_equal(served.transform(X), found)  # warns only once
    np.testing.assert_array_equal(found, served.transform(known))
    with pytest.raises(ValueError, match="59 features|should match"):
        served.transform(known.iloc[:, :59] if kind == "frame" else known[:, :59])


def test_threads_infer_while_another_one_trains(counts):
    lda = AnnealedLDA(4, random_state=0).partial_fit(counts)
    served, stop, wrong = [lda.for_serving()], threading.Event(), []
    expected = {id(served[0]): served[0].transform(counts)}

    def infer():
        while not stop.is_set():
            copy = served[-1]
            rows = np.random.default_rng().integers(0, 120, 5)
            found = copy.transform(counts[rows])
            known = expected.get(id(copy))
            if known is not None and not np.array_equal(found, known[rows]):
                wrong.append(rows)

    threads = [threading.Thread(target=infer) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            lda.partial_fit(counts)
            copy = lda.for_serving()
            expected[id(copy)] = copy.transform(counts)
            served.append(copy)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    alone = AnnealedLDA(4, random_state=0)
    for _ in range(7):
        alone.partial_fit(counts)
    np.testing.assert_array_equal(alone.components_, lda.components_)


# -- few rows --------------------------------------------------------------------------


def test_no_thread_is_started_for_few_rows(fitted, counts, monkeypatch):
    def started(*arguments):
        raise AssertionError("a thread was started")

    monkeypatch.setattr("_thread.start_new_thread", started)
    fitted.transform(counts[:32])
    fitted.score_samples(counts[:1])
    fitted.transform(counts[:3], temperature=2.0)
    fitted.lower_bound(counts[:3])
    many = sparse.vstack([counts] * 5, format="csr")
    fitted.transform(many[:256])
    with pytest.raises(AssertionError, match="started"):
        fitted.transform(many[:257])
    monkeypatch.setattr(fitted, "n_jobs", 2)  # threads share a block
    fitted.transform(many[:32])
    with pytest.raises(AssertionError, match="started"):
        fitted.transform(many[:33])


def test_cached_models_are_those_of_the_current_fit_and_parameters(counts):
    one = AnnealedLDA(4, max_doc_update_iter=100, random_state=0).partial_fit(counts)
    first = one.transform(counts[:3])
    one.set_params(max_doc_update_iter=1)
    fresh = pickle.loads(pickle.dumps(one)).transform(counts[:3])
    np.testing.assert_array_equal(one.transform(counts[:3]), fresh)
    assert not np.array_equal(fresh, first)
    one.set_params(max_doc_update_iter=100).partial_fit(counts)
    fresh = pickle.loads(pickle.dumps(one)).transform(counts[:3])
    np.testing.assert_array_equal(one.transform(counts[:3]), fresh)
    assert not np.array_equal(fresh, first)
    copied = clone(one)
    with pytest.raises(NotFittedError):
        copied.transform(counts[:1])


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X[:, :59],
        lambda X: -X,
        lambda X: X * np.nan,
        lambda X: X.toarray().astype(object) * 1j,
        lambda X: X[:0],
        lambda X: X.toarray()[0],
        lambda X: X * 1e300,
    ],
)
def test_bad_rows_raise_the_same_errors_with_and_without_fast_validation(
    change, fitted, counts, monkeypatch
):
    X = change(counts[:3])
    with pytest.raises((TypeError, ValueError)) as error:
        fitted.transform(X)
    with monkeypatch.context() as patch:
        patch.setattr(TemperedEstimator, "_inline_limits", lambda _: (0, 0))
        patch.setattr("sktemper._utils._validation._is_plainly_valid", lambda *_: False)
        with pytest.raises(type(error.value)) as expected:
            fitted.transform(X)
    assert str(error.value) == str(expected.value)


def test_data_that_skip_validation_are_valid_for_scikit_learn(fitted, counts):
    options = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True}
    random = np.random.default_rng(0)
    n_plain = 0
    for _ in range(300):
        X = counts[random.integers(0, 120, 2)]
        X = X.astype(random.choice(["f4", "f8", "i4", "u1", "g", "?"]))
        make = [X.tocsc, X.tocoo, X.toarray, lambda X=X: np.asfortranarray(X.toarray())]
        X = [lambda X=X: X, lambda X=X: sparse.csr_array(X), *make][
            random.integers(6)
        ]()
        if is_plainly_valid(fitted, X, {**options, "reset": False}):
            n_plain += 1
            assert validate_data(fitted, X, reset=False, **options) is X
        else:
            check_data(fitted, X, reset=False, **options)
    assert n_plain > 50
