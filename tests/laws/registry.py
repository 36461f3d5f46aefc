"""The subjects of the laws: estimators with settings, and functions with results.

`SUBJECTS` has each estimator of the tests' registry with pairs of its options, and data
that are drawn anew for each law.  `RESULTS` has each public function and method that
returns densities, p-values, intervals, labels, alarms or tables.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from registry import ESTIMATORS
from scipy import sparse


class Subject(NamedTuple):
    """An estimator with settings.

    Attributes
    ----------
    name : str
    make : callable
        Function from parameters to a new estimator.
    draw : callable
        Function from a `numpy.random.Generator` and a number of rows to new data.
    row : Row
        Its row in the registry of the tests.
    kind : str
        "Annealed", "Tempered", "SVIPlus" or "".
    """

    name: str
    make: Callable
    draw: Callable
    row: NamedTuple
    kind: str


class Result(NamedTuple):
    """A public function or method that returns results.

    Attributes
    ----------
    name : str
        Name with its module or class, such as "inspection.topic_regression".
    returns : set of str
        Of "density", "p-value", "interval", "alarm", "label", "number", "words" and
        "table".
    """

    name: str
    returns: frozenset


def weighted_parts(random, X):
    """Return data in one part or two, and unequal weights of their rows."""
    weight, place = random.gamma(2.0, size=X.shape[0]), random.integers(1, X.shape[0])
    return [X, [X[:place], X[place:]]][random.integers(2)], weight


# -- data ------------------------------------------------------------------------------
# Clusters have unequal sizes and scales, and columns unequal units and places.


def shares_of(random, n_clusters=3):
    """Return unequal shares of clusters."""
    return random.dirichlet(np.full(n_clusters, 4.0))


def numbers(random, n_rows=120, n_columns=3):
    """Draw clusters of numbers, in units that differ between columns."""
    y = random.choice(3, size=n_rows, p=shares_of(random))
    centres = random.normal(0, 6, size=(3, n_columns))
    X = centres[y] + random.gamma(4, 0.25, size=(3, n_columns))[y] * random.normal(
        size=(n_rows, n_columns)
    )
    return X * 10.0 ** random.integers(-2, 3, n_columns) + random.normal(0, 10)


def answers(random, n_rows=120):
    chances = random.beta(0.5, 0.5, size=(3, 12))
    y = random.choice(3, size=n_rows, p=shares_of(random))
    return (random.random((n_rows, 12)) < chances[y]) * 1.0


def mixed(random, n_rows=120):
    """Draw options, yes or no, counts and numbers, with gaps."""
    y = random.choice(3, size=n_rows, p=shares_of(random))
    chances = random.dirichlet(np.full(4, 0.5), size=(3, 2))
    options = [[random.choice(4, p=chances[k, j]) for k in y] for j in range(2)]
    yes = random.random((n_rows, 3)) < random.beta(0.5, 0.5, size=(3, 3))[y]
    counts = random.poisson(random.gamma(1.0, 10.0, size=3)[y])
    values = random.normal(size=(n_rows, 2)) + 3.0 * random.normal(size=(3, 2))[y]
    values[:, 0] = np.exp(values[:, 0])  # for the kind "lognormal"
    X = np.column_stack([*options, yes, counts, values])
    X[random.random(X.shape) < 0.1] = np.nan
    return X


def documents(random, n_rows=120, n_words=60):
    topics = random.dirichlet(np.full(n_words, 0.1), size=4)
    weights = random.dirichlet(np.full(4, 0.2), size=n_rows)
    lengths = random.poisson(random.gamma(2.0, 15.0, size=n_rows))
    probabilities = weights @ topics
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return sparse.csr_array(random.multinomial(lengths, probabilities).astype(np.int32))


def features(random, n_rows=120):
    chances = random.uniform(0.2, 0.6, size=3)
    present = random.random((n_rows, 3)) < chances
    return present @ random.normal(0, 2, size=(3, 6)) + random.normal(
        0, 0.3, size=(n_rows, 6)
    )


def ratings(random, n_rows=120, n_items=15):
    users, items = random.normal(size=(n_rows, 2)), random.normal(size=(n_items, 2))
    X = np.clip(np.rint(3 + users @ items.T + random.normal(0, 0.5, 15)), 1, 5)
    X[random.random(X.shape) < 0.5] = 0
    return sparse.csr_array(X)


def clicks(random, n_rows=120, n_items=15):
    affinity = random.normal(size=(n_rows, 2)) @ random.normal(size=(2, n_items))
    return sparse.csr_array(random.poisson(np.exp(affinity - 1.0)).astype(float))


# -- strange numbers: functions from a generator and rows to rows and their weights ----
def other_units(random, X):
    return X * 10.0 ** random.integers(-40, 41, X.shape[1]), None


def one_far(random, X):
    X = X.copy()
    X[random.integers(len(X)), random.integers(X.shape[1])] = 10 ** random.uniform(
        3, 59
    )
    return X, None


def ties(random, X):
    return X[random.integers(min(3, len(X)), size=len(X))], None


def constant_column(random, X):
    X = X.copy()
    X[:, random.integers(X.shape[1])] = random.normal()
    return X, None


def few(random, X):
    return X[: random.integers(1, X.shape[1] + 2)], None


def weighted(random, X):
    return X, 10 ** random.uniform(-3, random.choice([1, 6, 14]), len(X))


def variances_and_condition(usual):
    """Return the scatter of columns, and the condition of their correlations."""
    scales, D = np.asarray(usual.inverse_scale), usual.means.shape[1]
    if scales.ndim < 2 or scales.shape[-2:] != (D, D):
        return scales[..., None] if scales.ndim < 2 else scales, 1.0
    units = np.sqrt(np.diagonal(scales, axis1=-2, axis2=-1))
    correlations = scales / units[..., None] / units[..., None, :]
    return units**2, np.linalg.cond(correlations).max()


STRANGE = [other_units, one_far, ties, constant_column, few, weighted]

DRAWS = {
    "LDA": documents,
    "FactorialMixture": features,
    "MatrixFactorization": ratings,
    "ImplicitFactorization": clicks,
    "GaussianMixture": numbers,
    "StudentMixture": numbers,
    "MultinomialMixture": documents,
    "BernoulliMixture": answers,
    "MixedMixture": mixed,
}
#: Options that are combined with each other, beside those of the tests' registry.
COVARIANCES = ("full", "tied", "diag", "spherical")
OPTIONS = {
    "GaussianMixture": [
        *({"covariance_type": kind} for kind in (*COVARIANCES, "low_rank", "auto")),
        {
            "covariance_type": "tied",
            "weight_concentration_prior_type": "dirichlet_distribution",
        },
        {"covariance_type": "full", "priors": "scikit-learn"},
        {"covariance_type": "diag", "reg_covar": 0.0},
    ],
    "StudentMixture": [
        *({"covariance_type": kind} for kind in COVARIANCES),
        {"covariance_type": "tied", "degrees_of_freedom": 4.0},
        {"covariance_type": "full", "reg_covar": 0.0},
    ],
    "LDA": [{}, {"doc_update": "sampled"}, {"doc_topic_prior": "auto"}],
    "FactorialMixture": [{"posterior": "structured"}, {"posterior": "factorized"}],
    "MatrixFactorization": [
        {"noise_type": "common"},
        {"noise_type": "user", "biases": False},
    ],
    "ImplicitFactorization": [{}, {"zero_weight": 0.3}],
    "MixedMixture": [
        {"kinds": "auto"},
        {"kinds": "from_dtype"},
        {"kinds": {5: "histogram", 6: "lognormal"}},
        {"kinds": "gaussian", "n_components": 2},
    ],
}


def _subject(name, options):
    row, kind = ESTIMATORS[name]

    def make(**parameters):
        return row.estimator(kind, **{**options, **parameters})

    title = ", ".join([name, *(f"{key}={value}" for key, value in options.items())])
    return Subject(title, make, DRAWS[row.name], row, kind)


#: Every estimator, with each of its options.
SUBJECTS = [
    _subject(name, options)
    for name, (row, _) in ESTIMATORS.items()
    for options in OPTIONS.get(row.name, [{}])
]
#: One estimator of each model, with each of its options.
MODELS = [subject for subject in SUBJECTS if subject.kind in ("Annealed", "")]

RESULTS = [
    Result("TemperedEstimator.score_samples", frozenset({"density"})),
]

# -- inference: `test_null` has a simulation of each without an effect -----------------
BOTH = frozenset({"p-value", "interval"})
INTERVALS = (
    "TopicRegression.shares ClassOutcomes.table MixtureMixin.profiles "
    "bootstrap_profiles WordContrasts.table TopicEffectsDisplay.from_regression "
    "TopicEffectsDisplay.from_shares WordContrastsDisplay.from_contrasts"
).split()
P_VALUES = "TopicRegression.tests ClassOutcomes.tests LikelihoodRatioTest".split()
REGRESSIONS = "TopicRegression.table ClassRegression.table"
RESULTS += [
    Result(name, BOTH)
    for name in (*REGRESSIONS.split(), "ClassRegression.marginal_effects")
]
RESULTS += [Result(name, frozenset({"interval"})) for name in INTERVALS]
RESULTS += [Result(name, frozenset({"p-value"})) for name in P_VALUES]
NUMBERS = "log_evidence", "bootstrap_n_components"
RESULTS += [Result(name, frozenset({"number"})) for name in NUMBERS]
RESULTS += [Result("alarms_", frozenset({"alarm"}))]
RESULTS += [Result("temperature_path", frozenset({"label", "number"}))]
