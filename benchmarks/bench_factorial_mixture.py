"""Does the factorial mixture find the features?  At what cost, and how fast is it?

    python benchmarks/bench_factorial_mixture.py                 # all, then the report
    python benchmarks/bench_factorial_mixture.py --stages toy --seeds 5
    python benchmarks/bench_factorial_mixture.py --quick         # does it run?
    python benchmarks/bench_factorial_mixture.py --stages        # only the report

A stage of the first four appends the row of each finished fit to its own table in
``benchmarks/results/bench_factorial_mixture``; after an interruption it goes on behind
them.  The others replace theirs.  The report is
``benchmarks/results/bench_factorial_mixture.md``.

toy        8 overlapping binary shapes: every policy, and FastICA and NMF
defaults   the parameters of moves and of local steps, on the toy and on harder shapes
shapes     harder shapes: more of them, random, signed
faces      held-out nats per pixel of faces: schedules and temperings
sweep      how much of a step on the faces is spent in BLAS
stream     samples a second through `partial_fit`, and the local step alone

A shape is recovered if after Hungarian matching its component has a cosine above 0.98
with it.  Scores are `score`, nats per sample: a lower bound of the log-likelihood, that
of the truth exact by enumeration.  Everything runs in one thread unless a stage says
otherwise; seconds are of CPU time, and scoring does not count.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import contextlib
import functools
import inspect
import itertools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from unittest import mock

import corpora
import numpy as np
import pandas as pd
import sklearn
from scipy.special import logsumexp
from sklearn.decomposition import NMF, FastICA
from sklearn.exceptions import ConvergenceWarning

import sktemper
from sktemper import (
    AnnealedFactorialMixture,
    SVIPlusFactorialMixture,
    TemperedFactorialMixture,
)
from sktemper._linalg import tiled_matmul
from sktemper._simd import special
from sktemper.factorial_mixture import _births, _estimators, _kernels
from sktemper.learning_rates import AdaptiveRate
from sktemper.metrics import match_components
from sktemper.model import Request
from sktemper.moves import BirthMoves
from sktemper.schedules import ExponentialSchedule, LinearSchedule
from sktemper.tempering import Annealing, GlobalTempering

ROOT = Path(__file__).resolve().parents[1]
KEY = ["data", "setting", "seed"]
FOUND = ["recovered", "score", "truth", "seconds", "moves", "kept", "noise"]
FACES = ["score", "bound", "seconds", "in use", "noise", "first T", "moves", "kept"]

# -- data ------------------------------------------------------------------------------

#: Standard deviation of the noise, probability of a feature, variance of components.
SIGMA, INCLUSION, COMPONENT_VARIANCE = 0.1, 0.3, 0.35**2
#: Samples by which fits are scored.
N_TEST = 1000


class Shapes:
    """Samples of binary shapes, each with a weight, and noise.

    Parameters
    ----------
    seed : int
    n_samples : int
    shapes : ndarray of shape (n_components, n_features)
    signed : bool
        Whether half of the shapes are negative.
    """

    def __init__(self, seed, n_samples, shapes, signed=False):
        self.random = np.random.default_rng(seed)
        n_components = len(shapes)
        weights = self.random.uniform(0.5, 1.0, n_components)
        if signed:
            weights *= self.random.choice([-1, 1], n_components)
        self.components = weights[:, None] * shapes
        self.train, self.test = self._draw(n_samples), self._draw(N_TEST)

    def _draw(self, n_samples):
        shape = n_samples, len(self.components)
        values = (self.random.random(shape) < INCLUSION) @ self.components
        return values + SIGMA * self.random.normal(size=values.shape)

    @functools.cached_property
    def truth(self):
        """The mean log-likelihood of the test samples, exactly."""
        K, D = self.components.shape
        on = np.array(list(itertools.product([0.0, 1.0], repeat=K)))
        log_prior = on @ np.full(K, np.log(INCLUSION / (1 - INCLUSION)))
        means = on @ self.components
        offsets = log_prior + K * np.log1p(-INCLUSION)
        offsets -= (means**2).sum(axis=1) / (2 * SIGMA**2)
        offsets -= D / 2 * np.log(2 * np.pi * SIGMA**2)
        logs = [
            logsumexp(offsets + means @ x / SIGMA**2) - x @ x / (2 * SIGMA**2)
            for x in self.test
        ]
        return float(np.mean(logs))

    def recovered(self, components):
        """Return how many shapes there are among the components."""
        _, cosines = match_components(self.components, components)
        return int((cosines > 0.98).sum())


def toy_shapes():
    """Return 8 shapes of 4 by 4 pixels that overlap."""
    shapes = np.zeros((8, 4, 4))
    shapes[0, 0] = 1  # a row, a column
    shapes[1, :, 0] = 1
    shapes[2] = np.eye(4)
    shapes[3, 1:3, 1:3] = 1
    shapes[4, 3] = shapes[4, :, 3] = 1
    shapes[5, ::3, ::3] = 1
    shapes[6, 2, :3] = shapes[6, 1, 1] = 1
    shapes[7, :2, 2:] = 1
    return shapes.reshape(8, 16)


def random_shapes(n_shapes, side, seed):
    """Return the ways of random walks on a torus, all of them different."""
    random, shapes = np.random.default_rng(seed), []
    while len(shapes) < n_shapes:
        walk = random.integers(-1, 2, (random.integers(3, side * side // 2), 2))
        walk[np.arange(len(walk)), random.integers(2, size=len(walk))] = 0
        rows, columns = ((random.integers(side, size=2) + walk.cumsum(0)) % side).T
        shape = np.zeros((side, side))
        shape[rows, columns] = 1
        known = any((shape.ravel() == other).all() for other in shapes)
        if shape.sum() >= 3 and not known:
            shapes.append(shape.ravel())
    return np.array(shapes)


@functools.lru_cache(maxsize=4)
def load_shapes(name, seed, n_samples):
    """Return `Shapes`: "toy", or "random" with K, side and, maybe, "signed"."""
    if name == "toy":
        return Shapes(seed, n_samples, toy_shapes())
    _, K, side, *signed = name.split()
    shapes = random_shapes(int(K), int(side), seed)
    return Shapes(seed, n_samples, shapes, bool(signed))


# -- what is compared ------------------------------------------------------------------

KNOWN = {
    "noise_variance": SIGMA**2,
    "component_variance": COMPONENT_VARIANCE,
    "inclusion_probability": INCLUSION,
}


def tempered(tempering=None, **parameters):
    return TemperedFactorialMixture, {"tempering": tempering, **parameters}


def annealed(**parameters):
    return AnnealedFactorialMixture, parameters


def linear(length, **parameters):
    """Return the annealing of the papers: from T=10 within 10 or 100 steps."""
    schedule = LinearSchedule(start=10, length=length)
    return tempered(Annealing(schedule), max_iter=length + 50, **parameters)


def exponential(start, length, **parameters):
    schedule = ExponentialSchedule(start, length=length)
    return tempered(Annealing(schedule), max_iter=length + 20, **parameters)


def batches(size, passes, *args, **parameters):
    return tempered(*args, batch_size=size, max_iter=passes, **parameters)


OFF = {"local_cooling": None}
#: Settings of fits that know the variances and pi, and of fits that learn them.
SETTINGS = {
    "plain, no local cooling": tempered(**OFF),
    "plain": tempered(),
    "linear 10 in 10, no local cooling": linear(10, **OFF),
    "linear 10 in 100, no local cooling": linear(100, **OFF),
    "linear 10 in 10": linear(10),
    "linear 10 in 100": linear(100),
    "exponential 30 in 60": exponential(30, 60),
    "exponential 30 in 200": exponential(30, 200),
    "exponential 30 in 200, no local cooling": exponential(30, 200, **OFF),
    "global": tempered("global"),
    "global to 100": tempered(GlobalTempering(max_temperature=100)),
    "global to 100, no cap": tempered(GlobalTempering(max_temperature=100, cap=None)),
    "local": tempered("local"),
    "batches of 100": batches(100, 10),
    "batches of 1000": batches(1000, 30),
    "SVI+, batches of 1000": (
        SVIPlusFactorialMixture,
        {"batch_size": 1000, "max_iter": 30},
    ),
    "adaptive rate, batches of 1000": batches(1000, 30, learning_rate=AdaptiveRate()),
    "annealed, batches of 1000": annealed(batch_size=1000, max_iter=30, moves=None),
    "annealed, no moves": annealed(moves=None),
    "annealed": annealed(),
    "plain, moves": tempered(moves="birth"),
    "global, moves": tempered("global", moves="birth"),
    "annealed, batches of 1000, moves": annealed(batch_size=1000, max_iter=30),
    "plain, init ica": tempered(init="ica"),
    "annealed, init ica": annealed(init="ica"),
}
LEARNED = (
    "plain, no local cooling",
    "plain",
    "exponential 30 in 200",
    "global",
    "global to 100, no cap",
    "local",
    "batches of 1000",
    "annealed, no moves",
    "annealed",
    "plain, moves",
    "global, moves",
    "annealed, batches of 1000, moves",
    "plain, init ica",
    "annealed, init ica",
)
HARD = (
    "plain",
    "exponential 30 in 200",
    "global",
    "annealed, no moves",
    "annealed",
    "plain, moves",
    "plain, init ica",
)
HARD_DATA = ("random 8 4 signed", "random 16 5", "random 16 5 signed")


def find(shapes, setting, seed):
    """Return the row of a fit."""
    estimator, parameters = setting
    begin = time.process_time()
    mixture = estimator(len(shapes.components), random_state=seed, **parameters)
    mixture.fit(shapes.train)
    seconds = time.process_time() - begin
    return outcome(shapes, mixture, seconds)


def outcome(shapes, mixture, seconds):
    kept = mixture.history_.get("move_kept", [])
    return {
        "recovered": shapes.recovered(mixture.components_),
        "score": mixture.score(shapes.test),
        "truth": shapes.truth,
        "seconds": seconds,
        "moves": len(kept),
        "kept": int(np.sum(kept)),
        "noise": mixture.noise_variance_,
    }


def find_from_nmf(shapes, seed, max_iter, **parameters):
    """Return the row of a fit from NMF's components: of the data, cut off at 0."""
    begin = time.process_time()
    K, clipped = len(shapes.components), shapes.train.clip(0)
    start = TemperedFactorialMixture(
        K, tempering=None, init="nmf", max_iter=1, random_state=seed, **parameters
    ).fit(clipped)
    mixture = start
    if max_iter:
        mixture = TemperedFactorialMixture(
            K,
            tempering=None,
            init=start.components_,
            max_iter=max_iter,
            random_state=seed,
            **parameters,
        ).fit(shapes.train)
    return outcome(shapes, mixture, time.process_time() - begin)


