"""The corpus that ships, readers of ratings, and generators of synthetic data."""

from ._corpora import load_debian_descriptions
from ._generators import make_factorial_mixture, make_lda_documents
from ._made_ratings import make_ratings
from ._movielens import load_movielens
from ._ratings import ratings_matrix

__all__ = [
    "load_debian_descriptions",
    "load_movielens",
    "make_factorial_mixture",
    "make_lda_documents",
    "make_ratings",
    "ratings_matrix",
]
