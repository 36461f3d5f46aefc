"""
Outliers among documents
========================

The script replaces all words of 200 of 20,000 package descriptions by random words. A
fit with a temperature for each document gives high temperatures to documents of random
words. The script prints how many of the 200 documents with the highest temperatures
have random words, and draws the temperatures. It takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/outliers.png'

import argparse

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from sktemper import TemperedLDA
from sktemper.datasets import load_debian_descriptions

try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None


def main():
    arguments = parse_arguments()
    X = load_debian_descriptions().data[: arguments.max_documents]
    n_replaced = X.shape[0] // 100
    random = np.random.default_rng(arguments.seed)
    replaced = np.zeros(X.shape[0], bool)
    replaced[random.choice(X.shape[0], n_replaced, replace=False)] = True
    X = with_random_words(X, replaced, random)

    lda = TemperedLDA(
        arguments.n_components, tempering="local", random_state=arguments.seed
    )
    temperatures = np.asarray(lda.fit(X).temperatures(X))
    hottest = np.argsort(-temperatures)[:n_replaced]
    print(f"{len(replaced):,} documents, {n_replaced} of random words")
    print(f"random words among the {n_replaced} hottest: {replaced[hottest].sum()}")
    print(f"area under the ROC curve: {roc_auc_score(replaced, temperatures):.3f}")
    draw(X, replaced, temperatures, arguments.output)


def with_random_words(X, replaced, random):
    """Return the counts, with random words in the rows that ``replaced`` selects."""
    rows = np.flatnonzero(replaced)
    lengths = np.asarray(X[rows].sum(axis=1)).ravel().astype(int)
    row = np.repeat(rows, lengths)
    words = random.integers(X.shape[1], size=len(row))
    other = sparse.csr_array((np.ones(len(row)), (row, words)), shape=X.shape)
    return sparse.csr_matrix(sparse.diags(1.0 * ~replaced) @ X + other)


def draw(X, replaced, temperatures, path):
    """Draw the temperatures against the lengths of the documents."""
    if plt is None:
        return
    lengths = np.asarray(X.sum(axis=1)).ravel()
    figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for which, color, label in (
        (~replaced, "#0072B2", "descriptions"),
        (replaced, "#D55E00", "random words"),
    ):
        ax.scatter(lengths[which], temperatures[which], s=8, c=color, label=label)
    ax.set(xlabel="words of the document", ylabel="temperature", xscale="log")
    ax.legend()
    if path:
        figure.savefig(path, dpi=100)
        plt.close(figure)
    else:
        plt.show()


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, default=20_000)
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="outliers.png", help="the picture")
    return parser.parse_args()


if __name__ == "__main__":
    main()
