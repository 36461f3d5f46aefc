"""Every model on rows of several blocks, mini-batches and parts, with weights."""

import numpy as np
import pytest
from fits import changed_models, fitted_model
from registry import ROWS
from scipy import sparse
from sklearn.base import clone
from test_parts import parts_of, state_of

from sktemper._engine import _fit
from sktemper._engine._moves import _Trials
from sktemper._families._mixture import MixtureModel
from sktemper.factorial_mixture._model import FactorialMixtureModel
from sktemper.implicit_factorization import _model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
#: Rows of a block.  120 rows then have more blocks than the sums of any model keep.
ROWS_OF_BLOCK = 16


def set_attributes(monkeypatch, row, attributes):
    """Set attributes of the models of all estimators of a row."""
    for kind in row.kinds:
        cls = type(row.estimator(kind))
        changed = changed_models(cls, lambda model: vars(model).update(attributes))
        for name, method in changed.items():
            monkeypatch.setattr(cls, name, method)


@pytest.fixture(autouse=True)
def exact_models(monkeypatch):
    """Let the iterations of all models converge."""
    for row in ROWS.values():
        if row.attributes:
            set_attributes(monkeypatch, row, row.attributes)


@pytest.fixture
def small_blocks(monkeypatch):
    """Return a function after which the models of a row cut data into small blocks.

    Further arguments are other attributes of the models.
    """

    def cut(row, **attributes):
        attributes = {"block_size": ROWS_OF_BLOCK, **attributes}
        set_attributes(monkeypatch, row, attributes)

    return cut


def weighted(row):
    """Return 120 rows, the same rows in parts of different sizes, and weights."""
    X = row.data(120)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=120)
    return X, parts_of(X, 1, 49, 7), weight


def plan_of(row, **parameters):
    """Return parameters of a short fit in which iterations converge, without moves."""
    moves = {"moves": None} if row.moves else {}
    return {**row.exact, "max_iter": 2, **moves, **parameters}


def numbers(value):
    """Return all numbers of nested tuples as one vector."""
    if isinstance(value, tuple):
        return np.concatenate([numbers(part) for part in value])
    return np.ravel(np.asarray(value, dtype=np.float64))


def parameters_of(estimator):
    model, state = fitted_model(estimator), estimator.state_
    return [model.natural_parameters(state.globals_), numbers(state.hyper)]


def assert_close(one, other):
    """Assert that the parameters and the histories of two fits differ by rounding."""
    pairs = list(zip(parameters_of(one), parameters_of(other), strict=True))
    pairs += [
        (column, other.history_[name])
        for name, column in one.history_.items()
        if name not in ("seconds", "move_seconds", "mean_iterations")
    ]
    for found, expected in pairs:
        size = np.nanmax(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * size)


#: Kinds of estimators, and parameters.
PLANS = {
    "all rows": ("Annealed", {"batch_size": None, "max_iter": 4}),
    "mini-batches": (
        "Annealed",
        {"batch_size": 40, "max_iter": 4, "evaluate_every": 1},
    ),
    "noise": ("SVIPlus", {"batch_size": 50}),
}


@pytest.mark.every(5)
@pytest.mark.parametrize(("kind", "plan"), PLANS.values(), ids=PLANS)
@each_row
def test_a_fit_to_blocks_of_parts_is_the_fit_to_one_block(
    row, kind, plan, small_blocks
):
    X, parts, weight = weighted(row)
    plan = plan_of(row, **plan)
    if kind == "SVIPlus" and not row.has_policies:
        pytest.skip("the model has no noise")
    if row.moves and kind == "Annealed":
        plan["moves"] = row.moves
    whole = row.estimator(kind, **plan).fit(X, sample_weight=weight)
    small_blocks(row)
    data = X if kind == "SVIPlus" else parts  # noise depends on the places of rows
    assert_close(clone(whole).fit(data, sample_weight=weight), whole)


