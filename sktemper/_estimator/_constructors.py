"""Parameters that many estimators share: types, constructors and descriptions.

A constructor with ``**parameters`` is completed by the parameters that it shares with
others: that of the general estimator of a model by those of training, and those of its
other estimators by all of the general one but one.  The description of a parameter
stands once, in the docstring of the base class that is the first to have it, and the
docstrings of estimators are completed when they are imported.
"""

import inspect
from collections.abc import Callable
from typing import Literal, TypedDict

from .._utils._typing import Duration, Float, Int, Seed
from ..learning_rates import LearningRate
from ..noise import GradientNoise
from ..renewals import Renewals
from ..schedules import Schedule


# -- types of parameters, for type checkers --------------------------------------------
class Training(TypedDict, total=False):
    """Parameters of the training of every estimator."""

    max_iter: Int
    n_init: Int
    random_state: Seed
    batch_size: Int | Literal["auto"] | None
    learning_rate: LearningRate | Float | None
    tol: Float
    n_iter_no_change: Int | None
    evaluate_every: Int
    validation_fraction: Float
    warm_start: bool
    n_jobs: Int | None
    verbose: Int
    shuffle: bool
    total_samples: Int | None


class Streaming(Training, total=False):
    """Parameters of the training of estimators that can forget samples of a stream."""

    half_life: Float | Duration | None
    renewals: Renewals | Literal["auto"] | None


class Annealed(TypedDict, total=False):
    """Parameters of every annealed estimator."""

    schedule: Schedule | Callable | None
    target: Literal["local_step", "likelihood", "posterior"]
    gradient_noise: GradientNoise | None


# -- constructors that are completed ---------------------------------------------------


def typed_parameters(types, cls):
    """Return parameters of a `TypedDict`, whose defaults are attributes of a class.

    The constructor has to name parameters without such an attribute, with defaults.
    """
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(cls, name, inspect.Parameter.empty),
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in types.__annotations__.items()
    }
