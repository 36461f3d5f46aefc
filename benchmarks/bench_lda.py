"""How fast is latent Dirichlet allocation?  Against scikit-learn, gensim and tomotopy.

    python benchmarks/bench_lda.py                    # all sections, then the report
    python benchmarks/bench_lda.py --sections speed --corpora imdb --topics 100 500
    python benchmarks/bench_lda.py --quick            # does it run? (two minutes)
    python benchmarks/bench_lda.py --sections         # only the report

A section replaces its table in ``benchmarks/results/bench_lda``.  The report is
``benchmarks/results/bench_lda.md``, with a picture in ``doc/images``.  With ``--quick``
or a filter all of it goes to a temporary folder, if ``--output`` names no other.

speed         an online pass, and the E-step of training
arithmetic    floating-point operations a second, beside those of a matrix product
threads       an online pass with two threads
policies      an online pass with each tempering, beside a plain one
sampled       sampled updates beside tomotopy's sampler and beside variational updates
instructions  an online pass with other instruction sets, forced by SKTEMPER_SIMD
score         time to the held-out score at which scikit-learn ends

Contestants do the same work: the same batches in the same order from the same start,
with the same priors, learning rate and stopping rule, and with gamma started at ones;
ours leaves converged topics out of a document's iterations, as it does by default.  All
are in one process and, but for the section that has two, in one thread; they take
turns, and the median of the repetitions counts.  CPU time, of all threads, stands
beside wall time, which counts what else the machine does, too.

The column "difference" is a check that the work was the same: how far the resulting
components (pass) or gamma (E-step) are from scikit-learn's, sum of absolute
differences over sum.  In float32 a few documents stop an iteration earlier or later,
which the steps of a pass amplify.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import contextlib
import copy
import functools
import importlib.util
import inspect
import itertools
import json
import operator
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from unittest import mock

import corpora
import numpy as np
import pandas as pd
import sklearn
from matplotlib.figure import Figure
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from topic_models import tomotopy_lda, tomotopy_topics

import sktemper
from sktemper import AnnealedLDA, TemperedLDA
from sktemper._loop import Workers
from sktemper._simd import special
from sktemper.lda import _model as lda_model
from sktemper.lda._model import LDAModel, Topics
from sktemper.learning_rates import RobbinsMonro
from sktemper.metrics import completion_log_likelihood
from sktemper.model import Request
from sktemper.schedules import ExponentialSchedule
from sktemper.tempering import Annealing, GlobalTempering, LocalTempering

ROOT = Path(__file__).resolve().parents[1]
#: V is 6,000, 3,012, 8,000 and 100,000.
TEXTS = ("debian", "nyt", "imdb")
CORPORA = (*TEXTS, "generated")
GENERATED = {"n_topics": 100, "n_features": 100_000, "doc_length": 100}

# scikit-learn adds an epsilon to the normaliser of phi. With topic_word_prior below
# about 0.05 rare words vanish in it, and its results are others; 0.1 keeps them equal.
ALPHA, ETA = 0.05, 0.1
PRIORS = {"doc_topic_prior": ALPHA, "topic_word_prior": ETA}
OFFSET, DECAY = 10.0, 0.7
TOL, MAX_ITER = 1e-3, 100
STOPPING = {"mean_change_tol": TOL, "max_doc_update_iter": MAX_ITER}
DROP_TOL = 1e-4  # the default `topic_drop_tol` of the estimators

#: Documents of a pass by number of topics: most of the time is scikit-learn's.
N_ROWS = {20: 7680, 50: 6400, 100: 5120, 200: 3840, 500: 2560, 1000: 1280}
BATCHES = (128, 1000)
#: After so many seconds two repetitions do.
LONG = 15


class Options(argparse.Namespace):
    """The command line; with ``--quick`` everything is a tenth or less."""

    __hash__ = object.__hash__  # for caches

    def tenth(self, n, least=1):
        return max(n // 10, least) if self.quick else n

    def load(self, name, n_rows):
        """Return a corpus with so many documents to train on; None if it cannot."""
        if self.corpora and name not in self.corpora:
            return None
        if name == "generated":
            return generate(n_rows)
        corpus = corpora.load(name, self.data.resolve())
        return corpus and corpora.Corpus(corpus.train[:n_rows], corpus.test)

    def chosen(self, topics):
        return [K for K in topics if K in (self.topics or topics)]

    def cells(self, names, topics, batches=BATCHES):
        """Yield what tables begin with, and the corpus; ``topics`` has their rows."""
        for name, K, size in itertools.product(names, self.chosen(topics), batches):
            corpus = self.load(name, max(self.tenth(topics[K]), 2 * size))
            if corpus is not None:
                yield {"corpus": name, "K": K, "batch": size}, corpus


@functools.lru_cache(maxsize=2)
def generate(n_rows):
    corpus = corpora.GeneratedCorpus(n_rows, **GENERATED)
    return corpora.Corpus(next(corpus.pieces()), corpus.test)


def take_turns(contestants, repetitions):
    """Return medians of wall and CPU seconds, and what was returned in the end.

    ``contestants`` prepare a run, by name; what takes time is the run.
    """
    times, outcomes = {name: [] for name in contestants}, {}
    begin = time.perf_counter()
    for repetition in range(repetitions):
        if repetition == 2 and time.perf_counter() - begin > LONG:
            break
        for name, prepare in contestants.items():
            run = prepare()
            wall, cpu = time.perf_counter(), time.process_time()
            outcomes[name] = run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            times[name].append((wall, cpu))
    medians = {
        name: tuple(map(statistics.median, zip(*pairs, strict=True)))
        for name, pairs in times.items()
    }
    return medians, outcomes


def cut(X, size):
    """Return the batches of a matrix, in their order."""
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


# -- the contestants -------------------------------------------------------------------


def online_pass(lda, X):
    """Prepare a pass that goes on from an estimator, which stays as it is."""

    def prepare():
        own = copy.deepcopy(lda)
        return lambda: own.partial_fit(X)

    return prepare


class StartAtOnes(LatentDirichletAllocation):
    """scikit-learn's, with gamma started at ones in training, too."""

    def _e_step(self, X, cal_sstats, random_init, parallel=None):
        return super()._e_step(X, cal_sstats, random_init=False, parallel=parallel)


