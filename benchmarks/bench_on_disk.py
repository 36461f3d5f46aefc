"""Benchmark of writing text, ratings and files to collections on disk, and of reading.

    python benchmarks/bench_on_disk.py                       # all, and the report
    python benchmarks/bench_on_disk.py --documents 20000     # a short trial run

The texts are descriptions of the corpus that is part of the package, repeated as often
as necessary, with their words in random order; a "long" text is ten of them joined.
Runs of a vectorizer alone and of `write_counts` with it alternate; the table has the
least CPU time of each.

The report is ``benchmarks/results/bench_on_disk.md``.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from stages import head_of, table, timed

from sktemper.datasets import (
    load_debian_descriptions,
    read_uci,
    write_counts,
    write_ratings,
)

REPORT = Path(__file__).parent / "results" / "bench_on_disk.md"
BATCH = 10_000


def texts_of(n_documents, joined):
    """Return texts that consist of ``joined`` descriptions of the corpus each."""
    docs = load_debian_descriptions()
    random = np.random.default_rng(0)
    X, texts = docs.data, []
    for start in range(0, X.shape[0] - joined, joined):
        some = X[start : start + joined]
        words = np.repeat(docs.feature_names[some.indices], some.data)
        texts.append(" ".join(random.permutation(words)))
    return (texts * (n_documents // len(texts) + 1))[:n_documents]


def text_rows(n_documents, repeats):
    """Yield a table row for each kind of text and vectorizer."""
    for kind, joined in ("short", 1), ("long", 10):
        texts = texts_of(n_documents if joined == 1 else n_documents // 4, joined)
        batches = [texts[s : s + BATCH] for s in range(0, len(texts), BATCH)]
        hashing = HashingVectorizer(n_features=2**17, alternate_sign=False, norm=None)
        for vectorizer in (hashing, CountVectorizer().fit(texts[: 2 * BATCH])):
            alone, written = [], []
            for _ in range(repeats):
                alone.append(timed(transform_all, vectorizer, batches)[0])
                with tempfile.TemporaryDirectory() as folder:
                    took, X = timed(write_counts, folder, batches, vectorizer)
                    size = sum(file.stat().st_size for file in Path(folder).iterdir())
                written.append(took)
            yield {
                "text": kind,
                "vectorizer": type(vectorizer).__name__,
                "words a document": X.nnz / len(texts),
                "documents/s alone": len(texts) / min(alone),
                "documents/s written": len(texts) / min(written),
                "share": min(alone) / min(written),
                "bytes an entry": size / X.nnz,
            }


def transform_all(vectorizer, batches):
    for batch in batches:
        vectorizer.transform(batch)


def other_rows(n_entries):
    """Yield the table rows of numeric data, such as ratings."""
    random = np.random.default_rng(0)
    users, items = random.integers(0, (n_entries // 25, 20_000), (n_entries, 2)).T
    stars = random.integers(1, 6, n_entries)
    places = range(0, n_entries, 500_000)
    batches = [tuple(c[s : s + 500_000] for c in (users, items, stars)) for s in places]
    with tempfile.TemporaryDirectory() as folder:
        took, _ = timed(lambda: write_ratings(folder, batches, duplicates="last"))
    yield {"what": "ratings in any order", "million entries/s": n_entries / took / 1e6}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "docword.txt"
        documents = np.sort(users) + 1
        sizes = f"{documents[-1]}\n20000\n{n_entries}\n"
        lines = zip(documents.tolist(), items.tolist(), stars.tolist(), strict=True)
        body = "".join(f"{d} {w + 1} {c}\n" for d, w, c in lines)
        path.write_text(sizes + body)
        took, _ = timed(lambda: write_counts(Path(folder) / "X", read_uci(path)))
    yield {"what": "UCI bag of words", "million entries/s": n_entries / took / 1e6}


def lines_of(rows):
    return "\n".join(table(pd.DataFrame(rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--entries", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    text = list(text_rows(asked.documents, asked.repeats))
    other = list(other_rows(asked.entries))
    REPORT.write_text(
        "\n".join(head_of("Collections on disk", "bench_on_disk"))
        + f"\n\n## Text, written by `write_counts`\n\n{lines_of(text)}\n\n"
        f"## Numbers\n\n{lines_of(other)}\n",
        encoding="utf-8",
    )
    print(REPORT.read_text("utf-8"))


if __name__ == "__main__":
    main()