def find_by_ica(shapes, seed):
    """Return the row of FastICA, whose signs are arbitrary."""
    begin = time.process_time()
    K = len(shapes.components)
    ica = FastICA(K, whiten="unit-variance", max_iter=1000, random_state=seed)
    components = ica.fit(shapes.train).mixing_.T
    seconds = time.process_time() - begin
    both = np.concatenate([components, -components])
    return {"recovered": shapes.recovered(both), "seconds": seconds}


def find_by_nmf(shapes, seed):
    """Return the row of NMF, of the data cut off at 0."""
    begin = time.process_time()
    nmf = NMF(len(shapes.components), init="nndsvda", max_iter=1000, random_state=seed)
    components = nmf.fit(shapes.train.clip(0)).components_
    seconds = time.process_time() - begin
    return {"recovered": shapes.recovered(components), "seconds": seconds}


PEERS = {
    "NMF (scikit-learn)": find_by_nmf,
    "FastICA (scikit-learn)": find_by_ica,
}
FROM_NMF = {
    "init nmf, 1 step": functools.partial(find_from_nmf, max_iter=0),
    "plain, init nmf": functools.partial(find_from_nmf, max_iter=100),
}


def both_knowledges(settings, learned):
    """Yield names, what finds, and its settings: with variances known, and learned."""
    for name, setting in settings.items():
        estimator, parameters = setting
        yield f"{name} (known)", (estimator, parameters | KNOWN)
        if name in learned:
            yield name, setting


