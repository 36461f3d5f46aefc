"""The table of README.md: topics of this package and of other packages.

All packages fit 50 topics to 46,970 descriptions of Debian packages, in one thread and
with the same priors. Variational methods make ten passes, and Gibbs sampling 100
sweeps. The same code scores all topics on 5,219 other descriptions: held-out nats per
token by document completion; NPMI coherence of the first ten words of a topic; and
diversity, the share of distinct words among the first 25 of each topic. The script
writes ``benchmarks/results/readme_peers.md`` and ``.csv``.

    python benchmarks/readme_peers.py --seeds 3
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import csv
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import train_test_split
from stages import head_of
from topic_models import tomotopy_lda, tomotopy_topics

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.metrics import completion_log_likelihood, npmi_coherence, topic_diversity

K, ALPHA, ETA, PASSES, SWEEPS = 50, 0.05, 0.1, 10, 100
COLUMNS = ["score", "coherence", "diversity", "CPU s"]


def annealed(X, seed):
    return AnnealedLDA(K, random_state=seed).fit(X).components_


def plain(X, seed, doc_update="variational", init_params="random"):
    lda = TemperedLDA(
        K,
        tempering=None,
        doc_update=doc_update,
        init_params=init_params,
        random_state=seed,
    )
    return lda.fit(X).components_


def plain_sampled(X, seed):
    return plain(X, seed, doc_update="sampled")


def plain_sampled_spectral(X, seed):
    return plain(X, seed, doc_update="sampled", init_params="spectral")


def plain_spectral(X, seed):
    return plain(X, seed, init_params="spectral")


def annealed_variational(X, seed):
    lda = AnnealedLDA(
        K, doc_update="variational", init_params="random", random_state=seed
    )
    return lda.fit(X).components_


def of_sklearn(X, seed, method="online", **more):
    lda = LatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method=method,
        max_iter=PASSES,
        random_state=seed,
        **more,
    )
    return lda.fit(X).components_


def batches_of_1000(X, seed):
    return of_sklearn(X, seed, batch_size=1000)


def in_batch(X, seed):
    return of_sklearn(X, seed, method="batch")


def gensim(X, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    lda = LdaModel(
        Sparse2Corpus(X, documents_columns=False),
        id2word={i: str(i) for i in range(X.shape[1])},
        num_topics=K,
        passes=PASSES,
        alpha=[ALPHA] * K,
        eta=ETA,
        eval_every=0,
        random_state=seed,
    )
    return lda.state.get_lambda().astype(np.float64)


def tomotopy(X, seed):
    lda = tomotopy_lda(X, K, seed, alpha=ALPHA, eta=ETA)
    lda.optim_interval = 0  # do not learn the prior
    lda.train(SWEEPS, workers=1)
    return tomotopy_topics(lda, X.shape[1])


CONTESTANTS = {
    "`AnnealedLDA`": annealed,
    "plain, sampled, spectral start": plain_sampled_spectral,
    "plain, sampled, random start": plain_sampled,
    "annealed, variational, random start": annealed_variational,
    "plain, variational, spectral start": plain_spectral,
    "plain, variational, random start": plain,
    "tomotopy, 100 sweeps": tomotopy,
    "scikit-learn, batch": in_batch,
    "scikit-learn, online, batches of 1,000": batches_of_1000,
    "scikit-learn, online": of_sklearn,
    "gensim": gensim,
}


def judged(topics, X):
    """Return score, coherence and diversity of topics, given as pseudo-counts."""
    judge = LatentDirichletAllocation(K, doc_topic_prior=ALPHA, topic_word_prior=ETA)
    judge.partial_fit(X[:2])
    judge.components_ = topics.astype(np.float64)
    judge.exp_dirichlet_component_ = expected_logarithms(judge.components_)
    first = np.argsort(-topics, axis=1, kind="stable")[:, :25]
    return [
        completion_log_likelihood(judge, X),
        npmi_coherence(first[:, :10].tolist(), X).mean(),
        topic_diversity(first),
    ]


def expected_logarithms(topics):
    return np.exp(psi(topics) - psi(topics.sum(axis=1, keepdims=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ...")
    folder = Path(__file__).parent / "results"
    parser.add_argument("--output", type=Path, default=folder)
    arguments = parser.parse_args()
    data = load_debian_descriptions().data
    X, X_test = train_test_split(data, test_size=0.1, random_state=0)
    rows = []
    for seed in range(arguments.seeds):
        for name, fit in CONTESTANTS.items():
            begin = time.process_time()
            topics = fit(X, seed)
            seconds = time.process_time() - begin
            rows.append([name, seed, *judged(topics, X_test), seconds])
            print(*rows[-1], flush=True)
    write(rows, arguments.output)


def write(rows, folder):
    with (folder / "readme_peers.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["contestant", "seed", *COLUMNS])
        writer.writerows([*row[:2], *(f"{v:.4f}" for v in row[2:])] for row in rows)
    names = "gensim", "tomotopy"
    versions = [f"{name} {metadata.version(name)}" for name in names]
    n_seeds = len({row[1] for row in rows})
    lines = [
        *head_of("Topics of this package and of its peers", "readme_peers", *versions),
        "",
        f"Means of {n_seeds} seeds; the score with its standard deviation."
        if n_seeds > 1
        else "One seed.",
        "",
        "| | held-out nats per token | NPMI coherence | diversity | CPU seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys(row[0] for row in rows):
        own = np.array([row[2:] for row in rows if row[0] == name])
        mean, spread = own.mean(axis=0), own.std(axis=0)
        score = f"{mean[0]:.2f}" + (f" ± {spread[0]:.2f}" if n_seeds > 1 else "")
        lines.append(
            f"| {name} | {score} | {mean[1]:.3f} | {mean[2]:.2f} | {mean[3]:.0f} |"
        )
    (folder / "readme_peers.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
