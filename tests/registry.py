"""Table with a row for each model; the tests that all models share use every row."""

import functools
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from fits import clicks_of, documents_of, new_model, ratings_of, samples_of, with_models
from likelihoods import of_clicks, of_documents, of_ratings, of_sums_of_features
from scipy import sparse
from sklearn.base import clone

import sktemper
from sktemper.learning_rates import AdaptiveRate, RobbinsMonro
from sktemper.moves import BirthMoves, Moves, MoveSequence, SplitMergeMoves
from sktemper.noise import GradientNoise, SVIPlusNoise
from sktemper.schedules import ExponentialSchedule
from sktemper.tempering import Annealing, Tempering

#: Checks of `check_model` that are skipped for a setting, for all models.
OF_FLOAT32 = {"check_natural_gradients_fit_finite_differences"}
OF_RANDOM_STEPS = {
    "check_blocks_add_up",
    "check_natural_gradients_fit_finite_differences",
    "check_order_of_rows_does_not_matter",
    "check_learned_priors_raise_the_bound",
    "check_powers_of_units_are_their_own",
    "check_row_bounds_count_states",
    "check_row_bounds_have_their_constants",
    "check_row_bounds_move_with_the_prior",
    "check_the_tempered_bound_rises",
}
NO_FEW_STATES = {"check_row_bounds_count_states"}
NO_MOVES = {"check_moves_are_proposed"}
LOG_C = {
    "log_partitions": "check_log_partition_is_zero_at_one",
    "map_partitions": "check_map_partition_is_zero_at_one",
    "current_partitions": "check_current_partition_is_zero_at_one",
    "complete_partitions": "check_complete_partition_is_zero_at_one",
}
NO_CRITICAL_TEMPERATURES = {"check_critical_temperatures_do_not_increase"}
NO_ITERATIONS = {"check_stop_stops"}
NO_LARGEST_RATES = {
    "check_invalid_parameters_are_found",
    "check_largest_rates_are_in_the_domain",
}
NO_LOCAL_WIDTH = {"check_local_parameters_have_their_width"}
NO_CONTINUOUS_LOCAL = {"check_row_bounds_move_with_the_prior"}
NO_HALVES = {"check_scores_do_not_see_what_is_held_out"}
NO_COUNTS = {"check_row_observed_counts_observations"}
NO_LIKELIHOODS = {"check_scores_are_not_better_than_the_bound"}
OF_MIXTURES = NO_LOCAL_WIDTH | NO_CONTINUOUS_LOCAL | NO_HALVES
#: Prefixes of the three estimators of a model: any tempering, annealing, gradient
#: noise.
KINDS = ("Tempered", "Annealed", "SVIPlus")
#: The same for models without a class of SVI+.
WITHOUT_SVI_PLUS = KINDS[:2]


#: Parameters for few passes without a warning that the start still has an effect.
FEW = {"n_components": 3, "max_iter": 6}
QUICK = FEW | {"learning_rate": RobbinsMonro(offset=1)}
TARGETS = ("local_step", "likelihood", "posterior")
SHORT = {"n_components": 3, "max_iter": 9}
BRIEF = {"n_components": 3, "max_iter": 8, "moves": BirthMoves(n_moves=2)}
FEW_MOVES = MoveSequence([SplitMergeMoves(3, n_iter=2), BirthMoves(2, n_iter=2)])


class Setting(NamedTuple):
    """Parameters and data for which `check_model` tests the contract of a model.

    Attributes
    ----------
    parameters : dict
    data : callable
        Function from the data of the row to the data of the setting.
    skips : set
        Names of checks that do not apply, in addition to the row's.
    attributes : dict
        As those of the row, which they replace.
    """

    parameters: dict = {}
    data: Callable = lambda X: X
    skips: frozenset = frozenset()
    attributes: dict = {}

    def together_with(self, other):
        """Return a setting with the parameters of both, on the data of both."""
        return Setting(
            self.parameters | other.parameters,
            lambda X: other.data(self.data(X)),
            self.skips | other.skips,
            self.attributes | other.attributes,
        )


class Configuration(NamedTuple):
    """An estimator on which scikit-learn's checks run.

    Attributes
    ----------
    kind : str
        One of the row's kinds.
    parameters : dict
    may_pass : bool
        Whether weights of rows may equal repetitions although `expected_failed_checks`
        says that they need not, as all components become equal, for instance.
    """

    kind: str
    parameters: dict = {}
    may_pass: bool = False