class ScikitLearn:
    """The baseline, in float64; its float32 is slowed down by subnormal numbers."""

    name, dtype = "scikit-learn", np.float64

    def new(self, K, size, total):
        return StartAtOnes(
            K,
            learning_offset=OFFSET,
            learning_decay=DECAY,
            batch_size=size,
            total_samples=total,
            random_state=0,
            **PRIORS,
            **STOPPING,
        )

    def started(self, X, K, size, **parameters):
        """Return an estimator after the first batch: drawing the start is no step."""
        lda = self.new(K, size, X.shape[0], **parameters)
        return lda.partial_fit(X[:size].astype(self.dtype))

    def online_pass(self, X, K, size):
        lda = self.started(X, K, size)
        return online_pass(lda, X[size:].astype(self.dtype))

    def e_step(self, batches, topics):
        """Statistics are computed, too; gamma is what is compared."""
        lda = self.new(*topics.shape, 1)
        lda._init_latent_vars(topics.shape[1], dtype=self.dtype)
        lda.components_ = topics
        expectation = sklearn.decomposition._lda._dirichlet_expectation_2d(topics)
        lda.exp_dirichlet_component_ = np.exp(expectation)
        update = functools.partial(lda._e_step, cal_sstats=True, random_init=False)
        batches = [batch.astype(self.dtype) for batch in batches]
        return lambda: lambda: np.concatenate([update(b)[0] for b in batches])


