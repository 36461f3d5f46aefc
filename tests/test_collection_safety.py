"""Collections on disk after kills, with other writers, damage and invalid metadata."""

import errno
import os
import pickle
import re
import socket
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from sktemper import AnnealedGaussianMixture, AnnealedLDA
from sktemper.datasets import (
    _collection,
    _folder,
    _shards,
    _write,
    interactions_matrix,
    open_counts,
    open_dense,
    open_ratings,
    ratings_matrix,
    write_counts,
    write_dense,
    write_ratings,
)

FIRST = "generation-00001"
HASHING = HashingVectorizer(n_features=64, alternate_sign=False, norm=None)
KINDS = {
    "counts": (write_counts, open_counts),
    "dense": (write_dense, open_dense),
    "ratings": (write_ratings, open_ratings),
}


def counts_of(n_rows=60, n_columns=12, seed=0):
    random = np.random.default_rng(seed)
    return sparse.csr_array(random.poisson(0.7, (n_rows, n_columns)))


def batches_of(kind, seed=0):
    random = np.random.default_rng(seed)
    if kind == "counts":
        X = counts_of(seed=seed)
        return [X[:25], X[25:40], X[40:]]
    if kind == "dense":
        X = random.normal(size=(60, 3))
        X[5, 1] = np.nan
        return [X[:25], X[25:]]
    pairs = random.permutation(60 * 12)[:300]
    users, items = np.divmod(pairs, 12)
    names = np.array([f"item {i}" for i in range(12)])
    ratings = random.integers(1, 6, 300)
    return [
        (users[s : s + 120], names[items[s : s + 120]], ratings[s : s + 120])
        for s in range(0, 300, 120)
    ]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)


def rows_of(collection):
    return np.concatenate([dense(shard) for shard in collection])


def contents(folder):
    folder = Path(folder)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fit(collection, max_iter=3):
    lda = AnnealedLDA(2, max_iter=max_iter, batch_size=16, random_state=0)
    return lda.fit(collection)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "X"


@pytest.fixture
def collection(folder):
    return write_counts(folder, batches_of("counts"), shard_rows=20)


@pytest.fixture
def small_runs(monkeypatch):
    monkeypatch.setattr(_write, "BYTES_AT_ONCE", 2000)
    monkeypatch.setattr(_write, "LOOKED_AT", 8)


class Stop(Exception):
    pass


# -- replacement -----------------------------------------------------------------------


