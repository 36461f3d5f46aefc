"""Words for the columns of a `HashingVectorizer`, collected while it is used."""

from collections import Counter

import numpy as np
from sklearn.feature_extraction import FeatureHasher

#: The words of all documents are counted until the documents have `FIRST_ENTRIES`
#: entries.  After that, only the share `SHARE` of each batch's documents is counted.
FIRST_ENTRIES, SHARE = 2**15, 0.02
#: Number of words that are kept in addition to one for each column.
SPARE_WORDS = 2**16
#: A column's name contains at most `MOST_NAMES` words, each with at least the share
#: `LEAST_SHARE` of the column's counts.
MOST_NAMES, LEAST_SHARE = 3, 0.25


class HashedWords:
    """Words of hashed columns, collected from a few documents.

    Half of these documents are drawn at random, which estimates the frequencies of
    words.  The other half are the documents with the most columns without a known word.
    """

    def __init__(self, vectorizer):
        self.analyze = vectorizer.build_analyzer()
        self.n_features = vectorizer.n_features
        self.hasher = FeatureHasher(
            self.n_features, input_type="string", alternate_sign=False
        )
        self.counts, self.columns = Counter(), {}
        self.named = np.zeros(self.n_features, dtype=bool)
        self.n_batches = self.n_entries = 0

    def look_at(self, texts, X):
        """Count the words of a sample of the texts; their hashed counts are ``X``."""
        n_texts = X.shape[0]
        n_first = np.searchsorted(X.indptr[1:], FIRST_ENTRIES - self.n_entries)
        n_chosen = min(max(int(n_first), int(np.ceil(SHARE * n_texts))), n_texts)
        chosen = self._chosen(X, n_chosen)
        texts = texts.tolist() if hasattr(texts, "tolist") else texts
        counts = Counter()
        for number in chosen:
            counts.update(self.analyze(texts[number]))
        self.counts.update(counts)
        self.n_batches += 1
        self.n_entries += X.nnz
        self._find_columns(counts)
        if len(self.counts) > self.n_features + SPARE_WORDS:
            self._forget()

    def _chosen(self, X, n_chosen):
        n_texts = X.shape[0]
        if n_chosen == n_texts:
            return range(n_texts)
        random = np.random.default_rng(self.n_batches)
        chosen = random.choice(n_texts, size=-(-n_chosen // 2), replace=False)
        n_left = n_chosen - len(chosen)
        if n_left == 0:
            return chosen.tolist()
        unknown = np.flatnonzero(np.take(~self.named, X.indices))
        rows = np.searchsorted(X.indptr, unknown, side="right") - 1
        unknown = np.bincount(rows, minlength=n_texts)
        most = np.argpartition(-unknown, n_left)[:n_left]
        return np.union1d(chosen, most[unknown[most] > 0]).tolist()

    def _find_columns(self, words):
        new = [word for word in words if word not in self.columns]
        if new:
            columns = self.hasher.transform([word] for word in new).indices
            self.columns.update(zip(new, columns.tolist(), strict=True))
            self.named[columns] = True

    def _forget(self):
        """Keep the most frequent word of each column."""
        best = {}
        for word, count in self._by_frequency():
            best.setdefault(self.columns[word], (word, count))
        self.counts = Counter(dict(best.values()))
        self.columns = {word: self.columns[word] for word in self.counts}

    def _by_frequency(self):
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))

    def names(self):
        """Return the name of each column: its most frequent words, or its index."""
        words, totals = {}, Counter()
        for word, count in self._by_frequency():
            column = self.columns[word]
            totals[column] += count
            words.setdefault(column, []).append((word, count))
        names = [f"#{column}" for column in range(self.n_features)]
        for column, found in words.items():
            least = LEAST_SHARE * totals[column]
            names[column] = "|".join(w for w, n in found[:MOST_NAMES] if n >= least)
        return names

    def state(self):
        """Return the counts as an object that JSON can represent."""
        return {
            "counts": dict(self.counts),
            "n_batches": self.n_batches,
            "n_entries": self.n_entries,
            "named": np.flatnonzero(self.named).tolist(),
        }

    def restore(self, state):
        """Continue from the result of `state`."""
        self.counts, self.columns = Counter(state["counts"]), {}
        self._find_columns(self.counts)
        self.named[state["named"]] = True
        self.n_batches, self.n_entries = state["n_batches"], state["n_entries"]
