"""
Topics from a stream of text
============================

This script learns the topics of a text file without holding it in memory: it reads
lines in chunks, counts words with a vectorizer that needs no fit, and calls
``partial_fit``.

Without an argument the script writes a file from the shipped corpus, one document a
line.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/stream_text.png'

import argparse
import tempfile
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.schedules import ExponentialSchedule


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file
        if path is None:
            path = Path(folder) / "descriptions.txt"
            write_corpus(path, arguments.max_documents)
        stream(path, arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("file", nargs="?", type=Path, help="one document a line")
    parser.add_argument(
        "--vectorizer",
        choices=["count", "hashing"],
        default="count",
        help="'count' reads the file once more, for its vocabulary",
    )
    parser.add_argument("--max-documents", type=int, help="of the shipped corpus")
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument("--n-features", type=int, default=6000)
    parser.add_argument("--chunk-size", type=int, default=4000, help="in lines")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def stream(path, arguments):
    """Pass over the file and print what was learned."""
    if arguments.vectorizer == "count":
        vocabulary = most_frequent_words(path, arguments.n_features)
        vectorizer = CountVectorizer(vocabulary=vocabulary)
    else:
        # Topics need counts: neither signs nor unit length.
        vectorizer = HashingVectorizer(
            n_features=arguments.n_features,
            alternate_sign=False,
            norm=None,  # pyright: ignore
        )
    n_lines = sum(1 for _ in lines_of(path))
    n_test = min(arguments.chunk_size, n_lines // 10)
    X_test = vectorizer.transform(islice(lines_of(path), n_test))
    # A stream that is seen once needs neither total_samples nor a schedule. Here the
    # same lines come again: without total_samples they would count as new data, and
    # without a schedule the temperature would be 1 before the first pass is over.
    lda = AnnealedLDA(
        n_components=arguments.n_components,
        schedule=ExponentialSchedule(length=arguments.passes / 2, unit="passes"),
        total_samples=n_lines - n_test,
        random_state=arguments.seed,
    )
    # What is printed of a hot model is not its last word, as scores would warn.
    warnings.filterwarnings("ignore", "The model is still at temperature")
    for number in range(1, arguments.passes + 1):
        lines = islice(lines_of(path), n_test, None)
        while chunk := list(islice(lines, arguments.chunk_size)):
            lda.partial_fit(vectorizer.transform(chunk))
        print(
            f"pass {number}: {lda.n_batch_iter_} steps, "
            f"temperature {lda.temperature_:.2f}, "
            f"held-out nats per token {lda.score(X_test):.3f}"
        )
    if isinstance(vectorizer, CountVectorizer):
        print("\nTopics:")
        for words in lda.top_words(vectorizer.get_feature_names_out(), n_words=8):
            print("  " + " ".join(words))


def lines_of(path):
    with path.open(encoding="utf-8") as file:
        yield from file


def most_frequent_words(path, n_words):
    """Return the vocabulary of the file, in one pass that holds counts of words only.

    ``CountVectorizer.fit`` would hold the counts of all documents.
    """
    words_of = CountVectorizer(stop_words="english").build_analyzer()
    counts = Counter()
    for line in lines_of(path):
        counts.update(words_of(line))
    return sorted(word for word, _ in counts.most_common(n_words))


def write_corpus(path, max_documents):
    """Write the shipped counts as text: each word as often as it occurs."""
    docs = load_debian_descriptions()
    with path.open("w", encoding="utf-8") as file:
        for row in docs.data[:max_documents]:
            words = np.repeat(docs.feature_names[row.indices], row.data)
            file.write(" ".join(words) + "\n")


if __name__ == "__main__":
    main()
