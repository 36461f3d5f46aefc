"""Equal values in other files, pickles and clusters.

readers     Readers return what other readers of the file return, or raise.
pickles     Copies answer with the same bits; a damaged file raises or loads unchanged.
dask        Fits and answers have the bits of threads, also from damaged checkpoints.
"""

import copy
import functools
import gzip
import io
import pickle
import tempfile
from pathlib import Path

import dask.array as da
import distributed
import joblib
import numpy as np
import pandas as pd
import skops.io
from common import (
    NAMES,
    answers,
    data_of,
    equal,
    new,
    same_answers,
    same_bits,
    st,
    trained,
)
from dask import delayed
from digests import REFUSALS, bits, copied, fitted
from scipy import io as scipy_io
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file

import sktemper.dask
from sktemper import datasets

# -- readers ---------------------------------------------------------------------------
ODD = "0 1 7 1.5 1e2 +3 -1 nan inf 1e400 .5 2. 0x10 1_0 1,5 ٣ 99999999999999999999"


def number(draw, share=0.15):
    if draw.happens(share):
        return draw.one_of(*ODD.split())
    return str(draw.between(1, 8))


def damage(draw, lines, comment):
    """Return the bytes of a file, with odd lines and ends of lines."""
    lines = list(lines)
    for _ in range(draw.between(0, 2)):
        place = draw.between(0, len(lines))
        line = lines[place] if place < len(lines) else ""
        how = draw.one_of("insert", "again", "without", "cut off", "tabs", "more")
        if how == "insert":
            lines.insert(place, draw.one_of("", comment + " a remark 1 2 3"))
        elif how == "again":
            lines.insert(place, line)
        elif place < len(lines) and how == "without":
            del lines[place]
        elif place < len(lines):
            cut = draw.between(0, len(line))
            tabs, more = line.replace(" ", "\t") + "  ", f"{line} {number(draw, 1)}"
            lines[place] = {"cut off": line[:cut], "tabs": tabs, "more": more}[how]
    end = draw.one_of("\n", "\r\n")
    data = (end.join(lines) + draw.one_of(end, "")).encode()
    data = b"\xef\xbb\xbf" * draw.happens(0.1) + data
    return gzip.compress(data) if draw.happens(0.2) else data


def plain(data):
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return data.removeprefix(b"\xef\xbb\xbf")


def compare(read, reference, source):
    """Compare the batches of a reader with a matrix, unless the reader raises."""
    try:
        batches = list(read())
    except REFUSALS:
        return
    X = sparse.vstack(batches) if batches else sparse.csr_array((1, 1))[:0, :0]
    found = X.toarray().astype(float) if X.size else np.zeros(X.shape)
    try:
        expected = reference()
    except Exception as error:
        raise AssertionError(f"{source!r}: read as {found}, but {error!r}") from error
    same = found.shape == expected.shape and np.array_equal(found, expected)
    assert same, f"{source!r}: read as {found}, not {expected}"


def pairs(draw, first=0):
    ids = draw(st.sets(st.integers(first, first + 8), max_size=3))
    return [f"{i}:{number(draw, 0.03)}" for i in sorted(ids)]


def svmlight(draw, path):
    lines = []
    for _ in range(draw.between(0, 4)):
        query = ["qid:3"] * draw.happens(0.05)
        row = [str(draw.between(0, 2)), *query, *pairs(draw, draw.between(0, 1))]
        lines.append(" ".join(row))
    data = damage(draw, lines, "#")
    path.write_bytes(data)
    compare(
        lambda: datasets.read_svmlight(path),
        lambda: load_svmlight_file(io.BytesIO(plain(data)))[0].toarray(),
        data,
    )


def matrix_market(draw, path):
    n, m = draw.between(1, 4), draw.between(1, 4)
    places = sorted(draw(st.sets(st.integers(0, n * m - 1))))
    first = 1 - draw.happens(0.1)  # 0 is an error
    places = [f"{place // m + first} {place % m + first}" for place in places]
    field = draw.one_of("integer", "real", "pattern")
    if field != "pattern":
        places = [f"{place} {number(draw, 0.03)}" for place in places]
    head = [f"%%MatrixMarket matrix coordinate {field} general"]
    head += ["% a remark"] * draw.between(0, 1) + [f"{n} {m} {len(places)}"]
    data = damage(draw, head + places, "%")
    path.write_bytes(data)

    def reference():
        # mmread of scipy 1.17 crashes on spaces after the last entry without a newline
        text = b"\n".join(line.strip() for line in plain(data).splitlines()) + b"\n"
        return scipy_io.mmread(io.BytesIO(text)).toarray().astype(float)

    compare(lambda: datasets.read_matrix_market(path), reference, data)


