"""
Annealed against plain stochastic variational inference
=======================================================

This script fits latent Dirichlet allocation twice, from the same start, to descriptions
of Debian packages, a corpus that is part of the package. One fit is annealed, and the
other is plain. The script prints the topics as lists of words and the held-out scores,
and saves a picture of both fits. The picture needs matplotlib
(``python -m pip install ".[plot]"`` in a checkout).

With its defaults the script takes about 15 seconds.
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
        docs.data[: arguments.max_documents],
        test_size=0.1,
        random_state=arguments.seed,
    )
    # evaluate_every=1 holds out a tenth of the training data and scores it after each
    # pass, for history_. The scores printed below are computed from X_test instead.
    settings = {
        "n_components": arguments.n_components,
        "evaluate_every": 1,
        "init_params": "random",
        "random_state": arguments.seed,
    }
    models = {
        "annealed": AnnealedLDA(**settings),
        "plain": TemperedLDA(tempering=None, **settings),
    }
    for name, model in models.items():
        model.fit(X_train)
        seconds = model.history_["seconds"][-1]
        print(f"{name}: {model.n_iter_} passes, {seconds:.1f} s")

    for name, model in models.items():
        print(f"\nTopics, {name}:")
        for words in model.top_words(docs.feature_names, n_words=8):
            print("  " + " ".join(words))

    n_held_out = np.shape(X_test)[0]
    print(f"\nHeld-out nats per token, {n_held_out} documents (higher is better):")
    for name, model in models.items():
        print(f"  {name:8} {model.score(X_test):.3f}")

    save_picture(models, arguments.output)


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--max-documents", type=int, help="default: all 52,189")
    parser.add_argument("--n-components", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="annealed_vs_plain.png")
    return parser.parse_args()


def save_picture(models, path):
    """Draw the held-out score, the bound and the temperature of each fit in panels.

    The bound is drawn only at steps with T=1. At other temperatures it is a bound of
    another likelihood, the tempered one, and cannot be compared.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: matplotlib is not installed.")
        return
    rows = {
        "heldout_score": "held-out score\n[nats per token]",
        "batch_bound": "bound of a batch at T=1\n[nats per token]",
        "temperature": "temperature",
    }

    figure = Figure(figsize=(7, 7), layout="constrained")
    axes = figure.subplots(len(rows), sharex=True, height_ratios=[3, 3, 1.5])
    for ax, (y, y_label) in zip(axes, rows.items(), strict=True):
        ax.set_ylabel(y_label)
        for name, model in models.items():
            history = model.history_
            shown = ~np.isnan(history[y])
            if y == "batch_bound":
                shown &= history["temperature"] == 1
            ax.plot(
                history["passes"][shown],
                history[y][shown],
                marker="o" if y == "heldout_score" else None,
                markersize=4,
                label=name,
            )
        ax.grid(alpha=0.3)
    axes[-1].set_xlabel("passes over the data")
    axes[0].legend(loc="center right")
    figure.suptitle("Latent Dirichlet allocation: annealed and plain, one start")
    figure.savefig(path, dpi=120)
    print(f"\nPicture: {path}")


if __name__ == "__main__":
    main()
