"""001 and 003: Mandt, McInerney, Abrol, Ranganath, Blei, Variational tempering, 2016.

AVI is annealing of the likelihood, VT global and LVT local variational tempering.
"""

import numpy as np
from common import bound_curves, compare_topics, draw_curves, figure, plain, spread
from matplotlib.figure import Figure
from scipy.special import softmax

from sktemper import AnnealedFactorialMixture, TemperedFactorialMixture, TemperedLDA
from sktemper.datasets import make_factorial_mixture
from sktemper.learning_rates import RobbinsMonro
from sktemper.metrics import match_components
from sktemper.schedules import LinearSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering


def avi(start, length, unit="steps"):
    """Return AVI with a linear schedule."""
    schedule = LinearSchedule(start=start, length=length, unit=unit)
    return Annealing(schedule, "likelihood")


def vt(**changes):
    """Return VT: 100 temperatures, the model's priors in log C, and no cap."""
    printed = {
        "max_temperature": 10,
        "partition_priors": None,
        "score": "complete",
        "target": "likelihood",
        "smoothing": 0,
        "cap": None,
    }
    return GlobalTempering(**printed | changes)


# -- topics ----------------------------------------------------------------------------
#: Mean of the 100 temperatures of VT, where the schedules of AVI start.
MEAN_TEMPERATURE = float(np.geomspace(1, 10, 100).mean())


def rate(offset):
    return RobbinsMonro(offset, 0.7)


def settings_of_topics(local):
    """Return the settings; both methods as printed have log C of their score."""
    settings = {"SVI": None}
    for length in (0.01, 0.1, 1):
        settings[f"AVI, tA={length}"] = avi(MEAN_TEMPERATURE, length, "passes")
    settings["VT as printed"] = vt(log_partition="complete")
    settings["VT, predictive score"] = vt(score="predictive")
    settings["VT, log C at the prior's mode"] = vt(
        score="predictive", log_partition="map"
    )
    settings["VT default"] = GlobalTempering()
    if local:
        settings["LVT, model's priors"] = LocalTempering(partition_priors=None)
        settings["LVT default"] = LocalTempering()
        settings["LVT as printed"] = LocalTempering(
            min_inverse_temperature=0, score="complete", log_partition="complete"
        )
    settings["default schedule and target"] = Annealing()
    return {name: plain(tempering=policy) for name, policy in settings.items()}


@figure("001.fig2")
def topics(run, local=True):
    """LDA on three corpora: LVT beats VT and AVI, which beat SVI; T of VT falls.

    K is 100 instead of 500.
    """
    K = run.size(100, 20)
    shared = {
        "n_components": K,
        "doc_topic_prior": 1 / K,
        "topic_word_prior": 1 / K,
        "batch_size": 100,
        "max_iter": 3,
    }
    name_of_figure = run.figure
    for offset in (64, 1024):
        run.figure = f"{name_of_figure}.offset{offset}"
        print(f"Offset of the rate: {offset}{', as printed' * (offset == 1024)}\n")
        settings = settings_of_topics(local)
        names = ("debian", "nyt")
        _, fits = compare_topics(
            run, settings, names, 2, learning_rate=rate(offset), **shared
        )
        for name, models in fits.items():
            print(f"{name}: T after 0, .1, .5, 1 and 3 passes")
            for setting, lda in models.items():
                temperatures = lda.history_["temperature"]
                n = len(temperatures) / 3
                at = [0, int(n / 10), int(n / 2), int(n), -1]
                print(f"  {setting:44}", *(f"{t:8.2f}" for t in temperatures[at]))
            print(flush=True)


# -- factorial mixture: toy images, and faces if their file is there -------------------
#: Readings of sigma_n and sigma_mu, .1 and .35: the variances of noise and components.
READINGS = {"variances": (0.1, 0.35), "deviations": (0.1**2, 0.35**2)}
ALIKE = 0.98


def toy_settings():
    """Return VI, AVI and VT of the paper, without cooling of local steps or moves."""
    temperings = {
        "VI": None,
        "AVI 10 in 10": avi(10, 10),
        "AVI 10 in 100": avi(10, 100),
        "VT": vt(),
        "VT default": GlobalTempering(),
        "default schedule and target": Annealing(),
    }
    return {
        name: {"tempering": policy, "local_cooling": None, "moves": None}
        for name, policy in temperings.items()
    }


def toy(run, given):
    """Return bounds and fits of toy data, each seed with its own."""
    noise, component = READINGS[given]
    settings = toy_settings()
    for parameters in settings.values():
        parameters |= {
            "n_components": 8,
            "posterior": "factorized",
            "noise_variance": noise,
            "component_variance": component,
            "inclusion_probability": 0.3,
        }
    shapes = {}

    def data(seed):
        X, _, shapes[seed] = make_factorial_mixture(
            run.size(10_000, 2000),
            noise_variance=noise,
            return_components=True,
            random_state=seed,
        )
        return X

    curves, fits = bound_curves(
        TemperedFactorialMixture,
        settings,
        data,
        run.all_seeds(8),
        run.size(150, 120),
        per_row=True,
    )
    found = {
        name: [
            (match_components(shapes[s], fit.components_)[1] > ALIKE).sum()
            for s, fit in enumerate(models)
        ]
        for name, models in fits.items()
    }
    return curves, fits, found, shapes


