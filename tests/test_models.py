"""The contract of every model, and planted bugs that its checks must find."""

import copy
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
    model, X = planted(lambda cls: cls, row)
    case = Case(model, X, 0, row.log_likelihood)
    plain, state = case.local_step().statistics, (case.hyper, case.globals_)
    one = model.update_hyper(*state, plain, 1.0, 0.7, Powers())
    other = model.update_hyper(*state, plain.scaled(2.0), 0.5, 0.7, Powers())
    for found, expected in zip(numbers_in(other), numbers_in(one), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# -- planted bugs ----------------------------------------------------------------------


def wrong_metric(cls):
    """Plant natural gradients with a wrong metric."""

    class Model(cls):
        def fisher_product(self, globals_, vector):
            return 2.0 * np.asarray(super().fisher_product(globals_, vector))

    return Model


def lopsided_metric(cls):
    class Model(cls):
        def fisher_product(self, globals_, vector):
            product = np.array(super().fisher_product(globals_, vector))
            return product + 0.1 * np.abs(product).max() * np.roll(vector, 1)

    return Model


def step_without_prior(cls):
    class Model(cls):
        def step(self, globals_, statistics, scale, powers, rate, hyper):
            of_prior = self.target_parameters(statistics, 0.0, powers, hyper)
            moved = super().step(globals_, statistics, scale, powers, rate, hyper)
            vector = np.array(self.natural_parameters(moved))
            return self.from_natural_parameters(vector - 0.1 * rate * of_prior)

    return Model


def target_of_half_the_prior(cls):
    """Halve the prior everywhere, so that steps and targets agree."""

    class Model(cls):
        def target_parameters(self, statistics, scale, powers, hyper):
            powers = powers._replace(prior=0.5 * powers.prior)
            return super().target_parameters(statistics, scale, powers, hyper)

        def step(self, globals_, statistics, scale, powers, rate, hyper):
            powers = powers._replace(prior=0.5 * powers.prior)
            return super().step(globals_, statistics, scale, powers, rate, hyper)

    return Model


def prior_of_one_power(cls):
    class Model(cls):
        def target_parameters(self, statistics, scale, powers, hyper):
            powers = powers._replace(prior=1.0)
            return super().target_parameters(statistics, scale, powers, hyper)

    return Model


class Changed:
    """Mixin of models whose method `changed` changes the results of local steps."""

    def local_step(self, block, prepared, request):
        found = super().local_step(block, prepared, request)
        return self.changed(copy.copy(found), request.powers)


def row_bounds_that_depend_on_other_rows(cls):
    class Model(Changed, cls):
        def changed(self, found, powers):
            rows = found.row_bounds
            if len(rows):
                rows = rows + 1e-6 * (rows.mean() - rows)  # the sum does not change
            return replace(found, row_bounds=rows)

    return Model


def statistics_without_their_power(cls):
    class Model(cls):
        def local_step(self, block, prepared, request):
            powers = request.powers._replace(statistics=1.0)
            return super().local_step(block, prepared, request._replace(powers=powers))

    return Model


def statistics_of_the_local_power(cls):
    class Model(cls):
        def local_step(self, block, prepared, request):
            powers = request.powers
            powers = powers._replace(statistics=powers.statistics * powers.local)
            return super().local_step(block, prepared, request._replace(powers=powers))

    return Model


def global_bound_without_a_constant(cls):
    class Model(cls):
        def global_bound(self, *arguments, **others):
            return super().global_bound(*arguments, **others) + 0.7

    return Model


def rows_without_a_constant(cls):
    """Omit a constant of the log-likelihood, such as log(2 pi) / 2 of each value."""

    class Model(Changed, cls):
        def changed(self, found, powers):
            rows = found.row_bounds + 0.9 * powers.local * found.row_observed
            return replace(found, row_bounds=rows, bound=rows.sum())

    return Model


def rows_without_a_constant_of_the_prior(cls):
    class Model(Changed, cls):
        def changed(self, found, powers):
            rows = found.row_bounds - 0.5
            return replace(found, row_bounds=rows, bound=rows.sum())

    return Model


def unit_noise_ignored(cls):
    class Model(cls):
        def local_step(self, block, prepared, request):
            return super().local_step(
                block, prepared, request._replace(unit_noise=None)
            )

    return Model


def local_prior_of_one_power(cls):
    class Model(cls):
        def local_step(self, block, prepared, request):
            powers = request.powers._replace(prior=1.0)
            return super().local_step(block, prepared, request._replace(powers=powers))

    return Model


def one_shape_too_many(cls):
    class Model(cls):
        def hyper_shapes(self):
            return [*super().hyper_shapes(), ()]

    return Model


def one_local_parameter_too_many(cls):
    class Model(cls):
        @property
        def n_local(self):
            return vars(self)["n_local"] + 1

    return Model


def always_valid(cls):
    class Model(cls):
        def is_valid(self, globals_):
            return True

    return Model


def weights_ignored_at_the_start(cls):
    class Model(cls):
        def initial_hyper(self, X, sample_weight=None):
            return super().initial_hyper(X)

    return Model


def scores_of_no_parameters(cls):
    class Model(cls):
        def predictive_scores(self, block, prepared):
            _, n_held_out = super().predictive_scores(block, prepared)
            return -2.5 * n_held_out, n_held_out

    return Model


def scores_that_depend_on_held_out_counts(cls):
    """Make held-out scores bounds of whole rows, which depend on the held-out part."""

    class Model(cls):
        def predictive_scores(self, block, prepared):
            _, n_held_out = super().predictive_scores(block, prepared)
            step = self.local_step(block, prepared, Request(want=("bound",)))
            share = n_held_out / np.maximum(step.row_observed, 1)
            return share * step.row_bounds, n_held_out

    return Model


def observations_of_any_number(cls):
    class Model(Changed, cls):
        def changed(self, found, powers):
            rows = 1.0 + np.arange(found.n_rows)
            return replace(found, row_observed=rows, n_observed=rows.sum())

    return Model


def map_partition_of_two_draws(cls):
    """Add log 2, as if each value were counted twice."""

    class Model(cls):
        def map_partition(self, *arguments):
            return super().map_partition(*arguments) + np.log(2.0)

    return Model


def current_partition_per_state(cls):
    """Subtract log V, as if C(b) were a mean over words instead of a sum."""

    class Model(cls):
        def current_partition(self, *arguments):
            found = super().current_partition(*arguments)
            return found - np.log(self.n_features)

    return Model


#: For each bug, the check that finds it, and the models for which it does; None: all.
METRIC = "check_fisher_product_fits_finite_differences"
SEEN = "check_scores_do_not_see_what_is_held_out"
FACTORIZATIONS = {"MatrixFactorization", "ImplicitFactorization"}
OF_HALVES = {"LDA", "MatrixFactorization"}
#: Models that learn priors; in other models the priors are given.
LEARNED = {"FactorialMixture", "GaussianMixture", "StudentMixture"} | FACTORIZATIONS
BUGS = {
    wrong_metric: (METRIC, None),
    lopsided_metric: ("check_fisher_product_is_symmetric_and_positive", None),
    step_without_prior: ("check_the_step_is_the_convex_combination", None),
    target_of_half_the_prior: (METRIC, None),
    prior_of_one_power: ("check_the_prior_is_the_target_of_no_data", None),
    row_bounds_that_depend_on_other_rows: (
        "check_rows_do_not_depend_on_their_neighbours",
        None,
    ),
    statistics_without_their_power: ("check_statistics_scale", None),
    statistics_of_the_local_power: (
        "check_natural_gradients_fit_finite_differences",
        None,
    ),
    global_bound_without_a_constant: ("check_the_bound_of_the_prior_is_zero", None),
    rows_without_a_constant: ("check_row_bounds_have_their_constants", None),
    rows_without_a_constant_of_the_prior: ("check_row_bounds_count_states", None),
    unit_noise_ignored: ("check_unit_noise_weighs_what_units_tell", None),
    local_prior_of_one_power: (
        "check_row_bounds_move_with_the_prior",
        FACTORIZATIONS | {"LDA"},
    ),
    one_shape_too_many: ("check_hyper_has_its_shapes", None),
    one_local_parameter_too_many: (
        "check_local_parameters_have_their_width",
        FACTORIZATIONS | {"FactorialMixture"},
    ),
    always_valid: (
        "check_invalid_parameters_are_found",
        ROWS.keys() - {"ImplicitFactorization"},
    ),
    weights_ignored_at_the_start: ("check_weights_are_repetitions", LEARNED),
    scores_of_no_parameters: ("check_better_parameters_score_better", None),
    scores_that_depend_on_held_out_counts: (SEEN, OF_HALVES),
    map_partition_of_two_draws: ("check_map_partition_is_zero_at_one", {"LDA"}),
    current_partition_per_state: ("check_current_partition_is_zero_at_one", {"LDA"}),
    observations_of_any_number: (
        "check_row_observed_counts_observations",
        ROWS.keys() - {"ImplicitFactorization"},
    ),
}
#: Parts of the errors of some bugs.
FAULTS = {
    one_shape_too_many: r"expected \[.*\], got \[.*\]",
    one_local_parameter_too_many: r"expected \d+, .* got \d+",
    scores_of_no_parameters: "expected a sum of more than",
    scores_that_depend_on_held_out_counts: r"columns \d+ and \d+, which come nearest",
    observations_of_any_number: r"for row \d+, expected one of \d+",
}
PLANTED = [
    pytest.param(plant, check, row, id=f"{row.name}-{plant.__name__}")
    for plant, (check, names) in BUGS.items()
    for row in ROWS.values()
    if names is None or row.name in names
]


def planted(plant, row):
    """Return a model with a planted bug, and data."""
    estimator, X, _ = row.checked(next(iter(row.settings.values())))
    X = estimator._validate_training(X, reset=True)
    model = new_model(estimator, X.shape[1], estimator._compute_dtype(X))
    model.__class__ = plant(type(model))
    return model, X


@pytest.mark.parametrize(("plant", "check", "row"), PLANTED)
def test_a_planted_bug_is_found_by_name(plant, check, row):
    model, X = planted(plant, row)
    with pytest.raises(Exception, match=FAULTS.get(plant)) as caught:
        checks_of()[check](Case(model, X, 0, row.log_likelihood))
    assert caught.type is not Skip


def test_a_bug_is_raised_by_the_name_of_its_check():
    model, X = planted(global_bound_without_a_constant, ROWS["GaussianMixture"])
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