def toy(options):
    """All policies from random starts, other weights and another start each seed."""
    n_samples = options.tenth(10_000)
    for seed in range(options.number(20)):
        shapes = load_shapes("toy", seed, n_samples)
        for name, setting in both_knowledges(SETTINGS, LEARNED):
            yield row("toy", name, seed), find, (shapes, setting, seed)
        for name, finder in PEERS.items():
            yield row("toy", name, seed), finder, (shapes, seed)
        for name, finder in FROM_NMF.items():
            known = functools.partial(finder, **KNOWN)
            yield row("toy", f"{name} (known)", seed), known, (shapes, seed)
            yield row("toy", name, seed), finder, (shapes, seed)


def shapes(options):
    """Random walks on a torus as shapes: N=4000, other shapes each seed."""
    settings = {name: SETTINGS[name] for name in HARD}
    for seed, data in itertools.product(range(options.number(10)), HARD_DATA):
        made = load_shapes(data, seed, options.tenth(4000))
        for name, setting in both_knowledges(settings, HARD):
            yield row(data, name, seed), find, (made, setting, seed)
        if "signed" not in data:
            yield row(data, "NMF (scikit-learn)", seed), find_by_nmf, (made, seed)
        yield row(data, "FastICA (scikit-learn)", seed), find_by_ica, (made, seed)


