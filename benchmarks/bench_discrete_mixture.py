"""Do mixtures of discrete data find the topics and classes?  At what cost?

    python benchmarks/bench_discrete_mixture.py                  # all, then the report
    python benchmarks/bench_discrete_mixture.py --stages texts
    python benchmarks/bench_discrete_mixture.py --quick          # does it run?
    python benchmarks/bench_discrete_mixture.py --stages         # only the report

A stage appends the row of each finished fit to its own table in
``benchmarks/results/bench_discrete_mixture``; after an interruption it goes on behind
them.  The report is ``benchmarks/results/bench_discrete_mixture.md``.  StepMix has to
be installed (``pip install stepmix``).

texts      one topic a document: Debian descriptions, beside collapsed Gibbs sampling
classes    generated latent classes, beside StepMix

Lower bounds are all by the same function, with every constant: the labels, or the
responsibilities, of the others make the first step of ours.  Everything runs in one
thread; seconds are of CPU time.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse

import numpy as np
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score
from stages import add_arguments, run, timed

import sktemper
from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedMultinomialMixture,
    TemperedBernoulliMixture,
    TemperedMultinomialMixture,
)
from sktemper.datasets import load_debian_descriptions

PASSES_OF_GIBBS = 30


def continued(mixture, X, responsibilities):
    """Return an estimator whose parameters are best for these responsibilities."""
    mixture = mixture.set_params(tempering=None, max_iter=1, random_state=0).fit(X)
    model, state = mixture._fitted_model(), mixture.state_
    block = model.take(X, slice(None))
    state.globals_ = model.optimum(block, responsibilities, state.hyper)
    return mixture


class Gibbs:
    """Collapsed Gibbs sampling of the same model: GSDMM, Yin and Wang 2014."""

    def __init__(self, X, n_components, concentration, feature_prior, seed):
        self.random = np.random.default_rng(seed)
        self.rows = [
            (X.indices[a:b], X.data[a:b].astype(float))
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
        self.K, self.V = n_components, X.shape[1]
        self.concentration, self.feature_prior = concentration, feature_prior
        self.words = np.zeros((self.K, self.V))
        self.documents, self.tokens = np.zeros(self.K), np.zeros(self.K)
        self.labels = self.random.integers(self.K, size=len(self.rows))
        for row, k in enumerate(self.labels):
            self._count(row, k, 1)

    def _count(self, row, k, sign):
        words, counts = self.rows[row]
        self.words[k, words] += sign * counts
        self.documents[k] += sign
        self.tokens[k] += sign * counts.sum()

    def sweep(self):
        """Draw the topic of each document, given those of the others."""
        for row in range(len(self.rows)):
            self._count(row, self.labels[row], -1)
            words, counts = self.rows[row]
            held = self.words[:, words] + self.feature_prior
            total = self.tokens + self.V * self.feature_prior
            logs = np.log(self.documents + self.concentration)
            logs += (gammaln(held + counts) - gammaln(held)).sum(axis=1)
            logs += gammaln(total) - gammaln(total + counts.sum())
            k = int((logs + self.random.gumbel(size=self.K)).argmax())
            self.labels[row] = k
            self._count(row, k, 1)

    def fitted(self):
        """Return the labels after all passes."""
        for _ in range(PASSES_OF_GIBBS):
            self.sweep()
        return self.labels


def texts(options):
    """Debian descriptions: 4,000 to train on, as many to score; 40 topics.

    Gibbs sampling makes 30 passes, and is scored at its last sample.  Score: posterior
    predictive nats per token.
    """
    data = load_debian_descriptions().data.tocsr().astype(np.float64)
    n = options.tenth(4000)
    train, test = data[:n], data[-n:]
    K = options.tenth(40)
    ours = {
        "plain": TemperedMultinomialMixture(K, tempering=None),
        "plain, n_init=5": TemperedMultinomialMixture(K, tempering=None, n_init=5),
        "annealed, no moves": AnnealedMultinomialMixture(K, moves=None),
        "annealed": AnnealedMultinomialMixture(K),
        "global": TemperedMultinomialMixture(K),
    }

    def row(seconds, fitted):
        return {
            "lower bound": fitted.lower_bound(train),
            "score": fitted.score(test),
            "components": fitted.n_active_components_,
            "CPU s": seconds,
        }

    def gibbs(seed):
        seconds, labels = timed(Gibbs(train, K, 1 / K, 0.1, seed).fitted)
        mixture = continued(TemperedMultinomialMixture(K), train, np.eye(K)[labels])
        return row(seconds, mixture)

    def fit(name, seed):
        return row(*timed(lambda: ours[name].set_params(random_state=seed).fit(train)))

    for seed in range(options.seeds or 2):
        for name in ours:
            key = {"contestant": name, "seed": seed}
            yield key, lambda name=name, seed=seed: fit(name, seed)
        key = {"contestant": "Gibbs sampling", "seed": seed}
        yield key, lambda seed=seed: gibbs(seed)


def made(n_samples, n_classes, n_features, seed):
    """Return binary data and their classes."""
    random = np.random.default_rng(seed)
    probabilities = random.beta(0.5, 0.5, size=(n_classes, n_features))
    y = random.choice(n_classes, n_samples, p=random.dirichlet(np.full(n_classes, 3.0)))
    return (random.random((n_samples, n_features)) < probabilities[y]).astype(float), y


def classes(options):
    """Generated latent classes: 1,000 samples to train on, as many to score.

    StepMix is told the number of classes, and so is one of ours; the other has twice as
    many components.  Of "missing" data a fifth of the values.  Score: nats per sample,
    of StepMix at its estimates.  ARI: of the test samples.
    """
    from stepmix.stepmix import StepMix

    def row(seconds, fitted, test, y):
        labels = fitted.predict(test)
        found = getattr(fitted, "n_active_components_", None) or len(set(labels))
        return {
            "score": float(fitted.score(test)),
            "ARI": adjusted_rand_score(y, labels),
            "components": found,
            "CPU s": seconds,
        }

    def contestants(K, missing, seed):
        measurement = "binary_nan" if missing else "binary"
        settings = {"random_state": seed}
        quiet = {"progress_bar": 0, "verbose": 0, "max_iter": 300}
        for n_init in (1, 10):
            name = "StepMix" if n_init == 1 else f"StepMix, n_init={n_init}"
            yield (
                name,
                StepMix(K, measurement=measurement, n_init=n_init, **quiet, **settings),
            )
        yield "plain, K", TemperedBernoulliMixture(K, tempering=None, **settings)
        yield "annealed, K", AnnealedBernoulliMixture(K, **settings)
        yield "annealed, 2 K", AnnealedBernoulliMixture(2 * K, **settings)

    for K, D, missing in ((4, 10, 0), (8, 30, 0), (8, 30, 1), (20, 60, 0)):
        for seed in range(options.seeds or 3):
            X, y = made(options.tenth(2000), K, D, seed)
            if missing:
                X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
            half = len(X) // 2
            for name, estimator in contestants(K, missing, seed):
                yield (
                    {
                        "classes": K,
                        "features": D,
                        "missing": missing,
                        "contestant": name,
                        "seed": seed,
                    },
                    lambda e=estimator, X=X, y=y, half=half: row(
                        *timed(lambda: e.fit(X[:half])), X[half:], y[half:]
                    ),
                )


def means(frame):
    """Yield a table of means over seeds."""
    keys = [c for c in ("classes", "features", "missing", "contestant") if c in frame]
    frame = frame.groupby(keys, sort=False).mean(numeric_only=True)
    frame = frame.drop(columns="seed").reset_index()
    yield "| " + " | ".join(frame.columns) + " |"
    yield "|" + "---|" * len(frame.columns)
    for row in frame.itertuples(index=False):
        cells = (f"{v:.6g}" if isinstance(v, float) else str(v) for v in row)
        yield "| " + " | ".join(cells) + " |"


STAGES = {
    "texts": (texts, "One topic a document", means),
    "classes": (classes, "Latent classes", means),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, STAGES)
    head = [
        "# Mixtures of discrete data",
        "",
        f"One thread; sktemper {sktemper.__version__}. "
        "`benchmarks/bench_discrete_mixture.py` made this, and says what is measured; "
        "every number stands in `bench_discrete_mixture/`. Means over seeds.",
    ]
    run(parser, STAGES, "bench_discrete_mixture", head)


if __name__ == "__main__":
    main()
