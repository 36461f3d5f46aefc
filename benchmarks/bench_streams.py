"""Topics of streams whose subjects change, compared with other packages.

    python benchmarks/bench_streams.py                     # everything: hours
    python benchmarks/bench_streams.py --stages S1 --seeds 1
    python benchmarks/bench_streams.py --stages            # only the report

Each stream is a stage, see `stages.py`; the tables are in
``benchmarks/results/streams``, and the report is ``benchmarks/results/streams.md``.

All models have 50 topics, alpha .05 and eta .1, and learn each document once, in
chunks, in one thread. They get no information about the changes; scikit-learn gets the
length of the stream. The inference of this package scores the topics of all packages.
Times are CPU times of the training without the scoring.  `river.preprocessing.LDA` is
left out: it learns one document at a time in Python, and took 34 s for 1,000 documents
of S1, in a run of 300.

"Refits" are no streams. They keep all documents, and fit new topics at the end of each
phase: to the documents of the phase (5 passes), or to all documents with the weights
that the half-life gives them (20 passes). Their scores say what a stream could reach.

held: score of held-out documents at the end of each phase after a change, in nats per
token, mean over phases. past: score of held-out documents of the first phase at the end
of the stream. prequential: score of each chunk before it is learned. early: the same
for the first 5,000 documents after a change. found: number of true topics with a cosine
above .8, mean over the ends of phases. new: the same for the 5 newest topics. soon: the
same as new, but 4,000 documents after the change.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import functools
import importlib.util
import time
import warnings

import corpora
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from stages import add_arguments, head_of, run, spread
from streams import STREAMS, found_topics

from sktemper import AnnealedLDA

K, PRIORS = 50, {"doc_topic_prior": 0.05, "topic_word_prior": 0.1}
QUALITIES = ["held", "past", "prequential", "early", "found", "new", "soon"]
#: Qualities that are numbers of topics.
NUMBERS = QUALITIES[4:]
#: Numbers of documents after a change that define "early" and "soon".
EARLY, SOON = 5000, 4000


class Model:
    """A model of a stream; the inference of this package scores its topics."""

    is_online = True

    def learn(self, X):
        self.lda.partial_fit(X)

    def scoring(self):
        return corpora.fixed(self.components)

    @property
    def components(self):
        return self.lda.components_


class Ours(Model):
    """`AnnealedLDA`; with a half-life, `partial_fit` itself scores each chunk."""

    def __init__(self, stream, seed, half_life=None, **parameters):
        if half_life is not None:
            parameters["half_life"] = stream.half_life
        parameters |= PRIORS
        self.lda = AnnealedLDA(K, n_jobs=1, random_state=seed, **parameters)

    def scoring(self):
        return self.lda


class ScikitLearn(Model):
    """scikit-learn's online variational Bayes, with the length of the stream."""

    def __init__(self, stream, seed):
        self.lda = LatentDirichletAllocation(
            K,
            total_samples=stream.X.shape[0],
            batch_size=stream.chunk,
            random_state=seed,
            **PRIORS,
        )


class Gensim(Model):
    """gensim's online variational Bayes, with its default learning rate."""

    def __init__(self, stream, seed):
        from gensim.models import LdaModel

        self.lda = LdaModel(
            num_topics=K,
            id2word={word: str(word) for word in range(stream.X.shape[1])},
            alpha=[PRIORS["doc_topic_prior"]] * K,
            eta=PRIORS["topic_word_prior"],
            chunksize=stream.chunk,
            eval_every=0,
            random_state=seed,
            dtype=np.float64,
        )

    def learn(self, X):
        self.lda.update(
            [
                list(zip(words.tolist(), counts.tolist(), strict=True))
                for words, counts in corpora.documents(X)
            ]
        )

    @property
    def components(self):
        return self.lda.state.get_lambda()


class Refit(Model):
    """Fits of new topics to stored documents, at the end of each phase.

    Parameters
    ----------
    stream : Stream
    seed : int
    rows : {"phase", "all"}
        "all" fits to all documents so far, each weighted by the half-life.
    max_iter : int
        Number of passes.
    """

    is_online = False

    def __init__(self, stream, seed, rows, max_iter):
        self.stream, self.rows, self.seen, self.fitted = stream, rows, 0, 0
        parameters = {"max_iter": max_iter, "n_jobs": 1, **PRIORS}
        self.lda = AnnealedLDA(K, random_state=seed, **parameters)

    def learn(self, X):
        self.seen += X.shape[0]

    def scoring(self):
        stream, stop = self.stream, self.seen
        if self.fitted == stop:
            return self.lda
        age = np.arange(stop)[::-1]
        weight = 0.5 ** (age / stream.half_life)
        if self.rows == "phase":
            weight = age < stop - max([0, *(end for end in stream.ends if end < stop)])
        kept = weight > 0.01
        self.lda.fit(stream.X[:stop][kept], sample_weight=weight[kept].astype(float))
        self.fitted = stop
        return self.lda

    @property
    def components(self):
        return self.scoring().components_


