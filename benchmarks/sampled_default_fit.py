"""CPU seconds and held-out score of a default fit, of which most is sampling.

    PYTHONPATH=CHECKOUT python benchmarks/sampled_default_fit.py --seeds 0 1 2

prints, of each seed, CPU seconds of ``AnnealedLDA(100)`` on the Debian descriptions
less 5,000, and its score of these in nats a token.  Two checkouts are compared by
running them in turns, a seed of one and then that of the other.
"""

import argparse
import time
import warnings

import numpy as np

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions

N_HELD_OUT = 5000


def main():
    """Print a line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X = load_debian_descriptions().data
    order = np.random.default_rng(0).permutation(X.shape[0])
    test, train = X[np.sort(order[:N_HELD_OUT])], X[np.sort(order[N_HELD_OUT:])]
    for seed in options.seeds:
        lda = AnnealedLDA(100, random_state=seed, n_jobs=1)
        begin = time.process_time()
        lda.fit(train)
        seconds = time.process_time() - begin
        print(f"{seed} {seconds:.2f} {lda.score(test):.4f}", flush=True)


if __name__ == "__main__":
    main()