def triples(draw, path):
    ending, separator = draw.one_of((".csv", ","), (".tsv", "\t"))
    label = st.integers(0, 8).map(str)
    if draw.between(0, 1):
        texts = "a", "b", "007", "1", "", '"a b"', "NA", "-3", "1e3", "9" * 20, " x"
        label = st.sampled_from(texts)
    rows = [("user", "item", "rating")]
    for _ in range(draw.between(0, 5)):
        rows.append((draw(label), draw(label), number(draw, 0.05)))
    data = damage(draw, map(separator.join, rows), "#")
    path = path.with_name("file" + ending + ".gz" * (data[:2] == b"\x1f\x8b"))
    path.write_bytes(data)
    try:
        batches = list(datasets.read_triples(path, label_type=str))
    except REFUSALS:
        return
    table = pd.read_csv(
        io.BytesIO(plain(data)), sep=separator, dtype=str, keep_default_na=False
    )
    for place, name in enumerate(("user", "item", "rating")):
        found = [x for batch in batches for x in batch[place].tolist()]
        expected = table[name].tolist()
        if name == "rating":
            expected = [float(np.float32(float(text))) for text in expected]
        assert found == expected, f"{data!r}: {name} is {found}, not {expected}"


READERS = svmlight, matrix_market, triples


def readers(draw):
    with tempfile.TemporaryDirectory() as folder:
        draw.one_of(*READERS)(draw, Path(folder) / "file")


# -- pickles ---------------------------------------------------------------------------
def by_joblib(mmap_mode=None, **options):
    def save(estimator):
        file = io.BytesIO()
        joblib.dump(estimator, file, **options)
        return file.getvalue()

    def load(data, folder):
        path = Path(folder) / "file"
        path.write_bytes(data)
        return joblib.load(path, mmap_mode)

    return save, load


def load_by_skops(data, folder):
    types = skops.io.get_untrusted_types(data=data)
    ours = "sktemper.", "numpy.", "builtins.frozenset"
    if not all(name.startswith(ours) for name in types):
        raise ValueError(f"unexpected types {types}")
    return skops.io.loads(data, trusted=types)


#: Pairs of functions that save an estimator as bytes and load it.
WAYS = {
    "pickle": (pickle.dumps, lambda data, folder: pickle.loads(data)),
    "pickle 2": (
        lambda estimator: pickle.dumps(estimator, 2),
        lambda data, folder: pickle.loads(data),
    ),
    "joblib": by_joblib(),
    "joblib, mapped": by_joblib("r"),
    "joblib, compressed": by_joblib(compress=3),
    "skops": (skops.io.dumps, load_by_skops),
    "copy": (lambda estimator: estimator, lambda data, folder: copy.deepcopy(data)),
}


def spoilt(draw, data):
    """Return bytes of which one bit is changed, or whose end is missing."""
    data = bytearray(data)
    place = draw.place(len(data))
    if draw.happens(0.3):
        return bytes(data[:place])
    data[place] ^= 1 << draw.between(0, 7)
    return bytes(data)


def pickles(draw):
    name, method = draw.one_of(*NAMES), draw.one_of("fit", "partial_fit")
    way, damaged = draw.one_of(*WAYS), draw.between(0, 1)
    estimator, X = trained(name, method), data_of(name)
    expected = answers(estimator, X)
    save, load = WAYS[way]
    what = f"{name}.{method}, {way}"
    assert not fitted(clone(estimator)).keys() & {"state_"}, f"{name}: a fitted clone"
    with tempfile.TemporaryDirectory() as folder:
        if damaged and way != "copy":
            try:
                loaded = load(spoilt(draw, save(estimator)), folder)
            except BaseException as error:  # a damaged pickle may raise anything
                if isinstance(error, KeyboardInterrupt):
                    raise
                return
            if type(loaded) is type(estimator):
                same_bits(answers(loaded, X), expected, f"{what}, damaged")
                assert bits(loaded) == bits(estimator), f"{what}, damaged"
            return
        loaded = load(save(estimator), folder)
        same_bits(answers(loaded, X), expected, what)
        assert bits(loaded) == bits(estimator), what
        loaded.partial_fit(X)
        again = copy.deepcopy(estimator).partial_fit(X)
        same_bits(answers(loaded, X), answers(again, X), f"{what}, continued")


