"""
A recommender: from a table to served recommendations
=====================================================

The data are a long table in which each line has a user, a film and a rating. The script
fits two models to it. `ImplicitFactorization` learns which films people choose, and
`TemperedMatrixFactorization` learns how they rate them. The script compares both with
popularity, item-based neighbours (ItemKNN) and EASE, a linear model that needs ten
lines of code and often ranks better than larger models if there are at most some
thousand items.

The script also explains recommendations, recommends films to a new user, and saves the
model for processes that serve it.

``--data`` names a download of MovieLens. Without it, the script generates choices and
ratings of people with different tastes. The script needs pandas.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/recommender.png'

import argparse
import os
import tempfile

import joblib
import numpy as np
import pandas as pd

from sktemper import ImplicitFactorization, TemperedMatrixFactorization
from sktemper.datasets import interactions_matrix, load_movielens, ratings_matrix
from sktemper.metrics import ranking_report
from sktemper.model_selection import train_test_split_entries

try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None


def main():
    arguments = parse_arguments()
    table = load_table(arguments)
    print(f"{len(table)} lines, such as\n{table.head(3).to_string(index=False)}\n")

    # -- a matrix with labels, and a held-out tenth of each user's items
    ratings, *_ = ratings_matrix(table["user"], table["item"], table["rating"])
    R_train, R_test = train_test_split_entries(ratings, random_state=arguments.seed)
    X_train = clicks_of(R_train)

    # -- two models
    clicks = ImplicitFactorization(arguments.rank, random_state=arguments.seed)
    stars = TemperedMatrixFactorization(10, random_state=arguments.seed)
    clicks.fit(X_train)
    stars.fit(R_train)

    # -- ranking of the held-out items
    X = X_train.astype(np.float64)
    ranked = {
        "popularity": popularity(X),
        "ItemKNN": item_knn(X),
        "EASE": ease(X),
        "ImplicitFactorization": clicks.item_scores,
        "TemperedMatrixFactorization": lambda rows: stars.item_scores(in_stars(rows)),
        "the same, by rating": lambda rows: stars.item_scores(
            in_stars(rows), rank_by="rating"
        ),
    }
    in_stars = rows_of(R_train)
    found = {}
    print(f"{'Held-out items found':28s} prec@10  recall@20  ndcg@100")
    report = {}
    for name, scores in ranked.items():
        report = ranking_report(scores, R_test, X_seen=X_train)
        print(f"{name:28s}", *(f"{v:9.3f}" for v in list(report.values())[:3]))
        found[name] = report["ndcg@100"]
    if arguments.output:
        draw(found, arguments.output)
    print(
        f"{report['n_users']} users were evaluated; {report['n_left_out']} without "
        "held-out items were left out\n"
    )

    # -- ten recommendations, and why
    somebody = table["user"].iloc[0]
    best = clicks.recommend([somebody], n_items=10)
    print(f"For {somebody}:\n{best.to_string(index=False)}\n")
    why = clicks.explain(somebody, best["item"][0])
    print(f"{best['item'][0]} because of\n{why.head(3).to_string(index=False)}")
    print(f"and {len(why) - 3} other items\n")
    said = stars.recommend([somebody], n_items=3, clip=(1, 5), return_std=True)
    print(f"By stars:\n{said.to_string(index=False)}\n")

    # -- a new user, whose items are known: no fit is needed
    liked = clicks.similar_items([best["item"][0]], n_items=3)["similar"]
    new = interactions_matrix(
        ["somebody new"] * 3, liked, item_labels=clicks.item_labels_
    )
    fresh = clicks.recommend(new, n_items=3, output="pandas")
    print(f"For a new user who chose {', '.join(map(str, liked))}:")
    print(f"{fresh.to_string(index=False)}\n")

    # -- saved, and served: processes share the memory of the mapped file
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.joblib")
        joblib.dump(clicks.for_serving(), path)
        served = joblib.load(path, mmap_mode="r")
        same = served.recommend([somebody], n_items=10).equals(best)
        print(f"Served from {os.path.getsize(path) / 1e6:.1f} MB, the same: {same}")
        del served


def draw(found, path):
    """Draw the ranking metric of all models as bars."""
    if plt is None:
        return
    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    names = list(found)[::-1]
    others = "popularity", "ItemKNN", "EASE"
    colors = ["#0072B2" if name in others else "#D55E00" for name in names]
    bars = ax.barh(names, [found[name] for name in names], color=colors)
    ax.bar_label(bars, fmt="%.3f", padding=3)
    ax.margins(x=0.12)
    ax.set(xlabel="ndcg@100 of held-out items")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def clicks_of(ratings):
    """Return the same matrix with 1 for each rating."""
    X = ratings.copy()
    X.data[:] = 1
    return X


def rows_of(ratings):
    """Return a function from rows of clicks to the ratings of the same users."""

    def in_stars(rows):
        return ratings.users(rows.user_labels)

    return in_stars


# -- other methods ---------------------------------------------------------------------


def popularity(X):
    counts = np.asarray(X.sum(axis=0)).ravel()
    return lambda rows: np.tile(counts, (rows.shape[0], 1))


def item_knn(X, n_neighbours=200):
    both = (X.T @ X).toarray()
    lengths = np.sqrt(np.maximum(both.diagonal(), 1))
    cosine = both / lengths / lengths[:, None]
    np.fill_diagonal(cosine, 0)
    if n_neighbours < len(cosine):
        least = np.partition(cosine, -n_neighbours, axis=0)[-n_neighbours]
        cosine[cosine < least] = 0
    return lambda rows: np.asarray(rows @ cosine)


def ease(X, penalty=300.0):
    both = (X.T @ X).toarray()
    both[np.diag_indices_from(both)] += penalty
    inverse = np.linalg.inv(both)
    weights = -inverse / inverse.diagonal()
    np.fill_diagonal(weights, 0)
    return lambda rows: np.asarray(rows @ weights)


# -- data ------------------------------------------------------------------------------


def load_table(arguments):
    """Return a long table: user, item, rating."""
    if arguments.data is None:
        return generated(arguments.n_users, arguments.n_items, arguments.seed)
    movielens = load_movielens(arguments.data)
    entries = movielens.data.tocoo()
    films = movielens.item_labels.astype(str).astype(object)
    if movielens.item_titles is not None:  # some titles occur twice
        films = movielens.item_titles + " #" + films
    users = movielens.user_labels[entries.row]
    return pd.DataFrame(
        {
            "user": [f"u{user}" for user in users],
            "item": films[entries.col],
            "rating": entries.data,
        }
    )


def generated(n_users, n_items, seed):
    """Return a long table of generated users, items that they chose, and ratings."""
    random = np.random.default_rng(seed)
    tastes, kinds = random.normal(size=(n_users, 6)), random.normal(size=(n_items, 6))
    fit = tastes @ kinds.T / np.sqrt(6)
    appeal = fit + 0.8 * random.normal(size=n_items)
    activity = np.minimum(random.lognormal(3.2, 0.7, size=n_users), n_items / 2)
    lines = []
    for user in range(n_users):
        shares = np.exp(appeal[user] - appeal[user].max())
        n_chosen = int(max(activity[user], 5))
        chosen = random.choice(
            n_items, n_chosen, replace=False, p=shares / shares.sum()
        )
        stars = 3.2 + 0.8 * fit[user, chosen] + 0.8 * random.normal(size=n_chosen)
        stars = np.clip(np.rint(stars), 1, 5)
        lines += [
            (f"u{user}", f"film {item}", star)
            for item, star in zip(chosen, stars, strict=True)
        ]
    return pd.DataFrame(lines, columns=["user", "item", "rating"])


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--data", help="a download of MovieLens")
    parser.add_argument("--n-users", type=int, default=1000)
    parser.add_argument("--n-items", type=int, default=400)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", help="draw the ranking metric to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
