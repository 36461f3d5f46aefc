"""Invalid parameters: every estimator refuses them by name, before it is fitted."""

import itertools

import numpy as np
import pytest
from fits import Cdf
from registry import ESTIMATORS
from scipy import stats
from sklearn.utils._param_validation import InvalidParameterError

import sktemper
from sktemper.learning_rates import RobbinsMonro
from sktemper.moves import BirthMoves
from sktemper.schedules import ConstantSchedule, LinearSchedule, StepSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

POSITIVE = (0, -1.0, np.nan, np.inf, "symmetric")
WHOLE = (0, -1, 1.5, "all")
#: Values that every estimator with the parameter refuses.
BAD = {
    "n_components": (0, -1, 2.5, None, "auto"),
    "n_init": (*WHOLE, None),
    "n_start_components": WHOLE,
    "max_iter": (-1, 1.5, None),
    "batch_size": WHOLE,
    "total_samples": (0, 1.5, "auto"),
    "evaluate_every": (-1, 0.5, None),
    "validation_fraction": (0, 1, -0.1, None),
    "n_iter_no_change": (0, 0.5),
    "tol": (-1e-9, None),
    "shuffle": ("yes", None),
    "warm_start": ("no", None),
    "biases": ("yes", None),
    "n_jobs": (1.5, "all"),
    "random_state": ("seed", -1),
    "verbose": (-1, "loud"),
    "verbose_interval": WHOLE,
    "half_life": (0, -1, np.inf, np.nan, "30", "D", "0D", "3M", [1])
    + (np.timedelta64(3, "M"),),
    "learning_rate": (0, 1.5, -0.1, np.nan, "auto", RobbinsMonro)
    + (RobbinsMonro(decay=0.3),),
    "gradient_noise": (0.5, "dirichlet", RobbinsMonro()),
    "noise_distribution": ("nothing", None),
    "effective_batch_size": (0, 1.5, "auto"),
    "schedule": (2.0, 3, "linear", LinearSchedule, LinearSchedule(start=0))
    + (StepSchedule(ConstantSchedule(-1)),),
    "target": ("global", None, 1),
    "tempering": (2.0, "hot", LinearSchedule(), Annealing(2.0))
    + (Annealing(LinearSchedule(length=-1)),),
    "moves": ("split", 3, LinearSchedule(), BirthMoves(patience=0)),
    "init": (1.0, "pca"),
    "init_params": ("zeros", None),
    "doc_update": ("exact", None),
    "doc_topic_prior": POSITIVE,
    "topic_word_prior": POSITIVE,
    "mean_change_tol": (-1e-9, None),
    "max_doc_update_iter": (0, 1.5, None),
    "inclusion_probability": (0, 1, 1.5, "auto", np.nan),
    "noise_variance": POSITIVE,
    "component_variance": POSITIVE,
    "posterior": ("full", None),
    "local_cooling": (1.0, 0.5, "auto"),
    "global_mean": (np.inf, "auto"),
    "noise_type": ("item", None),
    "zero_weight": POSITIVE,
    "pair_weight": (0, -1.0, "square"),
    "pair_target": (np.inf, "square"),
    "covariance_type": ("round", None),
    "priors": ("flat", None),
    "reg_covar": (-1e-9, None),
    "weight_concentration_prior_type": ("uniform", None),
    "weight_concentration_prior": (0.0, 1e-17, 1e-30, -1.0),
    "mean_precision_prior": POSITIVE,
    "degrees_of_freedom_prior": (0, -1.0),
    "covariance_prior": (-1.0, "auto"),
    "degrees_of_freedom": (0.5, 0.0, -1.0, "many"),
    "feature_prior": (0.0, 1e-17, -1.0, "flat"),
    "binarize": (np.inf, "auto"),
    "n_bins": (1, 2.5, None),
}
#: Parameters that may be True or False, and one that scikit-learn itself checks.
FLAGS = {"shuffle", "warm_start", "biases", "verbose", "random_state"}


def cases_of(parameters):
    """Yield names of parameters and invalid values; a bool is no number."""
    if "means_init" not in parameters:  # others need a pass
        yield "max_iter", 0
    for parameter in parameters:
        values = BAD.get(parameter, ())
        for value in values if parameter in FLAGS else (*values, True):
            yield parameter, value


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_parameters_are_refused_by_name(name):
    row, kind = ESTIMATORS[name]
    valid, X = row.estimator(kind).get_params(deep=False), row.data(120)[:30]
    for method, (parameter, value) in zip(
        itertools.cycle(("fit", "partial_fit")), cases_of(valid), strict=False
    ):
        estimator = getattr(sktemper, name)(**{**valid, parameter: value})
        nested = [n for n in estimator.get_params() if n.startswith(parameter)]
        names = "|".join(["rate", *(n.rpartition("__")[2] for n in nested)])
        with pytest.raises(InvalidParameterError, match=f"({names})'"):
            getattr(estimator, method)(X)
        assert not hasattr(estimator, "state_")
        assert not hasattr(estimator, "n_features_in_")


