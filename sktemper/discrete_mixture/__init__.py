"""Mixtures of multinomials and of Bernoullis."""

from ._estimators import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    TemperedBernoulliMixture,
    TemperedMultinomialMixture,
)

__all__ = [
    "AnnealedBernoulliMixture",
    "AnnealedMultinomialMixture",
    "TemperedBernoulliMixture",
    "TemperedMultinomialMixture",
]