class Ours(ScikitLearn):
    """This package, in one of its two precisions."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.name = np.dtype(dtype).name

    def new(self, K, size, total, tempering=None, n_jobs=1):
        return TemperedLDA(
            K,
            tempering=tempering,
            init_params="random",
            doc_update="variational",
            learning_rate=RobbinsMonro(OFFSET, DECAY),
            batch_size=size,
            total_samples=total,
            topic_drop_tol=DROP_TOL,
            n_jobs=n_jobs,
            random_state=0,
            **PRIORS,
            **STOPPING,
        )

    def e_step(self, batches, topics):
        update = LocalUpdate(topics, self.dtype)
        batches = [batch.astype(self.dtype) for batch in batches]
        return lambda: lambda: np.concatenate([update(batch) for batch in batches])


class LocalUpdate:
    """A batch's updates as an estimator makes them, block by block."""

    def __init__(self, topics, dtype, **parameters):
        prior, alpha = np.full((1, 1), ETA), np.full(len(topics), ALPHA)
        parameters = {"dtype": dtype, "drop_tol": DROP_TOL} | parameters
        parameters |= {"tol": TOL, "max_iter": MAX_ITER}
        self.model = LDAModel(*topics.shape, alpha, prior, **parameters)
        self.prepared = self.model.prepare(Topics.from_dense(topics.T, prior), alpha)

    def __call__(self, X):
        """Return gamma, having computed the statistics."""
        steps = list(self.steps(X, self.model.block_size))
        functools.reduce(operator.add, steps)
        return np.concatenate([step.local_parameters for step in steps])

    def steps(self, X, block_size):
        for start in range(0, X.shape[0], block_size):
            block = self.model.take(X, slice(start, start + block_size))
            want = ("statistics", "local")
            yield self.model.local_step(block, self.prepared, Request(want=want))


class Gensim:
    """gensim's LdaModel, in its own precision and with documents in its own form."""

    name = "gensim"

    def new(self, topics, size):
        from gensim.models import LdaModel

        class Ones(np.random.RandomState):  # from which gamma starts
            def gamma(self, shape, scale=1.0, size=None):
                return np.ones(size)

        K, V = topics.shape
        lda = LdaModel(
            num_topics=K,
            id2word={word: str(word) for word in range(V)},
            alpha=[ALPHA] * K,
            eta=ETA,
            chunksize=size,
            offset=OFFSET + 1,  # its first step is number 0
            decay=DECAY,
            iterations=MAX_ITER,
            gamma_threshold=TOL,
            eval_every=None,
        )
        lda.random_state = Ones()
        lda.state.sstats[...] = topics - ETA
        lda.sync_state()
        return lda

    def online_pass(self, X, K, size):
        lda = self.new(Ours(np.float64).started(X, K, size).components_, size)
        lda.num_updates = lda.state.numdocs = size
        rest = self.documents(X[size:])

        def prepare():
            own = copy.deepcopy(lda)
            return lambda: own.update(rest) or own.state.get_lambda()

        return prepare

    def e_step(self, batches, topics):
        update = functools.partial(self.new(topics, 1).inference, collect_sstats=True)
        batches = [self.documents(batch) for batch in batches]
        return lambda: lambda: np.concatenate([update(b)[0] for b in batches])

    def documents(self, X):
        return [list(zip(*pair, strict=True)) for pair in corpora.documents(X)]


def there(module):
    """Say whether a module is installed."""
    if importlib.util.find_spec(module):
        return True
    print(f"{module} is not installed: left out", flush=True)
    return False


@functools.lru_cache(maxsize=1)
def contestants():
    ours = [Ours(np.float64), Ours(np.float32)]
    return [ScikitLearn(), *ours, *([Gensim()] if there("gensim") else [])]


# -- speed -----------------------------------------------------------------------------


