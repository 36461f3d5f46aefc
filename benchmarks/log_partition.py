"""Why log C(T) is a quenched mean: the papers' estimates, and what T each infers.

    python benchmarks/log_partition.py

Global tempering divides by C(T), the tempered likelihood summed over all corpora of the
same size: D documents of N words, topics beta and weights theta from their priors.

    C(T) = E_beta [ E_theta [exp(N f)]^D ],  f = log sum_v (sum_k theta_k beta_kv)^1/T

Estimates of log C(T), all of them per token, so divided by W = N D:

quenched      E f, as `GlobalTempering` computes it: 8 draws of beta, 8 of theta
nested        the expectations of C(T) by Monte Carlo, as the papers print it
first bound   E f from 100 draws of both: the papers' lower bound, a quenched mean too
second bound  log E exp(f) from the same draws; printed as an upper bound
true, least   a lower bound on the true value: with beta_1 and theta from Dirichlets by
              which all documents share a flat topic, less Kullback-Leibler divergences
true, most    an upper bound, (1 - 1/T) log V: equal words have the largest f

The size is that of 2,000 shipped documents with their 1,000 most frequent words; both
priors are 1/K, as in the papers. Writes ``results/log_partition.md``.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import itertools
from pathlib import Path

import numpy as np
from scipy.special import gammaln, logsumexp, psi, softmax

from sktemper import TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.lda._model import LDAModel
from sktemper.tempering import GlobalTempering

RESULT = Path(__file__).parent / "results/log_partition.md"
D, V, K = 2000, 1000, 100
ETA, ALPHA = np.full(V, 1 / K), np.full(K, 1 / K)
SEEDS, DRAWS = range(10), (10, 100)  # draws of beta, and for each of them of theta
LADDER = GlobalTempering(n_temperatures=50).ladder()
SHOWN = [np.abs(LADDER - T).argmin() for T in (1.2, 2, 5, 10)]
SCORES = (-6.9, -6.5, -6.0, -5.5, -5.0, -4.5, -4.0)


def draw(random, n, eta_1=ETA, alpha=ALPHA):
    """Return f, an array of shape (n draws of beta, n of theta, rungs)."""
    f = np.empty((n, n, len(LADDER)))
    for i in range(n):
        beta = random.dirichlet(ETA, K)
        beta[0] = random.dirichlet(eta_1)
        with np.errstate(divide="ignore"):
            log_p = np.log(random.dirichlet(alpha, n) @ beta)
        for m, T in enumerate(LADDER):
            f[i, :, m] = np.log(np.exp(log_p / T).sum(axis=1))
    return f


def log_mean_exp(x):
    return logsumexp(x, axis=0) - np.log(len(x))


def divergence(a, b):
    constant = gammaln(a.sum()) - gammaln(a).sum() + gammaln(b).sum()
    return constant - gammaln(b.sum()) + ((a - b) * (psi(a) - psi(a.sum()))).sum()


def least(W):
    """Return the best lower bound of a few shapes of beta_1 and theta."""
    bounds = []
    for flat, more in itertools.product((0.1, 0.3, 1, 3), (1, 3, 10, 30)):
        eta_1, alpha = np.full(V, flat), ALPHA + more * np.eye(K)[0]
        paid = D * divergence(alpha, ALPHA) + divergence(eta_1, ETA)
        f = draw(np.random.default_rng(0), 10, eta_1, alpha).mean(axis=(0, 1))
        bounds.append(f - paid / W)
    return np.max(bounds, axis=0)


def estimates(seed, W):
    """Return what differs between seeds, and the nested sum's largest share."""
    random = np.random.default_rng(seed)
    model = LDAModel(K, V, ALPHA, ETA[None, :])
    found = {"quenched": model.log_partition(1 / LADDER, ALPHA, random)}
    f = draw(random, max(DRAWS))
    for n in DRAWS:
        terms = D * log_mean_exp(W / D * f[:n, :n].swapaxes(0, 1))
        found[f"nested, {n} x {n} draws"] = log_mean_exp(terms) / W
    found["first bound"] = f.mean(axis=(0, 1))
    found["second bound"] = log_mean_exp(f.reshape(-1, len(LADDER)))
    return found, softmax(terms, axis=0).max(axis=0)


def inferred(score, log_partition, W):
    """Return the lowest and highest 1 / E[1/T] for a score per token."""
    mean = softmax(W * (score / LADDER - log_partition), axis=1) @ (1 / LADDER)
    low, high = f"{1 / mean.max():.2f}", f"{1 / mean.min():.2f}"
    return low if low == high else f"{low} to {high}"


def spread(values, W):
    if len(values) == 1:
        return f"{values[0]:.3f}"
    sd = values.std(ddof=1)
    return f"{values.mean():.3f} ± {sd:.3f} ({W * sd:,.0f})"


def table(heads, rows):
    rows = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    X = load_debian_descriptions().data[:D]
    X = X[:, np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:V]]
    W = int(X.sum())
    each, shares = zip(*(estimates(seed, W) for seed in SEEDS), strict=True)
    found = {name: np.array([one[name] for one in each]) for name in each[0]}
    found["true, least"] = least(W)[None, :]
    found["true, most"] = (1 - 1 / LADDER)[None, :] * np.log(V)
    reached = TemperedLDA(K, random_state=0).fit(X).state_.policies.tempering.score
    heads = ["log C(T) / W", *(f"T = {LADDER[m]:.2f}" for m in SHOWN)]
    rows = [[k, *(spread(c[:, m], W) for m in SHOWN)] for k, c in found.items()]
    T = [[f"{s:.1f}", *(inferred(s, c, W) for c in found.values())] for s in SCORES]
    text = f"""# Estimates of log C(T)

D = {D:,} documents, W = {W:,} tokens, V = {V:,} words, K = {K}, both priors {1 / K}.
Made by `benchmarks/log_partition.py`, which says what the rows are.

Mean ± standard deviation over {len(SEEDS)} seeds, nats; in brackets that of log C(T).

{table(heads, rows)}

Share of the largest of the {max(DRAWS)} terms in the nested sum over beta, mean over
seeds: {", ".join(f"{share:.3f}" for share in np.mean(shares, axis=0)[SHOWN])}.

The temperature 1 / E[1/T] that is inferred from a score, the log-likelihood per token:
lowest to highest of the seeds, on {len(LADDER)} rungs from 1 to 10. Flat topics have
the score {-np.log(V):.2f}; a fit of `TemperedLDA` ended at {reached:.2f}.

{table(["score", *found], T)}
"""
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
