"""Benchmark of clusters of embeddings, with and without principal components.

    OPENBLAS_NUM_THREADS=1 python -P benchmarks/bench_embeddings.py

The script generates unit vectors of 384 columns in 20 clusters whose sizes follow
Zipf's law.  As in sentence embeddings, the noise is correlated between columns: the
variance of its principal axis of rank r falls as 1 / r.  The script prints a table in
Markdown with the number of clusters, the adjusted Rand index and the CPU time of each
fit and seed.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedGaussianMixture

N_CLUSTERS, N_COLUMNS, NOISE = 20, 384, 0.04


def unit_vectors(n_samples, seed):
    """Return vectors of length 1 and the indices of their clusters."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(N_CLUSTERS, N_COLUMNS))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    sizes = 1.0 / np.arange(1, N_CLUSTERS + 1)
    labels = random.choice(N_CLUSTERS, size=n_samples, p=sizes / sizes.sum())
    scales = np.arange(1, N_COLUMNS + 1) ** -0.5
    scales *= NOISE * np.sqrt(N_COLUMNS) / np.linalg.norm(scales)
    axes = np.linalg.qr(random.normal(size=(N_COLUMNS, N_COLUMNS)))[0]
    noise = random.normal(size=(n_samples, N_COLUMNS)) * scales
    X = centres[labels] + noise @ axes
    return X / np.linalg.norm(X, axis=1, keepdims=True), labels


def mixture(covariance_type, seed):
    return AnnealedGaussianMixture(
        2 * N_CLUSTERS, covariance_type=covariance_type, random_state=seed
    )


def cases(seed):
    """Yield a name, a number of principal components or None, and an estimator.

    None uses all columns without a principal component analysis.
    """
    yield "diag", None, mixture("diag", seed)
    for n_columns in 20, 50:
        for covariance_type in "diag", "tied", "full":
            yield covariance_type, n_columns, mixture(covariance_type, seed)
    for n_columns in None, 20:
        means = KMeans(N_CLUSTERS, n_init=3, random_state=seed)
        yield f"KMeans, told {N_CLUSTERS}", n_columns, means


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--n-samples", type=int, default=3000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = {}
    for seed in arguments.seeds:
        X, labels = unit_vectors(arguments.n_samples, seed)
        for name, n_columns, estimator in cases(seed):
            start = time.process_time()
            E = (
                X
                if n_columns is None
                else PCA(n_columns, random_state=0).fit_transform(X)
            )
            found = estimator.fit(E).labels_
            seconds = time.process_time() - start
            figures = len(np.unique(found)), adjusted_rand_score(labels, found), seconds
            rows.setdefault((n_columns or "all", name), []).append(figures)
    print("| columns | covariance_type | clusters found | ARI | CPU seconds |")
    print("|---|---|---:|---:|---:|")
    for (columns, name), figures in rows.items():
        found, index, seconds = zip(*figures, strict=True)
        cells = [
            ", ".join(map(str, found)),
            ", ".join(f"{value:.2f}" for value in index),
            f"{np.median(seconds):.1f}",
        ]
        print(f"| {columns} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
