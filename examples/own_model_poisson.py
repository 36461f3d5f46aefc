"""
Write your own model: a mixture of Poissons
===========================================

This script defines a complete model: a mixture whose components are independent Poisson
distributions with Gamma priors, for counts of events such as visits in each hour of the
day.  A model defines only its likelihood and its prior.  The package adds the loop,
temperatures, learning rates, noise and moves, streams, threads and pickles.

The script checks the model by `check_model`, fits it with three policies, and prints
the agreement of each fit with the true clusters of generated data.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/own_model_poisson.png'

import numpy as np
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import validate_data

from sktemper.base import MixtureMixin, TemperedEstimator
from sktemper.model import GammaFamily, MixtureModel
from sktemper.noise import SVIPlusNoise
from sktemper.tempering import Annealing
from sktemper.testing import check_model


class PoissonFamily(GammaFamily):
    """Independent Poisson variables, whose rates have Gamma distributions."""

    def moments(self, block):
        """Return x and 1: log p(x | rate) = x log(rate) - rate - log(x!)."""
        return np.hstack([block, np.ones_like(block)])

    def log_base(self, block):
        """Return -log(x!), which is the same in all components."""
        return -gammaln(block + 1.0).sum(axis=1)


class PoissonMixtureModel(MixtureModel):
    """Counts that are independent Poisson variables given the component."""

    def __init__(self, n_components, n_features, **others):
        super().__init__(n_components, n_features, PoissonFamily(n_features), **others)

    def prior_of_component(self, X, sample_weight=None):
        """Return shapes - 1 and rates: a Gamma prior with the mean of the data."""
        mean = np.average(np.asarray(X), axis=0, weights=sample_weight)
        return np.hstack([np.zeros_like(mean), 1.0 / np.maximum(mean, 1e-3)])


class TemperedPoissonMixture(MixtureMixin, TemperedEstimator):
    """Mixture of Poissons under any tempering, learning rate, noise and moves."""

    max_iter, batch_size = 60, None  # fixed: the constructor has no such parameters
    _fixed_by_fit = ("n_components",)  # cannot change in a fitted model

    def __init__(
        self,
        n_components=8,
        *,
        tempering=None,
        learning_rate=None,
        gradient_noise=None,
        moves=None,
        n_init=1,
        random_state=None,
    ):
        self.n_components = n_components
        self.tempering = tempering
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.moves = moves
        self.n_init = n_init
        self.random_state = random_state

    def _validate(self, X, reset):
        return validate_data(self, X, reset=reset, ensure_non_negative=True)

    @staticmethod
    def _make_model(settings, n_features, dtype):
        return PoissonMixtureModel(settings.n_components, n_features, dtype=dtype)


def main():
    """Check the model, and fit it under three policies."""
    random = np.random.default_rng(0)
    rates = random.gamma(2.0, 2.0, size=(8, 24))
    labels = random.integers(8, size=2000)
    X = random.poisson(rates[labels])

    results = check_model(TemperedPoissonMixture(3), X[:50])
    skipped = [result["check_name"] for result in results if result["reason"]]
    print(f"{len(results) - len(skipped)} checks passed, skipped: {skipped}")

    policies = {
        "plain": {},
        "annealed": {"tempering": Annealing()},
        "noisy": {"gradient_noise": SVIPlusNoise(0.3)},
    }
    for name, policy in policies.items():
        mixture = TemperedPoissonMixture(8, **policy, random_state=0).fit(X)
        index = adjusted_rand_score(labels, mixture.predict(X))
        print(
            f"{name:>9}: score {mixture.score(X):.3f}, adjusted Rand index {index:.3f}"
        )


if __name__ == "__main__":
    main()