METHODS = {
    "AnnealedLDA, half-life": (Ours, {"half_life": "of the stream"}),
    "AnnealedLDA": (Ours, {}),
    "AnnealedLDA, total_samples=20,000": (Ours, {"total_samples": 20_000}),
    "scikit-learn": (ScikitLearn, {}),
    "gensim": (Gensim, {}),
    "refits to the phase, 5 passes": (Refit, {"rows": "phase", "max_iter": 5}),
    "refits to all, weighted, 20 passes": (Refit, {"rows": "all", "max_iter": 20}),
}


@functools.lru_cache(maxsize=1)
def drawn(name, seed, folder):
    return STREAMS[name][0](seed, folder)


def run_of(name, method, seed, folder):
    """Return the measurements of a method on a stream."""
    stream, (make, options) = drawn(name, seed, folder), METHODS[method]
    model, seconds = make(stream, seed, **options), 0.0
    n_rows, chunk, scores = stream.X.shape[0], stream.chunk, []
    ends, marks = stream.ends, _marks(stream)
    found = {name: [] for name in ("held", "found", "new", "soon")}
    for start, stop in _chunks(ends, chunk):
        X = stream.X[start:stop]
        is_scored = start and model.is_online
        scores.append(model.scoring().score(X) if is_scored else np.nan)
        begin = time.process_time()
        model.learn(X)
        seconds += time.process_time() - begin
        if stop in ends:
            _at_the_end(model, stream, ends.index(stop), found)
        elif stop in marks and model.is_online:
            phase = marks[stop]
            is_found = found_topics(model.components, stream.topics[phase])
            found["soon"].append(is_found[-stream.n_new[phase] :].sum())
    past = model.scoring().score(stream.held_out[0])
    scores = np.array(scores)
    starts = np.array([start for start, _ in _chunks(ends, chunk)])
    early = np.zeros(len(starts), dtype=bool)
    for change in ends[:-1]:
        early |= (starts >= change) & (starts < change + EARLY)
    means = {name: _mean(values) for name, values in found.items()}
    means["held"] = _mean(found["held"][1:] or found["held"])
    return means | {
        "past": past,
        "prequential": _mean(scores[~np.isnan(scores)]),
        "early": _mean(scores[early]),
        "seconds": seconds,
        "documents": n_rows,
    }


def _chunks(ends, chunk):
    """Return the bounds of chunks, which contain no change inside."""
    begins = [0, *ends[:-1]]
    return [
        (start, min(start + chunk, end))
        for begin, end in zip(begins, ends, strict=True)
        for start in range(begin, end, chunk)
    ]


def _marks(stream):
    """Return a dict from numbers of documents where "soon" is measured to phases."""
    if stream.topics is None:
        return {}
    numbers = range(1, len(stream.ends))
    return {stream.ends[p - 1] + SOON: p for p in numbers if stream.n_new[p]}


def _at_the_end(model, stream, phase, found):
    """Measure a model at the end of a phase."""
    found["held"].append(model.scoring().score(stream.held_out[phase]))
    if stream.topics is not None:
        is_found = found_topics(model.components, stream.topics[phase])
        found["found"].append(is_found.sum())
        if stream.n_new[phase]:
            found["new"].append(is_found[-stream.n_new[phase] :].sum())


def _mean(values):
    return float(np.mean(values)) if len(values) else np.nan


# -- stages ----------------------------------------------------------------------------


def planned(name, options):
    """Yield the keys and the functions of the runs on a stream."""
    for seed in range(options.seeds or 3):
        for method in METHODS:
            if method == "gensim" and importlib.util.find_spec("gensim") is None:
                continue
            run = functools.partial(run_of, name, method, seed, options.data.resolve())
            if name != "imdb" or (options.data / "imdb.npz").exists():
                yield {"method": method, "seed": seed}, run


def table_of(frame):
    """Yield the lines of a table of means and standard errors over seeds."""
    columns = [name for name in QUALITIES if frame[name].notna().any()]
    yield f"| | {' | '.join(columns)} | CPU s per 1,000 | seeds |"
    yield "|---" * (len(columns) + 3) + "|"
    for method, (kind, _) in METHODS.items():
        rows = frame[frame["method"] == method]
        if len(rows):
            cells = [
                spread(rows[name], 1 if name in NUMBERS else 3) for name in columns
            ]
            cost = 1000 * (rows["seconds"] / rows["documents"]).mean()
            cells += [f"{cost:.3f}" if kind.is_online else "–", str(len(rows))]
            yield f"| {method} | " + " | ".join(cells) + " |"


def stage_of(name):
    _, size, text = STREAMS[name]
    plan = functools.partial(planned, name)
    plan.__doc__ = text
    return plan, f"{name}, {size:,} documents", table_of


STAGES = {name: stage_of(name) for name in STREAMS}


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_arguments(parser, STAGES)
    head = head_of("Topics of streams", "bench_streams")
    head += ["", "\n\n".join(__doc__.split("\n\n")[3:]).rstrip()]
    run(parser, STAGES, "streams", head)


if __name__ == "__main__":
    main()