class Row(NamedTuple):
    """A model.

    Attributes
    ----------
    name : str
        Name of the estimators, without Tempered, Annealed and SVIPlus.
    data : callable
        Function from a number of samples to read-only data.
    n_many : int
        Number of samples that fill three blocks.
    parameters : dict
        Parameters with which a fit takes milliseconds.
    exact : dict
        Parameters with which iterations converge to the optimum, for `check_model`.
    attributes : dict
        Attributes of the model that do the same, where no parameter does.
    settings : dict of str to Setting
        Settings in which `check_model` runs.
    skips : set
        Names of checks of `check_model` that never apply to the model.
    moves : object or None
        Moves for a short fit, or None if the model makes no moves.
    others : dict of str to dict
        Parameters of other variants in tests of combinations.
    fixed_by_fit : dict
        Parameters that cannot change after a fit, with values that are not defaults.
    kinds : tuple of str
        Prefixes of the names of its estimators; ("",) means a single estimator.
    log_likelihood : callable or None
        Argument of `check_model`, for a model whose scores are not those of whole rows.
    configurations : tuple of Configuration
        Configurations for scikit-learn's checks; the first runs all of them. If empty,
        all kinds with `parameters` and few moves are used.
    """

    name: str
    data: Callable
    n_many: int
    parameters: dict
    exact: dict
    settings: dict
    skips: set
    moves: object = None
    others: dict = {}
    fixed_by_fit: dict = {}
    kinds: tuple = KINDS
    log_likelihood: Callable | None = None
    configurations: tuple = ()
    attributes: dict = {}

    def for_sklearn(self):
        """Yield estimators for scikit-learn's checks, and whether all may pass."""
        # SVI+ keeps its default moves: with noise, fits to weighted and to repeated
        # rows are equal only after enough moves.
        few = {kind: {"moves": FEW_MOVES} for kind in self.kinds if kind != "SVIPlus"}
        configurations = self.configurations or [
            Configuration(
                kind,
                self.parameters
                | {"max_iter": 8}
                | (few.get(kind, {}) if self.moves else {}),
            )
            for kind in self.kinds
        ]
        for kind, parameters, may_pass in configurations:
            yield getattr(sktemper, kind + self.name)(**parameters), may_pass

    @property
    def has_policies(self):
        """Whether the estimators have parameters for temperatures and noise."""
        return len(self.kinds) > 1

    def estimator(self, kind=KINDS[0], **parameters):
        """Return an estimator of one kind, or the only one, for a short fit."""
        kind = kind if self.has_policies else ""
        if kind == "SVIPlus" and kind not in self.kinds:  # the same by a policy
            size = parameters.pop("effective_batch_size", 0.5)
            noise = SVIPlusNoise(
                size, parameters.pop("noise_distribution", "dirichlet")
            )
            kind = "Tempered"
            parameters = {"tempering": None, "gradient_noise": noise, **parameters}
        cls = getattr(sktemper, kind + self.name)
        if kind == "Tempered" and "log_partitions" not in self.capabilities():
            parameters = {"tempering": None, **parameters}  # replaces the default
        return cls(**{"random_state": 0, **self.parameters, **parameters})

    def capabilities(self, known={}):  # noqa: B006, a cache
        """Return the names of the capabilities of the model."""
        if self.name in known:
            return known[self.name]
        kind = "Annealed" if self.has_policies else ""
        estimator = getattr(sktemper, kind + self.name)(**self.parameters)
        X = estimator._validate_training(self.data(120), reset=True)
        model = new_model(estimator, X.shape[1])
        return known.setdefault(self.name, model.capabilities())

    def can(self, *policies):
        """Return whether estimators of the model support the given policies."""
        taken = () if self.has_policies else (Tempering, GradientNoise, Moves)
        if any(isinstance(policy, taken) for policy in policies):
            return False
        required = {need for p in policies for need in getattr(p, "requires", ())}
        return required <= self.capabilities()

    def pairs(self):
        """Return the settings of each two that set different parameters."""
        usual = Setting()
        return {
            f"{first} and {second}": one.together_with(other)
            for (first, one), (second, other) in combinations(self.settings.items(), 2)
            if usual not in (one, other)
            and one.parameters.keys().isdisjoint(other.parameters)
            and with_short_rows not in (one.data, other.data)  # has its own types
        }

    def checked(self, setting):
        """Return the arguments of `check_model` in a setting, and skipped checks."""
        estimator = self.estimator(**{**self.exact, **setting.parameters})
        estimator = with_attributes(estimator, self.attributes | setting.attributes)
        X = setting.data(self.data(120)[:40])
        skips = self.skips | setting.skips
        skips = skips | {LOG_C[key] for key in LOG_C.keys() - self.capabilities()}
        if "critical_temperatures" not in self.capabilities():
            skips = skips | NO_CRITICAL_TEMPERATURES
        return clone(estimator), X, skips


