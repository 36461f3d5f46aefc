"""
From sentence embeddings to named clusters
==========================================

This script clusters changes of Python by their sentence embeddings, shows the words of
the clusters beside those of k-means, and what the clusters depend on, and writes a page
with the clusters, their words and their texts. The vectors are those that ship in the
package wordllama (``python -m pip install wordllama``); without it the script ends. The
tables and the page need pandas and Bokeh (``python -m pip install ".[report]"`` in a
checkout).

With its defaults the script takes about 10 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/cluster_embeddings.png'

import argparse
import importlib
import importlib.util
import inspect
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score

from sktemper import AnnealedGaussianMixture, class_regression
from sktemper.report import topic_report
from sktemper.text import cluster_words


def main():
    arguments = parse_arguments()
    for package in ("wordllama", "pandas", "bokeh"):
        if not importlib.util.find_spec(package):
            print(f"There is no package {package}, so nothing is clustered.")
            return
    import pandas as pd

    changes = pd.read_csv(arguments.texts, parse_dates=["date"])
    seed = arguments.seed
    changes = changes.sample(min(arguments.max_documents, len(changes)), random_state=0)
    texts = changes["text"].tolist()
    vectorizer = CountVectorizer(stop_words="english", min_df=3, max_df=0.3)
    counts, vectors = vectorizer.fit_transform(texts), embed(texts)
    words = vectorizer.get_feature_names_out()

    # Texts have no true number of clusters, so the fit uses all components and warns
    # about it.
    warnings.filterwarnings("ignore", "All .* in use", ConvergenceWarning)
    start = time.perf_counter()
    columns = PCA(20, random_state=seed).fit_transform(vectors)
    mixture = AnnealedGaussianMixture(
        arguments.n_components, covariance_type="diag", random_state=seed
    ).fit(columns)
    print(
        f"{mixture.n_active_components_} clusters of {len(texts)} texts, "
        f"{time.perf_counter() - start:.1f} s"
    )
    others = KMeans(arguments.n_components, random_state=seed).fit_predict(vectors)
    found = mixture.predict(columns)
    print(f"agreement with k-means: {adjusted_rand_score(found, others):.2f} (ARI)")
    memberships = mixture.predict_proba(columns)
    for name, groups in (("mixture", memberships), ("k-means", others)):
        print(f"\n{name}")
        table = cluster_words(counts, groups, words, n_words=6)
        for cluster, rows in list(table.groupby("cluster"))[:10]:
            share = rows["prevalence"].iloc[0]
            print(f"{cluster:4d} {share:6.1%}  {' '.join(rows['word'])}")

    # which clusters have become more frequent, although texts may be in wrong ones
    years = (changes["date"].dt.year - 2020).to_frame("year")
    effects = class_regression(memberships, years).table()
    effects = effects[effects["covariate"] == "year"]
    print("\nclusters that have grown most: log odds for a year, against the largest")
    print(effects.nlargest(3, "coef").to_string(index=False))

    topic_report(
        mixture,
        counts,
        words,
        texts,
        arguments.output,
        embeddings=columns,
        vectorizer=vectorizer,
        dates=changes["date"].to_numpy(),
        title="Clusters of changes of Python",
    )
    print(f"The page with the clusters is {Path(arguments.output).name}.")


def embed(texts):
    """Return unit vectors of texts, from the files of the package wordllama."""
    wordllama: Any = importlib.import_module("wordllama")
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return np.asarray(model.embed(texts, norm=True))


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    script = inspect.getsourcefile(main) or "."  # a gallery defines no __file__
    data = Path(script).resolve().parents[1] / "doc/data/python_changes.csv.gz"
    parser.add_argument("--texts", default=data, help="a table: date, section, text")
    parser.add_argument("--max-documents", type=int, default=12_000)
    parser.add_argument("--n-components", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="clusters.html")
    return parser.parse_args()


if __name__ == "__main__":
    main()
