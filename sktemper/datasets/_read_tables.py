"""Readers of tables: texts, and triples of user, item and rating."""

import contextlib
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from .._utils._arguments import refuse
from .._utils._constraints import Options, check_arguments
from .._utils._extras import check_packages
from .._utils._typing import Int, StrPath
from .._utils._values import INEXACT
from ._lines import SIZE, Batches, TextFile, checked_file, first_that_fails

#: Number of bytes of a text file with a table that are parsed at a time.
BLOCK_BYTES = 2**22
#: Largest number of characters of the names of columns in a message.
LONGEST_LIST = 800
#: Extensions of files, before a final ".gz".
TABLES, TEXTS = (".parquet", ".csv", ".tsv"), (".txt",)


@check_arguments(column=[str], batch_size=[SIZE])
def read_text(
    paths: StrPath | Sequence[StrPath],
    column: str = "text",
    *,
    batch_size: Int = 10_000,
) -> Iterable:
    r"""Read texts from files, in batches.

    Parameters
    ----------
    paths : str, path, or list of them
        Files with the extensions ``.txt`` (one text per line), ``.csv`` and ``.tsv``
        (with a header), all of which may be followed by ``.gz``, or ``.parquet``.  A
        folder stands for all such files in it, sorted by name.
    column : str, default="text"
        Name of the column of a table.
    batch_size : int, default=10,000
        Number of texts in a batch.

    Returns
    -------
    batches : iterable of lists of str
        Batches for `write_counts` with a vectorizer.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ImportError
        If there is a table, and pyarrow is not installed.
    ValueError
        If an extension or an argument is invalid.  During reading: if a file cannot be
        parsed, is binary or in UTF-16, or ends its lines with carriage returns alone;
        if the column is missing or occurs twice; or if a text is missing.  The message
        names the file and the line or row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.txt").write_text("tea and rum\nrum\n")
    ...     _ = (Path(folder) / "b.txt").write_text("tea\n")
    ...     list(read_text(folder, batch_size=2))
    [['tea and rum', 'rum'], ['tea']]
    """
    files = _files(paths, TABLES + TEXTS)
    if any(_ending(file) in TABLES for file in files):
        _pyarrow()
    return Batches(lambda: _in_batches(_texts(files, column), batch_size))


@check_arguments(label_type=[Options(type, {int, str}), None])
def read_triples(
    paths: StrPath | Sequence[StrPath],
    columns: tuple = ("user", "item", "rating"),
    *,
    label_type: type[int] | type[str] | None = None,
) -> Iterable:
    r"""Read users, items and ratings from tables, in batches.

    Parameters
    ----------
    paths : str, path, or list of them
        Files with the extensions ``.csv`` or ``.tsv`` (with a header), or ``.parquet``.
        Files other than ``.parquet`` may be compressed by gzip, with the additional
        extension ``.gz``.  A folder stands for all such files in it, sorted by name.
    columns : tuple of three str, default=("user", "item", "rating")
        Names of the columns of users, items and ratings.
    label_type : {None, int, str}, default=None
        Type of users and items.  None keeps the types of ``.parquet`` files, and infers
        those in text files from the first lines, so that "007" is the number 7.
        Ratings in text files are read as float32.

    Returns
    -------
    batches : iterable of tuples (users, items, ratings) of ndarrays
        Batches for `write_ratings`.

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        As in `read_text`; also if users or items are neither integers nor strings, or
        differ in type between files, or if a rating is infinite.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_triples
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("user,item,rating\nann,tea,5\n")
    ...     [[column.tolist() for column in batch] for batch in read_triples(path)]
    [[['ann'], ['tea'], [5.0]]]
    """
    is_three = isinstance(columns, tuple | list) and len(columns) == 3
    if not is_three or len({name for name in columns if isinstance(name, str)}) < 3:
        refuse("columns", "a tuple of three different names", columns)
    files = _files(paths, TABLES)
    _pyarrow()
    return Batches(lambda: _triples(files, tuple(columns), label_type))