def with_attributes(estimator, attributes):
    """Return an estimator whose models have the given attributes."""
    return with_models(clone(estimator), lambda model: vars(model).update(attributes))


# -- data ------------------------------------------------------------------------------


@functools.cache
def clusters_of(n_samples=120):
    """Four clusters in three dimensions; read-only."""
    random = np.random.default_rng(0)
    centres = np.array([[0, 0, 0], [6, 0, 0], [0, 5, 1], [1, 1, 9]])
    X = centres[np.arange(n_samples) % 4] + random.normal(size=(n_samples, 3))
    X.flags.writeable = False
    return X


@functools.cache
def answers_of(n_samples=120):
    """Yes or no to twelve questions, by three kinds of respondents; read-only."""
    random = np.random.default_rng(0)
    chances = random.beta(0.5, 0.5, size=(3, 12))
    X = (random.random((n_samples, 12)) < chances[np.arange(n_samples) % 3]) * 1.0
    X.flags.writeable = False
    return X


@functools.cache
def mixed_of(n_samples=120):
    """Options, counts and numbers with gaps, of three kinds of rows; read-only."""
    random = np.random.default_rng(0)
    kind = np.arange(n_samples) % 3
    chances = random.dirichlet(np.full(4, 0.5), size=(3, 2))
    options = [
        (chances[kind, j].cumsum(axis=1) < random.random((n_samples, 1))).sum(axis=1)
        for j in range(2)
    ]
    yes = random.random((n_samples, 3)) < random.beta(0.5, 0.5, size=(3, 3))[kind]
    counts = random.poisson(np.array([1.0, 5.0, 30.0])[kind])
    numbers = (
        random.normal(size=(n_samples, 2)) + 2.0 * random.normal(size=(3, 2))[kind]
    )
    X = np.column_stack([*options, yes, counts, numbers])
    X[random.random(X.shape) < 0.1] = np.nan
    X.flags.writeable = False
    return X


def single(X):
    return X.astype(np.float32)


def double(X):
    return X.astype(np.float64)


def dense(X):
    return X.toarray().astype(np.float64)


def with_short_rows(X):
    """Cut the last ten documents after four words, for exact sums over their topics."""
    X = X.toarray()
    for row in X[-10:]:
        row[:] = np.bincount(np.repeat(np.arange(len(row)), row)[:4], minlength=60)
    return sparse.csr_array(X.astype(np.float64))


def with_gaps(X):
    X = np.array(X)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return X


def with_nan(X):
    """Return the ratings as an array with NaN for missing ratings."""
    filled = np.full(X.shape, np.nan, X.dtype)
    filled[X.nonzero()] = X.data
    return filled


# -- settings --------------------------------------------------------------------------


def of_types(suffix="", *others, **values):
    """Return a setting for each value of a parameter, with other data and skips."""
    ((name, values),) = values.items()
    return {
        f"{name}={value}{suffix}": Setting({name: value}, *others) for value in values
    }


COVARIANCES = ("full", "tied", "diag", "spherical")
WEIGHTS = ("dirichlet_process", "dirichlet_distribution")
OTHER_WEIGHTS = {
    "weight_concentration_prior_type": "dirichlet_distribution",
    "weight_concentration_prior": 0.7,
}
OTHER_DISCRETE = {"feature_prior": 0.7, "weight_concentration_prior": 0.7}
OTHER_VARIANCES = {"noise_variance": 0.7, "component_variance": 0.7}
SINGLE = {"float32": Setting({}, single, OF_FLOAT32)}

