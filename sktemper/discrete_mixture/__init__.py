"""Mixtures of multinomials and of Bernoullis."""

from ._estimators import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    SVIPlusBernoulliMixture,
    SVIPlusMultinomialMixture,
    TemperedBernoulliMixture,
    TemperedMultinomialMixture,
)

__all__ = [
    "AnnealedBernoulliMixture",
    "AnnealedMultinomialMixture",
    "SVIPlusBernoulliMixture",
    "SVIPlusMultinomialMixture",
    "TemperedBernoulliMixture",
    "TemperedMultinomialMixture",
]
