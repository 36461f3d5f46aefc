"""Speed of latent Dirichlet allocation against scikit-learn's, in one run.

Measured are a whole online pass (one ``partial_fit``, which cuts its rows into
batches), the E-step of training alone (batch by batch, with statistics), and
``transform``. All contestants do the same work: the same batches in the same order from
the same start, with the same priors, learning rate and stopping rule, and with gamma
started at ones. One thread; the contestants take turns, and the median of the
repetitions counts. CPU time stands beside wall time. The baseline is scikit-learn in
float64.

The column "difference" is a check that the work was the same: how far the resulting
components (pass) or gamma (E-step, transform) are from the baseline's, sum of absolute
differences over sum. In float32 a few documents stop an iteration earlier or later,
which the steps of a pass amplify.

    python benchmarks/bench_lda.py                    # the shipped corpus
    python benchmarks/bench_lda.py --rows 2000        # less of it
    python benchmarks/bench_lda.py --data DIRECTORY   # imdb.npz and nyt.npz in it, too

Tables are written to ``benchmarks/results/bench_lda.md`` and ``.csv``.
"""

import argparse
import csv
import functools
import operator
import platform
import statistics
import time
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

import sktemper
from sktemper import TemperedLDA
from sktemper.datasets import load_debian_descriptions
from sktemper.lda import _kernels
from sktemper.lda.model import LDAModel, Topics
from sktemper.learning_rates import RobbinsMonro
from sktemper.model import Powers

# -- what is measured ------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """Word counts, and priors that suit them."""

    name: str
    doc_topic_prior: float
    topic_word_prior: float


@dataclass(frozen=True)
class Case:
    """Sizes of a measurement; ``n_rows`` are trained on, as many as there are."""

    n_topics: int
    n_rows: int
    n_test_rows: int
    batch_size: int = 128


# scikit-learn adds an epsilon to the normaliser of phi. With topic_word_prior below
# about 0.05 rare words vanish in it, and its results are others; 0.1 keeps them equal.
CORPORA = [
    Corpus("debian_descriptions", doc_topic_prior=0.05, topic_word_prior=0.1),
    Corpus("imdb", doc_topic_prior=0.05, topic_word_prior=0.1),
    Corpus("nyt", doc_topic_prior=0.01, topic_word_prior=0.1),
]
CASES = [
    Case(n_topics=20, n_rows=12_800, n_test_rows=2_560),
    Case(n_topics=100, n_rows=6_400, n_test_rows=1_280),
    Case(n_topics=500, n_rows=2_560, n_test_rows=512),
]
OFFSET, DECAY = 10.0, 0.7
TOL, MAX_ITER = 1e-3, 100


# -- the contestants -------------------------------------------------------------------


class StartAtOnes(LatentDirichletAllocation):
    """scikit-learn's, with gamma started at ones in training, too."""

    def _e_step(self, X, cal_sstats, random_init, parallel=None):
        return super()._e_step(X, cal_sstats, random_init=False, parallel=parallel)


class ScikitLearn:
    """The baseline."""

    name, dtype = "scikit-learn float64", np.float64

    def new(self, corpus, case, total_samples):
        return StartAtOnes(
            case.n_topics,
            doc_topic_prior=corpus.doc_topic_prior,
            topic_word_prior=corpus.topic_word_prior,
            learning_offset=OFFSET,
            learning_decay=DECAY,
            batch_size=case.batch_size,
            total_samples=total_samples,
            mean_change_tol=TOL,
            max_doc_update_iter=MAX_ITER,
            random_state=0,
        )

    def with_topics(self, corpus, case, topics):
        """Return what `e_step` takes: an estimator as it stands after an M-step."""
        estimator = self.new(corpus, case, 1)
        estimator._init_latent_vars(topics.shape[1], dtype=self.dtype)
        estimator.components_ = topics
        expectation = sklearn.decomposition._lda._dirichlet_expectation_2d(topics)
        estimator.exp_dirichlet_component_ = np.exp(expectation)
        return estimator

    fitted = with_topics

    def e_step(self, estimator, batch):
        """Return gamma, having computed the statistics."""
        gamma, _ = estimator._e_step(batch, cal_sstats=True, random_init=False)
        return gamma


