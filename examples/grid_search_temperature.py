"""
A grid search over temperatures
===============================

This script searches for the best start and length of the annealing in a pipeline whose
input is text. The grid also has a start at T=1, which is plain variational inference,
for comparison. Scores that differ by less than two standard errors are equal within the
noise, so that a weak annealing may stand below plain inference.

With its defaults the script takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/grid_search_temperature.png'

import argparse

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktemper import AnnealedLDA
from sktemper.datasets import load_debian_descriptions


def main():
    arguments = parse_arguments()
    pipeline = make_pipeline(
        CountVectorizer(),
        AnnealedLDA(
            n_components=arguments.n_components,
            max_iter=arguments.max_iter,
            random_state=arguments.seed,
        ),
    )
    # Lengths are in steps. An annealing longer than the fit would end above T=1 and
    # warn.
    grid = [
        {"annealedlda__schedule__start": [1.0]},
        {
            "annealedlda__schedule__start": [1.5, 2.0, 3.0],
            "annealedlda__schedule__length": [25, 50],
        },
    ]
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=arguments.n_jobs)
    search.fit(load_texts(arguments.max_documents))

    print(
        "held-out nats per token, mean of 3 folds ± standard error (higher is better)"
    )
    results = search.cv_results_
    for rank in np.argsort(results["rank_test_score"], kind="stable"):
        settings = results["params"][rank]
        start = settings["annealedlda__schedule__start"]
        length = settings.get("annealedlda__schedule__length")
        error = results["std_test_score"][rank] / np.sqrt(search.n_splits_)
        print(
            f"  {results['mean_test_score'][rank]:.3f} ± {error:.3f}  "
            + (f"start {start}, length {length} steps" if length else "plain")
        )
    best = search.best_estimator_[-1]
    print(
        f"the best, fitted to all: {best.schedule_} with batches of {best.batch_size_}"
    )


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, default=4000)
    parser.add_argument("--n-components", type=int, default=20)
    parser.add_argument("--max-iter", type=int, default=20, help="passes")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load_texts(max_documents):
    """Return documents as texts that repeat each word according to its count."""
    docs = load_debian_descriptions()
    rows = docs.data[:max_documents]
    return [" ".join(np.repeat(docs.feature_names[r.indices], r.data)) for r in rows]


if __name__ == "__main__":
    main()
