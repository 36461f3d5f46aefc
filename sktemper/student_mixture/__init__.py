"""Mixtures of Student-t distributions, for clusters with outliers."""

from ._estimators import AnnealedStudentMixture, TemperedStudentMixture

__all__ = ["AnnealedStudentMixture", "TemperedStudentMixture"]
