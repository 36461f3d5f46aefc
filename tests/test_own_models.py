"""`check_model` applied to a user's model, and to mutations of it with faults."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gamma_poisson import (
    GammaPoissonModel,
    Hyper,
    Loadings,
    TemperedGammaPoisson,
    counts_of,
    log_likelihood,
)
from scipy.special import gammaln, psi

from sktemper._contract import _CAPABILITIES, Options
from sktemper.model import ConjugateModel
from sktemper.tempering import GlobalTempering, LocalTempering
from sktemper.testing import check_model, checks
from sktemper.testing._case import Case, Skip

N_ROWS, N_COMPONENTS = 20, 2
#: Checks of capabilities that the model lacks.
SKIPPED = {
    "check_complete_partition_is_zero_at_one",
    "check_critical_temperatures_do_not_increase",
    "check_current_partition_is_zero_at_one",
    "check_log_partition_is_zero_at_one",
    "check_map_partition_is_zero_at_one",
    "check_moves_are_proposed",
}


def made(cls):
    X = counts_of(N_ROWS)
    return cls(N_COMPONENTS, X.shape[1]), X


def test_a_users_model_passes_all_checks(monkeypatch):
    initial_globals, starts = GammaPoissonModel.initial_globals, []

    def counted(self, *arguments, **others):
        starts.append(arguments)
        return initial_globals(self, *arguments, **others)

    monkeypatch.setattr(GammaPoissonModel, "initial_globals", counted)
    results = check_model(
        TemperedGammaPoisson(N_COMPONENTS),
        counts_of(N_ROWS),
        log_likelihood=log_likelihood,
    )
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped == SKIPPED
    assert len(results) == 1 + len(checks())
    # one start for all checks, and one to see that it repeats
    assert len(starts) == 2


@pytest.mark.parametrize("policy", [GlobalTempering(), LocalTempering()], ids=str)
def test_a_policy_that_the_model_cannot_serve_is_refused(policy):
    estimator = TemperedGammaPoisson(N_COMPONENTS, tempering=policy)
    name = type(policy).__name__
    with pytest.raises(ValueError, match=rf"(?s){name}\(.* needs a model with .*Gamma"):
        estimator.fit(counts_of(N_ROWS))
    assert not hasattr(estimator, "state_")


def test_the_constants_of_a_likelihood_need_a_likelihood():
    check = checks()["check_row_bounds_have_their_constants"]
    case = Case(*made(GammaPoissonModel), 0, None)
    with pytest.raises(Skip, match="^no log_likelihood was given to check_model$"):
        check(case.fresh())
    case = Case(*made(GammaPoissonModel), 0, lambda *_: np.zeros(20))
    with pytest.raises(ValueError, match=r" \(1000, 20\), got"):
        check(case.fresh())


# -- mutations -------------------------------------------------------------------------

MUTATIONS = []


def found_by(check, fault):
    """Add a mutation to the list, with the check that finds it and its message."""

    def add(cls):
        MUTATIONS.append(pytest.param(cls, check, fault, id=cls.__name__))
        return cls

    return add


class Changed(GammaPoissonModel):
    """Base class of models whose local steps return wrong results."""

    def local_step(self, block, prepared, request):
        found = super().local_step(block, prepared, request)
        return replace(found, **self.changed(found, block, prepared, request))


def bounds(rows):
    return {"row_bounds": rows, "bound": rows.sum()}


@found_by(
    "check_invalid_parameters_are_found", "at the start: expected True, got False"
)
class NeverValid(GammaPoissonModel):
    def is_valid(self, globals_):
        return False


@found_by("check_row_bounds_have_their_constants", r"row 0 .* at most -\d+.*, got \d+")
class WithoutTheFactorials(Changed):
    def changed(self, found, block, prepared, request):
        missing = gammaln(block + 1).sum(axis=1)
        return bounds(found.row_bounds + request.powers.local * missing)


@found_by("check_scores_are_those_of_rows", "from call to call")
class WithRandomScores(GammaPoissonModel):
    def predictive_scores(self, block, prepared):
        scores, n_held_out = super().predictive_scores(block, prepared)
        return scores + np.random.default_rng().random(len(scores)), n_held_out


@found_by("check_scores_are_not_better_than_the_bound", "expected at most")
class WithScoresWithoutTheFactorials(GammaPoissonModel):
    def predictive_scores(self, block, prepared):
        scores, n_held_out = super().predictive_scores(block, prepared)
        return scores + gammaln(block[:, 1::2] + 1).sum(axis=1), n_held_out


@found_by("check_row_observed_counts_observations", "change with other powers")
class WithObservationsOfAPower(Changed):
    def changed(self, found, block, prepared, request):
        rows = request.powers.local * found.row_observed
        return {"row_observed": rows, "n_observed": rows.sum()}


# -- more mutations --------------------------------------------------------------------


@found_by(
    "check_natural_gradients_fit_finite_differences", "slope of the bound: expected"
)
class WithoutEntropies(Changed):
    def changed(self, found, block, prepared, request):
        shapes, _ = np.hsplit(found.local_parameters, 2)
        return bounds(found.row_bounds - ((1 - shapes) * psi(shapes)).sum(axis=1))

    def local_step(self, block, prepared, request):
        want = (*request.want, "local")
        return super().local_step(block, prepared, request._replace(want=want))


@found_by("check_natural_gradients_fit_finite_differences", "target - parameters")
class WithTheWrongStatistic(Changed):
    def changed(self, found, block, prepared, request):
        if found.statistics is None:
            return {}
        factors = np.repeat([1.0, 0.9], self.n_features)
        return {"statistics": Loadings(found.statistics.beta * factors)}


@found_by("check_powers_of_units_are_their_own", "row_bounds with powers of other")
class WithTheMeanPower(GammaPoissonModel):
    def local_step(self, block, prepared, request):
        powers = request.powers
        powers = powers._replace(local=np.mean(powers.local))
        return super().local_step(block, prepared, request._replace(powers=powers))


@found_by("check_steps_keep_what_they_are_given", "step changes the old parameters")
class SteppingInPlace(GammaPoissonModel):
    def step(self, globals_, statistics, scale, powers, rate, hyper):
        target = self.target(statistics, scale, powers, hyper).beta
        beta = globals_.beta
        beta *= 1 - rate
        beta += rate * target
        return globals_


@found_by("check_steps_keep_what_they_are_given", "of statistics changes them")
class ScalingStatisticsInPlace(GammaPoissonModel):
    def target(self, statistics, scale, powers, hyper):
        beta = statistics.beta
        beta *= scale
        return Loadings(self.prior(hyper).beta * powers.prior + beta)


@found_by("check_learned_priors_raise_the_bound", "update_hyper lowers the bound")
class LearningTheWrongWay(GammaPoissonModel):
    def update_hyper(self, hyper, globals_, statistics, scale, rate, powers):
        return Hyper(hyper.mean_count, hyper.rate * (1 + 3 * rate))


@found_by("check_what_is_not_finite_is_found", "expected False, got True")
class AlwaysFinite(GammaPoissonModel):
    def is_finite(self, globals_, hyper, prepared):
        return True


@found_by("check_parameters_are_picklable", "[Pp]ickle local object")
class WithPriorsThatDoNotPickle(GammaPoissonModel):
    def initial_hyper(self, X, sample_weight=None):
        class Local(Hyper):
            pass

        return Local(*super().initial_hyper(X, sample_weight))


@found_by("check_local_steps_repeat", "from call to call")
class WithRandomSteps(Changed):
    def changed(self, found, block, prepared, request):
        return bounds(found.row_bounds + np.random.default_rng().random(len(block)))


@found_by("check_local_steps_repeat", "from call to call")
class ChangingTheBlock(Changed):
    def changed(self, found, block, prepared, request):
        block += 1
        return {}


@found_by("check_want_changes_no_answer", "if only bound are requested")
class WithAnswersByWhatIsAsked(Changed):
    def changed(self, found, block, prepared, request):
        if "score" in request.want:
            return {}
        return bounds(found.row_bounds * (1 + 1e-12))


@found_by("check_stop_stops", "expected Stopped")
class ThatDoesNotStop(GammaPoissonModel):
    def factors(self, *arguments):
        stop, self.stop = self.stop, np.zeros(1, dtype=np.intc)
        try:
            return super().factors(*arguments)
        finally:
            self.stop = stop


@found_by("check_the_step_is_the_convex_combination", "a step of rate 0.3")
class WithoutTheScale(GammaPoissonModel):
    def step(self, globals_, statistics, scale, powers, rate, hyper):
        return super().step(globals_, statistics, 1.0, powers, rate, hyper)


@found_by("check_largest_rates_are_in_the_domain", "too large: a step of rate 1")
class WithAnyLargestRate(GammaPoissonModel):
    def largest_rate(self, globals_, statistics, scale, powers, hyper):
        return np.inf


@found_by("check_the_start_repeats", "initial_globals change if the model is started")
class StartingAtRandom(GammaPoissonModel):
    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        return super().initial_globals(X, np.random.RandomState(), hyper)


@found_by("check_the_start_repeats", "initial_hyper change if|the data change if")
class ChangingTheData(GammaPoissonModel):
    def initial_hyper(self, X, sample_weight=None):
        X += 1
        return super().initial_hyper(X, sample_weight)


@found_by("check_automatic_settings", "of a stream: expected a whole number.* got 0")
class WithEmptyBatches(GammaPoissonModel):
    def auto_batch_size(self, X, total):
        return 0 if total is None else 1


@found_by("check_automatic_settings", "expected a positive number, got nan")
class WithoutATemperature(GammaPoissonModel):
    def auto_temperature(self, hyper, X):
        return float("nan")


@found_by("check_local_step_has_its_fields", "at least one per row, 20, got 0")
class WithoutIterations(Changed):
    def changed(self, found, block, prepared, request):
        return {"n_iterations": 0}


@found_by("check_predictive_shapes", "no more than row_observed, got 16 in row 0")
class HoldingOutTooMuch(GammaPoissonModel):
    def predictive_scores(self, block, prepared):
        scores, n_held_out = super().predictive_scores(block, prepared)
        return scores, 4 * n_held_out


@pytest.mark.every(13)
@pytest.mark.parametrize(("mutation", "check", "fault"), MUTATIONS)
def test_a_mutation_is_found_and_its_fault_is_stated(mutation, check, fault):
    case = Case(*made(mutation), 0, log_likelihood)
    with pytest.raises(Exception, match=fault) as raised:
        checks()[check](case.fresh())
    assert not isinstance(raised.value, Skip)


@pytest.mark.deep
def test_a_mutation_fails_the_check_that_finds_it_and_no_other():
    mutation, check, _ = MUTATIONS[1].values
    model, X = made(mutation)
    results = check_model(model, X, log_likelihood=log_likelihood, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == [check]


# -- reports ---------------------------------------------------------------------------


class Refusing(GammaPoissonModel):
    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        raise TypeError("an integer is required")


def test_a_case_is_made_once_and_its_failure_reported_once():
    model, X = made(Refusing)
    first, *others = check_model(model, X, on_fail=None)
    assert (first["check_name"], first["status"]) == (
        "check_the_model_starts",
        "failed",
    )
    assert isinstance(first["exception"], TypeError)
    assert {r["reason"] for r in others} == {"check_the_model_starts failed"}
    assert {r["status"] for r in others} == {"skipped"}
    with pytest.raises(
        AssertionError,
        match=r"^check_the_model_starts: TypeError in initial_globals, line \d+ of .*"
        r"test_own_models.py: an integer is required$",
    ):
        check_model(model, X)


def test_checks_do_not_share_changed_objects():
    class Damaged(GammaPoissonModel):
        """A model whose local steps change their block, parameters and priors."""

        def prepare(self, globals_, hyper):
            prepared = super().prepare(globals_, hyper)
            globals_.beta[...] = np.nan
            return prepared

    case = Case(*made(GammaPoissonModel), 0)
    case.model.__class__ = Damaged
    fresh = case.fresh()
    fresh.local_step()
    assert np.isnan(fresh.globals_.beta).all()
    assert np.isfinite(case.globals_.beta).all()
    assert np.isfinite(case.fresh().globals_.beta).all()


# -- the parts of the contract ---------------------------------------------------------
def parts_of_the_contract():
    """Return names of required and optional methods and of capabilities, by title."""
    required = {
        name
        for name, method in vars(ConjugateModel).items()
        if name[0] != "_" and "raise NotImplementedError" in inspect.getsource(method)
    }
    optional = {name for name, value in vars(Options).items() if callable(value)}
    capabilities = set(_CAPABILITIES) | set().union(*_CAPABILITIES.values())
    return {"Required": required, "Optional": optional, "Capabilities": capabilities}


def test_the_contract_lists_required_methods():
    docstring = inspect.getdoc(ConjugateModel)
    for title, methods in parts_of_the_contract().items():
        paragraph = re.search(rf"^{title}.*?(?=\n\n)", docstring, re.S | re.M)[0]
        named = {*re.findall(r"[`\"](\w+)[`\"]", paragraph)} - {"dtype"}
        if title == "Required":  # except methods with a working default
            named -= {"step", "dense_vectors"}
        if title == "Capabilities":
            named -= {"capabilities"}
        assert named == methods, title


def test_the_page_lists_required_methods():
    page = Path(__file__).parents[1] / "doc" / "own_model.md"
    text = page.read_text(encoding="utf-8").partition("## Any other model")[2]
    for title, methods in parts_of_the_contract().items():
        table = re.search(rf"(\*\*|### ){title}.*?^\|.*?(?=\n\n)", text, re.S | re.M)[0]
        cells = [row.split("|")[1:-2] for row in re.findall(r"^\| `.*", table, re.M)]
        named = {*re.findall(r"`(\w+)[(`]", " ".join(sum(cells, [])))}
        if title == "Optional":
            named -= {"dense_vectors"}
        if title == "Capabilities":
            named = {*re.findall(r"`(\w+)`", " ".join(a + b for a, b, *_ in cells))}
        assert named == methods, title