def speed(options):
    """Ratios of scikit-learn's CPU and wall time (in float64) to the contestant's.

    A pass is all documents but the first batch, from random topics on; the E-step is at
    trained topics. gensim, in float32, adds 1e-7 to the normaliser of phi, in which
    rare words vanish: hence its difference.
    """
    cells = options.cells(TEXTS, N_ROWS)
    generated = options.cells(("generated",), {100: 1920})
    for key, corpus in itertools.chain(cells, generated):
        K, size = key["K"], key["batch"]
        topics = trained_topics(options, key["corpus"], K)
        test = corpus.test[: max(corpus.train.shape[0] // 5, size)]
        passes = {c.name: c.online_pass(corpus.train, K, size) for c in contestants()}
        e_steps = {c.name: c.e_step(cut(test, size), topics) for c in contestants()}
        for measure, X, runs in (
            ("online pass", corpus.train[size:], passes),
            ("E-step", test, e_steps),
        ):
            how = key | {"measure": measure, "documents": X.shape[0], "nnz": X.nnz}
            yield from compared(how, runs, options.repetitions)


@functools.cache
def trained_topics(options, name, K):
    """Return topics as they are after two passes."""
    X = options.load(name, options.tenth(12_800)).train
    lda = TemperedLDA(K, tempering=None, max_iter=2, batch_size=256, random_state=0)
    lda.set_params(init_params="random")
    return lda.fit(X).components_.astype(np.float64)


def compared(key, runs, repetitions):
    """Yield a row a contestant: seconds, and ratios of the baseline's to them."""
    medians, outcomes = take_turns(runs, repetitions)
    results = {k: getattr(v, "components_", v) for k, v in outcomes.items()}
    base = ScikitLearn.name
    (base_wall, base_cpu), expected = medians[base], results[base]
    for name, (wall, cpu) in medians.items():
        yield key | {
            "contestant": name,
            "wall s": wall,
            "CPU s": cpu,
            "wall ratio": base_wall / wall,
            "CPU ratio": base_cpu / cpu,
            "difference": np.abs(results[name] - expected).sum() / expected.sum(),
        }


# -- arithmetic ------------------------------------------------------------------------


def arithmetic(options):
    """The E-step, all topics: CPU nanoseconds for each nonzero, topic and iteration.

    Each is four operations; beside is their share of those that NumPy's matrix product
    does in the same run. With topics left out, as is the default, they are counted as
    if none were.
    """
    for key, corpus in options.cells(TEXTS, dict.fromkeys(N_ROWS, 2000), (256,)):
        topics = trained_topics(options, key["corpus"], key["K"])
        for dtype in (np.float32, np.float64):
            X = corpus.test[: options.tenth(512)].astype(dtype)
            dense = LocalUpdate(topics, dtype, drop_tol=0.0)
            default = LocalUpdate(topics, dtype)
            square = np.ones((1000, 1000), dtype)
            calls = {
                "dense": functools.partial(dense, X),
                "default": functools.partial(default, X),
                "product": functools.partial(np.matmul, square, square),
            }
            runs = {name: lambda call=call: call for name, call in calls.items()}
            medians, _ = take_turns(runs, options.repetitions)
            cpu = {name: cpu for name, (_, cpu) in medians.items()}
            iterations = [step.n_iterations for step in dense.steps(X, 1)]
            work = float(np.diff(X.indptr) @ iterations) * len(topics)
            rate, peak = 4 * work / cpu["dense"], 2 * len(square) ** 3 / cpu["product"]
            yield key | {
                "dtype": np.dtype(dtype).name,
                "iterations": np.mean(iterations),
                "ns": 1e9 * cpu["dense"] / work,
                "ns, topics left out": 1e9 * cpu["default"] / work,
                "GFLOP/s": rate / 1e9,
                "of a product": rate / peak,
            }


# -- threads ---------------------------------------------------------------------------


def threads(options):
    """A pass in batches of 1000, which are four blocks; 256 documents are one.

    If other programs keep the cores busy, wall time does not show what a second thread
    gains. So the last column has it from CPU times: all of one thread's, over that of
    two without what the less busy one spent on blocks meanwhile.
    """
    rows = {20: 12_000, 50: 12_000, 100: 8000, 500: 4000}
    for key, corpus in options.cells(TEXTS, rows, BATCHES[1:]):
        K, size = key["K"], key["batch"]
        for contestant in (Ours(np.float32), Ours(np.float64)):
            rest = corpus.train[size:].astype(contestant.dtype)
            shares, runs = {1: [], 2: []}, {}
            for n_jobs in shares:
                lda = contestant.started(corpus.train, K, size, n_jobs=n_jobs)
                runs[n_jobs] = watched(online_pass(lda, rest), shares[n_jobs])
            medians, _ = take_turns(runs, options.repetitions)
            (wall_1, cpu_1), (wall_2, cpu_2) = medians[1], medians[2]
            busier, other = map(statistics.median, zip(*shares[2], strict=True))
            yield key | {
                "dtype": contestant.name,
                "wall s, 1": wall_1,
                "wall s, 2": wall_2,
                "speed-up": wall_1 / wall_2,
                "CPU s, 1": cpu_1,
                "CPU s, 2": cpu_2,
                "busier thread": busier,
                "other thread": other,
                "speed-up, two idle cores": cpu_1 / (cpu_2 - other),
            }


def watched(prepare, shares):
    """Note also how much CPU time each thread spends on blocks, most first."""

    def prepare_watched():
        run, seconds, plain_map = prepare(), Counter(), Workers.map

        def watching_map(workers, function, items):
            def timed(item):
                begin = time.thread_time()
                result = function(item)
                seconds[threading.get_ident()] += time.thread_time() - begin
                return result

            return plain_map(workers, timed, items)

        def watched_run():
            with mock.patch.object(Workers, "map", watching_map):
                run()
            shares.append([*sorted(seconds.values(), reverse=True), 0.0][:2])

        return watched_run

    return prepare_watched


# -- policies --------------------------------------------------------------------------


def policies(options):
    """A pass in float32, which cools to T=1 half-way, and iterations on a document.

    Once before comes log C(T), for a ladder. Part of what a hot pass costs is that its
    documents take more iterations: compare "annealed" and "global". (Of "local" only
    the last of its calls is counted.)
    """
    rows = {20: 12_800, 100: 7680, 500: 3840}
    for key, corpus in options.cells(TEXTS, rows):
        X, size = corpus.train, key["batch"]
        cooling = ExponentialSchedule(length=X.shape[0] / size / 2)
        runs, starts = {}, {}
        for name, tempering in {
            "plain": None,
            "annealed": Annealing(cooling),
            "global": GlobalTempering(cap=cooling),
            "local": LocalTempering(),
        }.items():
            begin = time.process_time()
            lda = Ours(np.float32).started(X, key["K"], size, tempering=tempering)
            starts[name] = time.process_time() - begin
            runs[name] = online_pass(lda, X[size:])
        medians, fitted = take_turns(runs, options.repetitions)
        for name, (wall, cpu) in medians.items():
            yield key | {
                "tempering": name,
                "iterations": fitted[name].history_["mean_iterations"][1:].mean(),
                "wall s": wall,
                "CPU s": cpu,
                "CPU over plain": cpu / medians["plain"][1],
                "CPU s once": max(starts[name] - starts["plain"], 0.0),
            }


# -- sampled updates -------------------------------------------------------------------


def sampled(options):
    """CPU nanoseconds a token, at topics that tomotopy has trained.

    A sweep of ours is what a further one costs, half of them dropped and half of them
    kept; what all of them cost has the rows of the words in it, too.
    """
    corpus = options.load("debian", options.tenth(10_000))
    if corpus is None or not there("tomotopy"):
        return
    batches, n_tokens = cut(corpus.train.astype(np.float32), 1024), corpus.train.sum()
    n_sweeps = lda_model.N_BURN_IN + lda_model.N_KEPT
    for K in options.chosen([20, 100, 500, 1000, 2000]):
        peer = tomotopy_model(corpus.train, K)
        peer.train(options.tenth(50), workers=1)
        topics = tomotopy_topics(peer, corpus.train.shape[1])
        sampling = LocalUpdate(topics, np.float32, doc_update="sampled")
        calls = {
            "tomotopy": functools.partial(peer.train, n_sweeps, workers=1),
            "ours": functools.partial(sample, sampling, batches),
            "dropped": functools.partial(sample, sampling, batches, 2 * n_sweeps),
            "kept": functools.partial(sample, sampling, batches, 0, n_sweeps),
            "variational": functools.partial(
                sample, LocalUpdate(topics, np.float32), batches
            ),
        }
        runs = {name: lambda call=call: call for name, call in calls.items()}
        medians, _ = take_turns(runs, options.repetitions)
        ns = {name: 1e9 * cpu / n_tokens for name, (_, cpu) in medians.items()}
        dropped = (ns["dropped"] - ns["ours"]) / (2 * n_sweeps)
        kept = (ns["kept"] - ns["ours"]) / n_sweeps
        sweep, theirs = (dropped + kept) / 2, ns["tomotopy"]
        yield {
            "corpus": "debian",
            "K": K,
            "tokens": int(n_tokens),
            "tomotopy: a sweep": theirs / n_sweeps,
            "ours: a sweep": sweep,
            "dropped": dropped,
            "kept": kept,
            "tomotopy over ours": theirs / n_sweeps / sweep,
            f"ours: all of {n_sweeps} sweeps": ns["ours"],
            "of that a sweep": ns["ours"] / n_sweeps,
            "variational: all": ns["variational"],
        }


def sample(update, batches, n_dropped=0, n_kept=0):
    n_dropped, n_kept = lda_model.N_BURN_IN + n_dropped, lda_model.N_KEPT + n_kept
    with mock.patch.multiple(lda_model, N_BURN_IN=n_dropped, N_KEPT=n_kept):
        for X in batches:
            update(X)


def tomotopy_model(X, K):
    lda = tomotopy_lda(X, K, 0, alpha=ALPHA, eta=ETA)
    lda.optim_interval = 0  # the prior stays
    return lda


# -- instruction sets ------------------------------------------------------------------


def instructions(options):
    """A pass with `SKTEMPER_SIMD` set, each in a process: kernels choose once."""
    for key, corpus in options.cells(TEXTS, {100: 7680}, BATCHES[:1]):
        times = {"": [], "avx2": [], "baseline": []}  # the default is first
        for _, name in itertools.product(range(options.repetitions), times):
            times[name] += forced_pass(options, name, key, corpus.train.shape[0])
        for name, dtype in itertools.product(times, ("float32", "float64")):
            if times[name]:
                default, own = (
                    statistics.median(found[dtype] for found in times[which])
                    for which in ("", name)
                )
                yield key | {
                    "dtype": dtype,
                    "instructions": name or f"default, {special.instruction_set}",
                    "CPU s": own,
                    "speed, of the default": default / own,
                }


def forced_pass(options, instruction_set, key, n_rows):
    """Return CPU seconds of a pass in a process, a list; empty if it cannot run."""
    arguments = {"name": key["corpus"], "K": key["K"], "size": key["batch"]}
    arguments |= {"folder": str(options.data.resolve()), "n_rows": n_rows}
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    command = f"{here}; import bench_lda; bench_lda.own_pass(**{arguments})"
    done = subprocess.run(
        [sys.executable, "-c", command],
        env=os.environ | {"SKTEMPER_SIMD": instruction_set},
        capture_output=True,
        text=True,
    )
    if "names no instruction set of this machine" in done.stderr:
        return []
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [json.loads(done.stdout)]


def own_pass(name, folder, n_rows, K, size):
    """Print CPU seconds of an online pass: what runs in the other process."""
    X = corpora.load(name, Path(folder)).train[:n_rows]
    ours = Ours(np.float32), Ours(np.float64)
    medians, _ = take_turns({c.name: c.online_pass(X, K, size) for c in ours}, 1)
    print(json.dumps({name: cpu for name, (_, cpu) in medians.items()}))


# -- time to a score -------------------------------------------------------------------


def score(options):
    """CPU seconds until the held-out score is scikit-learn's after 5 passes.

    In batches of 128, as is its default, and with our priors. Scores are nats per
    held-out token, higher is better, looked at after each pass and with each one's own
    `transform`; that does not count. Without a ratio: not reached.
    """
    for name, K in itertools.product(TEXTS, options.chosen([100])):
        corpus = options.load(name, options.tenth(12_000))
        if corpus is None:
            continue
        how = {"learning_method": "online", "max_iter": 5, "random_state": 0}
        theirs = LatentDirichletAllocation(K, **how, **PRIORS)
        begin = time.process_time()
        theirs.fit(corpus.train)
        base = time.process_time() - begin
        target = completion_log_likelihood(theirs, corpus.test)
        key = {"corpus": name, "K": K, "documents": corpus.train.shape[0]}
        rows = {"scikit-learn, 5 passes": (5, target, base)}
        for fit, lda in {
            "AnnealedLDA": AnnealedLDA(K),
            "AnnealedLDA, 3 passes": AnnealedLDA(K, max_iter=3),
            "plain, batches of 128": TemperedLDA(
                K, tempering=None, init_params="random", batch_size=128
            ),
        }.items():
            curve = ScoreCurve(corpus.test)
            lda.set_params(random_state=0).set_callbacks(curve).fit(corpus.train)
            rows[fit] = next((r for r in curve.rows if r[1] >= target), curve.rows[-1])
        for fit, (passes, reached, seconds) in rows.items():
            ratio = base / seconds if reached >= target else np.nan
            row = {"fit": fit, "passes": passes, "score": reached}
            yield key | row | {"CPU s": seconds, "CPU ratio": ratio}


class ScoreCurve:
    """A callback that scores after each pass, on its own time.

    The fit is to begin as soon as this is made: it is called back only later.
    """

    def __init__(self, X):
        self.X, self.rows, self.begin = X, [], time.process_time()

    def setup(self, estimator, context):
        pass

    on_fit_task_begin = teardown = setup

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "pass":
            now = time.process_time()
            score = completion_log_likelihood(estimator, self.X)
            self.rows.append((estimator.n_iter_, score, now - self.begin))
            self.begin += time.process_time() - now


# -- tables and pictures ---------------------------------------------------------------


def table(frame):
    """Yield a table of everything."""
    numbers = frame.select_dtypes("number").columns
    yield "| " + " | ".join(frame.columns) + " |"
    yield "|" + "|".join("---:" if c in numbers else "---" for c in frame) + "|"
    for row in frame.itertuples(index=False):
        yield "| " + " | ".join(map(text_of, row)) + " |"


def text_of(value):
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table_of_speed(frame):
    """Yield a table a measure: scikit-learn's seconds, and ratios to them."""
    base = ScikitLearn.name
    for measure, group in frame.groupby("measure", sort=False):
        index = ["corpus", "K", "batch", "documents"]
        values = ["CPU s", "CPU ratio", "wall ratio", "difference"]
        wide = group.pivot_table(values, index, "contestant", sort=False)
        columns = {f"{base}, CPU s": wide["CPU s", base]}
        for name in wide["CPU ratio"].columns.drop(base):
            columns[name] = wide["CPU ratio", name]
            columns[f"{name}, wall"] = wide["wall ratio", name]
        if "gensim" in columns:
            columns["float32 over gensim"] = columns["float32"] / columns["gensim"]
        for name in wide["difference"].columns.drop(base):
            columns[f"difference, {name}"] = wide["difference", name]
        yield from (f"### {measure[0].upper()}{measure[1:]}", "")
        yield from table(pd.DataFrame(columns).reset_index())
        yield ""


def picture_of_speed(frame):
    """Draw ratios of CPU time to scikit-learn's against the number of topics."""
    frame = frame[(frame.measure == "online pass") & frame.corpus.isin(TEXTS)]
    groups = frame.groupby("corpus", sort=False)
    figure = Figure((11, 4), layout="constrained")
    axes = figure.subplots(1, groups.ngroups, sharey=True, squeeze=False)[0]
    for ax, (corpus, group) in zip(axes, groups, strict=True):
        for i, name in enumerate(("float32", "float64", "gensim")):
            for size, style in zip(BATCHES, ("o-", "o:"), strict=True):
                line = group[(group.contestant == name) & (group.batch == size)]
                label = f"{name}, batches of {size}"
                ax.plot(line.K, line["CPU ratio"], style, color=f"C{i}", label=label)
        ax.axhline(1, color="0.8", zorder=0)
        ax.set(title=corpus, xlabel="topics", xscale="log", yscale="log")
        ax.set_xticks(sorted(group.K.unique()), sorted(group.K.unique()))
        ax.minorticks_off()
    axes[0].set_yticks([1, 2, 5, 10, 20, 50, 100], [1, 2, 5, 10, 20, 50, 100])
    axes[0].set_ylabel("speed of a pass, scikit-learn's = 1")
    lines = axes[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=3)
    return figure


#: What is done, its heading, and its table; what is said of it is its docstring.
SECTIONS = {
    "speed": (speed, "Against scikit-learn and gensim", table_of_speed),
    "arithmetic": (arithmetic, "Floating-point operations", table),
    "threads": (threads, "Two threads", table),
    "policies": (policies, "Temperings", table),
    "sampled": (sampled, "Sampled updates", table),
    "instructions": (instructions, "Instruction sets", table),
    "score": (score, "Time to a held-out score", table),
}


def report(folder, images):
    """Write tables and the picture of what has been measured."""
    lines = [
        "# Speed of latent Dirichlet allocation",
        "",
        f"One thread of {processor()}, kernels for {special.instruction_set}; "
        f"sktemper {sktemper.__version__}, scikit-learn {sklearn.__version__}, numpy "
        f"{np.__version__}, Python {platform.python_version()}. Medians. "
        "`benchmarks/bench_lda.py` made this, and says what is measured; every number "
        "stands in `bench_lda/`.",
    ]
    for section, (measure, title, to_table) in SECTIONS.items():
        path = folder / f"{section}.csv"
        if not path.exists():
            continue
        frame = pd.read_csv(path)
        text = inspect.getdoc(measure)
        lines += ["", f"## {title}", "", text, "", *to_table(frame)]
        if section == "speed" and frame.corpus.isin(TEXTS).any():
            path = images / "bench_lda.png"
            picture_of_speed(frame).savefig(path, dpi=110)
            path = Path(os.path.relpath(path, folder.parent)).as_posix()
            lines += ["", f"![Speed of a pass]({path})"]
    path = folder.with_suffix(".md")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"See {path}")


def processor():
    """Return the name of the processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = {"nargs": "*", "choices": SECTIONS, "default": list(SECTIONS)}
    parser.add_argument("--sections", **sections)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA)
    parser.add_argument("--topics", nargs="+", type=int)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--output", type=Path, help="instead of this checkout")
    corpora.add_argument(parser)
    options = parser.parse_args(namespace=Options())
    scratch = Path(tempfile.gettempdir(), "bench_lda_partial")
    partial = options.quick or options.corpora or options.topics
    root = options.output or (scratch if partial else ROOT)
    if options.quick:
        options.repetitions, options.topics = 1, options.topics or [20, 100]
    folder, images = root / "benchmarks/results/bench_lda", root / "doc/images"
    folder.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for section in options.sections:
            rows = []
            for row in SECTIONS[section][0](options):
                print(section, *map(text_of, row.values()), flush=True)
                rows.append(row)
            if rows:
                frame = pd.DataFrame(rows)
                path = folder / f"{section}.csv"
                frame.to_csv(path, index=False, float_format="%.4g")
    report(folder, images)


if __name__ == "__main__":
    main()
