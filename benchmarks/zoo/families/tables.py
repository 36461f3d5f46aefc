"""Mixed mixtures: tables of categorical columns and numbers of many shapes."""

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.cluster import KMeans

from sktemper import AnnealedMixedMixture
from sktemper.datasets import load_election_survey

from .. import real
from ..core import Data, DataSet, Family, Figure, Method
from ..samplers import zipf
from ..stepmix_peer import fit_stepmix_to_table
from . import clusters

#: Share of test rows, and their largest number.
TEST, MOST_TEST = 0.25, 1000
#: Least number of components that methods get, and number of starts of peers.
LIMIT, N_INIT = 10, 5
#: Largest number of options of an item of a real table.
FEW = 10

# -- data ------------------------------------------------------------------------------

#: Functions of positions of classes and of random numbers, which draw a column.
COLUMNS = {
    "normal": lambda random, m: random.normal(m, 1),
    "log-normal": lambda random, m: random.lognormal(8 + 0.7 * m, 0.6),
    "exponential": lambda random, m: random.exponential(np.exp(0.6 * m)),
    "gamma": lambda random, m: random.gamma(2, np.exp(0.5 * m)),
    "Pareto": lambda random, m: np.exp(0.5 * m) * (1 + random.pareto(2.0, len(m))),
    "money": lambda random, m: 100 * np.round(random.lognormal(7 + 0.6 * m, 0.7) / 100),
    "geometric": lambda random, m: random.geometric(1 / (1 + 3 * np.exp(0.6 * m))),
    "counts": lambda random, m: random.poisson(
        random.gamma(2.0, 2 * np.exp(0.5 * m), len(m))
    ),
    "Poisson": lambda random, m: random.poisson(4 * np.exp(0.4 * m)),
    "half zeros": lambda random, m: (
        (random.random(len(m)) < 0.5 + 0.15 * m) * random.lognormal(0.4 * m, 0.8)
    ),
    "uniform": lambda random, m: random.uniform(m, m + 3),
    "t3": lambda random, m: m + random.standard_t(3, len(m)),
}


def table(n_rows, n_items, columns, n_classes, exponent=0.5, separation=1.0):
    """Return a function that draws items of three options, and columns of numbers.

    With one class, all columns are independent.
    """

    def make(random):
        n = n_rows + min(int(TEST * n_rows), MOST_TEST)
        y = random.choice(n_classes, n, p=zipf(n_classes, exponent))
        X = np.empty((n, n_items + len(columns)))
        for item in range(n_items):
            p = random.dirichlet(np.full(3, 0.7), n_classes)[y].cumsum(axis=1)
            X[:, item] = (p[:, :-1] < random.random((n, 1))).sum(axis=1)
        for number, name in enumerate(columns, start=n_items):
            places = random.permutation(n_classes) - (n_classes - 1) / 2
            places *= separation * 3 / max(n_classes - 1, 1)
            X[:, number] = COLUMNS[name](random, places[y])
        truth = {"labels": y[:n_rows], "n_classes": n_classes, "n_items": n_items}
        return generated(X, n_rows, truth)

    return make


def generated(X, n_rows, truth):
    n_classes = truth["n_classes"]
    limit = max(LIMIT, 2 * n_classes)
    facts = {"rows": n_rows, "columns": X.shape[1], "true": n_classes}
    return Data(X[:n_rows], X[n_rows:], limit, truth, facts)


def labelled(load):
    """Return a function that splits a real table with classes at random.

    Columns of at most `FEW` whole numbers are items, which come first.
    """

    def make(random):
        X, y = load()
        order = random.permutation(len(X))
        n_rows = len(X) - min(int(TEST * len(X)), MOST_TEST)
        X = np.asarray(X, dtype=np.float64)[order]
        y = np.unique(y, return_inverse=True)[1][order]
        is_item = np.array(
            [len(np.unique(x)) <= FEW and (x == np.rint(x)).all() for x in X.T]
        )
        items = [np.unique(x, return_inverse=True)[1] for x in X.T[is_item]]
        truth = {
            "labels": y[:n_rows],
            "n_classes": int(y.max()) + 1,
            "n_items": len(items),
        }
        return generated(np.column_stack([*items, X[:, ~is_item]]), n_rows, truth)

    return make


def election():
    """Return answers and covariates of respondents without gaps, and their votes."""
    survey = pd.read_csv(load_election_survey().filename).dropna()
    return survey.drop(columns="vote"), survey["vote"]


# -- methods, which return labels, and the mean held-out density or None ---------------


def annealed(data, seed, **options):
    mixture = AnnealedMixedMixture(data.n_components, random_state=seed, **options)
    mixture.fit(data.train)
    return mixture.labels_, mixture.score_samples(data.test).mean()