class Ours:
    """This package, in one of its two precisions."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.name = f"sktemper {np.dtype(dtype)}"

    def new(self, corpus, case, total_samples):
        return TemperedLDA(
            case.n_topics,
            tempering=None,
            doc_topic_prior=corpus.doc_topic_prior,
            topic_word_prior=corpus.topic_word_prior,
            learning_rate=RobbinsMonro(OFFSET, DECAY),
            batch_size=case.batch_size,
            total_samples=total_samples,
            mean_change_tol=TOL,
            max_doc_update_iter=MAX_ITER,
            random_state=0,
        )

    def with_topics(self, corpus, case, topics):
        """Return what `e_step` takes: the model and its topics."""
        prior = np.full((1, 1), corpus.topic_word_prior)
        alpha = np.full(case.n_topics, corpus.doc_topic_prior)
        model = LDAModel(
            *topics.shape, alpha, prior, dtype=self.dtype, tol=TOL, max_iter=MAX_ITER
        )
        return model, Topics.from_dense(topics.T, prior), alpha

    def fitted(self, corpus, case, topics):
        """Return an estimator that has these topics: a step that leaves them there."""
        estimator = self.new(corpus, case, 1)
        estimator.set_params(init=topics, learning_rate=1e-300)
        return estimator.partial_fit(np.ones((1, topics.shape[1]), dtype=self.dtype))

    def e_step(self, model_and_topics, batch):
        """Return gamma, having computed the statistics."""
        model, topics, alpha = model_and_topics
        prepared = model.prepare(topics, alpha)
        steps = [
            model.local_step(
                model.take(batch, slice(start, start + model.block_size)),
                prepared,
                Powers(),
                want=("statistics", "local"),
            )
            for start in range(0, batch.shape[0], model.block_size)
        ]
        functools.reduce(operator.add, steps)
        return np.concatenate([step.local_parameters for step in steps])


CONTESTANTS = [ScikitLearn(), Ours(np.float64), Ours(np.float32)]


# -- what they do: one function a measure, which returns what is compared --------------


@dataclass
class Setting:
    """What the contestants are given."""

    corpus: Corpus
    case: Case
    X_train: sparse.csr_matrix
    X_test: sparse.csr_matrix
    topics: np.ndarray | None = None


def whole_pass(contestant, setting):
    """Prepare an online pass; return a function that makes it, of the components.

    Drawing the start is not part of it: the first batch is taken beforehand.
    """
    X = setting.X_train.astype(contestant.dtype)
    estimator = contestant.new(setting.corpus, setting.case, X.shape[0])
    estimator.partial_fit(X[: setting.case.batch_size])
    rest = X[setting.case.batch_size :]
    return lambda: estimator.partial_fit(rest).components_


def e_step(contestant, setting):
    """Prepare the E-step of test documents; return a function of their gamma."""
    batches = cut(setting.X_test, setting.case.batch_size, contestant.dtype)
    topics = contestant.with_topics(setting.corpus, setting.case, setting.topics)
    return lambda: np.concatenate([contestant.e_step(topics, b) for b in batches])


def transform(contestant, setting):
    """Prepare ``transform`` of test documents; return a function of their gamma."""
    X = setting.X_test.astype(contestant.dtype)
    estimator = contestant.fitted(setting.corpus, setting.case, setting.topics)
    return lambda: estimator.transform(X, normalize=False)


MEASURES = {"online pass": whole_pass, "E-step": e_step, "transform": transform}


# -- how it is measured ----------------------------------------------------------------


@dataclass
class Result:
    """A line of the table; times are in seconds."""

    corpus: str
    n_topics: int
    n_documents: int
    n_nonzeros: int
    batch_size: int
    measure: str
    contestant: str
    wall: float
    cpu: float
    wall_ratio: float
    cpu_ratio: float
    difference: float


def measure_case(corpus, X, case, repetitions):
    """Return the results of one corpus and case."""
    n_test = min(case.n_test_rows, X.shape[0] // 5)
    n_train = min(case.n_rows, X.shape[0] - n_test)
    setting = Setting(corpus, case, X[:n_train], X[n_train : n_train + n_test])
    results = []
    for name, measure in MEASURES.items():
        times = {c.name: [] for c in CONTESTANTS}
        outcomes = {}
        for _ in range(repetitions):
            for contestant in CONTESTANTS:
                run = measure(contestant, setting)
                wall, cpu = time.perf_counter(), time.process_time()
                outcomes[contestant.name] = run()
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                times[contestant.name].append((wall, cpu))
        if name == "online pass":
            setting.topics = outcomes[CONTESTANTS[0].name]
        documents = setting.X_train if name == "online pass" else setting.X_test
        results += compare(setting, name, documents, times, outcomes)
    return results


def compare(setting, measure, documents, times, outcomes):
    """Return the results of one measure: medians, and their ratios to the baseline."""
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in times.items()
    }
    base_name = CONTESTANTS[0].name
    base_wall, base_cpu = medians[base_name]
    expected = outcomes[base_name]
    for name, (wall, cpu) in medians.items():
        yield Result(
            setting.corpus.name,
            setting.case.n_topics,
            documents.shape[0],
            documents.nnz,
            setting.case.batch_size,
            measure,
            name,
            wall,
            cpu,
            base_wall / wall,
            base_cpu / cpu,
            float(np.abs(outcomes[name] - expected).sum() / expected.sum()),
        )


def cut(X, size, dtype):
    """Return the batches of a matrix, in their order."""
    X = X.astype(dtype)
    return [X[start : start + size] for start in range(0, X.shape[0], size)]


# -- data and tables -------------------------------------------------------------------


def load(corpus, folder):
    """Return the counts of a corpus, its rows in random order; None if not there."""
    if corpus.name == "debian_descriptions":
        return load_debian_descriptions().data
    path = folder and folder / f"{corpus.name}.npz"
    if not (path and path.exists()):
        return None
    X = sparse.csr_matrix(sparse.load_npz(path))
    return X[np.random.default_rng(0).permutation(X.shape[0])]


def write_tables(results, folder, repetitions):
    """Write all of the results as CSV, and what matters as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "bench_lda.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Result)])
        for result in results:
            writer.writerow(
                f"{v:.4g}" if isinstance(v, float) else v for v in astuple(result)
            )
    lines = [
        "# Latent Dirichlet allocation: speed against scikit-learn",
        "",
        f"One thread of {processor()}, kernels for {_kernels.instruction_set}; "
        f"sktemper {sktemper.__version__}, scikit-learn {sklearn.__version__}, numpy "
        f"{np.__version__}, scipy {scipy.__version__}, Python "
        f"{platform.python_version()}. Medians of {repetitions} repetitions, in "
        "seconds; ratios are those of scikit-learn's time to the contestant's. What "
        "is measured: `benchmarks/bench_lda.py`.",
        "",
        "| corpus | K | documents | measure | contestant | wall | CPU | wall ratio "
        "| CPU ratio | difference |",
        "|---|---:|---:|---|---|---:|---:|---:|---:|---:|",
        *(
            "| {corpus} | {n_topics} | {n_documents:,} | {measure} | {contestant} "
            "| {wall:.3f} | {cpu:.3f} | {wall_ratio:.1f} | {cpu_ratio:.1f} "
            "| {difference:.0e} |".format(**asdict(result))
            for result in results
        ),
    ]
    (folder / "bench_lda.md").write_text("\n".join(lines) + "\n")


def processor():
    """Return the name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="directory of imdb.npz and nyt.npz")
    parser.add_argument("--rows", type=int, help="of each corpus, at most")
    parser.add_argument("--topics", type=int, nargs="+", help="default: 20 100 500")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    arguments = parser.parse_args()

    results = []
    with threadpool_limits(1):
        for corpus in CORPORA:
            X = load(corpus, arguments.data)
            if X is None:
                continue
            for case in CASES:
                if arguments.topics and case.n_topics not in arguments.topics:
                    continue
                found = measure_case(
                    corpus, X[: arguments.rows], case, arguments.repetitions
                )
                results += found
                for r in found:
                    print(
                        f"{r.corpus} K={r.n_topics} {r.measure:12} {r.contestant:21} "
                        f"{r.wall:8.3f} s, CPU {r.cpu:8.3f} s, ratio "
                        f"{r.wall_ratio:6.1f}, difference {r.difference:.0e}",
                        flush=True,
                    )
    write_tables(results, arguments.output, arguments.repetitions)


if __name__ == "__main__":
    main()
