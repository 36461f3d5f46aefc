"""The corpus that ships, readers, collections on disk, and generators of data."""

from ._collection import Collection, open_counts, open_dense, open_ratings
from ._corpora import load_debian_descriptions
from ._generators import make_factorial_mixture, make_lda_documents, make_ratings
from ._movielens import load_movielens
from ._ratings import ratings_matrix
from ._write import write_counts, write_dense
from ._write_ratings import write_ratings

__all__ = [
    "Collection",
    "load_debian_descriptions",
    "load_movielens",
    "make_factorial_mixture",
    "make_lda_documents",
    "make_ratings",
    "open_counts",
    "open_dense",
    "open_ratings",
    "ratings_matrix",
    "write_counts",
    "write_dense",
    "write_ratings",
]