def row(*key):
    return dict(zip(KEY, key, strict=True))


# -- parameters that have defaults -----------------------------------------------------

#: What is changed: parameters, moves, constants of the model.
VARIANTS = {
    "as it is": {},
    "patience 10": {"moves": BirthMoves(patience=10)},
    "patience 25": {"moves": BirthMoves(patience=25)},
    "patience 40": {"moves": BirthMoves(patience=40)},
    "n_iter 10": {"moves": BirthMoves(n_iter=10)},
    "max_samples 5000": {"moves": BirthMoves(max_samples=5000)},
    "BIRTH_STEPS 5": {"BIRTH_STEPS": 5},
    "SHARE_OF_REMIXES 0": {"SHARE_OF_REMIXES": 0.0},
    "SHARE_OF_REMIXES 0.5": {"SHARE_OF_REMIXES": 0.5},
    "SHARE_OF_DIFFERENCES 0": {"SHARE_OF_DIFFERENCES": 0.0},
    "SHARE_OF_DIFFERENCES 1": {"SHARE_OF_DIFFERENCES": 1.0},
    "local_cooling 1.5": {"local_cooling": 1.5},
    "local_cooling 3": {"local_cooling": 3.0},
    "local_cooling None": {"local_cooling": None},
    "max_iter 30": {"max_iter": 30},
    "max_iter 200": {"max_iter": 200},
    "batch_size auto, 20 passes": {"batch_size": "auto", "max_iter": 20},
    "start T=30": {"schedule": ExponentialSchedule(30)},
    "start T=1": {"schedule": ExponentialSchedule(1.0)},
    "INITIAL_INCLUSION 0.1": {"INITIAL_INCLUSION": 0.1},
    "INITIAL_INCLUSION 0.5": {"INITIAL_INCLUSION": 0.5},
    "inclusion 0.3, fixed": {"inclusion_probability": 0.3},
}


