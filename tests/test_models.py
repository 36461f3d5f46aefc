"""The contract of every model, and planted bugs that its checks must find."""

from dataclasses import replace

import numpy as np
import pytest
from fits import new_model
from registry import ESTIMATORS, ROWS

import sktemper
from sktemper._contract import numbers_in
from sktemper.model import Powers, Request
from sktemper.testing import check_model
from sktemper.testing import checks as checks_of
from sktemper.testing._case import Case, Skip

#: Settings of all models, and pairs of them; the first and every third setting of a
#: model are quick.
SETTINGS = [
    pytest.param(
        row,
        setting,
        id=f"{row.name}-{name}",
        marks=pytest.mark.deep if number % 3 or name not in row.settings else [],
    )
    for row in ROWS.values()
    for number, (name, setting) in enumerate((row.settings | row.pairs()).items())
]


def test_every_model_has_a_row():
    assert set(ESTIMATORS) == {name for name in sktemper.__all__ if name[0].isupper()}


@pytest.mark.parametrize(("row", "setting"), SETTINGS)
def test_the_model_passes_all_checks(row, setting):
    estimator, X, skipped = row.checked(setting)
    likelihood = row.log_likelihood
    results = check_model(estimator, X, log_likelihood=likelihood, on_fail=None)
    assert {result["check_name"] for result in results} >= set(checks_of())
    wrong = []
    for result in results:
        name, status = result["check_name"], result["status"]
        if status != ("skipped" if name in skipped else "passed"):
            error = AssertionError(f"{name} {status}: {result['reason']}")
            wrong.append(result["exception"] or error)
    if wrong:
        raise ExceptionGroup(f"{row.name}, {setting.parameters}", wrong)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_scaled_statistics_teach_the_same_priors(row):
    model, X = planted(row)
    case = Case(model, X, 0, row.log_likelihood)
    plain, state = case.local_step().statistics, (case.hyper, case.globals_)
    one = model.update_hyper(*state, plain, 1.0, 0.7, Powers())
    other = model.update_hyper(*state, plain.scaled(2.0), 0.5, 0.7, Powers())
    for found, expected in zip(numbers_in(other), numbers_in(one), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# -- planted bugs ----------------------------------------------------------------------

METRIC = "check_fisher_product_fits_finite_differences"
FACTORIZATIONS = {"MatrixFactorization", "ImplicitFactorization"}
#: Models that learn priors; in other models the priors are given.
LEARNED = {"FactorialMixture", "GaussianMixture", "StudentMixture"} | FACTORIZATIONS
PLANTED = []


def found_by(check, names=ROWS, fault=None):
    """Plant a mixin in models of these names; a check finds it, with this error."""

    def add(plant):
        PLANTED.extend(
            pytest.param(plant, check, fault, row, id=f"{row.name}-{plant.__name__}")
            for row in ROWS.values()
            if row.name in names
        )
        return plant

    return add


class OtherPowers:
    """Mixin of models whose local steps have the powers that `powers` returns."""

    def local_step(self, block, prepared, request):
        powers = request.powers._replace(**self.powers(request.powers))
        return super().local_step(block, prepared, request._replace(powers=powers))


class Changed:
    """Mixin of models whose method `changed` changes the results of local steps."""

    def local_step(self, block, prepared, request):
        found = super().local_step(block, prepared, request)
        return replace(found, **self.changed(found, request.powers))


def bounds(rows):
    return {"row_bounds": rows, "bound": rows.sum()}


@found_by(METRIC)
class WrongMetric:
    def fisher_product(self, globals_, vector):
        return 2.0 * np.asarray(super().fisher_product(globals_, vector))


@found_by("check_fisher_product_is_symmetric_and_positive")
class LopsidedMetric:
    def fisher_product(self, globals_, vector):
        product = np.array(super().fisher_product(globals_, vector))
        return product + 0.1 * np.abs(product).max() * np.roll(vector, 1)


@found_by("check_the_step_is_the_convex_combination")
class StepWithoutPrior:
    def step(self, globals_, statistics, scale, powers, rate, hyper):
        of_prior = self.target_parameters(statistics, 0.0, powers, hyper)
        moved = super().step(globals_, statistics, scale, powers, rate, hyper)
        vector = np.array(self.natural_parameters(moved))
        return self.from_natural_parameters(vector - 0.1 * rate * of_prior)


@found_by(METRIC)
class TargetOfHalfThePrior:
    """Halve the prior everywhere, so that steps and targets agree."""

    def target_parameters(self, statistics, scale, powers, hyper):
        powers = powers._replace(prior=0.5 * powers.prior)
        return super().target_parameters(statistics, scale, powers, hyper)

    def step(self, globals_, statistics, scale, powers, rate, hyper):
        powers = powers._replace(prior=0.5 * powers.prior)
        return super().step(globals_, statistics, scale, powers, rate, hyper)


@found_by("check_the_prior_is_the_target_of_no_data")
class PriorOfOnePower:
    def target_parameters(self, statistics, scale, powers, hyper):
        powers = powers._replace(prior=1.0)
        return super().target_parameters(statistics, scale, powers, hyper)


@found_by("check_rows_do_not_depend_on_their_neighbours")
class RowBoundsThatDependOnOtherRows(Changed):
    def changed(self, found, powers):
        rows = found.row_bounds
        if len(rows):
            rows = rows + 1e-6 * (rows.mean() - rows)  # the sum does not change
        return {"row_bounds": rows}


@found_by("check_statistics_scale")
class StatisticsWithoutTheirPower(OtherPowers):
    def powers(self, powers):
        return {"statistics": 1.0}


@found_by("check_natural_gradients_fit_finite_differences")
class StatisticsOfTheLocalPower(OtherPowers):
    def powers(self, powers):
        return {"statistics": powers.statistics * powers.local}


@found_by("check_row_bounds_move_with_the_prior", FACTORIZATIONS | {"LDA"})
class LocalPriorOfOnePower(OtherPowers):
    def powers(self, powers):
        return {"prior": 1.0}


@found_by("check_the_bound_of_the_prior_is_zero")
class GlobalBoundWithoutAConstant:
    def global_bound(self, *arguments, **others):
        return super().global_bound(*arguments, **others) + 0.7


@found_by("check_row_bounds_have_their_constants")
class RowsWithoutAConstant(Changed):
    """Omit a constant of the log-likelihood, such as log(2 pi) / 2 of each value."""

    def changed(self, found, powers):
        return bounds(found.row_bounds + 0.9 * powers.local * found.row_observed)


@found_by("check_row_bounds_count_states")
class RowsWithoutAConstantOfThePrior(Changed):
    def changed(self, found, powers):
        return bounds(found.row_bounds - 0.5)


@found_by("check_unit_noise_weighs_what_units_tell")
class UnitNoiseIgnored:
    def local_step(self, block, prepared, request):
        return super().local_step(block, prepared, request._replace(unit_noise=None))


@found_by("check_hyper_has_its_shapes", fault=r"expected \[.*\], got \[.*\]")
class OneShapeTooMany:
    def hyper_shapes(self):
        return [*super().hyper_shapes(), ()]


@found_by(
    "check_local_parameters_have_their_width",
    FACTORIZATIONS | {"FactorialMixture"},
    r"expected \d+, .* got \d+",
)
class OneLocalParameterTooMany:
    @property
    def n_local(self):
        return vars(self)["n_local"] + 1


@found_by("check_invalid_parameters_are_found", ROWS.keys() - {"ImplicitFactorization"})
class AlwaysValid:
    def is_valid(self, globals_):
        return True


@found_by("check_weights_are_repetitions", LEARNED)
class WeightsIgnoredAtTheStart:
    def initial_hyper(self, X, sample_weight=None):
        return super().initial_hyper(X)


@found_by("check_better_parameters_score_better", fault="expected a sum of more than")
class ScoresOfNoParameters:
    def predictive_scores(self, block, prepared):
        _, n_held_out = super().predictive_scores(block, prepared)
        return -2.5 * n_held_out, n_held_out


@found_by(
    "check_scores_do_not_see_what_is_held_out",
    {"LDA", "MatrixFactorization"},
    r"columns \d+ and \d+, which come nearest",
)
class ScoresThatDependOnHeldOutCounts:
    """Make held-out scores bounds of whole rows, which depend on the held-out part."""

    def predictive_scores(self, block, prepared):
        _, n_held_out = super().predictive_scores(block, prepared)
        step = self.local_step(block, prepared, Request(want=("bound",)))
        share = n_held_out / np.maximum(step.row_observed, 1)
        return share * step.row_bounds, n_held_out


@found_by(
    "check_row_observed_counts_observations",
    ROWS.keys() - {"ImplicitFactorization"},
    r"for row \d+, expected one of \d+",
)
class ObservationsOfAnyNumber(Changed):
    def changed(self, found, powers):
        rows = 1.0 + np.arange(found.n_rows)
        return {"row_observed": rows, "n_observed": rows.sum()}


#: Models whose log C does not depend on parameters, so that any word for it is right.
FIXED_LOG_C = {"FactorialMixture", "MatrixFactorization"}


@found_by("check_map_partition_is_zero_at_one", {"LDA"} | FIXED_LOG_C)
class MapPartitionOfTwoDraws:
    """Add log 2, as if each value were counted twice."""

    def map_partition(self, *arguments):
        return super().map_partition(*arguments) + np.log(2.0)


@found_by("check_current_partition_is_zero_at_one", {"LDA"} | FIXED_LOG_C)
class CurrentPartitionPerState:
    """Subtract log V, as if C(b) were a mean over words instead of a sum."""

    def current_partition(self, *arguments):
        return super().current_partition(*arguments) - np.log(self.n_features)


@found_by("check_complete_partition_is_zero_at_one", {"LDA"})
class CompletePartitionPerState:
    """The same for log C that has the topics of words."""

    def complete_current(self, *arguments):
        return super().complete_current(*arguments) - np.log(self.n_features)


def planted(row, *plants):
    """Return a model with planted bugs, and data."""
    estimator, X, _ = row.checked(next(iter(row.settings.values())))
    X = estimator._validate_training(X, reset=True)
    model = new_model(estimator, X.shape[1], estimator._compute_dtype(X))
    model.__class__ = type("Planted", (*plants, type(model)), {})
    return model, X


@pytest.mark.parametrize(("plant", "check", "fault", "row"), PLANTED)
def test_a_planted_bug_is_found_by_name(plant, check, fault, row):
    model, X = planted(row, plant)
    with pytest.raises(Exception, match=fault) as caught:
        checks_of()[check](Case(model, X, 0, row.log_likelihood))
    assert caught.type is not Skip


def test_a_bug_is_raised_by_the_name_of_its_check():
    model, X = planted(ROWS["GaussianMixture"], GlobalBoundWithoutAConstant)
    name = "check_the_bound_of_the_prior_is_zero"
    with pytest.raises(AssertionError, match=f"(?s)^{name}: .*where q is the prior"):
        check_model(model, X)
    with pytest.warns(UserWarning, match=f"^{name}: "):
        results = check_model(model, X, on_fail="warn")
    (failed,) = (r for r in results if r["status"] == "failed")
    assert failed["check_name"] == name
    assert isinstance(failed["exception"], AssertionError)
    with pytest.raises(ValueError, match="on_fail must be"):
        check_model(model, X, on_fail="fall")
