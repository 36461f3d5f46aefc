"""Readers of tables: texts, and triples of user, item and rating."""

import contextlib
from pathlib import Path

import numpy as np

from ._batches import Batches, Lines

__all__ = ["read_text", "read_triples"]

#: Bytes of a table of comma-separated values that are parsed at a time.
BLOCK = 2**22
#: Endings of files, without that of gzip.
TABLES, TEXTS = (".parquet", ".csv", ".tsv"), (".txt",)


def read_text(paths, column="text", *, batch_size=10_000):
    r"""Read texts from files, in batches.

    Parameters
    ----------
    paths : str, path, or list of them
        Files that end in ``.txt``, with a text a line; in ``.csv`` or ``.tsv``, with a
        header; or in ``.parquet``.  All but the last may be compressed by gzip, with
        ``.gz`` behind.  A folder stands for such files in it, in the order of their
        names.
    column : str, default="text"
        The column of a table.
    batch_size : int, default=10,000
        Texts in a batch.

    Returns
    -------
    batches : iterable of lists of str
        For `write_counts`, with a vectorizer.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If there is a table, and pyarrow is not installed.
    ValueError
        If a file ends otherwise; and, while they are read, if one cannot be parsed,
        has no such column, or a text is missing.  The message names the file, and the
        line or row.

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
    return Batches(lambda: _regrouped(_texts(files, column), batch_size))


def read_triples(paths, columns=("user", "item", "rating"), *, label_type=None):
    r"""Read users, items and ratings from tables, in batches.

    Parameters
    ----------
    paths : str, path, or list of them
        Files that end in ``.csv`` or ``.tsv``, with a header, which may be compressed
        by gzip, with ``.gz`` behind; or in ``.parquet``.  A folder stands for such
        files in it, in the order of their names.
    columns : tuple of three str, default=("user", "item", "rating")
        The columns of users, items and ratings.
    label_type : {None, int, str}, default=None
        What users and items are.  None is what the first lines of a file look like.
        Ratings are read as float32 from text, and otherwise as they are.

    Returns
    -------
    batches : iterable of tuples (users, items, ratings) of ndarrays
        For `write_ratings`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If pyarrow is not installed.
    ValueError
        If a file ends otherwise; and, while they are read, if one cannot be parsed,
        has not these columns, or a value is missing.  The message names the file, and
        the row.

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
    if len(columns) != 3 or not all(isinstance(name, str) for name in columns):
        raise ValueError(f"columns must be three names, got {columns!r}.")
    if label_type not in (None, int, str):
        raise ValueError(f"label_type must be None, int or str, got {label_type!r}.")
    files = _files(paths, TABLES)
    _pyarrow()
    return Batches(lambda: _triples(files, tuple(columns), label_type))


def _pyarrow():
    """Return pyarrow, which is not needed otherwise."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Tables are read by pyarrow, which is not installed: "
            "pip install 'sktemper[disk]'."
        ) from error
    return pyarrow


def _ending(file):
    """Return how the name of a file ends, without that of gzip."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes[-1:] == [".gz"] and suffixes[-2:-1] != [".parquet"]:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _files(paths, endings):
    """Return the files that paths stand for."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    files = []
    for path in map(Path, paths):
        if path.is_dir():
            found = [file for file in sorted(path.iterdir()) if file.is_file()]
            found = [file for file in found if _ending(file) in endings]
            if not found:
                raise FileNotFoundError(f"{path} has no files {', '.join(endings)}.")
            files += found
        elif not path.exists():
            raise FileNotFoundError(f"There is no {path}.")
        elif _ending(path) not in endings:
            raise ValueError(f"{path} must end in one of {', '.join(endings)}.")
        else:
            files.append(path)
    return files


def _regrouped(lists, size):
    """Yield lists of the same size, and the rest."""
    gathered = []
    for some in lists:
        gathered += some
        while len(gathered) >= size:
            yield gathered[:size]
            gathered = gathered[size:]
    if gathered:
        yield gathered


def _texts(files, column):
    """Yield lists of texts."""
    for file in files:
        if _ending(file) in TEXTS:
            yield from _text_lines(file)
            continue
        string = _pyarrow().string()
        for table, row in _tables(file, (column,), {column: string}):
            texts = table.column(0)
            _check_none_missing(file, texts, row, column)
            if not (
                _pyarrow().types.is_string(texts.type)
                or _pyarrow().types.is_large_string(texts.type)
            ):
                raise ValueError(
                    f"{file}: the column {column} is no text but {texts.type}."
                )
            yield texts.to_pylist()


def _text_lines(file):
    for first, lines in Lines(file):
        texts = []
        for number, line in enumerate(lines, first):
            try:
                texts.append(line.decode())
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{file}, line {number}: the text is not in UTF-8: {error}."
                ) from error
        yield texts


def _triples(files, columns, label_type):
    """Yield users, items and ratings."""
    pyarrow = _pyarrow()
    types = {int: pyarrow.int64(), str: pyarrow.string()}
    types = {name: types[label_type] for name in columns[:2] if label_type}
    types[columns[2]] = pyarrow.float32()
    for file in files:
        for table, row in _tables(file, columns, types):
            arrays = []
            for name in columns:
                values = table.column(name)
                _check_none_missing(file, values, row, name)
                arrays.append(values.to_numpy(zero_copy_only=False))
            if label_type is str:
                arrays[:2] = [np.asarray(labels, dtype=str) for labels in arrays[:2]]
            yield tuple(arrays)


def _check_none_missing(file, values, row, name):
    if values.null_count:
        place = row + values.is_null().to_numpy(zero_copy_only=False).argmax()
        raise ValueError(f"{file}, row {place}: {name} is missing.")


def _tables(file, columns, types):
    """Yield record batches with these columns, and which row is the first.

    Rows are counted from 1, headers too.
    """
    row = 1 if _ending(file) == ".parquet" else 2
    with _errors_name(file):
        for table in _record_batches(file, columns, types):
            yield table, row
            row += table.num_rows


@contextlib.contextmanager
def _errors_name(file):
    """Make pyarrow's errors say which file it is."""
    pyarrow = _pyarrow()
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's
        raise ValueError(f"{file} cannot be read: {error}.") from error


def _record_batches(file, columns, types):
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
        csv.ReadOptions(block_size=BLOCK, use_threads=False),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    ) as reader:
        _check_columns(file, columns, reader.schema.names)
        for table in reader:
            yield table.select(list(columns))


def _check_columns(file, columns, names):
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(
            f"{file} has no column {', '.join(missing)}; it has {', '.join(names)}."
        )
