"""Factorization of implicit feedback: clicks, plays, purchases of items by users."""

from ._estimators import ImplicitFactorization

__all__ = ["ImplicitFactorization"]