def test_a_collection_is_written_again_from_itself(collection, folder):
    before = rows_of(collection)
    again = write_counts(folder, open_counts(folder), shard_rows=7, overwrite=True)
    assert len(again) == 9 and np.array_equal(rows_of(again), before)
    few = (shard[:5] for shard in open_counts(folder))
    few = write_counts(folder, few, overwrite=True)
    expected = np.concatenate([before[start : start + 5] for start in range(0, 60, 7)])
    assert np.array_equal(rows_of(few), expected)
    few.verify()
    # no file of the earlier collection remains
    assert sorted(path.name for path in folder.iterdir()) == [
        "generation-00003",
        "meta.json",
        "writer.lock",
    ]
    with pytest.raises(ValueError, match="another collection"):
        again[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_a_refused_batch_leaves_the_collection_as_it_was(kind, first, folder):
    write, open_again = KINDS[kind]
    good = batches_of(kind)
    write(folder, good, shard_rows=20)
    before = contents(folder)
    bad = {
        "counts": -np.ones((2, 12)),
        "dense": np.full((2, 3), np.inf),
        "ratings": ([1], ["a"], [np.nan]),
    }[kind]
    batches = [bad] if first else [*good, bad]
    with pytest.raises(ValueError) as caught:
        write(folder, batches, shard_rows=8, overwrite=True)
    assert "same batches" not in str(caught.value)
    assert "is as it was before" in " ".join(caught.value.__notes__)
    assert contents(folder) == before
    open_again(folder).verify()


@pytest.mark.parametrize("kind", KINDS)
def test_a_replacement_holds_what_a_new_collection_would(kind, folder, tmp_path):
    write, open_again = KINDS[kind]
    write(folder, batches_of(kind, 1))
    replaced = write(folder, batches_of(kind), shard_rows=20, overwrite=True)
    new = write(tmp_path / "new", batches_of(kind), shard_rows=20)
    files = contents(folder / "generation-00002")
    assert files == contents(tmp_path / "new" / FIRST)
    assert np.array_equal(rows_of(replaced), rows_of(new), equal_nan=True)
    assert replaced.extremes().shape == new.extremes().shape
    if kind == "ratings":
        assert replaced.user_labels.tolist() == new.user_labels.tolist()
        assert replaced.item_labels.tolist() == new.item_labels.tolist()
    replaced.verify()


ENDED = """
import os, resource, shutil, signal, sys
import numpy as np
from pathlib import Path
from sklearn.feature_extraction.text import HashingVectorizer
from sktemper import datasets

os.fsync = lambda descriptor: None  # only needed for power cuts
kind, how, folder, replaces = *sys.argv[1:3], Path(sys.argv[3]), sys.argv[4] == "True"
write = getattr(datasets, f"write_{kind}".replace("text", "counts"))
options = {"shard_rows": 3 if kind == "ratings" else 9}
given = np.eye(5), 2 * np.eye(5), 3 * np.eye(5)
if kind == "ratings":
    given = ([1, 2, 3], ["a", "b", "a"], [1, 2, 3]), ([1, 4], ["b", "c"], [4, 5])
elif kind == "text":
    given = ["tea rum", "ale ale"] * 5, ["gin"] * 10, ["tea"] * 10
    hashing = {"n_features": 64, "alternate_sign": False, "norm": None}
    options["vectorizer"] = HashingVectorizer(**hashing)

def total():
    collection = datasets.Collection(folder)
    collection.verify()
    return collection.sum

def begin():
    if folder.exists():
        shutil.rmtree(folder)
    if replaces:
        write(folder, given[:1], **options)

def end_at(stop):
    if how == "full":  # no file can have more bytes
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60 * stop, 60 * stop))
        return
    left = [stop]
    def dying(call):
        def instead(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return call(*arguments, **options)
        return instead
    for name in ["replace", "unlink", "rmdir", "mkdir"]:
        setattr(os, name, dying(getattr(os, name)))

begin()
old = total() if replaces else None
write(folder, given, overwrite=True, **options)
new, stop, seen = total(), 0, set()
while True:
    stop += 1
    begin()
    child = os.fork()
    if child == 0:
        end_at(stop)
        try:
            write(folder, given, overwrite=replaces, **options)
        except OSError:
            os._exit(9)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = total() if (folder / "meta.json").exists() else None
    assert found in (old, new), (stop, found)
    seen.add(found)
    if status == 0:
        assert found == new
        break
    assert status == 9, status
    write(folder, given, overwrite=replaces or found == new, **options)
    assert total() == new
    left = {path.name for path in folder.iterdir()}
    assert len(left) == 3 and {"meta.json", "writer.lock"} < left, left
assert old in seen and new in seen
print(stop)
"""


def run(code, *arguments):
    """Run code in a new process, and return its output."""
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.deep  # it starts a process for each call
@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("kind", ["counts", "text", "dense", "ratings"])
def test_after_a_bad_end_the_old_or_the_new_collection_opens(
    kind, how, replaces, folder
):
    """A writer is killed at each of its calls, or its disk is full."""
    assert int(run(ENDED, kind, how, folder, replaces)) > 3


def test_a_full_disk_leaves_the_collection_as_it_was(collection, folder, monkeypatch):
    before, fsync = contents(folder), os.fsync
    for stop in range(0, 20, 2):
        left = [stop]

        def full(descriptor, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            fsync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                write_counts(folder, [np.eye(12)] * 5, shard_rows=12, overwrite=True)
        assert contents(folder) == before
    open_counts(folder).verify()


def test_a_damaged_collection_can_be_replaced(collection, folder):
    (folder / "meta.json").write_text("{")
    again = write_counts(folder, [np.eye(3)], overwrite=True)
    assert np.array_equal(rows_of(again), np.eye(3))
    assert len(list(folder.iterdir())) == 3


def test_the_old_collection_is_kept_if_the_new_is_damaged(
    collection, folder, monkeypatch
):
    before, check_crc = contents(folder), _shards.check_crc

    def damaging(path, crc):
        if path.parent.name == "generation-00002":
            flip(path)
        check_crc(path, crc)

    monkeypatch.setattr(_shards, "check_crc", damaging)
    with pytest.raises(ValueError, match=r"generation-00002.*is damaged"):
        write_counts(folder, [np.eye(3)], overwrite=True)
    assert contents(folder) == before


def test_a_new_conversion_in_an_unfinished_folder(folder):
    def failing():
        yield counts_of(40)
        raise Stop

    with pytest.raises(Stop):
        write_counts(folder, failing(), shard_rows=10)
    assert (folder / FIRST / "shard-00002.data.npy").exists()
    again = write_counts(folder, [np.eye(4)], overwrite=True)
    assert np.array_equal(rows_of(again), np.eye(4))
    assert not list(folder.rglob("shard-00001.data.npy"))


# -- one writer ------------------------------------------------------------------------


def both(folder, first, second, **options):
    """Write a collection, and call ``second`` after the first batch."""

    def given():
        yield first
        second()
        yield first

    return write_counts(folder, given(), shard_rows=len(first), **options)


@pytest.mark.parametrize("replaced", [False, True])
def test_the_error_of_a_second_writer_names_the_first(replaced, folder):
    messages = []

    def second():
        for write in write_counts, write_dense:
            with pytest.raises(BlockingIOError) as caught:
                write(folder, [np.eye(2)], overwrite=replaced)
            messages.append(str(caught.value))
        if replaced:
            assert open_counts(folder).shape == (60, 12)

    if replaced:
        write_counts(folder, batches_of("counts"))
    found = both(folder, np.eye(3), second, overwrite=replaced)
    assert np.array_equal(rows_of(found), np.concatenate([np.eye(3)] * 2))
    for text in messages:
        assert str(folder) in text and f"process {os.getpid()} on" in text
        assert socket.gethostname() in text
        assert re.search(r"since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text)
    assert not (folder / "writer.txt").exists()


OTHER = """
import sys
import numpy as np
from sktemper.datasets import write_counts
try:
    write_counts(sys.argv[1], [np.eye(2)], overwrite=True)
except BlockingIOError as error:
    print(error)
"""


@pytest.mark.deep  # the import takes long
def test_another_process_is_refused(folder):
    messages = []
    both(folder, np.eye(3), lambda: messages.append(run(OTHER, folder)))
    assert f"is being written by process {os.getpid()} on" in messages[0]


def test_a_file_system_without_locks_is_named(folder, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", no_locks)
    with pytest.raises(OSError, match="No locks") as caught:
        write_counts(folder, [np.eye(3)])
    assert f"{folder} cannot be locked" in caught.value.__notes__[0]


FORKING = """
import os, sys, time
from pathlib import Path
import numpy as np
from sktemper.datasets import write_counts

folder = Path(sys.argv[1])

def given():
    yield np.eye(3)
    if os.fork() == 0:
        raise ValueError("in the child")
    os.wait()
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    yield np.eye(3)
    os._exit(9)  # while the child lives on

try:
    write_counts(folder, given(), shard_rows=3)
except ValueError:
    os._exit(0)
"""


@pytest.mark.deep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children_hold_no_lock(folder):
    command = [sys.executable, "-P", "-c", FORKING, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        assert writer.wait() == 9
        assert write_counts(folder, [np.eye(3)] * 2, shard_rows=3).shape == (6, 3)
    finally:
        os.killpg(writer.pid, 9)


def test_batches_may_change_the_working_directory(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()

    def given():
        yield np.eye(3)
        os.chdir(tmp_path / "below")
        yield np.eye(3)

    found = write_counts("X", given(), shard_rows=3)
    assert found.folder == str(folder) and found.shape == (6, 3)


def test_writers_after_one_another(folder):
    for _ in range(3):
        write_counts(folder, [np.eye(3)], overwrite=True)
    with pytest.raises(FileExistsError):
        write_counts(folder, [np.eye(3)])
    for overwrite in None, 1, "yes":
        with pytest.raises(ValueError, match="'overwrite' parameter .* must be"):
            write_counts(folder, [np.eye(3)], overwrite=overwrite)


# -- damage ----------------------------------------------------------------------------


def flip(path, place=-1):
    """Change a bit of a file without changing its size."""
    place %= path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(1, time.time_ns()))  # file systems have coarse clocks


FILES = ["data", "indices", "indptr"]


@pytest.mark.every(3)
@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("opened_before", [False, True])
def test_a_flipped_bit_is_noticed_and_its_file_named(
    what, opened_before, collection, folder
):
    if opened_before:
        fit(collection)
        collection.verify()
    path = folder / FIRST / f"shard-00001.{what}.npy"
    flip(path)
    for use in (
        lambda: fit(collection),
        lambda: collection[1],
        lambda: collection.parts[1].rows(slice(0, 2)),
        lambda: pickle.loads(pickle.dumps(collection)).parts[1].rows(slice(0, 2)),
        collection.verify,
        open_counts(folder).verify,
    ):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            use()
    collection[0]
    flip(path)
    fit(collection)
    collection.verify()


def test_verify_names_all_damaged_files(tmp_path):
    X = write_dense(
        tmp_path / "X",
        batches_of("dense"),
        shard_rows=20,
        feature_names=["a", "b", "c"],
    )
    assert X.verify() is None
    flip(tmp_path / "X" / FIRST / "shard-00000.data.npy")
    os.truncate(tmp_path / "X" / FIRST / "shard-00002.data.npy", 200)
    flip(tmp_path / "X" / FIRST / "feature_names.json", 3)
    with pytest.raises(ValueError) as caught:
        X.verify()
    lines = str(caught.value).splitlines()
    names = ["shard-00000.data.npy", "shard-00002.data.npy", "feature_names.json"]
    assert all(name in line for name, line in zip(names, lines, strict=True))
    with pytest.raises(ValueError, match=r"feature_names\.json is damaged"):
        _ = X.feature_names


@pytest.mark.parametrize("name", ["user_labels", "item_labels"])
def test_damaged_labels_are_noticed(name, folder):
    X = write_ratings(folder, batches_of("ratings"))
    flip(folder / FIRST / f"{name}.npy")
    for use in (lambda: getattr(X, name), X.verify):
        with pytest.raises(ValueError, match=rf"{name}\.npy is damaged"):
            use()
    getattr(open_ratings(folder, verify=False), name)


@pytest.mark.parametrize("what", FILES)
def test_without_verification_values_alone_are_not_compared(what, collection, folder):
    flip(folder / FIRST / f"shard-00001.{what}.npy")
    X = open_counts(folder, verify=False)
    again = pickle.loads(pickle.dumps(X))
    if what == "data":
        fit(X)
        assert not np.array_equal(
            rows_of(again), dense(sparse.vstack(batches_of("counts")))
        )
    else:
        for of in X, again:
            with pytest.raises(ValueError, match=rf"shard-00001\.{what}\.npy"):
                fit(of)
    with pytest.raises(ValueError, match=what):
        X.verify()
    with pytest.raises(ValueError, match="verify.* must be True or False"):
        open_counts(folder, verify="no")


def test_a_shard_is_read_through_once_in_a_process(collection, folder, monkeypatch):
    read, check_crc = [], _shards.check_crc

    def reading(path, crc):
        read.append(path.name)
        check_crc(path, crc)

    monkeypatch.setattr(_shards, "check_crc", reading)
    for _ in range(2):
        fit(open_counts(folder))
        _collection._maps.cache_clear()
        fit(pickle.loads(pickle.dumps(collection)))
    assert len(read) == 9 and len(set(read)) == 9
    os.utime(folder / FIRST / "shard-00001.data.npy", ns=(1, 1))
    fit(collection)
    assert sorted(read[9:]) == [f"shard-00001.{what}.npy" for what in FILES]


def test_threads_wait_for_one_to_read_a_shard(collection, monkeypatch):
    read, check_crc = [], _shards.check_crc

    def reading(path, crc):
        read.append(path)
        time.sleep(0.05)
        check_crc(path, crc)

    monkeypatch.setattr(_shards, "check_crc", reading)
    part = collection.parts[0]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(part.rows, [slice(2)] * 4))
    assert len(read) == 3


def changing(monkeypatch, change, after):
    """Call ``change`` after a fit has read rows ``after`` times."""
    n_calls, rows = [0], _collection.Shard.rows

    def counted(*arguments):
        n_calls[0] += 1
        if n_calls[0] == after:
            change()
            time.sleep(1.5 * _collection.LOOK_EVERY)
        return rows(*arguments)

    monkeypatch.setattr(_collection.Shard, "rows", counted)


CHANGES = {
    "cut off": lambda path: os.truncate(path, 150),
    "emptied": lambda path: os.truncate(path, 0),
    "longer": lambda path: os.truncate(path, 9999),
    "flipped": flip,
    "missing": os.unlink,
    "a folder": lambda path: (os.unlink(path), os.mkdir(path)),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("what", FILES)
def test_shards_that_change_under_a_fit_raise(
    kind, what, collection, folder, monkeypatch
):
    path = folder / FIRST / f"shard-00001.{what}.npy"
    changing(monkeypatch, lambda: CHANGES[kind](path), after=15)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        fit(collection, max_iter=20)


def test_a_file_replaced_by_a_copy_does_not_stop_a_fit(collection, folder, monkeypatch):
    expected = fit(collection, 8).components_
    path = folder / FIRST / "shard-00001.data.npy"

    def put_back():
        copy = path.read_bytes()
        path.unlink()
        path.write_bytes(copy)

    changing(monkeypatch, put_back, after=15)
    assert np.array_equal(fit(collection, 8).components_, expected)


def test_changes_without_verification_raise(folder, monkeypatch):
    write_dense(folder, [np.random.default_rng(0).normal(size=(60, 3))], shard_rows=20)
    X = open_dense(folder, verify=False)
    path = folder / FIRST / "shard-00001.data.npy"
    changing(monkeypatch, lambda: flip(path), after=15)
    mixture = AnnealedGaussianMixture(2, max_iter=50, batch_size=16, random_state=0)
    with pytest.raises(ValueError, match=r"00001.data.npy is damaged"):
        mixture.fit(X)


def test_a_replacement_stops_fits_to_the_old_one(collection, folder, monkeypatch):
    def replace():
        write_counts(folder, batches_of("counts", 1), overwrite=True)

    changing(monkeypatch, replace, after=15)
    with pytest.raises(ValueError, match="another collection than when it was opened"):
        fit(collection, max_iter=20)


def test_a_fit_checks_files_at_intervals(collection, monkeypatch):
    looks, stat = [], os.stat

    def looking(path, *arguments, **options):
        looks.append(str(path))
        return stat(path, *arguments, **options)

    part = collection.parts[0]
    part.rows(slice(2), "one")
    monkeypatch.setattr(os, "stat", looking)
    monkeypatch.setattr(_collection, "LOOK_EVERY", 1000.0)
    for _ in range(5):
        part.rows(slice(2), "one")
    assert not looks
    part.rows(slice(2), "another")
    assert len(looks) == 4  # three files of the shard and the description
    monkeypatch.setattr(_collection, "LOOK_EVERY", 0.0)
    part.rows(slice(2), "another")
    part.rows(slice(2))
    assert len(looks) == 12
    visits = {group.visit for _ in range(3) for group in groups_of(collection)}
    assert len(visits) == 3


def groups_of(collection):
    return collection.as_data(lambda X: X).parts


def test_forked_children_can_open_shards(collection):
    collection[0]
    with _collection._locks[collection.parts[0]]:
        _collection._locks.clear()
        assert collection[0].shape == (20, 12)


# -- continued conversions -------------------------------------------------------------


TEXTS = [["tea rum", "ale ale"] * 5, ["gin"] * 10, ["tea"] * 10]
#: For each kind of data: the function that writes them, batches, and options.
CONVERSIONS = {
    "counts": (write_counts, batches_of("counts"), {"shard_rows": 8}),
    "dense": (write_dense, batches_of("dense"), {"shard_rows": 8}),
    "ratings": (write_ratings, batches_of("ratings"), {}),
    "text": (write_counts, TEXTS, {"vectorizer": HASHING, "shard_rows": 5}),
}


def interrupted(kind, folder):
    """Write the first batches, and return a function that writes all of them."""
    write, batches, options = CONVERSIONS[kind]

    def failing():
        yield from batches[:2]
        raise Stop

    with pytest.raises(Stop):
        write(folder, failing(), **options)
    return lambda folder, **more: write(folder, batches, **options, **more)


def spoiled(path, text):
    if text is None:
        path.unlink()
    elif text == "flip":
        flip(path)
    else:
        path.write_text(text)


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["counts", "dense", "text"])
@pytest.mark.parametrize("text", [None, "flip", "", "{}"])
def test_only_intact_shards_are_continued(kind, text, folder, tmp_path):
    write = interrupted(kind, folder)
    first, second = (folder / FIRST / f"shard-0000{n}.data.npy" for n in range(2))
    before = first.stat().st_mtime_ns
    spoiled(second, text)
    start = f"from shard {int(kind != 'text')}"  # words are known at the end only
    with pytest.warns(UserWarning, match=f"{second.name} is .* {start}") as warned:
        write(folder)
    assert warned[0].filename == __file__
    assert (first.stat().st_mtime_ns == before) == (kind != "text")
    write(tmp_path / "done")
    assert contents(folder) == contents(tmp_path / "done")


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_intact_shards_are_not_written_again(kind, small_runs, folder, tmp_path):
    write = interrupted(kind, folder)
    shards = (folder / FIRST).glob("shard-*")
    before = {path: path.stat().st_mtime_ns for path in shards}
    assert bool(before) == (kind != "ratings")  # which are sorted first
    write(folder)
    assert all(path.stat().st_mtime_ns == modified for path, modified in before.items())
    write(tmp_path / "done")
    assert contents(folder) == contents(tmp_path / "done")


def test_a_file_removed_while_others_are_written_is_missed(folder):
    def removing():
        yield np.eye(3)
        yield np.eye(3)
        (folder / FIRST / "shard-00000.data.npy").unlink()
        yield np.eye(3)

    with pytest.raises(ValueError, match=r"shard-00000\.data\.npy is missing"):
        write_counts(folder, removing(), shard_rows=3)
    with pytest.raises(ValueError, match="not finished"):
        open_counts(folder)


#: What becomes of a file with the settings and the progress of a conversion.
SETTINGS = ["flip", "", "{", "{}", "[]", "null", "7", "[" * 10**5, '{"kind": "counts"}']


@pytest.mark.every(3)
@pytest.mark.parametrize("text", SETTINGS)
def test_damaged_settings_are_named(text, folder):
    write = interrupted("counts", folder)
    spoiled(folder / "unfinished.json", text)
    with pytest.raises(ValueError, match=r"unfinished\.json is damaged|overwrite=True"):
        write(folder)
    write(folder, overwrite=True)


# -- at the start ----------------------------------------------------------------------


def unread():
    raise AssertionError("a batch was asked for")
    yield


@pytest.mark.parametrize("write", [write_counts, write_dense])
@pytest.mark.parametrize(
    "names, error, what",
    [
        (["a", "\ud800"], ValueError, r"'\\ud800', which UTF-8 cannot encode"),
        ([1, "1"], TypeError, "all strings or all numbers"),
        (["a", None], TypeError, "all numbers, got None"),
        (["a", b"a"], TypeError, "all numbers, got b'a'"),
        (["a", np.nan], TypeError, "all numbers, got nan"),
        ([["a"]], ValueError, "one dimension"),
        ("ab", ValueError, "one dimension"),
    ],
)
def test_bad_names_are_refused_at_the_start(write, names, error, what, folder):
    with pytest.raises(error, match=what):
        write(folder, unread(), feature_names=names)
    assert not folder.exists()


@pytest.mark.parametrize("write", [write_counts, write_dense])
def test_a_wrong_number_of_names_is_refused_at_the_first_batch(write, folder):
    def given():
        yield np.eye(3)
        raise AssertionError("another batch was asked for")

    with pytest.raises(ValueError, match="2 feature names for 3 columns"):
        write(folder, given(), feature_names=["a", "b"], shard_rows=1)
    with pytest.raises(ValueError, match="2 feature names for 64 columns"):
        write_counts(folder.with_name("Y"), [["a"]], HASHING, feature_names=["a", "b"])


def test_other_bad_arguments_are_refused_at_the_start(folder):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, 2]})
    for write in write_counts, write_dense, write_ratings:
        for batches, error in (
            (np.eye(2), ValueError),
            (table, ValueError),
            (7, TypeError),
        ):
            with pytest.raises(error, match="batches must be"):
                write(folder, batches)
    signed = HashingVectorizer()
    with pytest.raises(ValueError, match="alternate_sign=False"):
        write_counts(folder, unread(), signed)
    assert not folder.exists()


def test_columns_of_data_frames_have_one_order(folder):
    pandas = pytest.importorskip("pandas")
    tables = [pandas.DataFrame({"a": [1, 2], "b": [3, 4]})]
    tables.append(tables[0][["b", "a"]])
    for write in write_counts, write_dense:
        with pytest.raises(ValueError, match="Batch 1 has other columns"):
            write(folder, tables, overwrite=True)


# -- descriptions ----------------------------------------------------------------------


def described(folder, change):
    """Change a description, and write it with a valid checksum."""
    meta = _folder.read_json(folder / "meta.json")
    del meta["checksum"]
    _folder.write_json(folder / "meta.json", meta | change)


def test_a_missing_generation_is_reported(collection, folder):
    described(folder, {"generation": 3})
    with pytest.raises(ValueError, match=r"generation-00003.*is missing"):
        open_counts(folder)[0]


@pytest.mark.every(3)
@pytest.mark.parametrize("place", range(3, 900, 61))
def test_a_flipped_bit_of_the_description_is_noticed(place, collection, folder):
    flip(folder / "meta.json", place)
    with pytest.raises(ValueError, match=r"meta\.json"):
        open_counts(folder)


@pytest.mark.parametrize(
    "text", ["[" * 10**5, "[1, NaN]", "7", "null", "", "\0", '"a"']
)
def test_invalid_descriptions_are_refused(text, collection, folder):
    (folder / "meta.json").write_text(text)
    with pytest.raises(ValueError, match=r"meta\.json"):
        open_counts(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("name", ["meta.json", f"{FIRST}/shard-00000.data.npy"])
def test_pipes_are_not_waited_for(name, collection, folder):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ValueError, match=rf"{name} is no regular file"):
        open_counts(folder)[0]


@pytest.mark.parametrize(
    ("what", "place", "value"),
    [("indices", 3, 12), ("indptr", 3, 2**14), ("indptr", 0, 1), ("indptr", -1, 2**14)],
)
def test_forged_indices_are_refused(what, place, value, collection, folder):
    """Valid checksums do not make a kernel read outside of its arrays."""
    path = folder / FIRST / f"shard-00000.{what}.npy"
    array = np.load(path)
    array[place] = value
    np.save(path, array)
    meta = _folder.read_json(folder / "meta.json")
    names = ["data", "indices", "indptr"]
    meta["shards"][0]["crc"][names.index(what)] = zlib.crc32(path.read_bytes())
    described(folder, {"shards": meta["shards"]})
    with pytest.raises(ValueError, match=rf"{what}\.npy has (indices|invalid starts)"):
        open_counts(folder)[0]


@pytest.mark.parametrize("text", ["../outside", "..", 1.5, None])
def test_names_in_descriptions_are_not_used_as_paths(text, collection, folder):
    described(folder, {"generation": text, "files": {str(text): 1}})
    with pytest.raises((ValueError, TypeError)):
        open_counts(folder)[0]


# -- labels and values -----------------------------------------------------------------

MIXED = [["1", 1], [1, "1"], ("a", b"a"), ["a", 1.5], ["a", True]]


@pytest.mark.parametrize("labels", MIXED)
def test_labels_of_mixed_types_are_refused(labels, folder):
    for number, triple in enumerate(
        [(labels, [1, 2], [1, 2]), ([1, 2], labels, [1, 2])]
    ):
        with pytest.raises(TypeError, match="must be strings or whole numbers"):
            write_ratings(folder.with_name(f"{number}"), [triple])
        with pytest.raises(TypeError, match="cannot be sorted"):
            ratings_matrix(*triple)
        with pytest.raises(TypeError, match="cannot be sorted"):
            interactions_matrix(*triple)


def test_labels_that_numpy_equates_are_refused_or_different(folder):
    with pytest.raises(ValueError, match="null character"):
        write_ratings(folder, [(["a", "a\0"], [1, 1], [2, 3])])
    X, users, _ = ratings_matrix(["a", "a\0"], [1, 1], [2, 3])
    assert X.shape == (2, 1) and users.tolist() == ["a", "a\0"]
    assert X.users(["a\0"]).toarray().tolist() == [[3.0]]
    with pytest.raises(ValueError, match="missing"):
        write_ratings(folder, [(["a", float("nan")], [1, 1], [2, 3])], overwrite=True)
    large = [2**53 + 1, 2**53, 1.0]
    X, users, _ = ratings_matrix(large, [1, 1, 1], [2, 3, 4])
    assert X.shape == (3, 1)
    X = write_ratings(folder, [(large, [1, 1, 1], [2, 3, 4])], overwrite=True)
    assert X.user_labels.tolist() == [1, 2**53, 2**53 + 1]
    for bad, what in ((2.0**53, "neighbouring numbers"), (np.inf, "not whole")):
        with pytest.raises(ValueError, match=what):
            write_ratings(folder, [([bad], [1], [1])], overwrite=True)


def test_labels_of_another_type_are_unknown():
    X, _, _ = ratings_matrix(["1", "2"], ["a", "b"], [1, 2])
    with pytest.raises(ValueError, match="Unknown user: 1. .*of type str"):
        X.users(["2", 1])


def test_sums_that_overflow_are_nan(folder):
    X = write_dense(folder, [np.full((2, 1), 1e308)] * 2, shard_rows=1)
    assert np.isnan(X.sum) and np.isnan(open_dense(folder).sum)
    assert X.extremes().max() == 1e308
    assert np.array_equal(rows_of(X), np.full((4, 1), 1e308))
    again = write_counts(folder, [np.full((2, 1), 1e308)], overwrite=True)
    assert np.isnan(again.sum)


def test_numbers_beyond_a_type_are_refused(folder):
    """Integers that overflow where they are added, and columns without a number."""
    X = sparse.csr_array(
        (np.array([2**62] * 4), np.zeros(4, int), [0, 4]), shape=(1, 1)
    )
    with pytest.raises(ValueError, match="no float can hold"):
        write_counts(folder, [X])
    X = sparse.csr_array(([1], [2**32], [0, 1]), shape=(1, 2**33))
    with pytest.raises(ValueError, match="columns, expected from 1 to"):
        write_counts(folder, [X])


def test_a_file_of_the_user_in_a_subfolder_stays(folder, collection):
    note = folder / FIRST / "note.txt"
    note.write_text("mine")
    write_counts(folder, [np.eye(3)], overwrite=True)
    assert note.read_text() == "mine"
    assert not list(note.parent.glob("shard-*"))
