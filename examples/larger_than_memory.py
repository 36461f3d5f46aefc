"""
More text than memory, on one machine and on a cluster
======================================================

This script writes counts of many documents to disk in shards and fits topics to them in
bounded memory. Then it fits the same model on a local cluster of two processes; the
call is the same for a remote cluster. Both models have the same bits.

The documents are many copies of the corpus that is part of the package. The cluster
needs the packages dask and distributed; without them, the script skips that fit.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/larger_than_memory.png'

import argparse
import importlib.util
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions, open_counts, write_counts


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        folder = arguments.folder or Path(folder) / "counts"
        write(folder, arguments)
        on_one_machine = fit(folder, arguments)
        for words in on_one_machine.top_words(n_words=6)[:5]:
            print("   ", " ".join(words))
        if importlib.util.find_spec("distributed") is None:
            print("There is no package distributed: no fit on a cluster.")
            return
        on_cluster = fit_on_cluster(folder, arguments)
        same = np.array_equal(on_one_machine.components_, on_cluster.components_)
        print("The models are", "equal, bit for bit." if same else "not equal.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--folder", type=Path, help="folder of the shards")
    parser.add_argument("--copies", type=int, default=120, help="of the corpus")
    parser.add_argument("--max-documents", type=int, help="of the corpus")
    parser.add_argument("--n-components", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=200_000)
    parser.add_argument("--n-workers", type=int, default=2, help="of the cluster")
    return parser.parse_args()


def write(folder, arguments):
    """Write ``arguments.copies`` copies of the counts of the corpus as shards."""
    corpus = load_debian_descriptions()
    counts = corpus.data[: arguments.max_documents]
    begin = time.perf_counter()
    # These documents are counts already. Batches of texts need a vectorizer:
    # write_counts(folder, batches, vectorizer).
    batches = (counts for _ in range(arguments.copies))
    collection = write_counts(folder, batches, feature_names=corpus.feature_names)
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    words = collection.sum
    print(
        f"{collection.shape[0]:,} documents of {words:,} words, about "
        f"{8 * words / 1e9:.1f} GB of text, are {size / 1e9:.2f} GB on disk after "
        f"{time.perf_counter() - begin:.0f} s."
    )


def estimator(arguments):
    # One pass over large batches makes few steps, so each step has to be large.
    return AnnealedLDA(
        arguments.n_components,
        max_iter=1,
        batch_size=arguments.batch_size,
        learning_rate=0.3,
        n_jobs=arguments.n_workers,
        random_state=0,
    )


def fit(folder, arguments):
    before = largest_memory()
    begin = time.perf_counter()
    lda = estimator(arguments).fit(open_counts(folder))
    print(
        f"On this machine: {lda.n_batch_iter_} steps in "
        f"{time.perf_counter() - begin:.0f} s; the process grew by "
        f"{largest_memory() - before:.0f} MB, maps of the shards included."
    )
    return lda


def largest_memory():
    """Return the peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_on_cluster(folder, arguments):
    from distributed import Client, LocalCluster

    import sktemper.dask

    with (
        LocalCluster(
            n_workers=arguments.n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        begin = time.perf_counter()
        # Workers open the shards themselves and send only the sums of each step.
        lda = sktemper.dask.fit(
            estimator(arguments), open_counts(folder), client=client
        )
        print(
            f"On {arguments.n_workers} workers: {lda.n_batch_iter_} steps in "
            f"{time.perf_counter() - begin:.0f} s."
        )
    return lda


if __name__ == "__main__":
    main()
