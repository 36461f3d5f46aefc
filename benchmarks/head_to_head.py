"""Topics of three packages for the same texts, side by side.

The texts are the 11,246 changes of Python that ship with this package. All packages
get the words that one `CountVectorizer` finds, and fit 30 topics to 70 % of the texts,
in one thread. LDA has the same priors everywhere, with ten passes of variational
methods and 100 sweeps of Gibbs sampling. The other 30 % score the topics: held-out nats
per token by document completion, NPMI coherence of the first ten words of a topic, and
diversity, the share of distinct words among them.

    python benchmarks/head_to_head.py --seeds 3
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import readme_peers as peers
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from stages import head_of

from sktemper.datasets import load_python_changes
from sktemper.metrics import npmi_coherence, topic_diversity

peers.K = K = 30  # the functions of the module read it
N_WORDS, N_SHOWN, SHOWN_TOPICS = 10, 4, 10
CONTESTANTS = {
    "`AnnealedLDA`": peers.annealed,
    "tomotopy": peers.tomotopy,
    "scikit-learn": peers.in_batch,
}


def of_lda(fit, X, X_test, seed):
    """Return the columns of the first words of each topic, and the figures."""
    begin = time.process_time()
    topics = fit(X, seed)
    seconds = time.process_time() - begin
    first = np.argsort(-topics, axis=1, kind="stable")[:, :N_WORDS]
    score = peers.judged(topics, X_test)[0]
    coherence = npmi_coherence(first.tolist(), X_test).mean()
    return first, [score, coherence, topic_diversity(first), seconds]


def matched(first, other):
    """Return the topics of another package in the order of those they resemble."""
    shared = [[len(set(a) & set(b)) for b in other] for a in first]
    return other[linear_sum_assignment(shared, maximize=True)[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ...")
    folder = Path(__file__).parent / "results"
    parser.add_argument("--output", type=Path, default=folder)
    arguments = parser.parse_args()
    texts = load_python_changes().data["text"].to_numpy()
    train, test = train_test_split(np.arange(len(texts)), test_size=0.3, random_state=0)
    vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.3)
    X = vectorizer.fit_transform(texts[train])
    X_test = vectorizer.transform(texts[test])
    found, figures = {}, {}
    for seed in range(arguments.seeds):
        for name, fit in CONTESTANTS.items():
            first, numbers = of_lda(fit, X, X_test, seed)
            found.setdefault(name, first)  # of seed 0
            figures.setdefault(name, []).append(numbers)
            print(name, seed, *numbers, flush=True)
    words = vectorizer.get_feature_names_out()
    counts = np.asarray(X.sum(axis=0)).ravel()
    ours = found["`AnnealedLDA`"]
    largest = np.argsort(-counts[ours].sum(axis=1))[:SHOWN_TOPICS]
    shown = {name: matched(ours, other)[largest] for name, other in found.items()}
    report = lines_of(figures, {n: words[v[:, :N_SHOWN]] for n, v in shown.items()})
    (arguments.output / "head_to_head.md").write_text("\n".join(report) + "\n")


def lines_of(figures, shown):
    version = f"tomotopy {metadata.version('tomotopy')}"
    title = "Topics of three packages, side by side"
    yield from head_of(title, "head_to_head", version)
    n_seeds = len(next(iter(figures.values())))
    yield from ("", f"Means of {n_seeds} seeds. Higher is better, except for seconds.")
    yield from ("", "| | held-out nats per token | NPMI | diversity | CPU seconds |")
    yield "|---|---:|---:|---:|---:|"
    for name, rows in figures.items():
        score, *others, seconds = np.mean(rows, axis=0)
        numbers = " | ".join(f"{value:.2f}" for value in (score, *others))
        yield f"| {name} | {numbers} | {seconds:.1f} |"
    yield ""
    yield "BERTopic has no row: it needs a pretrained network and PyTorch, which the"
    yield "environments of the tests and benchmarks do not have."
    yield ""
    yield f"The first {N_SHOWN} words of the {SHOWN_TOPICS} topics with the most"
    yield "frequent words, of seed 0, and the most similar topic of each package:"
    yield from ("", f"| {' | '.join(shown)} |", "|---" * len(shown) + "|")
    for row in zip(*shown.values(), strict=True):
        yield f"| {' | '.join(' '.join(words) for words in row)} |"


if __name__ == "__main__":
    main()
