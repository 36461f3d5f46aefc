"""
New topics in a stream of texts
===============================

This script reads a folder of text files in the order of their dates and reports new
topics with their dates and words. Each line of a file is a document. Neither the texts
nor their counts are held in memory, except for a sample of recent documents.

Without an argument the script writes such a folder from the corpus that is part of the
package: a file for each week of half a year. Descriptions of Rust packages occur only
in the last two months.

With its defaults the script takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/stream.png'

import argparse
import tempfile
from pathlib import Path

import numpy as np

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.text import StreamingCountVectorizer

try:
    import matplotlib.pyplot as plt

    from sktemper.plotting import StreamDisplay
except ImportError:
    plt = StreamDisplay = None


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder
        if folder is None:
            folder = Path(temporary)
            write_weeks(folder, arguments.documents)
        stream(folder, arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        help="folder of files named by their dates, such as 2024-05-31.txt",
    )
    parser.add_argument(
        "--documents", type=int, default=27_500, help="number of written documents"
    )
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument("--half-life", type=float, default=5_000, help="in documents")
    parser.add_argument("--picture", default="stream_text.png")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def stream(folder, arguments):
    """Fit the model to the files in turn, and print alarms and new topics."""
    # The vocabulary and the topics forget old documents at the same rate.
    vectorizer = StreamingCountVectorizer(
        stop_words="english", min_df=10, half_life=arguments.half_life
    )
    lda = AnnealedLDA(
        arguments.n_components,
        half_life=arguments.half_life,
        random_state=arguments.seed,
    )
    n_alarms = n_renewals = 0
    for path in sorted(folder.glob("*.txt")):
        texts = path.read_text(encoding="utf-8").splitlines()
        lda.partial_fit(vectorizer.partial_fit_transform(texts), times=path.stem)
        for time in lda.alarms_["time"][n_alarms:]:
            print(f"{path.stem}: alarm, the texts changed after {day(time)}")
        n_alarms = len(lda.alarms_["time"])
        words = lda.top_words(vectorizer.get_feature_names_out(), n_words=8)
        n_renewals = print_births(lda.renewals_, words, n_renewals, path.stem)
    print(f"\n{lda.n_samples_seen_} documents, {lda.n_features_in_} words")
    if plt is not None and StreamDisplay is not None:
        names = vectorizer.get_feature_names_out()
        display = StreamDisplay.from_estimator(lda, feature_names=names)
        display.figure_.savefig(arguments.picture, dpi=100)
        plt.close(display.figure_)


def print_births(renewals, words, first, date):
    """Print the new topics of decided renewals, from index ``first`` on.

    A renewal is a fit of new topics to recent documents, which the model keeps or drops
    when later documents have shown whether it is better. Return the number of decided
    renewals.
    """
    for number in range(first, len(renewals["kept"])):
        if renewals["kept"][number] is None:
            return number
        if renewals["kept"][number] and renewals["reason"][number] != "start":
            for topic in renewals["columns"][number]:
                print(f"{date}: new topic {topic}: {' '.join(words[topic])}")
    return len(renewals["kept"])


def day(time):
    """Return a time as a date."""
    return np.datetime64(time, "D")


def write_weeks(folder, n_documents):
    """Write the counts of the corpus as texts, a file for each week."""
    debian = load_debian_descriptions()
    names = debian.document_names
    is_late = np.array([name.startswith("librust-") for name in names])
    order = np.random.default_rng(0).permutation(len(names))
    late = order[is_late[order]][: n_documents // 18]
    others = order[~is_late[order]][: n_documents - len(late)]
    weeks = np.arange("2024-01-05", "2024-07-05", 7, dtype="datetime64[D]")
    parts = np.array_split(others, len(weeks))
    late = [*[[]] * (len(weeks) - 8), *np.array_split(late, 8)]
    for week, rows, new in zip(weeks, parts, late, strict=True):
        rows = np.random.default_rng(0).permutation(np.append(rows, new).astype(int))
        with (folder / f"{week}.txt").open("w", encoding="utf-8") as file:
            for row in rows:
                counts = debian.data[[row]]
                words = np.repeat(debian.feature_names[counts.indices], counts.data)
                file.write(" ".join(words) + "\n")


if __name__ == "__main__":
    main()
