"""
How many topics?
================

This script draws four measures against the number of topics. One grid search computes
the held-out score and the coherence. The other two are the share of topics that fits to
two halves of the documents have in common, beside that of fits with different seeds,
and the number of topics that remain after similar topics are merged. Generated
documents have a true number of topics, and package descriptions have none.
The picture needs matplotlib
(``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes more than two minutes.
"""

# sphinx_gallery_thumbnail_path = 'images/how_many_topics.png'

import argparse
import itertools

import numpy as np
from sklearn.model_selection import GridSearchCV

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions, make_lda_documents
from sktemper.metrics import completion_scorer, match_components, npmi_scorer

#: Cosine similarity above which topics of two fits count as the same.
SAME = 0.8


def main():
    arguments = parse_arguments()
    docs = load_debian_descriptions().data[: arguments.max_documents]
    generated = make_lda_documents(
        arguments.max_documents, 1000, arguments.true, doc_length=60, random_state=0
    )
    corpora = {
        f"generated from {arguments.true} topics": generated,
        "package descriptions": docs,
    }
    views = {}
    for name, X in corpora.items():
        print(f"\n{name}, {X.shape[0]} documents")
        views[name] = look(X, arguments)
    save_picture(views, arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, default=6000)
    parser.add_argument("--true", type=int, default=20, help="number of true topics")
    parser.add_argument(
        "--topics", type=int, nargs="+", default=[5, 10, 20, 40, 80, 160]
    )
    parser.add_argument("--n-folds", type=int, default=3)
    parser.add_argument("--n-seeds", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=10, help="passes")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--output", default="how_many_topics.png")
    return parser.parse_args()


def look(X, arguments):
    """Return the search, and arrays with an entry for each number of topics.

    The arrays are the shares of topics that two seeds and two halves of the documents
    have in common, and the number of distinct topics.
    """
    lda = AnnealedLDA(max_iter=arguments.max_iter, random_state=0)
    # A fit that starts with twice as many topics and merges them misses fewer topics.
    sizes = [
        {"n_components": n_topics, "n_start_components": 2 * n_topics}
        for n_topics in arguments.topics
    ]
    search = GridSearchCV(
        lda,
        [{name: [value] for name, value in size.items()} for size in sizes],
        scoring={"completion": completion_scorer, "npmi": npmi_scorer},
        refit=fewest_within_one_standard_error,  # pyright: ignore
        cv=arguments.n_folds,
        n_jobs=arguments.n_jobs,
    ).fit(X)
    seeds, halves, distinct = [], [], []
    print("topics  score   npmi  seeds  halves  distinct")
    for row, size in enumerate(sizes):
        fits = [
            AnnealedLDA(**size, max_iter=arguments.max_iter, random_state=seed).fit(X)
            for seed in range(arguments.n_seeds)
        ]
        seeds.append(np.mean([same(a, b) for a, b in itertools.combinations(fits, 2)]))
        halves.append(
            np.mean([same(*fit_halves(fit, X, seed)) for seed, fit in enumerate(fits)])
        )
        distinct.append(np.mean([fit.merge_topics().n_components_ for fit in fits]))
        results = search.cv_results_
        print(
            f"{size['n_components']:6d} {results['mean_test_completion'][row]:6.3f}"
            f" {results['mean_test_npmi'][row]:6.3f}"
            f" {seeds[-1]:6.2f} {halves[-1]:7.2f} {distinct[-1]:9.1f}"
        )
    chosen = search.best_params_["n_components"]
    print(f"fewest topics within one standard error of the best score: {chosen}")
    return search, np.array(seeds), np.array(halves), np.array(distinct)


def fit_halves(lda, X, seed):
    """Return fits to two random halves of the documents, with the settings of a fit."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    options = lda.get_params()
    return [AnnealedLDA(**options).fit(X[rows]) for rows in np.array_split(order, 2)]


def fewest_within_one_standard_error(results):
    """Return the row with the fewest topics within one standard error of the best."""
    scores = results["mean_test_completion"]
    splits = [key for key in results if key.startswith("split")]
    n_folds = sum(key.endswith("_completion") for key in splits)
    errors = results["std_test_completion"] / np.sqrt(n_folds - 1)
    best = np.argmax(scores)
    enough = scores >= scores[best] - errors[best]
    n_topics = np.array(results["param_n_components"], dtype=float)
    return int(np.argmin(np.where(enough, n_topics, np.inf)))


def same(one, other):
    """Return the share of the topics of one fit that another fit has too."""
    _, cosines = match_components(one.topic_word_, other.topic_word_)
    return (cosines > SAME).mean()


def save_picture(views, arguments):
    """Draw four measures in a row for each corpus."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    from sktemper.plotting import NumberOfComponentsDisplay

    numbers = arguments.topics
    figure = Figure(figsize=(15, 7), layout="constrained")
    rows = figure.subplots(len(views), 4, sharex=True)
    for axes, (name, (search, seeds, halves, distinct)) in zip(
        rows, views.items(), strict=True
    ):
        for ax, metric in zip(axes, ("completion", "npmi"), strict=False):
            NumberOfComponentsDisplay.from_estimator(search, metric=metric, ax=ax)
        axes[2].plot(numbers, halves, marker="o", label="two halves")
        axes[2].plot(numbers, seeds, color="0.6", marker="o", label="two seeds")
        axes[2].legend(fontsize=8)
        axes[2].set_ylim(0, 1.05)
        axes[3].plot(numbers, distinct, marker="o", label="distinct")
        axes[3].plot(numbers, numbers, color="0.6", linestyle=":", label="all of them")
        axes[3].set_yscale("log", base=2)
        axes[3].legend(fontsize=8)
        labels = (
            f"{name}\n\nheld-out nats per token",
            "NPMI of ten words",
            f"share of topics in both fits (cosine > {SAME})",
            "topics left when merged by evidence",
        )
        for ax, label in zip(axes, labels, strict=True):
            ax.set(xlabel="", ylabel=label)
            ax.set_xscale("log", base=2)
            ax.set_xticks(numbers, numbers)
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            if name.startswith("generated"):
                ax.axvline(arguments.true, color="tab:green", linewidth=6, alpha=0.2)
        axes[3].set_yticks(numbers, numbers)
    titles = "Held-out score", "Coherence", "Stability", "Distinct topics"
    for ax, title in zip(rows[0], titles, strict=True):
        ax.set_title(title)
    for ax in rows[-1]:
        ax.set_xlabel("topics fitted")
    figure.savefig(arguments.output, dpi=110)
    print(f"\nPicture: {arguments.output}")


if __name__ == "__main__":
    main()