GAUSSIAN_MIXTURE = Row(
    "GaussianMixture",
    clusters_of,
    2500,
    {"n_components": 3},
    {"reg_covar": 0.0},  # the floor is no part of the bound
    {
        **{
            f"{kind}, {weights}": Setting(
                {"covariance_type": kind, "weight_concentration_prior_type": weights}
            )
            for kind in COVARIANCES
            for weights in WEIGHTS
        },
        **of_types(", float32", single, OF_FLOAT32, covariance_type=COVARIANCES),
        **of_types(", NaN", with_gaps, covariance_type=COVARIANCES),
        "one component": Setting({"n_components": 1}),
    },
    OF_MIXTURES,
    moves=BirthMoves(n_moves=2),
    fixed_by_fit={
        "covariance_type": "tied",
        "mean_precision_prior": 0.7,
        "mean_prior": np.ones(3),
        "degrees_of_freedom_prior": 9.0,
        "covariance_prior": np.eye(3),
        "priors": "scikit-learn",
        "reg_covar": 0.7,
        **OTHER_WEIGHTS,
    },
    others={"tied": {"covariance_type": "tied", **OTHER_WEIGHTS}},
    configurations=(
        Configuration(
            "Tempered",
            {**FEW, "tempering": None, "covariance_type": "tied", "n_init": 2},
        ),
        Configuration(
            "Annealed", {**FEW, "moves": FEW_MOVES, "covariance_type": "full"}
        ),
        Configuration("SVIPlus", {"max_iter": 9}),
        Configuration("Tempered"),
        Configuration("Annealed"),
        Configuration("Annealed", {**FEW, "moves": FEW_MOVES}),
        *(
            Configuration(
                "Annealed",
                {"n_components": 4, "max_iter": 20, "moves": FEW_MOVES, **well_posed},
            )
            for well_posed in (
                {"init_params": "random_from_data", "covariance_type": "full"},
                {"covariance_type": "diag"},
                {"priors": "scikit-learn"},
            )
        ),
        Configuration(
            "Tempered",
            {"n_components": 3, "init_params": "random", "covariance_type": "diag"},
        ),
        Configuration(
            "Annealed",
            {
                **QUICK,
                "target": "posterior",
                "moves": None,
                "covariance_type": "spherical",
                "batch_size": "auto",
            },
        ),
        Configuration(
            "SVIPlus",
            {
                **FEW,
                "batch_size": 5,
                "noise_distribution": "gaussian",
                "tempering": "local",
                "covariance_type": "diag",
                "weight_concentration_prior_type": "dirichlet_distribution",
            },
        ),
    ),
)
STUDENT_MIXTURE = Row(
    "StudentMixture",
    clusters_of,
    2500,
    {"n_components": 3},
    {},
    {
        **of_types(covariance_type=COVARIANCES),
        **of_types(", float32", single, OF_FLOAT32, covariance_type=COVARIANCES[:3]),
        "given": Setting({"degrees_of_freedom": 3.0, **OTHER_WEIGHTS}),
        "one component": Setting({"n_components": 1}),
    },
    NO_LOCAL_WIDTH | NO_HALVES,
    moves=BirthMoves(n_moves=2),
    fixed_by_fit={
        "covariance_type": "tied",
        "degrees_of_freedom": 3.0,
        "reg_covar": 0.7,
        **OTHER_WEIGHTS,
    },
    others={"tied": {"covariance_type": "tied", "degrees_of_freedom": 3.0}},
    kinds=WITHOUT_SVI_PLUS,
)
EXACT_LDA = {"mean_change_tol": 1e-13, "max_doc_update_iter": 10_000}
LDA = Row(
    "LDA",
    documents_of,
    1100,
    {"n_components": 3},
    EXACT_LDA | {"doc_update": "variational"},
    {
        "sparse": Setting({}, with_short_rows),
        "dense": Setting({}, dense, NO_FEW_STATES),
        "float32": Setting(
            {"mean_change_tol": 1e-5, "max_doc_update_iter": 1000},
            single,
            OF_FLOAT32 | NO_FEW_STATES,
        ),
        "priors of each topic and word": Setting(
            {
                "doc_topic_prior": np.array([0.2, 0.5, 1.3]),
                "topic_word_prior": np.linspace(0.1, 0.4, 60),
            },
            with_short_rows,
        ),
        "prior by length": Setting({"doc_topic_prior": "auto"}, with_short_rows),
        "sampled": Setting({"doc_update": "sampled"}, double, OF_RANDOM_STEPS),
        "sampled, float32": Setting({"doc_update": "sampled"}, single, OF_RANDOM_STEPS),
    },
    NO_MOVES | NO_LOCAL_WIDTH,
    others={"sampled": {"doc_update": "sampled"}},
    fixed_by_fit={
        "doc_topic_prior": np.full(3, 0.7),
        "topic_word_prior": np.full(60, 0.7),
    },
    log_likelihood=of_documents,
    configurations=(
        *(Configuration("Annealed", {**QUICK, "target": target}) for target in TARGETS),
        Configuration("Tempered", QUICK),
        Configuration(
            "Tempered", {**QUICK, "tempering": None, "init_params": "random"}
        ),
        # the data of the checks are noise, so that all components become equal
        Configuration(
            "Tempered", {**QUICK, "tempering": "local", "init_params": "random"}, True
        ),
        Configuration("Tempered", {**QUICK, "tempering": Annealing(), "n_init": 2}),
        Configuration("SVIPlus", {**QUICK, "init_params": "random"}),
        Configuration(
            "SVIPlus",
            {**QUICK, "noise_distribution": "gaussian", "tempering": "global"},
        ),
        Configuration(
            "Annealed",
            {
                "n_components": 3,
                "max_iter": 40,
                "learning_rate": AdaptiveRate(max_rate=1.0, n_warmup_batches=2),
                "init_params": "random",
            },
        ),
        Configuration(
            "Annealed", {"n_components": 3, "max_iter": 10, "batch_size": None}
        ),
    ),
)