# -- Dask ------------------------------------------------------------------------------
@functools.cache
def client():
    return distributed.Client(
        processes=False,
        dashboard_address=None,
        n_workers=1,
        threads_per_worker=2,
        silence_logs=60,
    )


def on_cluster(draw, parts):
    """Return parts as delayed objects, futures, or an array."""
    kind = draw.one_of("delayed", "futures", "array", "unknown sizes")
    if kind == "futures":
        return client().scatter(parts)
    if kind == "delayed":
        return [delayed(part) for part in parts]
    arrays = [
        da.from_delayed(
            delayed(part),
            (part.shape[0] if kind == "array" else np.nan, part.shape[1]),
            meta=np.zeros((0, 0)),
        )
        for part in parts
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def dask(draw):
    name = draw.one_of(*NAMES)
    X = data_of(name)
    ends = [0, *sorted(draw.between(0, 24) for _ in range(3)), 24]
    parts = [X[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    task = draw.one_of(cluster_fits, cluster_answers, cluster_errors, checkpoints)
    task(draw, name, X, parts)


def cluster_answers(draw, name, X, parts):
    given, estimator = on_cluster(draw, parts), trained(name)
    for method, values in answers(estimator, X).items():
        if method == "score":
            found = sktemper.dask.score(estimator, given, client=client())
        else:
            scheduler = draw.one_of(None, client())
            lazy = getattr(sktemper.dask, method)(estimator, given, client=scheduler)
            by = {} if isinstance(given, list) else {"scheduler": "threads"}
            found = lazy.compute(**{} if scheduler else by)
        equal(found, values, f"{name}: {method}")


def cluster_errors(draw, name, X, parts):
    last = X[:, :-1] if draw.between(0, 1) else X * np.inf
    estimator = copy.deepcopy(trained(name))
    before = bits(estimator)
    try:
        blocks = [delayed(part) for part in [*parts, last] if part.shape[0]]
        sktemper.dask.partial_fit(estimator, blocks, client=client())
    except REFUSALS as error:
        assert bits(estimator) == before, f"{name}: changed by {error}"
    else:
        raise AssertionError(f"{name}: no error")


def cluster_fits(draw, name, X, parts, run=sktemper.dask.fit):
    weights = np.arange(24) % 3 + 0.5 if draw.between(0, 1) else None
    filled = [part for part in parts if part.shape[0]]
    known = new(name).fit(filled, sample_weight=weights)
    found = run(
        new(name), on_cluster(draw, parts), client=client(), sample_weight=weights
    )
    if found is not None and len(filled) > 1:
        one, other = found.state_, known.state_
        same_bits(
            [one.globals_, one.hyper], [other.globals_, other.hyper], f"{name}, parts"
        )
    elif found is not None:  # a kernel takes the steps of `fit` on one part
        same_answers(answers(found, X), answers(known, X), f"{name}, one part")


class Stopped(Exception):
    """Exception of a callback that stops a fit."""


def checkpoints(draw, name, X, parts):
    """Stop a fit after a checkpoint, damage it or not, and continue."""
    steps = draw.between(1, 3)
    damaged = draw.happens(0.4)

    def stop(file):
        nonlocal steps
        steps -= 1
        if not steps:
            raise Stopped

    def run(estimator, given, **options):
        Checkpoints = sktemper.dask._checkpoints.Checkpoints
        write = Checkpoints._write
        with tempfile.TemporaryDirectory() as folder:
            options |= {"checkpoint": folder, "every": 1}
            Checkpoints._write = lambda self, file: stop(write(self, file))
            try:
                sktemper.dask.fit(copied(estimator), given, **options)
            except Stopped:
                pass
            finally:
                Checkpoints._write = write
            files = [file for file in Path(folder).iterdir() if file.stat().st_size]
            spoils = damaged and files
            if spoils:
                file = draw.one_of(*sorted(files))
                file.write_bytes(spoilt(draw, file.read_bytes()))
            try:
                return sktemper.dask.fit(estimator, given, **options)
            except ValueError as error:
                assert spoils, f"{name}: refused {error}"
                assert not bits(estimator), f"{name}: changed by {error}"

    cluster_fits(draw, name, X, parts, run)


SURFACES = {
    "readers": readers,
    "pickles": pickles,
    "dask": dask,
}
