"""Data sets, readers of files, collections on disk, and generators of data."""

from ._collection import Collection, open_counts, open_dense, open_ratings
from ._corpora import load_debian_descriptions, load_election_survey, load_movielens
from ._generators import make_factorial_mixture, make_lda_documents, make_ratings
from ._ratings import interactions_matrix, ratings_matrix
from ._read_counts import (
    read_gensim,
    read_lda_c,
    read_matrix_market,
    read_svmlight,
    read_uci,
)
from ._read_tables import read_text, read_triples
from ._write import write_counts, write_dense, write_ratings

__all__ = [
    "Collection",
    "interactions_matrix",
    "load_debian_descriptions",
    "load_election_survey",
    "load_movielens",
    "make_factorial_mixture",
    "make_lda_documents",
    "make_ratings",
    "open_counts",
    "open_dense",
    "open_ratings",
    "ratings_matrix",
    "read_gensim",
    "read_lda_c",
    "read_matrix_market",
    "read_svmlight",
    "read_text",
    "read_triples",
    "read_uci",
    "write_counts",
    "write_dense",
    "write_ratings",
]
