"""
From sentence embeddings to named clusters
==========================================

This script clusters descriptions of Debian packages by their embeddings and writes a
page with the clusters, their words and their documents. By default the embeddings are a
latent semantic analysis of the word counts, so that no language model is downloaded.
Pass the vectors of your own model with ``--embeddings vectors.npy``. The tables and the
page need pandas and Bokeh (``python -m pip install ".[report]"`` in a checkout).

With its defaults the script takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/cluster_embeddings.png'

import argparse
import importlib.util
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sktemper import AnnealedGaussianMixture
from sktemper.datasets import load_debian_descriptions
from sktemper.report import topic_report
from sktemper.text import cluster_words


def main():
    arguments = parse_arguments()
    debian = load_debian_descriptions()
    random = np.random.default_rng(arguments.seed)
    rows = random.permutation(debian.data.shape[0])[: arguments.max_documents]
    counts = debian.data[rows]
    if arguments.embeddings is None:
        embeddings = embed(counts, arguments.n_columns, arguments.seed)
    else:
        embeddings = np.load(arguments.embeddings)[rows]

    # Descriptions have no true number of clusters, so the fit uses all components and
    # warns about it.
    warnings.filterwarnings("ignore", "All .* in use", ConvergenceWarning)
    start = time.perf_counter()
    mixture = AnnealedGaussianMixture(
        arguments.n_components,
        covariance_type="diag",
        random_state=arguments.seed,
        max_iter=300,
    ).fit(embeddings)
    seconds = time.perf_counter() - start
    print(
        f"{mixture.n_active_components_} clusters of {len(rows)} descriptions in "
        f"{embeddings.shape[1]} columns, {seconds:.1f} s"
    )

    if not (importlib.util.find_spec("bokeh") and importlib.util.find_spec("pandas")):
        print("There is no package bokeh or pandas, so no page is written.")
        return
    memberships = mixture.predict_proba(embeddings)
    table = cluster_words(counts, memberships, debian.feature_names, n_words=6)
    for cluster, words in table.groupby("cluster"):
        share = words["prevalence"].iloc[0]
        print(f"{cluster:4d} {share:6.1%}  {' '.join(words['word'])}")

    topic_report(
        mixture,
        counts,
        debian.feature_names,
        path=arguments.output,
        embeddings=embeddings,
        document_names=np.asarray(debian.document_names)[rows],
        title="Clusters of package descriptions",
    )
    print(f"The page with the clusters is {Path(arguments.output).name}.")


def embed(counts, n_columns, seed):
    """Return unit vectors of documents: a latent semantic analysis of TF-IDF."""
    analysis = make_pipeline(
        TfidfTransformer(sublinear_tf=True),
        TruncatedSVD(n_columns, random_state=seed),
        Normalizer(),
    )
    return analysis.fit_transform(counts)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, default=6000)
    parser.add_argument("--n-columns", type=int, default=64, help="of default vectors")
    parser.add_argument("--n-components", type=int, default=60)
    parser.add_argument("--embeddings", help=".npy file, a row per description")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="clusters.html")
    return parser.parse_args()


if __name__ == "__main__":
    main()