#: Values that do not suit the data or the other parameters: rows of estimators,
#: parameters and messages. The models have three components.
NO_FIT = {"validation_fraction": 0.999, "evaluate_every": 1}
UNSUITABLE = [
    ("AnnealedLDA", {"doc_topic_prior": np.ones(4)}, r"shape \(4,\); expected \(3,\)"),
    ("AnnealedLDA", {"doc_topic_prior": np.ones((3, 1))}, "doc_topic_prior has shape"),
    ("AnnealedLDA", {"doc_topic_prior": [1, 0, 1]}, "doc_topic_prior must be positive"),
    ("AnnealedLDA", {"doc_topic_prior": [1, np.nan, 1]}, "doc_topic_prior contains"),
    (
        "AnnealedLDA",
        {"topic_word_prior": np.ones(59)},
        r"expected \(60,\) or \(3, 60\)",
    ),
    ("AnnealedLDA", {"topic_word_prior": np.ones((60, 3))}, "word_prior has shape"),
    ("AnnealedLDA", {"topic_word_prior": np.full(60, -1.0)}, "word_prior must be pos"),
    ("AnnealedLDA", {"init": np.ones((3, 59))}, r"init has shape \(3, 59\)"),
    ("AnnealedLDA", {"init": np.zeros((3, 60))}, "init must be positive"),
    ("AnnealedLDA", NO_FIT, "leaves none"),
    *(
        ("AnnealedFactorialMixture", parameters, message)
        for parameters, message in (
            ({"inclusion_probability": np.full(2, 0.3)}, r"\(2,\); expected one"),
            ({"inclusion_probability": np.full((3, 1), 0.3)}, "probability has shape"),
            ({"inclusion_probability": [0.3, 0.3, 1.0]}, r"must be in \(0, 1\)"),
            ({"inclusion_probability": [0.3, 0.3, np.nan]}, "contains NaN"),
            ({"init": np.ones((3, 5))}, r"shape \(3, 5\); expected \(3, 6\)"),
            ({"init": np.full((3, 6), np.nan)}, "init contains NaN"),
            (NO_FIT, "leaves none"),
        )
    ),
    *(
        ("AnnealedMatrixFactorization", {"init": init}, message)
        for init, message in (
            (np.ones((2, 15)), r"shape \(2, 15\); expected \(3, 15\)"),
            (np.ones((3, 14)), "init has shape"),
            (np.full((3, 15), np.nan), "init contains NaN"),
        )
    ),
    *(
        ("TemperedFactorialMixture", {"tempering": cls(partition_priors=priors)}, what)
        for cls in (GlobalTempering, LocalTempering)
        for priors, what in (
            (np.full(2, 0.5), r"shape \(2,\); expected one inclusion probability"),
            (np.full((3, 3), 0.5), r"shape \(3, 3\)"),
            ([[0.5, 0.5, 0.5]], r"shape \(1, 3\)"),
            ([], r"shape \(0,\)"),
            (["a", "b", "c"], "could not convert"),
            ([0.5, 0.5, np.nan], "contains NaN"),
            ([0.5, 0.5, 1.0], r"in \(0, 1\)"),
        )
    ),
    *(
        ("TemperedLDA", {"tempering": cls(partition_priors=priors)}, "partition_priors")
        for cls in (GlobalTempering, LocalTempering)
        for priors in ((0, 0.1), (-1, 0.1), (np.nan, 0.1), (np.inf, 0.1))
        + ((0.1,), ([0.1] * 4, 0.1), "b")
    ),
    *(
        ("TemperedLDA", {"tempering": cls(temperature_prior=prior)}, message)
        for cls in (GlobalTempering, LocalTempering)
        for prior, message in (
            (stats.beta, "frozen distribution"),
            (stats.uniform(1, 2), "no mass"),
            (stats.norm(-50, 1), "no mass"),
            (stats.beta(-1, 2), "no valid cdf"),  # NaN
            (Cdf(lambda b: 0.5), "no valid cdf"),
            (Cdf(lambda b: 1 - b), "no valid cdf"),
        )
    ),
]


@pytest.mark.parametrize(("name", "parameters", "message"), UNSUITABLE)
def test_parameters_that_do_not_suit_the_data_are_refused(name, parameters, message):
    row, kind = ESTIMATORS[name]
    estimator = row.estimator(kind, **parameters)
    with pytest.raises(ValueError, match=message):
        estimator.fit(row.data(120))
    assert not hasattr(estimator, "state_")
    assert not hasattr(estimator, "n_features_in_")


def test_the_error_for_a_number_as_schedule_names_a_remedy():
    message = r"ExponentialSchedule\(start=2.0\).*cools.*ConstantSchedule\(2.0\)"
    with pytest.raises(InvalidParameterError, match=message):
        sktemper.AnnealedLDA(schedule=2.0).fit([[1, 2]])
