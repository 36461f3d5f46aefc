"""Every estimator keeps the protocol of scikit-learn.

Subclasses with fewer and with more parameters fit as their parents do, callbacks see
the data of the call, metadata reach fits and scores, outputs have the container that
was set, copies and pickles are equal, and scikit-learn's own checks pass, except those
for which `expected_failed_checks` gives a reason.
"""

import inspect
import pickle
import unittest
import zlib

import numpy as np
import pytest
import sklearn
from registry import ROWS
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

from sktemper.model_selection import _sample_like
from sktemper.testing import expected_failed_checks

from .draws import cells, generator
from .registry import SUBJECTS

#: Each class with its first options.
CLASSES = list({type(one.make()): one for one in reversed(SUBJECTS)}.values())[::-1]
N_ROWS = 48


def each_class(test):
    """Run a law on each class, without warnings of its few rows and passes."""
    ignored = "ignore::UserWarning"
    return cells("subject", CLASSES, every=6)(pytest.mark.filterwarnings(ignored)(test))


def drawn(law, subject):
    """Return a short estimator, data, and labels and weights of rows."""
    random = generator(law, subject.name)
    labels, weight = random.integers(0, 3, N_ROWS), random.uniform(0.5, 2.0, N_ROWS)
    return subject.make(max_iter=3), subject.draw(random, N_ROWS), labels, weight


def assert_same_fit(one, other, X):
    """Assert that two fits have the same bits."""
    assert one.n_batch_iter_ == other.n_batch_iter_
    assert one.lower_bound(X) == other.lower_bound(X)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


# -- subclasses ------------------------------------------------------------------------


def subclass_of(estimator, names, **more):
    """Return a subclass whose constructor has some parameters, and more.

    It passes the parameters of an estimator to the constructor of its base.
    """
    base, given = type(estimator), estimator.get_params(deep=False)
    shown = {name: given[name] for name in names} | more

    def __init__(self, **values):
        values = shown | values
        vars(self).update({name: values.pop(name) for name in more})
        base.__init__(self, **given | values)

    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(n, named, default=v) for n, v in shown.items()]
    owner = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    __init__.__signature__ = inspect.Signature([owner, *parameters])
    name = f"{base.__name__}Of{len(shown)}"
    members = {"__init__": __init__, "__module__": __name__, "__qualname__": name}
    globals()[name] = type(base)(name, (base,), members)  # pickle imports it
    return globals()[name]


@each_class
@pytest.mark.parametrize("more", [{}, {"note": "more"}], ids=["fewer", "more"])
def test_subclasses_fit_as_their_parents(subject, more):
    estimator, X, _, _ = drawn("subclasses", subject)
    names = list(estimator.get_params(deep=False)) if more else ["verbose", "n_jobs"]
    own = subclass_of(estimator, names, **more)()
    assert own.get_params(deep=False).keys() == {*names, *more}
    assert_same_fit(clone(own).fit(X), estimator.fit(X), X)
    own.fit(X)
    again = pickle.loads(pickle.dumps(own))
    assert again.score(X) == own.score(X) == estimator.score(X)
    assert_same_fit(again.partial_fit(X[:20]), estimator.partial_fit(X[:20]), X)
    if hasattr(own, "_refitted"):
        own._refitted(X, None, 0)
        _sample_like(own, X, 0)
    if hasattr(own, "n_start_components"):
        own.n_start_components = own.n_components + 2
        assert len(own.fit(X).components_) == own.n_components


# -- callbacks -------------------------------------------------------------------------