@figure("001.fig3", "003.fig4")
def bounds(run):
    """Factorial mixture: AVI and VT end in a better bound at T=1 than VI."""
    panels = {}
    for given in READINGS:
        curves, _, found, _ = toy(run, given)
        panels[f"toy, sigma are {given}"] = curves
        print(f"toy, sigma are {given}: bound, gain; shapes found of 8")
        base = curves["VI"][:, -1]
        for name, values in curves.items():
            last = values[:, -1]
            print(
                f"  {name:30}{spread(last, 2)}  {spread(last - base, 2, '+'):18}"
                f"{spread(found[name], 2)}"
            )
        print(flush=True)
    draw_curves(run, panels, "iterations", "bound at T=1, nats per sample")
    faces(run)


def faces(run):
    path = run.path("faces", "yale_faces_192x168.npz")
    if path is None:
        return
    with np.load(path) as file:
        images = file["images"][:, :: run.size(4, 8), :: run.size(4, 8)]
    X = images.reshape(len(images), -1).astype(float)
    X = (X - X.mean()) / X.std()
    temperings = {
        "VI": None,
        "AVI 6 in 5": avi(6, 5),
        "AVI 6 in 50": avi(6, 50),
        # q(T) is at the highest temperature in the first step, as in the figure
        "VT": vt(max_temperature=6, initial_probabilities=np.eye(100)[-1]),
        "VT default": GlobalTempering(),
    }
    panels = {}
    for reading, variance in {"variances": 0.5, "deviations": 0.25}.items():
        for init in ("random", "data"):
            title = f"faces, sigma are {reading}, start {init}"
            print(f"{title}: nats per pixel, gain; T in the first five iterations")
            scores, panels[title] = {}, {}
            for name, policy in temperings.items():
                fits = [fit(X, policy, variance, init, s) for s in run.all_seeds(3)]
                scores[name] = np.array([score for score, _ in fits])
                panels[title][name] = np.array([T for _, T in fits])
                gain = scores[name] - scores["VI"]
                print(
                    f"  {name:20}{spread(scores[name])}  {spread(gain, sign='+'):18}",
                    *panels[title][name].mean(axis=0)[:5].round(2),
                    flush=True,
                )
            print()
    run.figure += ".faces"
    draw_curves(run, panels, "iterations", "T", skipped=0)


def fit(X, policy, variance, init, seed):
    """Return the held-out score of a fit of faces, and T in each iteration."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_test = len(X) // 4
    model = TemperedFactorialMixture(
        30,
        tempering=policy,
        posterior="factorized",
        init=init,
        noise_variance=variance,
        component_variance=variance,
        local_cooling=None,
        max_iter=60,
        random_state=seed,
    )
    score = model.fit(X[order[n_test:]]).score(X[order[:n_test]]) / X.shape[1]
    T = model.history_["temperature"]
    return score, np.append(T, np.full(60 - len(T), T[-1]))


@figure("001.fig4", "003.fig5")
def features(run):
    """Factorial mixture: features of VT are cleaner than those of VI."""
    given = "variances"
    curves, fits, found, shapes = toy(run, given)
    X = make_factorial_mixture(run.size(10_000, 2000), random_state=0)
    ours = AnnealedFactorialMixture(8, random_state=0).fit(X)
    rows = {"truth": shapes[0]}
    for name, models in fits.items():
        print(f"  {name:30} shapes found of 8: {spread(found[name], 2)}")
        rows[name] = models[0].components_
    n_found = (match_components(shapes[0], ours.components_)[1] > ALIKE).sum()
    print(f"  {'default estimator, with moves':30} shapes found of 8: {n_found}")
    rows["default estimator, with moves"] = ours.components_
    picture = Figure(figsize=(8, len(rows)), layout="constrained")
    axes = picture.subplots(len(rows), 8)
    for line, (name, components) in zip(axes, rows.items(), strict=True):
        order, _ = match_components(shapes[0], components)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax, component in zip(line, components[order], strict=True):
            ax.imshow(component.reshape(4, 4), cmap="RdBu_r", vmin=-1, vmax=1)
            ax.set(xticks=[], yticks=[])
    run.save(picture)


# -- the earlier version of the paper, 003, where VT is called MVI ---------------------
@figure("003.fig2")
def distributions(run):
    """q over temperatures of one abstract: the higher its likelihood, the colder."""
    ((_, corpus),) = run.texts("debian")
    picture = Figure(layout="constrained")
    ax = picture.subplots()
    # log C of the model's priors, and the distribution for a document of 100 words
    tempering = GlobalTempering(max_temperature=10)
    lda = TemperedLDA(20, tempering=tempering, max_iter=1, random_state=0)
    state = lda.fit(corpus.train).state_.policies.tempering
    T = 1 / state.inverse_temperatures
    for score in (-11.45, -8.17, -6.54, -5.52):
        r = softmax(100 * (score / T - state.log_partition))
        print(f"  log-likelihood per word {score:7.2f}: T={T[r.argmax()]:5.2f}")
        ax.plot(T, r, label=f"{score} per word")
    ax.set(xlabel="T", ylabel="q(T)", xscale="log")
    ax.legend()
    run.save(picture)


@figure("003.fig3")
def earlier_topics(run):
    """LDA: MVI beats SVI like the best AVI; its temperature is not monotone."""
    topics(run, local=False)
