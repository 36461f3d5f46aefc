"""Common parts of the tempered, annealed and SVI+ estimators of each model.

Each model has three estimators: a general one, and two whose names fix the tempering or
the noise.  The mixins fix these policies, and `document` completes docstrings.
"""

from string import Template

from .._policy import Slot
from ..noise import SVIPlusNoise, as_size
from ..schedules import as_schedule
from ..tempering import Annealing

__all__ = [
    "TOL_OF_BOUND",
    "AnnealedMixin",
    "SVIPlusMixin",
    "annealed",
    "document",
    "store",
    "svi_plus",
]


class AnnealedMixin:
    """Mixin of ``Annealed...`` estimators, with ``schedule`` and ``target``."""

    def _tempering(self):
        return Annealing(self.schedule, self.target)

    @property
    def schedule_(self):
        """The schedule in use, its length resolved."""
        self._state()
        return self.tempering_.schedule


class SVIPlusMixin:
    """Mixin of ``SVIPlus...`` estimators, whose gradients have tunable noise."""

    def _noise(self):
        return SVIPlusNoise(self.effective_batch_size, self.distribution)


def annealed(general):
    """Return slots and constraints of the annealed variant of an estimator."""
    constraints = {
        "schedule": "no_validation",
        "target": Annealing._parameter_constraints["target"],
    }
    slots = {"schedule": Slot(as_schedule)}
    return _exchanged(general, "tempering", slots, constraints)


def svi_plus(general):
    """Return slots and constraints of the SVI+ variant of an estimator."""
    constraints = SVIPlusNoise._parameter_constraints
    slots = {"effective_batch_size": Slot(as_size)}
    return _exchanged(general, "gradient_noise", slots, constraints)


def _exchanged(general, name, slots, constraints):
    """Return slots and constraints in which others replace the parameter ``name``."""

    def others(mapping):
        return {key: value for key, value in mapping.items() if key != name}

    return (
        {**slots, **others(general._slots)},
        {**others(general._parameter_constraints), **constraints},
    )


def store(estimator, parameters):
    """Store the parameters of a constructor as given.

    Parameters
    ----------
    estimator : object
    parameters : dict
        ``locals()`` at the beginning of ``__init__``.
    """
    for name, value in parameters.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def document(text, **words):
    """Return a docstring whose $names are filled in.

    Parameters
    ----------
    text : str
        With the names of the shared paragraphs, each at the place of a parameter.
    **words : str
        ``samples`` and ``unit``, what the model calls its samples and what a score is
        divided by, both for the shared paragraphs; ``units``, what has weights, if not
        samples; and what else ``text`` names.
    """
    words = {"units": words["samples"], **words}
    paragraphs = {
        key: Template(value).safe_substitute(words) for key, value in SHARED.items()
    }
    return Template(text).substitute({**paragraphs, **words})


#: Meaning of ``tol`` for a model that watches its bound.
TOL_OF_BOUND = """
        A fit of all samples at once ends when the lower bound changes by less than
        this in a step at T=1, and a move is kept if it raises the bound by more."""

#: Paragraphs on what all estimators have.
SHARED = {
    "schedule": """schedule : Schedule or callable, default=None
        The temperature at each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.""",
    "effective_batch_size": """\
effective_batch_size : float, int, Schedule or callable, default=0.5
        M: a share of the batch, a number of $units, or a number at each step; see
        `sktemper.noise.SVIPlusNoise`.
    distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Of the weights of $units, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1.""",
    "learning_rate": """learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.""",
    "gradient_noise": """gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.""",
    "moves": """moves : Moves, $moves_strings or None, default=$moves_default
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: $moves_meaning  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 $samples at most.  `partial_fit` makes none.""",
    "n_init": """n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the $samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.""",
    "shuffle": """shuffle : bool, default=True
        Whether each pass of `fit` visits the $samples in another order.""",
    "total_samples": """total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.""",
    "evaluate_every": """evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``; 0 is never, but for the ``X_val`` of a `fit`,
        which are scored after each pass.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per $unit.$tol_of_bound
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the $samples.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".""",
    "fitted_schedule": """schedule_ : Schedule
        The schedule in use, with its length resolved.""",
    "policies": """tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the $samples in the
        tempered bound of the batch, in nats per $observed), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all $samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        All that changes during a fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.""",
}