@each_row
def test_the_start_of_parts_is_that_of_even_rows(row, small_blocks):
    X, _, weight = weighted(row)
    X, weight, more = X[:40], weight[:40], weight[40:80] / 3.0
    # three times each row, with three times its weight, so that codings are the same
    repeated = X[np.repeat(np.arange(40), 3)]
    weights = np.stack([weight, more * weight, (2.0 - more) * weight], axis=1).ravel()
    plan = plan_of(row, max_iter=1, batch_size=None, learning_rate=1e-12)
    one = row.estimator("Annealed", **plan).fit(X, sample_weight=weight)
    small_blocks(row, max_start_rows=40)
    other = clone(one).fit(parts_of(repeated, 1, 49, 7), sample_weight=weights)
    found, expected = parameters_of(other)[0], parameters_of(one)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.every(2)
@each_row
def test_steps_on_all_rows_do_not_depend_on_their_order(row, small_blocks):
    X, _, weight = weighted(row)
    order = np.random.default_rng(2).permutation(120)
    plan = plan_of(row, batch_size=None, warm_start=True)
    small_blocks(row)
    one, other = (
        row.estimator("Annealed", **plan).fit(X, sample_weight=weight) for _ in range(2)
    )
    one.fit(X, sample_weight=weight)
    other.fit(parts_of(X[order], 70, 13), sample_weight=weight[order])
    assert_close(other, one)


def trial_steps(problem, policies, state, on_commit, *others):
    """Take the steps of a fit as those on the proposal of a move."""
    trials = _Trials(problem, state)
    assert trials.improve(state, trials.rows, state.progress.planned_passes)
    return [on_commit]


@pytest.mark.every(2)
@each_row
def test_steps_on_a_proposal_are_those_of_a_fit(row, small_blocks, monkeypatch):
    monkeypatch.setattr(MixtureModel, "final_order", lambda *fitted: None)
    _, parts, weight = weighted(row)
    small_blocks(row)
    plan = {"tempering": None} if row.has_policies else {}
    plan = plan_of(row, max_iter=3, batch_size=None, **plan)
    fitted = row.estimator("Tempered", **plan).fit(parts, sample_weight=weight)
    monkeypatch.setattr(_fit, "run_passes", trial_steps)
    other = clone(fitted).fit(parts, sample_weight=weight)
    found, expected = map(np.concatenate, map(parameters_of, (other, fitted)))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.every(2)
@each_row
def test_a_stream_of_parts_is_a_stream_of_chunks(row, small_blocks):
    X, _, weight = weighted(row)
    small_blocks(row)
    one, other = (
        row.estimator("Annealed", batch_size=40, total_samples=240) for _ in range(2)
    )
    for start in range(0, 120, 40):
        rows = slice(start, start + 40)
        one.partial_fit(X[rows], sample_weight=weight[rows])
    other.partial_fit(X[:40], sample_weight=weight[:40])
    other.partial_fit(parts_of(X[40:], 40), sample_weight=weight[40:])
    assert state_of(one) == state_of(other)


def test_validation_data_may_begin_with_rows_that_cannot_be_scored(small_blocks):
    row, X = ROWS["LDA"], ROWS["LDA"].data(120)
    small_blocks(row)
    empty = sparse.csr_array((32, X.shape[1]), dtype=X.dtype)
    plan = plan_of(row, evaluate_every=1)
    fitted = row.estimator("Annealed", **plan).fit(X, X_val=[empty, X[:20]])
    score = fitted.history_["heldout_score"][-1]
    assert score == pytest.approx(fitted.score(X[:20]))


def test_rankings_of_few_users_at_a_time_are_those_of_all(monkeypatch):
    row, X = ROWS["ImplicitFactorization"], ROWS["ImplicitFactorization"].data(120)
    fitted = row.estimator(**plan_of(row)).fit(X)
    scores = fitted.score_samples(X)
    monkeypatch.setattr(_model, "VALUES_AT_ONCE", 7 * X.shape[1])
    np.testing.assert_array_equal(fitted.score_samples(X), scores)


def test_priors_are_learned_from_statistics_scaled_to_all_rows(monkeypatch):
    row, scales = ROWS["FactorialMixture"], []
    update = FactorialMixtureModel.update_hyper

    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        scales.append(scale)
        return update(self, hyper, globals_, statistics, scale, rate, powers)

    monkeypatch.setattr(FactorialMixtureModel, "update_hyper", update_hyper)
    plan = plan_of(row, batch_size=30, total_samples=480, max_iter=1)
    row.estimator("Annealed", **plan).fit(row.data(120))
    assert scales == [16.0] * 4
