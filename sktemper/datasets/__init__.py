"""The corpus that ships with the package, and generators of synthetic data."""

from ._corpora import load_debian_descriptions
from ._generators import make_factorial_mixture, make_lda_documents

__all__ = [
    "load_debian_descriptions",
    "make_factorial_mixture",
    "make_lda_documents",
]
