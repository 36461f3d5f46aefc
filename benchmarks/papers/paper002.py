"""002: Paisley, Fazelnia, Barr, SVI with tuneable stochastic annealing (SVI+)."""

import collections

import numpy as np
from common import (
    bound_curves,
    compare_topics,
    draw_curves,
    figure,
    plain,
    print_gains,
    spread,
)
from gaussian_mixture_clusters import PRIORS, make_data
from matplotlib.figure import Figure
from scipy import sparse

from sktemper import (
    AnnealedGaussianMixture,
    TemperedGaussianMixture,
    TemperedMatrixFactorization,
)
from sktemper.datasets import make_ratings
from sktemper.learning_rates import RobbinsMonro
from sktemper.noise import SVIPlusNoise
from sktemper.schedules import RampSchedule
from sktemper.tempering import Annealing

NOISES = ("gaussian", "dirichlet")


# -- ratings ---------------------------------------------------------------------------
@figure("002.fig1")
def ratings(run):
    """Ratings: SVI+ with M=50t ends in a better bound than batch, and sooner."""
    path = run.path("movielens", "movielens_100k.npz")
    if path is None:
        X = make_ratings(300, 150, n_ratings=10_000, random_state=0)
    else:
        X = sparse.csr_array(sparse.load_npz(path))[: run.size(None, 150)]
    noisy = {
        f"SVI+ M=50t, {distribution}": {
            "gradient_noise": SVIPlusNoise(RampSchedule(), distribution),
            "learning_rate": 0.85,
        }
        for distribution in NOISES
    }
    settings = {"batch": {}} | noisy | {"default schedule": {"tempering": Annealing()}}
    for rank in (5, 10):
        shared = {
            "tempering": None,
            "n_components": rank,
            "noise_type": "common",
            "noise_variance": 0.5,
            "component_variance": 1.0,
            "biases": False,
        }
        parameters = {name: shared | given for name, given in settings.items()}
        n_iterations = 50 + X.nnz // 50  # until M is the number of ratings
        curves, fits = bound_curves(
            TemperedMatrixFactorization, parameters, X, run.all_seeds(3), n_iterations
        )
        print(f"{X.nnz:,} ratings, rank {rank}: bound after {n_iterations}, gain")
        print_gains(curves, 1)
        for name, models in fits.items():
            share = np.median(models[0].history_["rate_share"])
            sooner = curves[name].mean(axis=0) > curves["batch"].mean(axis=0)
            first = sooner.argmax() + 1 if sooner.any() else "none"
            print(f"  {name:44}rate_share {share:.2g}, first above batch {first}")
    draw_curves(run, {"ratings, rank 10": curves}, "iterations", "lower bound")


# -- topics ----------------------------------------------------------------------------
@figure("002.fig2")
def topics(run):
    """LDA: SVI+ with batches of 1,000 and M=500 beats SVI with 500 and with 1,000."""
    S = run.size(1000, 400)
    M, rate = S // 2, RobbinsMonro(10, 0.6)
    settings = {  # gains are over the first
        f"SVI, {M}": plain(batch_size=M),
        f"SVI, {S}": plain(batch_size=S),
        **{
            f"SVI+, {S}, M={M}, {distribution}": plain(
                batch_size=S, gradient_noise=SVIPlusNoise(M, distribution)
            )
            for distribution in NOISES
        },
    }
    shared = {
        "n_components": run.size(50, 20),
        "max_iter": run.size(20, 10),
        "learning_rate": rate,
    }
    compare_topics(run, settings, ("nyt", "debian"), 4, bounds=True, **shared)


# -- clusters --------------------------------------------------------------------------
def mixture(n_components, X, **changes):
    return {
        "n_components": n_components,
        "tempering": None,
        "moves": None,
        "init_params": "random_from_data",
        "priors": "scikit-learn",
        "covariance_prior": np.eye(X.shape[1]),
        **PRIORS,
        **changes,
    }


def with_noise(batch_size, M, distribution):
    noise = SVIPlusNoise(M, distribution)
    return {"batch_size": batch_size, "gradient_noise": noise}


@figure("002.fig3")
def bounds(run):
    """Gaussian mixtures, K=2: the bound of SVI+ is best, and better for smaller M."""
    data = {"toy": (make_data(0), 50, (10,))}
    if path := run.path("pima", "pima.npz"):
        with np.load(path) as file:
            X = file["X"].astype(float)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        data["Pima"] = X, 200, (150, 100, 50)
    panels = {}
    for name, (X, batch_size, sizes) in data.items():
        # the paper's alpha = (.5, .5) means two components
        base = mixture(2, X, weight_concentration_prior=0.5)
        settings = {"batch": base, "SVI": base | {"batch_size": batch_size}}
        for M in sizes:
            settings[f"SVI, batches of {M}"] = base | {"batch_size": M}
            for distribution in NOISES:
                noise = with_noise(batch_size, M, distribution)
                settings[f"SVI+, M={M}, {distribution}"] = base | noise
        curves, _ = bound_curves(
            TemperedGaussianMixture, settings, X, run.all_seeds(20), run.size(300, 100)
        )
        print(f"{name}: bound in nats, gain over batch")
        print_gains(curves, 1)
        panels[name] = curves
    draw_curves(run, panels, "passes", "lower bound")


@figure("002.fig4", "002.fig5", "002.fig6")
def clusters(run):
    """Gaussian mixtures, K=50: SVI+ is nearest to the four true clusters."""
    settings = {"batch": {}, "SVI": {"batch_size": 40}, "SVI, M": {"batch_size": 16}}
    for distribution in NOISES:
        settings[f"SVI+, M=16, {distribution}"] = with_noise(40, 16, distribution)
    found, sizes, labels = {}, {}, {}
    for name, changes in settings.items():
        models = [
            (
                seed,
                TemperedGaussianMixture(
                    max_iter=run.size(100, 50),
                    random_state=seed,
                    **mixture(50, make_data(seed), init_params="kmeans", **changes),
                ),
            )
            for seed in run.all_seeds(15)
        ]
        found[name], sizes[name], labels[name] = counted(models)
    models = [
        (s, AnnealedGaussianMixture(50, random_state=s)) for s in run.all_seeds(15)
    ]
    name = "default estimator, with moves"
    found[name], sizes[name], labels[name] = counted(models)
    for name, numbers in found.items():
        times = dict(sorted(collections.Counter(numbers).items()))
        top = np.median(sizes[name], axis=0)[:4].round(2)
        print(f"  {name:32}clusters {spread(numbers, 1)}  {times}  shares {top}")
    picture = Figure(figsize=(3 * len(found), 6), layout="constrained")
    for (above, below), name in zip(
        picture.subplots(2, len(found)).T, found, strict=True
    ):
        above.boxplot(sizes[name])
        above.set_title(name, fontsize="small")
        below.scatter(*make_data(0).T, c=labels[name], s=8, cmap="tab20")
    run.save(picture)


def counted(models):
    """Return numbers of clusters, shares of the largest eight, and the first labels."""
    labels = [model.fit(make_data(s)).predict(make_data(s)) for s, model in models]
    shares = [np.sort(np.bincount(y, minlength=50))[::-1][:8] / len(y) for y in labels]
    first = np.unique(labels[0], return_inverse=True)[1]
    return [len(set(y)) for y in labels], np.array(shares), first