def _pyarrow():
    check_packages("A reader of tables", ("pyarrow",), "disk")
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet

    return pyarrow


def _ending(file):
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes[-1:] == [".gz"] and suffixes[-2:-1] != [".parquet"]:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _files(paths, endings):
    """Return a list of files; a path that is a folder stands for the files in it."""
    is_one = isinstance(paths, str | bytes) or not isinstance(paths, Iterable)
    files = []
    for path in map(Path, [paths] if is_one else paths):
        if path.is_dir():
            found = [file for file in sorted(path.iterdir()) if file.is_file()]
            found = [file for file in found if _ending(file) in endings]
            if not found:
                raise FileNotFoundError(f"{path} has no files {', '.join(endings)}.")
            files += found
        elif _ending(checked_file(path)) in endings:
            files.append(path)
        else:
            raise ValueError(f"{path} must end in one of {', '.join(endings)}.")
    if not files:
        raise ValueError("paths is empty: there is no file to read.")
    return files


def _in_batches(lists, size):
    """Yield the items of lists as lists of equal size; the last may be shorter."""
    items = chain.from_iterable(lists)
    while batch := list(islice(items, size)):
        yield batch


# -- texts ---------------------------------------------------------------------------


def _texts(files, column):
    for file in files:
        if _ending(file) in TEXTS:
            for chunk in TextFile(file):
                if chunk.numbers[0] == 1:
                    _check_first(file, chunk.lines)
                yield chunk.texts()
        else:
            types = {column: _pyarrow().string()}
            yield from _converted(file, (column,), types, _text_column)


def _check_first(file, lines):
    """Raise if the first lines show that a file does not have one text per line.

    Most binary files contain null characters, and so does UTF-16 without a byte order
    mark.
    """
    if len(lines) == 1 and b"\r" in lines[0]:
        raise ValueError(
            f"{file} ends its lines with carriage returns alone, so that all of it "
            "would be one text. Convert the ends of its lines to newlines."
        )
    if b"\0" in lines[0]:
        raise ValueError(
            f"{file}, line 1: the text has a null character. The file is binary or in "
            "UTF-16; expected a text in UTF-8."
        )


def _text_column(values, name, file, row):
    if not _is_text(values):
        raise ValueError(f"{file}: the column {name} is no text but {values.type}.")
    return values.to_pylist()


# -- triples -------------------------------------------------------------------------


def _triples(files, columns, label_type):
    pyarrow = _pyarrow()
    types, known = {}, {int: pyarrow.int64(), str: pyarrow.string()}
    if label_type is not None:
        types = dict.fromkeys(columns[:2], known[label_type])
    labels = _Labels(types)
    types = types | {columns[2]: pyarrow.float32()}
    for file in files:
        yield from _converted(file, columns, types, labels, labels, _ratings)


class _Labels:
    """Conversion of columns of users or items to arrays of one type in all files.

    Columns that are not in the dict ``types`` keep their types.
    """

    def __init__(self, types):
        self.types, self.kinds = types, {}

    def __call__(self, values, name, file, row):
        """Return an array of int64, or of objects that are str."""
        if name in self.types:
            values = _cast(values, self.types[name], name, file, row)
        kind, array = "numbers", values.to_numpy(zero_copy_only=False)
        if _is_text(values):
            kind = "strings"
            _check_texts(values, name, file, row)
        elif array.dtype.kind == "f":
            array = _whole(array, name, file, row)
        elif array.dtype.kind not in "iu":
            raise ValueError(
                f"{file}: the column {name} has the type {values.type}, but must have "
                "whole numbers or strings; label_type=str reads it as strings."
            )
        before, where = self.kinds.setdefault(name, (kind, file))
        if kind != before:
            raise ValueError(
                f"{file}: the column {name} has {kind}, but in {where} it has "
                f"{before}; label_type=str reads both as strings."
            )
        return array


