"""Data classes of the zoo: data sets, methods, figures of merit and families."""

import functools
import hashlib
import importlib.util
import os
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import numpy as np
from scipy import sparse

#: Seeds whose results may be used to tune defaults.
DEVELOPMENT_SEEDS = (0, 1, 2)
#: Seeds of reported results, which are not used to tune defaults.
REPORTED_SEEDS = tuple(range(1001, 1011))
SPLITS = ("development", "held_back")
ROOT = Path(__file__).resolve().parents[2]
#: The folder of corpora that are not part of any package.
CORPORA = Path(os.environ.get("SKTEMPER_DATA") or ROOT / "../shared/data")


@dataclass
class Data:
    """One draw of a data set.

    Parameters
    ----------
    train, test : array-like or sparse matrix
        Training rows and test rows.
    n_components : int
        The number of components that every method gets.
    truth : dict
        True values for figures of merit, for example ``labels`` or ``topics``.
    facts : dict
        Facts about the data set for tables, by their names.
    """

    train: object
    test: object
    n_components: int
    truth: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)

    @property
    def fingerprint(self):
        """A checksum of the training rows, which detects changed data."""
        X = self.train
        parts = (X.indptr, X.indices, X.data) if sparse.issparse(X) else (X,)
        value = 0
        for part in parts:
            value = zlib.crc32(np.ascontiguousarray(part).tobytes(), value)
        return value


@dataclass(frozen=True)
class DataSet:
    """A named source of data.

    Parameters
    ----------
    name : str
    make : callable
        Returns `Data` from a ``numpy.random.Generator``.
    held_back : bool
        Whether results of this data set must not be used to tune defaults.
    needs : str, default=""
        The package that contains the data, or the name of a file in `CORPORA`.
    seeds : tuple of two ints, default=(3, 3)
        Numbers of seeds in each split: for methods of this package, and for peers. Slow
        data sets have fewer.
    """

    name: str
    make: Callable
    held_back: bool
    needs: str = ""
    seeds: tuple = (3, 3)

    def draw(self, seed):
        """Return the data of a seed, the same on every machine."""
        return self.make(np.random.default_rng([zlib.crc32(self.name.encode()), seed]))


@dataclass(frozen=True)
class Method:
    """A named way to fit.

    Parameters
    ----------
    name : str
    fit : callable
        ``fit(data, seed, **options)`` returns the argument of the family's ``judge``.
    package : str
        The distribution whose version is stored with the results.
    applies : callable, default=None
        ``applies(data)`` returns whether a data set can be fitted; None: all can.
    role : {"default", "variant", "peer"}, default="peer"
        "default" is this package's method that is compared with peers; a "variant" of
        it is only shown.  A peer may be a plain method of this package.
    """

    name: str
    fit: Callable
    package: str = "sktemper"
    applies: Callable | None = None
    role: str = "peer"

    @property
    def is_ours(self):
        """Whether a change of this package makes cached results out of date."""
        return self.role != "peer"

    @property
    def version(self):
        """Digest of this package's sources, or version of a peer; None if missing."""
        if self.is_ours:
            return source_digest()
        try:
            return f"{self.package} {metadata.version(self.package)}"
        except metadata.PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Figure:
    """A figure of merit.

    Parameters
    ----------
    name : str
        Key in the dict that ``judge`` returns.
    title : str
    digits : int
    better : {-1, 0, 1}
        1 if larger values are better, -1 if smaller values are better, otherwise 0.
    tolerance : float, default=0
        A difference of means that is too small to matter.
    summary : {"mean", "gap", "sum", "share"}, default="mean"
        Contents of the last rows of a table: means; mean differences from the best
        method of each row; sums; or mean shares of the fact ``of``.
    of : str, default=""
        A fact of the data sets, for "share".
    """

    name: str
    title: str
    digits: int
    better: int
    tolerance: float = 0.0
    summary: str = "mean"
    of: str = ""


@dataclass(frozen=True)
class Family:
    """Data sets that share their methods and figures of merit.

    Parameters
    ----------
    name, title : str
    page : str
        The results are a section of ``results/zoo_<page>.md``.
    about : str
        A paragraph of the page about the measurements.
    data_sets : tuple of DataSet
    methods : tuple of Method
    figures : tuple of Figure
    judge : callable
        ``judge(data, fitted)`` returns a dict of figures; undefined figures are NaN or
        absent.
    facts : tuple of str
        Facts of the data sets that tables show.
    smallest : DataSet
        A data set for tests, fitted in a fraction of a second; not part of the zoo.
    cap : int, default=300
        CPU seconds after which a fit is stopped.
    """

    name: str
    title: str
    page: str
    about: str
    data_sets: tuple
    methods: tuple
    figures: tuple
    judge: Callable
    facts: tuple
    smallest: DataSet
    cap: int = 300

    def method(self, name):
        """Return the method with a given name."""
        return next(method for method in self.methods if method.name == name)


def cases(family, split):
    """Yield tuples of one split: a data set, a seed, and the index of the seed.

    The development split has the development seeds of data sets that are not held back.
    The other split has the reported seeds of all data sets.
    """
    seeds = DEVELOPMENT_SEEDS if split == "development" else REPORTED_SEEDS
    for data_set in family.data_sets:
        if split == "held_back" or not data_set.held_back:
            for number, seed in enumerate(seeds):
                yield data_set, seed, number


def is_there(data_set):
    """Return whether the package or the file with a data set is installed."""
    if data_set.needs.endswith(".npz"):
        return (CORPORA / data_set.needs).exists()
    return not data_set.needs or importlib.util.find_spec(data_set.needs) is not None


# -- the version of this package -------------------------------------------------------


@functools.cache
def source_digest():
    """Return a digest of the sources of the imported package."""
    import sktemper

    folder = Path(sktemper.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".py", ".pyx", ".pxd", ".h"}:
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def commit():
    """Return the last commit that changed the package, with "+" if files differ."""
    import sktemper

    folder = Path(sktemper.__file__).parent

    def git(*arguments):
        done = subprocess.run(
            ["git", "-C", folder, *arguments], capture_output=True, text=True
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
    name = git("log", "-1", "--format=%h", "--", ".") or f"v{sktemper.__version__}"
    return name + ("+" if changed else "")