class Seeing:
    """A callback that keeps what its hooks get."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        pass

    teardown = setup

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.seen.append((X, y, metadata))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.seen.append((X, y, metadata))
        self.score = fitted_estimator.score(X, y, **metadata)


@each_class
def test_callbacks_see_the_data_of_the_call(subject):
    estimator, X, y, weight = drawn("callbacks", subject)
    seeing = Seeing()
    estimator.set_callbacks(seeing).fit(X, y, sample_weight=weight)
    assert len(seeing.seen) >= 8  # around the fit and three passes
    for data, labels, metadata in seeing.seen:
        assert data is X and labels is y
        assert metadata.keys() == {"sample_weight"}
        assert metadata["sample_weight"] is weight
    assert seeing.score == estimator.score(X, y, sample_weight=weight)
    seeing.seen.clear()
    estimator.partial_fit(X)
    assert not seeing.seen
    estimator.fit(X)
    for _, zeros, metadata in seeing.seen:
        assert not metadata and zeros.shape == (N_ROWS,) and not zeros.any()


@each_class
def test_a_scoring_monitor_logs_the_scores_of_the_fit(subject):
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    estimator, X, y, weight = drawn("monitor", subject)
    if hasattr(estimator, "predict_proba"):
        scorer = make_scorer(adjusted_rand_score)
    else:  # scikit-learn's monitor gives no weights to a function
        scorer, weight = (lambda estimator, X, y: estimator.score(X, y)), None
    monitor = callback.ScoringMonitor(scoring={"score": scorer})
    estimator.set_callbacks(monitor).fit(X, y, sample_weight=weight)
    last = [row for row in monitor.get_logs().data if row["task_name"] == "fit"]
    assert [row["score"] for row in last] == [scorer(estimator, X, y)]


# -- metadata and output ---------------------------------------------------------------


@each_class
def test_metadata_are_routed(subject):
    estimator, X, _, weight = drawn("routing", subject)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), routed)
        pipeline.fit(X, sample_weight=weight)
        score = pipeline.score(X, sample_weight=weight)
    estimator.fit(X, sample_weight=weight)
    assert_same_fit(pipeline[-1], estimator, X)
    assert score == estimator.score(X, sample_weight=weight)
    if hasattr(estimator, "perplexity"):
        assert estimator.perplexity(X, sample_weight=weight) == np.exp(-score)


@each_class
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_has_the_container_that_was_set(subject, library):
    module = pytest.importorskip(library)
    estimator, X, _, _ = drawn("output", subject)
    table = X.toarray() if issparse(X) else X
    columns = {f"column {j}": values for j, values in enumerate(table.T)}
    frame = module.DataFrame(columns)
    if library == "pandas":
        frame.index = [f"row {i}" for i in range(N_ROWS)]
    found = estimator.set_output(transform=library).fit(frame).transform(frame)
    assert type(found).__module__.startswith(library)
    names = [f"{type(estimator).__name__.lower()}{k}" for k in range(found.shape[1])]
    assert list(found.columns) == estimator.get_feature_names_out().tolist() == names
    if library == "pandas":
        assert found.index.equals(frame.index)
    assert estimator.feature_names_in_.tolist() == list(columns)
    plain = clone(estimator).set_output(transform="default").fit(table)
    np.testing.assert_array_equal(found.to_numpy(), plain.transform(table))


# -- containers of data ----------------------------------------------------------------


class Tensor:
    """An array of another library, such as a tensor of PyTorch."""

    def __init__(self, array):
        self._array, self.shape, self.ndim = array, array.shape, array.ndim
        self.dtype = object()

    def __len__(self):
        return len(self._array)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype)

    def __array_namespace__(self, api_version=None):
        return Tensor


@each_class
def test_arrays_of_other_libraries_are_converted(subject, monkeypatch):
    estimator, X, _, weight = drawn("tensors", subject)
    X = X.toarray() if issparse(X) else X
    expected = clone(estimator).fit(X, sample_weight=weight)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        estimator.fit(Tensor(X), sample_weight=Tensor(weight))
        assert_same_fit(estimator, expected, X)
        np.testing.assert_array_equal(
            estimator.transform(Tensor(X)), expected.transform(X)
        )


@each_class
def test_tables_of_arrow_are_frames(subject):
    arrow, polars = map(pytest.importorskip, ("pyarrow", "polars"))
    estimator, X, _, _ = drawn("arrow", subject)
    X = X.toarray() if issparse(X) else X
    frame = polars.DataFrame({f"column {j}": part for j, part in enumerate(X.T)})
    frame = frame.with_columns(polars.all().fill_nan(None))
    table = frame.to_arrow()
    one, other = clone(estimator).fit(frame), estimator.fit(table)
    assert_same_fit(one, other, frame)
    assert one.transform(frame)[0].tolist() == other.transform(table[:1])[0].tolist()
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    if hasattr(one, "impute"):
        filled = other.impute(table)
        assert isinstance(filled, arrow.Table)
        assert polars.from_arrow(filled).equals(one.impute(frame))


# -- scikit-learn's checks -------------------------------------------------------------

#: Checks of scikit-learn that test only constructors, parameters and tags.
OF_PARAMETERS = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
#: Each slow check is quick for one of this number of models in turn.
EVERY = 6


def checked():
    """Yield estimators, whether all may pass, and a function that chooses checks.

    Checks of parameters are quick for the first configuration of each class. The other
    checks are quick for the first configuration of one of `EVERY` models in turn, and
    otherwise deep.
    """
    seen = set()
    for place, (name, row) in enumerate(ROWS.items()):
        for number, (estimator, may_pass) in enumerate(row.for_sklearn()):
            is_new = type(estimator) not in seen
            seen.add(type(estimator))

            def is_quick(check, place=place, is_first=number == 0, is_new=is_new):
                if check in OF_PARAMETERS:
                    return is_new
                turn = zlib.crc32(check.encode()) % EVERY
                return is_first and turn == place % EVERY

            def is_deep(check, is_quick=is_quick):
                return not is_quick(check)

            label = f"{name}-{number}"
            if is_new or number == 0:
                yield pytest.param(estimator, may_pass, is_quick, id=f"{label}-quick")
            yield pytest.param(
                estimator, may_pass, is_deep, id=f"{label}-deep", marks=pytest.mark.deep
            )


@pytest.mark.parametrize(("estimator", "may_pass", "is_chosen"), list(checked()))
@pytest.mark.filterwarnings(
    "ignore:The stored numbers of X:UserWarning",  # the checks' data are random
    "ignore:.*too few rows for full covariances",
    "ignore:X has values other than 0 and 1, from 1 to 4",
    "ignore:.*did not converge.*",
    "ignore:sample_weight sums to 90 for 30 rows",
    "ignore:A row of X occurs",  # weights are compared with repeated rows
    "ignore:The priors keep clusters together",  # of settings with given priors
)
@pytest.mark.filterwarnings("ignore:Single values of columns")
@pytest.mark.filterwarnings("ignore:Most rows are in components")
@pytest.mark.filterwarnings("ignore:The lower bound fell")
@pytest.mark.filterwarnings("ignore:All .* columns are correlated")
@pytest.mark.filterwarnings("ignore:.*of the start is left in the model")
def test_scikit_learn_checks(estimator, may_pass, is_chosen):
    wrong, failures = [], expected_failed_checks(estimator)
    for own, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if not is_chosen(name):
            continue
        try:
            check(own)
        except unittest.SkipTest:
            continue
        except Exception as error:
            if name not in failures:
                error.add_note(f"{name} of {estimator}")
                wrong.append(error)
        else:
            if name in failures and not may_pass:
                wrong.append(AssertionError(f"{name} passes: {failures[name]}"))
    if wrong:
        raise ExceptionGroup(repr(estimator), wrong)