def vary(shapes, changes, seed):
    """Return the row of an `AnnealedFactorialMixture` with something changed."""
    constants = {name: value for name, value in changes.items() if name.isupper()}
    others = {name: changes[name] for name in changes.keys() - constants}
    with contextlib.ExitStack() as stack:
        for name, value in constants.items():
            module = _births if hasattr(_births, name) else _estimators
            stack.enter_context(mock.patch.object(module, name, value))
        return find(shapes, annealed(**others), seed)


def defaults(options):
    """`AnnealedFactorialMixture` as it is, which learns all, and with changes."""
    sets = {"toy": 10_000, "random 16 5": 4000}
    for seed, (data, n_samples) in itertools.product(
        range(options.number(10)), sets.items()
    ):
        made = load_shapes(data, seed, options.tenth(n_samples))
        for name, changes in VARIANTS.items():
            yield row(data, name, seed), vary, (made, changes, seed)


# -- faces -----------------------------------------------------------------------------

#: Components of the faces, and what the papers fix.
N_FACES = 50
FIXED = {
    "noise_variance": 0.25,
    "component_variance": 0.25,
    "inclusion_probability": INCLUSION,
}
#: Schedules: temperatures, and steps.
GRID = {
    f"annealed from {start} in {length}": exponential(start, length)
    for start, length in (
        (3, 50),
        (10, 50),
        (30, 50),
        (100, 20),
        (100, 50),
        (100, 150),
        (300, 50),
        (300, 150),
        (1000, 50),
        (1000, 150),
    )
}
HOT = GlobalTempering(max_temperature=1000, cap=ExponentialSchedule(300, length=50))
TEMPERED = {
    "annealed, default, no moves": annealed(moves=None),
    "global": tempered("global"),
    "global to 1000, no cap": tempered(GlobalTempering(max_temperature=1000, cap=None)),
    "global to 1000, cap 300 in 50": tempered(HOT),
    "local": tempered("local"),
}
ON_FACES = {
    "plain, no local cooling": tempered(**OFF),
    "plain": tempered(),
    **GRID,
    **TEMPERED,
    "plain, init data": tempered(init="data"),
    "global, init data": tempered("global", init="data"),
    "plain, small start": tempered(init="small"),
    "global, small start": tempered("global", init="small"),
    "annealed from 100 in 50, small start": exponential(100, 50, init="small"),
}
WITH_MOVES = {"annealed, default": annealed()}
#: At full size, where features are undecided only at higher temperatures.
AT_FULL_SIZE = {
    "plain": tempered(),
    "annealed from 100 in 50": exponential(100, 50),
    "annealed from 3000 in 50": exponential(3000, 50),
    "annealed from 30000 in 50": exponential(30_000, 50),
    "plain, small start": tempered(init="small"),
    "global": tempered("global"),
}


