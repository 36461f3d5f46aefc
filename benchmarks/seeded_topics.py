"""How strong seeds must be for their topics to stay.

    python benchmarks/seeded_topics.py

For each strength and context: the share of the tokens of the seed words that their
topics have, the size of these as a multiple of an even share, and the held-out score.
"""

import argparse

import numpy as np
from corpora import add_argument, load

from sktemper import AnnealedLDA, TemperedLDA, seeded_prior
from sktemper.datasets import load_debian_descriptions

DEBIAN = {
    "games": ["game", "player", "games"],
    "genome": ["genome", "dna", "protein"],
    "fonts": ["font", "fonts"],
    "mail": ["mail", "imap", "smtp"],
}
NYT = {
    "ball": ["baseball", "inning", "pitcher"],
    "law": ["court", "judge", "lawyer"],
    "film": ["film", "movie", "actor"],
    "war": ["war", "soldier"],
}
#: Corpus, training documents, topics, and words.
CASES = (("debian", 8000, 100), ("debian", 30_000, 50), ("nyt", None, 30))
#: Strengths and contexts; None has no seeds.
STRENGTHS = (
    None,
    (1.0, 0.0),
    (2.0, 0.0),
    (5.0, 0.0),
    (1.0, 0.1),
    (2.0, 0.1),
    (1.0, 1.0),
)


def words_of(name, folder):
    """Return the vocabulary of a corpus."""
    if name == "debian":
        return load_debian_descriptions().feature_names
    text = (folder / f"{name}.vocab.txt").read_text(encoding="utf-8")
    return np.array(text.splitlines(), dtype=object)


def row(lda, names, seeds):
    """Return the shares of the seeds, and the sizes of their topics."""
    tokens = lda.state_.globals_.tokens().T
    shares, sizes = [], []
    for topic, words in enumerate(seeds.values()):
        columns = np.flatnonzero(np.isin(names, words))
        of_seeds = tokens[:, columns].sum(axis=1)
        shares.append(of_seeds[topic] / of_seeds.sum())
        sizes.append(tokens[topic].sum() / tokens.sum() * len(tokens))
    return shares, sizes


def main():
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_argument(parser)
    parser.add_argument("--max-iter", type=int, default=10)
    parser.add_argument("--plain", action="store_true", help="without annealing")
    arguments = parser.parse_args()
    for name, n_train, n_topics in CASES:
        corpus = load(name, arguments.data, n_train)
        if corpus is None:
            continue
        names = words_of(name, arguments.data)
        seeds = DEBIAN if name == "debian" else NYT
        for strength in STRENGTHS:
            prior = 0.1
            if strength is not None:
                prior = seeded_prior(
                    names,
                    seeds,
                    corpus.train,
                    n_topics,
                    strength=strength[0],
                    context=strength[1],
                )
            shared = {
                "topic_word_prior": prior,
                "max_iter": arguments.max_iter,
                "random_state": 1,
            }
            if arguments.plain:
                lda = TemperedLDA(n_topics, tempering=None, **shared)
            else:
                lda = AnnealedLDA(n_topics, **shared)
            shares, sizes = row(lda.fit(corpus.train), names, seeds)
            print(
                f"{name:6s} {corpus.train.shape[0]} K={n_topics}"
                f" strength, context {strength}"
                f" shares {np.round(shares, 2)} sizes {np.round(sizes, 2)}"
                f" score {lda.score(corpus.test):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
