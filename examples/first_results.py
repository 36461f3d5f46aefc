"""
Topics, clusters, classes and parts
===================================

This script fits four models and draws what they found: topics of package descriptions,
clusters of irises, classes of voters, and parts of images. No fit knows a name, or how
many clusters and classes there are: the script names a topic by its first word, and
clusters and classes by their most frequent species and vote. The picture needs
matplotlib and pandas (``python -m pip install ".[plot]" pandas`` in a checkout).

With its defaults the script takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/first_results.png'

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from sktemper import (
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMixedMixture,
)
from sktemper.datasets import (
    load_debian_descriptions,
    load_election_survey,
    make_factorial_mixture,
)

#: Words of the topics to draw: of each, the topic in which it is most probable.
WORDS = ["network", "dna", "fonts", "games", "password", "sound"]


def main():
    arguments = parse_arguments()
    debian = load_debian_descriptions()
    lda = AnnealedLDA(50, random_state=0)
    lda.fit(debian.data[: arguments.max_documents])
    for words in lda.top_words(debian.feature_names, n_words=8):
        print(" ".join(words))

    iris: Any = load_iris()
    clusters = AnnealedGaussianMixture(8, random_state=0).fit(iris.data)
    labels = clusters.predict(iris.data)
    print(f"\n{clusters.n_active_components_} clusters of irises, with")
    for label in np.unique(labels):
        counts = np.bincount(iris.target[labels == label], minlength=3)
        print("  " + ", ".join(map("{} {}".format, counts, iris.target_names)))

    images = make_factorial_mixture(2000, random_state=0)
    parts = AnnealedFactorialMixture(8, random_state=0).fit(images)

    try:
        import pandas as pd
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: matplotlib or pandas is not installed.")
        return
    survey = pd.read_csv(load_election_survey().filename)
    items = survey[["tv_news", "self", "clinton", "dole", "party", "vote"]]
    voters = AnnealedMixedMixture(10, random_state=0).fit(items)

    figure: Any = Figure(figsize=(11, 6.4), layout="constrained")
    above, below = figure.subfigures(2)
    draw_topics(above, lda, debian.feature_names)
    left, middle, right = below.subfigures(1, 3)
    draw_clusters(left, clusters, iris, labels)
    draw_classes(middle, voters)
    draw_parts(right, parts)
    figure.savefig(arguments.output, dpi=110)
    print(f"\nPicture: {arguments.output}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, help="default: all 52,189")
    parser.add_argument("--output", default="first_results.png")
    return parser.parse_args()


def draw_topics(figure, lda, words):
    """Draw the words of a few topics."""
    from sktemper.plotting import TopicWordsDisplay

    columns = [list(words).index(word) for word in WORDS]
    topics = lda.topic_word_[:, columns].argmax(axis=0)
    _, first = np.unique(topics, return_index=True)  # a topic may have two of the words
    topics = topics[np.sort(first)]
    display = TopicWordsDisplay.from_estimator(
        lda, feature_names=words, topics=topics, n_columns=6, ax=figure.subplots()
    )
    figure.suptitle(f"Six of {lda.n_components} topics of package descriptions")
    for ax, names in zip(display.axes_, display.words, strict=True):
        ax.set_title(names[0], loc="left", weight="bold")


def draw_clusters(figure, clusters, iris, labels):
    """Draw flowers by cluster; a cluster has the name of its most frequent species."""
    from sktemper.plotting import MixtureEllipsesDisplay

    ax = figure.subplots()
    MixtureEllipsesDisplay.from_estimator(
        clusters, iris.data, features=(2, 3), min_weight=0.02, ax=ax
    )
    named = np.zeros_like(labels)
    for label in np.unique(labels):
        named[labels == label] = np.bincount(iris.target[labels == label]).argmax()
    for species in np.unique(named):
        x, y = iris.data[named == species, 2:].T
        right, low = x.max() + 0.15, np.quantile(y, 0.2)
        ax.text(right, low, iris.target_names[species], weight="bold", va="center")
    ax.set(xlim=(0.5, 9.3), xlabel=iris.feature_names[2], ylabel=iris.feature_names[3])
    figure.suptitle("Clusters of irises")


def draw_classes(figure, voters):
    """Draw answers by class; a class has the name of its most frequent vote."""
    from sktemper.plotting import ClassProfilesDisplay

    ax = figure.subplots()
    display = ClassProfilesDisplay.from_estimator(voters, items=["self", "vote"], ax=ax)
    profiles: Any = display.profiles.sort_values(["size", "mean"])
    votes = profiles[profiles["item"] == "vote"].groupby("class", sort=False).last()
    names = [f"{row['option']}\n{row['size']:.0%}" for _, row in votes[::-1].iterrows()]
    ax.set_xticks(range(len(names)), names)
    figure.suptitle("Classes of voters, 1 liberal to 7 conservative")


def draw_parts(figure, parts):
    from sktemper.plotting import ComponentsDisplay

    shapes = parts.components_.reshape(-1, 4, 4)
    display = ComponentsDisplay(images=shapes, numbers=np.arange(len(shapes)) + 1)
    display.plot(figure.subplots(), colorbar=False)
    figure.suptitle("Parts of images")


if __name__ == "__main__":
    main()
