"""A stream of Gaussian clusters that appear and die, and a million documents.

    OPENBLAS_NUM_THREADS=1 python benchmarks/long_streams.py

The clusters have 8 dimensions and centres that are 6 standard deviations apart.  Every
20,000 rows, 5 of the 30 clusters are replaced.  The stationary stream has the same 30
clusters all the time.  The mixture has 50 components and a half-life of 10,000.  A
cluster is found if the mean of a component is less than one standard deviation from its
centre.  Other components to which 0.5 % of the last 2,000 rows are assigned are
superfluous.

The documents have 15 tokens of 20 topics, 5 of which are replaced every 100,000
documents.  The table has the memory and the CPU time of `partial_fit` in each hundred
thousand documents.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from stages import head_of
from streams import documents

from sktemper import AnnealedGaussianMixture, AnnealedLDA

RESULTS = Path(__file__).resolve().parent / "results"
CHUNK, HALF_LIFE = 500, 10_000
N_CLUSTERS, N_REPLACED, N_FEATURES, SEPARATION = 30, 5, 8, 6.0
PHASE, N_PHASES, RECENT = 20_000, 5, 2000
#: Numbers of rows after a change at which clusters are counted.
MARKS = 1000, 2000, 3000, 4000, 10_000, 20_000


def separated(random, n):
    """Return ``n`` centres whose distances are at least `SEPARATION`."""
    centres = np.empty((0, N_FEATURES))
    while len(centres) < n:
        drawn = random.normal(scale=SEPARATION / 1.5, size=(1, N_FEATURES))
        if not len(centres) or cdist(drawn, centres).min() >= SEPARATION:
            centres = np.vstack([centres, drawn])
    return centres


def clusters(seed, is_stationary):
    """Yield (row of its phase, missing, superfluous) at the `MARKS` of each phase."""
    random = np.random.default_rng(seed)
    centres = separated(random, N_CLUSTERS + N_REPLACED * (N_PHASES - 1))
    mixture = AnnealedGaussianMixture(50, half_life=HALF_LIFE, random_state=seed)
    for phase in range(N_PHASES):
        first = 0 if is_stationary else N_REPLACED * phase
        present, recent = centres[first : first + N_CLUSTERS], []
        for row in range(CHUNK, PHASE + 1, CHUNK):
            chosen = random.integers(N_CLUSTERS, size=CHUNK)
            X = present[chosen] + random.normal(size=(CHUNK, N_FEATURES))
            mixture.partial_fit(X)
            recent = [*recent, X][-RECENT // CHUNK :]
            if row in MARKS:
                yield phase, row, *counted(mixture, present, np.vstack(recent))


def counted(mixture, centres, X):
    """Return the numbers of missing clusters and of superfluous components."""
    is_near = cdist(mixture.means_, centres) < 1.0
    shares = np.bincount(mixture.predict(X), minlength=50) / len(X)
    n_used = int((shares >= 0.005).sum())
    n_found = int(is_near[shares >= 0.005].any(axis=0).sum())
    return int((~is_near.any(axis=0)).sum()), n_used - n_found


def cluster_rows(n_seeds):
    """Yield a row of the report for each number of rows after a change."""
    for is_stationary, name in (False, "5 of 30 replaced"), (True, "stationary"):
        results = [
            np.array(list(clusters(seed, is_stationary))) for seed in range(n_seeds)
        ]
        found = np.concatenate(results)
        found = found[found[:, 0] > 0]
        for row in MARKS:
            at = found[found[:, 1] == row]
            cells = [f"{at[:, c].mean():.2f} ({at[:, c].max()})" for c in (2, 3)]
            yield f"| {name} | {row:,} | " + " | ".join(cells) + " |"


def document_rows(n_parts=10, length=100_000):
    """Yield a row of the report for each hundred thousand documents."""
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(1000, 0.05), 20 + 5 * n_parts)
    lda = AnnealedLDA(20, half_life=HALF_LIFE, n_jobs=1, random_state=0)
    for part in range(n_parts):
        seconds = 0.0
        for _ in range(0, length, 10_000):
            present = topics[5 * part : 5 * part + 20]
            X = documents(random, np.full(20, 0.1), present, 10_000, n_tokens=15)
            begin = time.process_time()
            for start in range(0, X.shape[0], CHUNK):
                lda.partial_fit(X[start : start + CHUNK])
            seconds += time.process_time() - begin
        mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cost, end = 1000 * seconds / length, (part + 1) * length
        n_renewals = len(lda.renewals_["sample"])
        yield f"| {end:,} | {mebibytes:.0f} | {cost:.4f} | {n_renewals} |"


def main():
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS / "long_streams.md")
    options = parser.parse_args()
    paragraphs = __doc__.split("\n\n")
    lines = [*head_of("Long streams", "long_streams", has_tables=False), ""]
    lines += ["## Clusters that appear and die", "", paragraphs[2], ""]
    lines += [
        "Means over changes and seeds, with the largest number in parentheses:",
        "",
    ]
    lines += ["| stream | rows after a change | missing clusters | superfluous |"]
    lines += ["|---|---:|---:|---:|", *cluster_rows(options.seeds), ""]
    lines += ["## A million documents", "", paragraphs[3].rstrip(), ""]
    lines += ["| documents | largest memory, MiB | CPU ms a document | renewals |"]
    lines += ["|---:|---:|---:|---:|", *document_rows()]
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