@functools.lru_cache(maxsize=1)
def load_faces(folder, shrink):
    """Return training and test faces, standardised; a quarter is held out."""
    images = np.load(folder / "yale_faces_192x168.npz")["images"]
    images = images[np.random.default_rng(0).permutation(len(images))]
    n, height, width = images.shape
    cells = images.reshape(n, height // shrink, shrink, width // shrink, shrink)
    X = cells.mean(axis=(2, 4), dtype=np.float32).reshape(n, -1)
    train, test = np.split(X, [n - n // 4])
    mean, scale = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / scale, (test - mean) / scale


def fit_faces(folder, shrink, setting, seed):
    """Return the row of a fit in float32."""
    train, test = load_faces(folder, shrink)
    estimator, parameters = setting
    parameters = dict(parameters)
    if parameters.get("init") == "small":
        random = np.random.default_rng(seed)
        noise = parameters.get("noise_variance", 1.0)
        shape = N_FACES, train.shape[1]
        parameters["init"] = random.normal(0, (noise / shape[1]) ** 0.5, shape)
    mixture = estimator(N_FACES, random_state=seed, **parameters)
    begin = time.process_time()
    mixture.fit(train)
    seconds = time.process_time() - begin
    shares = mixture.transform(train).mean(axis=0)
    kept = mixture.history_.get("move_kept", [])
    return {
        "score": mixture.score(test) / test.shape[1],
        "bound": mixture.lower_bound(train) / train.size,
        "seconds": seconds,
        "in use": int(((shares > 0.01) & (shares < 0.99)).sum()),
        "noise": mixture.noise_variance_,
        "first T": mixture.history_["temperature"][0],
        "moves": len(kept),
        "kept": int(np.sum(kept)),
    }


def faces(options):
    """Faces of 48 by 42 pixels from five starts, and of 192 by 168 from one."""
    folder = options.data.resolve()
    if not (folder / "yale_faces_192x168.npz").exists():
        print("yale_faces_192x168.npz is not there: skipped (see --data)", flush=True)
        return
    for seed in range(options.number(5)):
        for how, fixed in (("fixed", FIXED), ("learned", {})):
            settings = ON_FACES | (WITH_MOVES if seed == 0 else {})
            for name, (estimator, parameters) in settings.items():
                setting = estimator, parameters | fixed
                key = row(f"48 x 42, {how}", name, seed)
                yield key, fit_faces, (folder, 4, setting, seed)
    for name, (estimator, parameters) in AT_FULL_SIZE.items():
        for how, fixed in (("learned", {}), ("fixed", FIXED)):
            setting = estimator, parameters | fixed
            key = row(f"192 x 168, {how}", name, 0)
            yield key, fit_faces, (folder, 1, setting, 0)


# -- speed -----------------------------------------------------------------------------


def sweep(options):
    """A step on the faces at full size, and its matrix products alone.

    The products are those of the samples with the means, and of the features with the
    samples: 4 N D K operations.
    """
    folder = options.data.resolve()
    if not (folder / "yale_faces_192x168.npz").exists():
        return
    train, _ = load_faces(folder, 2 if options.quick else 1)
    for dtype in (np.float32, np.float64):
        X = train.astype(dtype)
        mixture = TemperedFactorialMixture(
            N_FACES, tempering=None, init="data", max_iter=1, random_state=0, **FIXED
        ).fit(X)
        mixture.set_params(warm_start=True, max_iter=5)
        steps, products, iterations = [], [], []
        for _ in range(options.tenth(50) // 10 or 1):
            begin = time.process_time()
            mixture.fit(X)
            steps.append((time.process_time() - begin) / 5)
            iterations.append(mixture.history_["mean_iterations"][-1])
            products.append(products_alone(X, mixture))
        step, alone = np.median(steps), np.median(products)
        yield {
            "dtype": np.dtype(dtype).name,
            "N": len(X),
            "D": X.shape[1],
            "K": N_FACES,
            "sweeps": np.median(iterations),
            "step, CPU s": step,
            "products, CPU s": alone,
            "share": alone / step,
            "GFlop/s of products": 4e-9 * X.size * N_FACES / alone,
        }


def products_alone(X, mixture):
    """Return the CPU seconds of what `local_step` gives to BLAS."""
    model = mixture._make_model(X.shape[1], X.dtype)
    filters = mixture.components_.astype(X.dtype)
    nu = np.full((len(X), N_FACES), 0.5, dtype=X.dtype)
    begin = time.process_time()
    for start in range(0, len(X), model.block_size):
        rows = slice(start, start + model.block_size)
        tiled_matmul(X[rows], filters.T)
        nu[rows].T @ X[rows]
    return time.process_time() - begin


def stream(options):
    """`partial_fit` of a stream, N=1,000,000, D=64, K=32, in steps of 1,000.

    Means, variances and pi are learned; chunks of 50,000 are made off the clock.  The
    noise has variance 0.25, or 0.01 as that of the toy.  The local step alone is the
    kernel, on products made before.
    """
    for noise in (0.25, 0.01):
        for name, dtype, n_jobs in STREAMS:
            yield flow(options, noise, name, dtype, n_jobs)


STREAMS = (
    ("", "float32", 1),
    ("", "float64", 1),
    ("", "float32", 2),
    ("", "float64", 2),
    ("avx2", "float32", 1),
    ("avx2", "float64", 1),
    ("baseline", "float32", 1),
    ("baseline", "float64", 1),
)


def flow(options, noise, instructions, dtype, n_jobs):
    """Run `flow_here` in a process of its own, whose kernels are chosen at import."""
    total = options.tenth(200_000 if instructions else 1_000_000)
    arguments = {"noise": noise, "dtype": dtype, "n_jobs": n_jobs, "total": total}
    name = Path(__file__).stem
    command = f"import {name}; {name}.flow_here(**{arguments})"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=Path(__file__).parent,
        env=os.environ | {"SKTEMPER_SIMD": instructions},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def flow_here(noise, dtype, n_jobs, total, K=32, D=64, chunk=50_000):
    """Print what a stream takes."""
    random, chunk = np.random.default_rng(0), min(chunk, total)
    components = random.normal(0, 0.35, (K, D))
    mixture = TemperedFactorialMixture(
        K, tempering=None, random_state=0, total_samples=total, n_jobs=n_jobs
    ).set_params(batch_size=1000)
    wall = cpu = kernel = n_sweeps = 0.0
    for _ in range(total // chunk):
        X = (random.random((chunk, K)) < INCLUSION) @ components
        X = (X + noise**0.5 * random.normal(size=X.shape)).astype(dtype)
        begin, cpu_begin = time.perf_counter(), time.process_time()
        mixture.partial_fit(X)
        wall += time.perf_counter() - begin
        cpu += time.process_time() - cpu_begin
    model = mixture._make_model(D, X.dtype)
    prepared = model.prepare(mixture.state_.globals_, mixture.state_.hyper)
    real = _kernels.local_step

    def timed(*args):
        nonlocal kernel, n_sweeps
        begin = time.process_time()
        found = real(*args)
        kernel += time.process_time() - begin
        n_sweeps += found
        return found

    with mock.patch.object(_kernels, "local_step", timed):
        for start in range(0, chunk, 1000):
            block = model.take(X, slice(start, start + 1000))
            model.local_step(block, prepared, Request())
    found = {
        "noise": noise,
        "instructions": special.instruction_set,
        "dtype": dtype,
        "n_jobs": n_jobs,
        "samples": total,
        "sweeps": mixture.history_["mean_iterations"][-1],
        "samples a CPU s": total / cpu,
        "samples a s": total / wall,
        "local step, ns a sample": 1e9 * kernel / chunk,
        "ns a sample and sweep": 1e9 * kernel / n_sweeps,
    }
    print(json.dumps(found))


# -- running and reporting -------------------------------------------------------------


class Options(argparse.Namespace):
    """The command line; with ``--quick`` everything is a tenth or less."""

    def tenth(self, n):
        return max(n // 10, 1) if self.quick else n

    def number(self, n_seeds):
        return self.seeds or (1 if self.quick else n_seeds)


def run(stage, fits, path):
    """Do what is not done yet of a stage, and append it to the stage's table."""
    done = set()
    if path.exists():
        known = pd.read_csv(path, dtype=str)
        done.update(known[KEY].itertuples(index=False, name=None))
    columns = KEY + STAGES[stage][2]
    for key, finder, arguments in fits:
        if tuple(map(str, key.values())) in done:
            continue
        frame = pd.DataFrame([key | finder(*arguments)], columns=columns)
        how = {"index": False, "header": not path.exists(), "float_format": "%.6g"}
        frame.to_csv(path, mode="a", **how)
        print(stage, *frame.iloc[0].to_dict().values(), flush=True)


def measure(stage, rows, path):
    """Replace the stage's table."""
    frame = pd.DataFrame(rows)
    if len(frame):
        frame.to_csv(path, index=False, float_format="%.4g")
        print(frame.to_string(), flush=True)


def table(frame):
    """Yield a table of everything."""
    yield "| " + " | ".join(frame.columns) + " |"
    yield "|---" * len(frame.columns) + "|"
    for values in frame.itertuples(index=False):
        yield "| " + " | ".join(map(text_of, values)) + " |"


def text_of(value):
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def mean_and_error(values):
    values = values.dropna()
    if values.empty:
        return "-"
    error = f" ± {values.sem():.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f}{error}"


def table_of_shapes(frame):
    """Yield a table for each kind of data, a row for each setting."""
    for data, group in frame.groupby("data", sort=False):
        n_shapes = int(data.split()[1]) if " " in data else 8
        truth = group.truth.mean()
        yield from (f"### {data}: {n_shapes} shapes, truth {truth:.2f}", "")
        rows = []
        for setting, fits in group.groupby("setting", sort=False):
            found = fits.recovered
            rows.append(
                {
                    "setting": setting,
                    "runs": len(fits),
                    "recovered": mean_and_error(found),
                    "fewest": int(found.min()),
                    "all, share of runs": f"{(found == n_shapes).mean():.0%}",
                    "score": mean_and_error(fits.score),
                    "median score": fits.score.median(),
                    "CPU s": fits.seconds.mean(),
                    "moves": fits.moves.mean(),
                    "kept": fits.kept.mean(),
                }
            )
        yield from table(pd.DataFrame(rows))
        yield ""


def table_of_faces(frame):
    """Yield a table for each size, with what is closed of a gap.

    The gap is between plain inference and the best annealing of the grid.
    """
    columns = ["score", "bound", "seconds", "in use", "noise", "first T"]
    for data, group in frame.groupby("data", sort=False):
        means = group.groupby("setting", sort=False)[columns].mean()
        means.insert(0, "runs", group.groupby("setting", sort=False).size())
        schedules = means.index.str.contains(" from ") & ~means.index.str.contains(",")
        best, plain = means.score[schedules].max(), means.score["plain"]
        means["gap closed"] = (means.score - plain) / (best - plain)
        yield from (f"### {data}", "", *table(means.reset_index()), "")


#: What is done, its heading, its columns beside `KEY` or None, and its table.
STAGES = {
    "toy": (toy, "The toy", FOUND, table_of_shapes),
    "shapes": (shapes, "Harder shapes", FOUND, table_of_shapes),
    "defaults": (defaults, "Parameters", FOUND, table_of_shapes),
    "faces": (faces, "Faces", FACES, table_of_faces),
    "sweep": (sweep, "BLAS in a step", None, table),
    "stream": (stream, "Streams", None, table),
}


def report(folder):
    """Write the tables of what has been measured."""
    lines = [
        "# The factorial mixture",
        "",
        "Means ± standard errors over seeds. `benchmarks/bench_factorial_mixture.py` "
        "made this, and says what is measured; every number stands in "
        f"`{folder.name}/`. Kernels for {special.instruction_set}; sktemper "
        f"{sktemper.__version__}, scikit-learn {sklearn.__version__}.",
    ]
    for stage, (how, title, _, to_table) in STAGES.items():
        path = folder / f"{stage}.csv"
        if path.exists():
            text = inspect.getdoc(how)
            frame = pd.read_csv(path)
            lines += ["", f"## {title}", "", text, "", *to_table(frame)]
    path = folder.with_suffix(".md")
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"See {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", nargs="*", choices=STAGES, default=list(STAGES))
    parser.add_argument("--seeds", type=int, help="default: toy 20, faces 5, others 10")
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--output", type=Path, help="instead of this checkout")
    corpora.add_argument(parser)
    options = parser.parse_args(namespace=Options())
    scratch = Path(tempfile.gettempdir(), "bench_factorial_mixture_quick")
    root = options.output or (scratch if options.quick else ROOT)
    folder = root / "benchmarks/results/bench_factorial_mixture"
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for stage in options.stages:
        how, _, columns, _ = STAGES[stage]
        do = measure if columns is None else run
        do(stage, how(options), folder / f"{stage}.csv")
    report(folder)


if __name__ == "__main__":
    main()
