"""Generated surveys with known classes, columns of several kinds and missing values."""

import numpy as np
import pandas as pd

#: Shares of the classes of each survey; `users` draws classes from covariates instead.
SIZES = {
    "B": (0.3, 0.2, 0.2, 0.12, 0.1, 0.08),
    "C": (0.5, 0.3, 0.2),
    "D": (0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04),
}
#: For each survey: number of training rows; numbers of columns (yes/no, options,
#: Likert, counts, measurements); share of missing values; other arguments of `drawn`.
SHAPES = {
    "B": (2000, (6, 3, 4, 3, 3), 0.10, {}),
    "C": (400, (5, 2, 3, 1, 2), 0.05, {"separation": 1.2}),
    "D": (10_000, (10, 4, 6, 2, 2), 0.10, {"separation": 0.9}),
}
FIRST_SEEDS = {"B": 10, "C": 20, "D": 30}
N_TEST = 1000
LIKERT_LEVELS = 5


def survey(name, seed):
    """Return a training frame, its classes, a test frame and its classes."""
    if name == "A":
        X, y = users(seed, 3000 + N_TEST)
        n_train = 3000
    else:
        n_train, columns, gaps, options = SHAPES[name]
        n_rows = n_train + N_TEST
        sizes = np.array(SIZES[name])
        X, y = drawn(FIRST_SEEDS[name] + seed, n_rows, sizes, columns, gaps, **options)
    test = X[n_train:].reset_index(drop=True)
    return X[:n_train], y[:n_train], test, y[n_train:]


def picked(random, probabilities):
    """Return the index of a random column for each row of probabilities."""
    below = probabilities.cumsum(axis=1) > random.random((len(probabilities), 1))
    return below.argmax(axis=1)


def users(seed, n_rows):
    """Return survey A: four classes, whose sizes depend on age and region."""
    random = np.random.default_rng(seed)
    age, region = random.integers(18, 85, n_rows), random.integers(0, 3, n_rows)
    effects = np.array(
        [[0, 0, 0, 0], [0.5, 0.04, 0.6, -0.3], [-0.2, -0.04, -0.4, 0.5]]
        + [[-0.5, 0.02, 0.2, -1.0]]
    )
    Z = np.c_[np.ones(n_rows), age - 50, region == 1, region == 2]
    logits = np.exp(Z @ effects.T)
    y = picked(random, logits / logits.sum(axis=1, keepdims=True))
    yes = random.choice([0.2, 0.35, 0.65, 0.8], size=(4, 12))
    X = pd.DataFrame((random.random((n_rows, 12)) < yes[y]).astype(float))
    X = X.mask(random.random(X.shape) < 0.08).add_prefix("yes")
    n_options = [3, 4, 5, 4]
    profiles = [random.dirichlet(np.ones(n), size=4) for n in n_options]
    for number, profile in enumerate(profiles):
        codes = picked(random, profile[y])
        X[f"option{number}"] = pd.Categorical([f"answer {code}" for code in codes])
    means = random.normal(3, 0.9, size=(4, 2))
    likert = np.round(means[y] + random.normal(0, 0.9, (n_rows, 2)))
    X["likert0"], X["likert1"] = np.clip(likert, 1, LIKERT_LEVELS).T
    return X, y


def drawn(seed, n_rows, sizes, columns, gaps, separation=1.0):
    """Return a frame with columns of all kinds, and the class of each row."""
    random = np.random.default_rng(seed)
    n_classes = len(sizes)
    n_yes, n_options, n_likert, n_counts, n_numbers = columns
    y = random.choice(n_classes, n_rows, p=sizes)
    X = {}
    for number in range(n_yes):
        p = 1 / (1 + np.exp(-separation * random.normal(0, 1.3, n_classes)))
        X[f"yes{number}"] = (random.random(n_rows) < p[y]).astype(float)
    for number in range(n_options):
        shape = n_classes, (3, 4, 5)[number % 3]
        p = np.exp(separation * random.normal(0, 1.1, shape))
        p /= p.sum(axis=1, keepdims=True)
        X[f"option{number}"] = picked(random, p[y]).astype(float)
    for number in range(n_likert):
        means = 3 + separation * random.normal(0, 0.9, n_classes)
        likert = np.round(means[y] + random.normal(0, 1, n_rows))
        X[f"likert{number}"] = np.clip(likert, 1, LIKERT_LEVELS)
    for number in range(n_counts):
        rates = np.exp(1.2 + separation * random.normal(0, 0.5, n_classes))[y]
        X[f"count{number}"] = random.poisson(rates).astype(float)
    for number in range(n_numbers):
        means = separation * random.normal(0, 1, n_classes)
        values = means[y] + random.normal(0, 1, n_rows)
        X[f"number{number}"] = 10 * values + 50
    X = pd.DataFrame(X)
    X = X.mask(random.random(X.shape) < gaps)
    for name in X:
        if name.startswith(("yes", "option")):
            X[name] = pd.Categorical(
                X[name].map("answer {:.0f}".format, na_action="ignore")
            )
    return X, y


def kinds(X, **others):
    """Return a dict from columns to kinds, by the first letters of column names."""
    return {
        name: kind
        for name in X
        for start, kind in others.items()
        if name.startswith(start)
    }