def _check_texts(values, name, file, row):
    """Raise if a label is empty or ends with a null character (NumPy strips it)."""
    compute = _pyarrow().compute
    if _ending(file) != ".parquet":  # an empty field of a text file is missing
        _refuse_row(compute.equal(values, ""), name, file, row, "missing")
    ends = compute.ends_with(values, "\0")
    _refuse_row(ends, name, file, row, "a string that ends with a null character")


def _cast(values, wanted, name, file, row):
    def fails(some):
        try:
            some.cast(wanted)
        except _pyarrow().ArrowInvalid:
            return True
        return False

    if fails(values):
        row += first_that_fails(values, fails)
        raise ValueError(f"{file}, row {row}: {name} is no {wanted}.")
    return values.cast(wanted)


def _whole(values, name, file, row):
    """Return floats as integers."""
    wrong = ~((values == np.rint(values)) & (np.abs(values) <= INEXACT))
    what = "no whole number up to 2^53; label_type=str reads it as strings"
    _refuse_row(wrong, name, file, row, what)
    return values.astype(np.int64)


def _ratings(values, name, file, row):
    pyarrow = _pyarrow()
    if pyarrow.types.is_decimal(values.type):
        values = values.cast(pyarrow.float64())
    array = values.to_numpy(zero_copy_only=False)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{file}: the column {name} is no number but {values.type}.")
    _refuse_row(~np.isfinite(array), name, file, row, "not finite")
    return array


# -- tables --------------------------------------------------------------------------


def _converted(file, columns, types, *conversions):
    """Yield the converted columns of the batches of a table: an array, or several."""
    row = 1 if _ending(file) == ".parquet" else 2  # the first after the header
    with _errors_name(file):
        for table in _record_batches(file, columns, types):
            found = []
            for name, convert in zip(columns, conversions, strict=True):
                values = table.column(name)
                _refuse_row(values.is_null(), name, file, row, "missing")
                if _pyarrow().types.is_dictionary(values.type):
                    values = values.dictionary_decode()
                found.append(convert(values, name, file, row))
            yield tuple(found) if len(found) > 1 else found[0]
            row += table.num_rows


def _is_text(values):
    types = _pyarrow().types
    is_string = types.is_string(values.type) or types.is_large_string(values.type)
    return is_string or str(values.type) == "string_view"


def _refuse_row(wrong, name, file, row, what):
    """Raise an error for the first wrong value; the first value is in row ``row``."""
    wrong = np.asarray(wrong)
    if wrong.any():
        raise ValueError(f"{file}, row {row + wrong.argmax()}: {name} is {what}.")


@contextlib.contextmanager
def _errors_name(file):
    pyarrow = _pyarrow()
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk, not of the file's content
        why = str(error)
        if "straddling" in why:
            most = f"{BLOCK_BYTES:,} bytes"
            why = f"a row is longer than {most}, or a quote is never closed"
        raise ValueError(f"{file} cannot be read: {why}.") from error


def _record_batches(file, columns, types):
    """Yield record batches that have these columns."""
    pyarrow = _pyarrow()
    if _ending(file) == ".parquet":
        with pyarrow.parquet.ParquetFile(file) as table:
            _check_columns(file, columns, table.schema_arrow.names)
            yield from table.iter_batches(columns=list(columns))
        return
    csv = pyarrow.csv
    delimiter = "\t" if _ending(file) == ".tsv" else ","
    with csv.open_csv(
        file,
        csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    ) as reader:
        _check_columns(file, columns, reader.schema.names)
        yield from reader


def _check_columns(file, columns, names):
    for name in columns:
        if name not in names:
            shown = ", ".join(names)
            shown = shown[:LONGEST_LIST] + "..." * (len(shown) > LONGEST_LIST)
            raise ValueError(f"{file} has no column {name}; it has {shown}.")
        if names.count(name) > 1:
            raise ValueError(
                f"{file} has {names.count(name)} columns {name}; give each column a "
                "different name."
            )