def normal(data, seed, **options):
    return annealed(data, seed, kinds="from_dtype", **options)


def binned(data, seed, **options):
    n_items, n_columns = data.truth["n_items"], data.train.shape[1]
    kinds = ["categorical"] * n_items + ["binned"] * (n_columns - n_items)
    labels, _ = annealed(data, seed, kinds=kinds, **options)
    return labels, None  # a score of bins is no density


def stepmix(data, seed):
    labels = fit_stepmix_to_table(
        data.train,
        data.truth["n_items"],
        data.truth["n_classes"],
        n_init=N_INIT,
        random_state=seed,
    )
    return labels, None, True  # a normal density of equal values has no bound


def kmeans(data, seed):
    """Cluster ranks of numbers and indicators of options, with the true number."""
    n_items = data.truth["n_items"]
    items, numbers = data.train[:, :n_items].T, data.train[:, n_items:]
    ranks = rankdata(numbers, axis=0) / len(numbers)
    parts = [np.eye(int(item.max()) + 1)[item.astype(int)] for item in items]
    X = np.hstack([ranks / np.sqrt(1 / 12), *parts])
    means = KMeans(data.truth["n_classes"], n_init=N_INIT, random_state=seed)
    return means.fit_predict(X), None, True


def has_classes(data):
    return data.truth["n_classes"] > 1


# -- figures ---------------------------------------------------------------------------


def judge(data, fitted):
    """Return the figures of labels; one class has no Rand index."""
    found = clusters.judge(data, fitted)
    if data.truth["n_classes"] == 1:
        del found["ari"]
    return found


# -- the family ------------------------------------------------------------------------

SURVEY = "log-normal", "exponential", "geometric", "half zeros", "normal"
DEVELOPMENT = {
    **{
        f"one class, {name}, {n} rows": table(n, 4, [name], 1)
        for name in ("normal", "exponential", "half zeros")
        for n in (500, 2000)
    },
    "four classes, 2,000 rows": table(2000, 6, SURVEY, 4),
    "four classes, 600 rows": table(600, 6, SURVEY, 4),
    "four classes, normal": table(1500, 4, ["normal"] * 4, 4),
}
HELD_BACK = {
    **{
        f"one class, {name}, 1,200 rows": table(1200, 3, [name], 1)
        for name in ("gamma", "Pareto", "money", "counts", "Poisson", "uniform", "t3")
    },
    "one class of seven columns": table(1500, 3, [*COLUMNS][5:], 1),
    "three classes, counts": table(1200, 5, ["counts", "Poisson", "geometric"], 3),
    "five classes, many shapes": table(2500, 6, [*COLUMNS], 5),
    "four classes, few items": table(1500, 2, [*COLUMNS][:6], 4, separation=1.5),
}
REAL = {"iris": False, "wine": False, "breast cancer": True}
REAL = {name: (real.LABELLED[name][0], held) for name, held in REAL.items()}
REAL["election"] = election, True

FAMILY = Family(
    name="tables",
    title="Mixed mixtures",
    page="tables",
    about="""Tables have items of three options and columns of numbers whose
distributions differ between classes. With one class, all columns are independent. The
shapes and seeds of the second split are held back. The adjusted Rand index compares
labels of the training rows with the classes; a fit is exact if the number of classes in
use is the true one. The score is the mean log density of held-out rows. The default
chooses the kinds of columns by their shapes; "normal" takes all numbers as normal, and
"binned" divides them into five intervals. On equal values, such as zeros, the scores of
"normal" have no bound, and are not comparable. StepMix, with normal numbers, and
KMeans, of ranks and of indicators, get the true number of classes and five starts.""",
    data_sets=(
        *(DataSet(name, make, False) for name, make in DEVELOPMENT.items()),
        *(DataSet(name, make, True) for name, make in HELD_BACK.items()),
        *(DataSet(name, labelled(load), held) for name, (load, held) in REAL.items()),
    ),
    methods=(
        Method("annealed", annealed, role="default"),
        Method("annealed, normal", normal, role="variant"),
        Method("annealed, binned", binned, role="variant"),
        Method("StepMix told K", stepmix, "stepmix", has_classes),
        Method("KMeans told K", kmeans, "scikit-learn", has_classes),
    ),
    figures=(
        Figure("ari", "Adjusted Rand index", 2, 1, 0.02),
        Figure("exact", "Share of fits with the exact number", 2, 1, 0.1),
        Figure("used", "Classes in use", 1, 0),
        Figure("score", "Held-out log density per row", 2, 1, 0.1, summary="gap"),
        Figure("seconds", "CPU seconds", 2, 0, summary="sum"),
    ),
    judge=judge,
    facts=("rows", "columns", "true"),
    smallest=DataSet("smallest", table(80, 3, ["normal"], 2), held_back=False),
    cap=60,
)
