"""
Annealed, sampled and plain inference of topics
===============================================

This script fits latent Dirichlet allocation four times, from one random start, to
descriptions of Debian packages, a corpus that is part of the package: with and without
annealing, and with and without sampling the topics of words. The script prints topics
and held-out scores, and saves a picture of the scores and temperatures in each pass.
The picture needs matplotlib (``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes about 25 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/annealed_vs_plain.png'

import argparse

import numpy as np
from sklearn.model_selection import train_test_split

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions


def main():
    arguments = parse_arguments()
    docs = load_debian_descriptions()
    X_train, X_test = train_test_split(
        docs.data[: arguments.max_documents], test_size=0.1, random_state=arguments.seed
    )
    # The default of `init_params`, "spectral", is a better start for all four fits.
    settings = {
        "n_components": arguments.n_components,
        "init_params": "random",
        "evaluate_every": 1,  # score X_test after each pass
        "random_state": arguments.seed,
    }
    models = {
        "annealed": AnnealedLDA(doc_update="variational", **settings),
        "plain": TemperedLDA(tempering=None, doc_update="variational", **settings),
        "annealed, sampled": AnnealedLDA(doc_update="sampled", **settings),
        "plain, sampled": TemperedLDA(tempering=None, doc_update="sampled", **settings),
    }
    for name, model in models.items():
        model.fit(X_train, X_val=X_test)
        print(f"First topics, {name}:")
        for words in model.top_words(docs.feature_names, n_words=8)[:5]:
            print("  " + " ".join(words))

    n_held_out = np.shape(X_test)[0]
    print(f"\nHeld-out nats per token, {n_held_out} documents (higher is better):")
    for name, model in models.items():
        seconds = model.history_["seconds"][-1]
        print(f"  {name:17} {model.score(X_test):.2f}, {seconds:4.1f} s")

    save_picture(models, arguments.output)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, help="default: all 52,189")
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="annealed_vs_plain.png")
    return parser.parse_args()


def save_picture(models, path):
    """Draw the held-out scores of all fits; draw the temperatures below."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    figure = Figure(figsize=(7, 5), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    for name, model in models.items():
        history = model.history_
        style = {
            "color": "C0" if "annealed" in name else "C1",
            "linestyle": "--" if "sampled" in name else "-",
        }
        scored = ~np.isnan(history["heldout_score"])
        passes, scores = history["passes"][scored], history["heldout_score"][scored]
        label = f"{name}: {scores[-1]:.2f}"
        above.plot(passes, scores, marker="o", markersize=4, label=label, **style)
        below.plot(history["passes"], history["temperature"], **style)
    above.set_ylabel("held-out score\n[nats per token]")
    above.legend(title="after the last pass", loc="center right")
    below.set_ylabel("temperature")
    below.set_xlabel("passes over the data")
    for ax in (above, below):
        ax.grid(alpha=0.3)
    figure.suptitle("Topics, fitted four times from one random start")
    figure.savefig(path, dpi=120)
    print(f"\nPicture: {path}")


if __name__ == "__main__":
    main()
