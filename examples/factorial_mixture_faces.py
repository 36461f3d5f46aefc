"""
Features of digits and faces: the factorial mixture at several temperatures
============================================================================

This script fits the factorial mixture to scikit-learn's digits, or to photographs of
faces from a file. The model explains each image as a sum of features that are present
or absent. The fits use plain variational inference, an inferred temperature, a short
and a long annealing, and annealing with moves. A quarter of the images is held out. The
script prints the held-out log-likelihood of each fit and saves two pictures. One shows
the log-likelihood and the temperature over the iterations, and the other the features.
Pictures need matplotlib (``python -m pip install ".[plot]"`` in a checkout).

``--data`` names an .npz file with an array ``images`` of shape (n_images, height,
width), such as one made from the cropped images of the Extended Yale Face Database B.

With its defaults the script takes about 15 seconds.
"""

# sphinx_gallery_thumbnail_path = 'images/factorial_mixture_features.png'

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from sktemper import AnnealedFactorialMixture, TemperedFactorialMixture
from sktemper.schedules import ExponentialSchedule


def main():
    arguments = parse_arguments()
    # All fits make the same number of iterations and are compared even if they have not
    # converged.
    warnings.simplefilter("ignore", ConvergenceWarning)
    images = load_images(arguments.data, arguments.every)
    X_train, X_test = standardised(images, arguments.seed)
    print(f"{len(X_train)} images to fit to, {len(X_test)} held out, of", end=" ")
    print(f"{images.shape[1]} x {images.shape[2]} pixels")

    # Random samples are a good start for all fits, so that differences between the
    # scores are due to annealing and not to the start.
    settings = {
        "n_components": arguments.n_components,
        "max_iter": arguments.max_iter,
        "tol": 0.0,
        "init": "data",
        "random_state": arguments.seed,
    }
    short, long = 5, arguments.max_iter // 2
    fits = {
        "plain": TemperedFactorialMixture(tempering=None, **settings),
        "global tempering": TemperedFactorialMixture(**settings),
        f"annealed in {short} iterations": annealed(short, arguments, settings),
        f"annealed in {long} iterations": annealed(long, arguments, settings),
    }
    if arguments.moves:
        fits["annealed, with moves"] = annealed(
            long, arguments, {**settings, "moves": "birth"}
        )

    scores = {}
    print(f"\n{'':24} held-out nats per pixel  seconds")
    for name, model in fits.items():
        begin = time.perf_counter()
        scores[name] = fit(model, X_train, X_test)
        seconds = time.perf_counter() - begin
        print(f"{name:24} {scores[name][-1]:23.3f} {seconds:8.1f}", flush=True)

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("\nNo pictures: matplotlib is not installed.")
        return
    draw_scores(fits, scores, arguments.output)
    draw_features(fits, scores, images.shape[1:], arguments.output_features)
    print(f"\nPictures: {arguments.output}, {arguments.output_features}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--data", type=Path, help=".npz with images; default: digits")
    parser.add_argument(
        "--every", type=int, default=6, help="step between used pixels of --data"
    )
    parser.add_argument("--n-components", type=int, default=25)
    parser.add_argument("--max-iter", type=int, default=80)
    parser.add_argument("--start", type=float, default=300, help="first temperature")
    parser.add_argument(
        "--no-moves", dest="moves", action="store_false", help="leave out the slow fit"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="factorial_mixture_faces.png")
    parser.add_argument("--output-features", default="factorial_mixture_features.png")
    return parser.parse_args()


def load_images(path, every):
    """Return images, float32 of shape (n_images, height, width)."""
    if path is None:
        return np.reshape(load_digits(return_X_y=True)[0], (-1, 8, 8)).astype(
            np.float32
        )
    with np.load(path) as file:
        return file["images"][:, ::every, ::every].astype(np.float32)


def standardised(images, seed):
    """Return images as rows: three quarters for training, one quarter for testing.

    Both are standardised by the mean and the scale of the training images.
    """
    rows = images.reshape(len(images), -1)
    halves = train_test_split(rows, test_size=0.25, random_state=seed)
    X_train, X_test = map(np.asarray, halves)
    mean, scale = X_train.mean(), X_train.std()
    return (X_train - mean) / scale, (X_test - mean) / scale


def annealed(length, arguments, settings):
    schedule = ExponentialSchedule(start=arguments.start, length=length)
    mixture = AnnealedFactorialMixture(schedule=schedule)
    return mixture.set_params(**{"moves": None, **settings})


class HeldOut:
    """Callback that stores the held-out score per pixel of each pass and kept move."""

    def __init__(self, X):
        self.X = X
        self.scores = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        task = context.task_name
        if task == "pass" or task == "move" and estimator.history_["move_kept"][-1]:
            self.scores.append(estimator.score(self.X) / self.X.shape[1])

    def teardown(self, estimator, context):
        pass


def fit(model, X_train, X_test):
    """Fit the model, and return the scores of ``X_test`` after each pass or move."""
    held_out = HeldOut(X_test)
    model.set_callbacks(held_out).fit(X_train)
    return np.array(held_out.scores)


def draw_scores(fits, scores, path):
    """Draw the held-out scores, and in a second panel the temperatures of the fits."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.5, 1])
    for name, model in fits.items():
        curve, temperature = scores[name], model.history_["temperature"]
        style = "-" if model.moves is None else "--"  # curves overlap
        above.plot(np.arange(1, len(curve) + 1), curve, style, label=name)
        below.plot(np.arange(1, len(temperature) + 1), temperature, style)
    highest = max(curve.max() for curve in scores.values())
    lowest = min(curve[-1] for curve in scores.values())
    above.set_ylim(lowest - 2 * (highest - lowest), highest + 0.2 * (highest - lowest))
    above.set_ylabel("held-out log-likelihood\n[nats per pixel]")
    above.legend(loc="lower right")
    below.set_yscale("log")
    below.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    below.set_ylabel("temperature")
    below.set_xlabel("iterations, then kept moves")
    for ax in (above, below):
        ax.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def draw_features(fits, scores, shape, path):
    """Draw the components of each fit, in decreasing order of their frequency."""
    from matplotlib.figure import Figure

    names = [name for name in fits if name != "global tempering"]
    n_columns = int(np.ceil(np.sqrt(len(fits["plain"].components_))))
    figure = Figure(figsize=(4 * len(names), 5.2), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        model = fits[name]
        order = np.argsort(-model.inclusion_probability_)
        components = model.components_[order].reshape(-1, *shape)
        largest = np.quantile(np.abs(components), 0.995)
        ax.imshow(
            mosaic(components, n_columns), cmap="gray", vmin=-largest, vmax=largest
        )
        ax.set_title(f"{name}\n{scores[name][-1]:.3f} nats per pixel")
        ax.set_axis_off()
    figure.savefig(path, dpi=100, bbox_inches="tight")


def mosaic(images, n_columns):
    """Return one image that shows all images side by side, separated by NaN."""
    framed = np.pad(images, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    empty = np.full_like(framed[:1], np.nan)
    n_empty = -len(framed) % n_columns
    framed = np.concatenate([framed, *[empty] * n_empty])
    lines = framed.reshape(-1, n_columns, *framed.shape[1:])
    return np.concatenate([np.concatenate(line, axis=1) for line in lines])


if __name__ == "__main__":
    main()
