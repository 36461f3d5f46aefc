"""The mixins of annealed and SVI+ estimators, used with a model of a user."""

import inspect

import pytest
from gamma_poisson import TemperedGammaPoisson, counts_of
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

import sktemper
from sktemper.base import AnnealedMixin, SVIPlusMixin
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import LinearSchedule
from sktemper.tempering import Annealing


class AnnealedGammaPoisson(AnnealedMixin, TemperedGammaPoisson):
    batch_size, max_iter = None, 20

    def __init__(
        self, n_components=2, *, schedule=None, target="local_step", random_state=None
    ):
        self.n_components = n_components
        self.schedule = schedule
        self.target = target
        self.random_state = random_state


class SVIPlusGammaPoisson(SVIPlusMixin, TemperedGammaPoisson):
    batch_size, max_iter = None, 20

    def __init__(
        self,
        n_components=2,
        *,
        effective_batch_size=0.5,
        noise_distribution="dirichlet",
        tempering=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.effective_batch_size = effective_batch_size
        self.noise_distribution = noise_distribution
        self.tempering = tempering
        self.random_state = random_state


class Narrower(AnnealedGammaPoisson):
    """A subclass that adds a parameter constraint."""

    _parameter_constraints = {
        **AnnealedGammaPoisson._parameter_constraints,
        "target": "no_validation",
    }


def test_policies_are_made_of_the_parameters():
    X = counts_of(30)
    annealed = AnnealedGammaPoisson(schedule=LinearSchedule(2.0), random_state=0)
    annealed.fit(X)
    assert isinstance(annealed.tempering_, Annealing)
    assert annealed.schedule_.start == 2.0 and annealed.history_["temperature"][0] == 2
    noisy = SVIPlusGammaPoisson(effective_batch_size=7, random_state=0).fit(X)
    assert isinstance(noisy.gradient_noise_, SVIPlusNoise)
    assert noisy.gradient_noise_.effective_batch_size == 7


def test_parameters_of_policies_are_reached():
    annealed = clone(AnnealedGammaPoisson()).set_params(schedule__start=3.0)
    assert annealed.schedule.start == 3.0
    noisy = SVIPlusGammaPoisson().set_params(effective_batch_size__start=0.25)
    assert noisy.effective_batch_size.start == 0.25


@pytest.mark.parametrize(
    "estimator, parameter",
    [
        (AnnealedGammaPoisson(target="nothing"), "target"),
        (SVIPlusGammaPoisson(noise_distribution="nothing"), "noise_distribution"),
        (SVIPlusGammaPoisson(effective_batch_size="nothing"), "effective_batch_size"),
    ],
)
def test_parameters_are_validated(estimator, parameter):
    with pytest.raises(InvalidParameterError, match=f"'{parameter}' parameter"):
        estimator.fit(counts_of(30))


def test_constraints_of_a_class_take_precedence():
    assert Narrower._parameter_constraints["target"] == "no_validation"
    assert "target" in AnnealedGammaPoisson._parameter_constraints
    assert "target" not in TemperedGammaPoisson._parameter_constraints


@pytest.mark.parametrize(
    "name", [name for name in sktemper.__all__ if name.startswith(("Annealed", "SVI"))]
)
def test_constraints_are_of_the_parameters_of_the_kind(name):
    cls = getattr(sktemper, name)
    parameters = set(inspect.signature(cls).parameters)
    general = getattr(
        sktemper, name.replace("Annealed", "Tempered").replace("SVIPlus", "Tempered")
    )
    unused = set(general._parameter_constraints) - set(
        inspect.signature(general).parameters
    )
    assert set(cls._parameter_constraints) - unused == parameters
    assert set(cls._slots) - unused <= parameters


def test_a_mixin_of_mixins_is_left_alone():
    class Both(AnnealedMixin):
        """A mixin that a user defines."""

    class Estimator(Both, TemperedGammaPoisson):
        """An estimator with this mixin."""

    assert not hasattr(Both, "_slots")
    assert "schedule" in Estimator._slots and "moves" in Estimator._slots
    assert "tempering" not in Estimator._slots