def converging(tol, max_iter):
    """Return the attributes of a factorial mixture whose sweeps have these limits."""
    return {"tol": tol, "local_tol": tol, "max_iter": max_iter}


FACTORIAL_MIXTURE = Row(
    "FactorialMixture",
    samples_of,
    4500,
    {"n_components": 3, "moves": None},
    {},
    {
        **of_types(posterior=("structured", "factorized")),
        "NaN": Setting({}, with_gaps),
        "NaN, factorized": Setting({"posterior": "factorized"}, with_gaps),
        "float32": Setting({}, single, OF_FLOAT32, converging(1e-6, 1000)),
        "as given": Setting(
            {"inclusion_probability": [0.2, 0.4, 0.6], "noise_variance": 0.02}
        ),
    },
    NO_CONTINUOUS_LOCAL | NO_HALVES,
    moves=BirthMoves(n_moves=2),
    fixed_by_fit={
        "inclusion_probability": 0.4,
        "posterior": "factorized",
        **OTHER_VARIANCES,
    },
    others={
        "factorized": {
            "posterior": "factorized",
            "noise_variance": 0.02,
            "inclusion_probability": 0.4,
        }
    },
    log_likelihood=of_sums_of_features,
    configurations=(
        # at higher temperatures, components differ only by rounding errors
        *(
            Configuration(
                "Annealed",
                {**BRIEF, "target": target, "schedule": ExponentialSchedule(start=2.0)},
            )
            for target in TARGETS
        ),
        Configuration("Tempered", {**BRIEF, "posterior": "factorized", "n_init": 2}),
        Configuration(
            "Tempered", {"n_components": 3, "max_iter": 8, "tempering": "local"}
        ),
        Configuration(
            "Tempered",
            {**BRIEF, "tempering": None, "gradient_noise": SVIPlusNoise()},
            True,
        ),
        Configuration("Tempered", {**QUICK, "batch_size": "auto"}),
    ),
    kinds=WITHOUT_SVI_PLUS,
    attributes=converging(1e-13, 10_000),
)
MATRIX_FACTORIZATION = Row(
    "MatrixFactorization",
    ratings_of,
    9000,
    {"n_components": 3},
    {},
    {
        **{
            f"{noise} noise, {'biases' if biases else 'no biases'}": Setting(
                {"noise_type": noise, "biases": biases}
            )
            for noise in ("common", "user")
            for biases in (True, False)
        },
        "float32": Setting({}, single, OF_FLOAT32),
        "NaN": Setting({}, with_nan),
    },
    NO_MOVES,
    log_likelihood=of_ratings,
    fixed_by_fit={
        "biases": False,
        "global_mean": 2.0,
        "noise_type": "common",
        "init": np.ones((3, 15)),
        **OTHER_VARIANCES,
    },
    others={
        "as given": {
            "biases": False,
            "global_mean": 3.0,
            "noise_variance": 0.1,
            "component_variance": 1.0,
        }
    },
    configurations=(
        Configuration("Tempered", SHORT),
        Configuration("Tempered", {**SHORT, "tempering": None, "biases": False}),
        Configuration("Tempered", {**SHORT, "tempering": "local", "n_init": 2}),
        Configuration("Annealed", {**QUICK, "batch_size": "auto"}),
        Configuration("Annealed", {**SHORT, "target": "posterior"}),
        Configuration("SVIPlus", SHORT),
        Configuration(
            "SVIPlus", {**QUICK, "batch_size": 10, "noise_distribution": "gaussian"}
        ),
    ),
)
IMPLICIT_FACTORIZATION = Row(
    "ImplicitFactorization",
    clicks_of,
    700,
    {"n_components": 3},
    {},
    {
        "sparse": Setting(),
        "dense": Setting({}, dense),
        "float32": Setting(
            {}, single, OF_FLOAT32 | {"check_fisher_product_fits_finite_differences"}
        ),
        "weights and targets": Setting({"pair_target": np.sqrt, "zero_weight": 0.3}),
    },
    NO_MOVES | NO_LARGEST_RATES | NO_HALVES | NO_COUNTS | NO_LIKELIHOODS,
    others={"one weight": {"pair_weight": 2.0, "pair_target": "value"}},
    kinds=("",),
    log_likelihood=of_clicks,
    fixed_by_fit={"zero_weight": 0.7, "init": np.ones((3, 15))},
    configurations=(
        Configuration("", SHORT),
        Configuration("", {**QUICK, "batch_size": "auto", "zero_weight": 0.5}),
    ),
)
MULTINOMIAL_MIXTURE = Row(
    "MultinomialMixture",
    documents_of,
    8500,
    {"n_components": 3},
    {},
    {
        "sparse": Setting(),
        "dense": Setting({}, dense),
        "float32": Setting({}, single, OF_FLOAT32),
    },
    OF_MIXTURES | NO_ITERATIONS,
    moves=BirthMoves(n_moves=2),
    fixed_by_fit=OTHER_DISCRETE,
    kinds=WITHOUT_SVI_PLUS,
)
BERNOULLI_MIXTURE = MULTINOMIAL_MIXTURE._replace(
    name="BernoulliMixture",
    data=answers_of,
    n_many=2500,
    settings={
        "default": Setting(),
        "NaN": Setting({}, with_gaps),
        "float32": Setting({}, single, OF_FLOAT32),
    },
    fixed_by_fit=OTHER_DISCRETE | {"binarize": 0.7},
)
MIXED_MIXTURE = Row(
    "MixedMixture",
    mixed_of,
    2500,
    {"n_components": 3, "kinds": {5: "poisson", 7: "binned"}},
    {},
    {
        "default": Setting(),
        "float32": Setting({}, single, OF_FLOAT32),
        "by type": Setting({"kinds": "from_dtype"}),
        "histogram": Setting({"kinds": {5: "histogram", 6: "histogram"}}),
        "numbers": Setting({"kinds": "gaussian"}),
    },
    OF_MIXTURES | NO_ITERATIONS,
    moves=BirthMoves(n_moves=2),
    fixed_by_fit={
        "kinds": "poisson",
        "categories": {0: [0, 1, 2]},
        "n_bins": 7,
        **OTHER_DISCRETE,
    },
    configurations=tuple(
        Configuration(
            kind, {"n_components": 3, "max_iter": 8, "kinds": of_columns}, True
        )
        for kind, of_columns in (
            ("Tempered", "binned"),
            ("Annealed", "from_dtype"),
            ("Tempered", "gaussian"),
        )
    ),
    kinds=WITHOUT_SVI_PLUS,
)

ROWS = {
    row.name: row
    for row in (
        LDA,
        FACTORIAL_MIXTURE,
        MATRIX_FACTORIZATION,
        IMPLICIT_FACTORIZATION,
        GAUSSIAN_MIXTURE,
        STUDENT_MIXTURE,
        MULTINOMIAL_MIXTURE,
        BERNOULLI_MIXTURE,
        MIXED_MIXTURE,
    )
    if hasattr(sktemper, row.kinds[0] + row.name)
}
#: From the name of every estimator to its row and its kind.
ESTIMATORS = {
    f"{kind}{row.name}": (row, kind) for row in ROWS.values() for kind in row.kinds
}
