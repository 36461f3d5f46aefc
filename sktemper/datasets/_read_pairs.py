"""Readers of files with a document a line, as pairs index:value; gensim's corpora."""

import io
from itertools import islice
from numbers import Integral

import numpy as np
from scipy import sparse

from ._batches import Batches, Lines, first_that_fails, refuse_line, words_of

__all__ = ["read_gensim", "read_lda_c", "read_svmlight"]


def read_svmlight(path, *, n_features=None, zero_based="auto"):
    r"""Read the rows of a file in the SVMlight (LIBSVM) format, in batches.

    The targets are left out.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip.
    n_features : int, default=None
        Number of columns.  None is the largest index there is, for which the file is
        read once before.
    zero_based : bool or "auto", default="auto"
        Whether indices count from 0.  "auto" is whether 0 occurs, for which the file
        is read once before.

    Returns
    -------
    batches : iterable of CSR arrays of float64
        For `write_counts`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        While it is read, if a line cannot be parsed or has an index out of range.  The
        message names file and line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "counts.svm"
    ...     _ = path.write_text("+1 1:5 3:1\n-1 2:4\n")
    ...     [X.toarray().tolist() for X in read_svmlight(path)]
    [[[5.0, 0.0, 1.0], [0.0, 4.0, 0.0]]]
    """
    _check_n_features(n_features)
    if zero_based not in (True, False, "auto"):
        raise ValueError(
            f"zero_based must be True, False or 'auto', got {zero_based!r}."
        )
    lines = Lines(path)

    def read():
        least, largest = 0, -1
        if n_features is None or zero_based == "auto":
            least, largest = _least_and_largest(lines)
        first = int(least > 0) if zero_based == "auto" else int(not zero_based)
        size = largest + 1 - first if n_features is None else n_features
        return (X for X, _ in _parsed_pairs(lines, first, size))

    return Batches(read)


def read_lda_c(path, vocab=None, *, n_features=None):
    r"""Read counts in the format of LDA-C, which gensim's `BleiCorpus` has, in batches.

    Each line is a document: how many words it has, and for each ``word:count``, words
    counted from 0.

    Parameters
    ----------
    path : str or path
        The file, which may be compressed by gzip.
    vocab : str or path, default=None
        The file of words, one a line.
    n_features : int, default=None
        Number of columns.  None is that of the words in ``vocab``, or else of the
        file, which is then read once before.

    Returns
    -------
    batches : iterable of CSR arrays of float64
        For `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        While it is read, if a line cannot be parsed, has not as many words as it says
        or an index out of range.  The message names file and line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktemper.datasets import read_lda_c
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "corpus.lda-c"
    ...     _ = path.write_text("2 0:5 2:1\n1 1:4\n")
    ...     [X.toarray().tolist() for X in read_lda_c(path)]
    [[[5.0, 0.0, 1.0], [0.0, 4.0, 0.0]]]
    """
    _check_n_features(n_features)
    lines, names = Lines(path), words_of(vocab)
    if n_features is None and names is not None:
        n_features = len(names)

    def read():
        size = n_features or _least_and_largest(lines)[1] + 1
        return (X for X, _ in _parsed_pairs(lines, 0, size, counted=True))

    return Batches(read, names)


def _check_n_features(n_features):
    if n_features is not None and (
        isinstance(n_features, bool)
        or not isinstance(n_features, Integral)
        or n_features < 1
    ):
        raise ValueError(
            f"n_features must be an int of at least 1 or None, got {n_features!r}."
        )


def _least_and_largest(lines):
    """Return the least and the largest index of a file."""
    least, largest = 0, -1
    for X, _ in _parsed_pairs(lines, 0, None):
        if len(X.indices):
            before = least if largest >= 0 else int(X.indices.min())
            least = min(before, int(X.indices.min()))
            largest = max(largest, int(X.indices.max()))
    return least, largest


def _parsed_pairs(lines, first, n_features, counted=False):
    """Yield matrices, and the numbers of the lines that their rows are."""
    for start, some in lines:
        some = [line.split(b"#", 1)[0].split(None, 1) for line in some]
        kept = [(n, line) for n, line in enumerate(some, start) if line]
        if not kept:
            continue
        numbers, kept = zip(*kept, strict=True)
        # targets may be of any kind, and are replaced
        rows = [b"0 " + (line[1] if len(line) > 1 else b"") for line in kept]
        X = _loaded(rows)
        if X is None or X.shape[0] != len(rows):
            place = first_that_fails(rows, lambda some: _loaded(some) is None)
            line = b" ".join(kept[place])
            refuse_line(lines.path, numbers[place], line, "pairs index:value")
        sizes = np.diff(X.indptr)
        wrong = (X.indices < first) | (
            (n_features is not None) & (X.indices - first >= (n_features or 0))
        )
        if wrong.any():
            place = np.searchsorted(X.indptr, wrong.argmax(), side="right") - 1
            last = f" to {n_features + first - 1}" if n_features is not None else ""
            expected = f"indices from {first}{last}"
            line = b" ".join(kept[place])
            refuse_line(lines.path, numbers[place], line, expected)
        if counted:
            _check_sizes(lines.path, numbers, kept, sizes)
        if n_features is not None:
            shape = X.shape[0], n_features
            X = sparse.csr_array((X.data, X.indices - first, X.indptr), shape=shape)
        yield X, numbers


def _loaded(rows):
    """Return the matrix of some lines, None if one cannot be parsed."""
    from sklearn.datasets import load_svmlight_file  # it brings all data sets along

    try:
        X, _ = load_svmlight_file(io.BytesIO(b"\n".join(rows)), zero_based=True)
    except (ValueError, OverflowError):
        return None
    return X


def _check_sizes(path, numbers, lines, sizes):
    """Raise if a line has not as many pairs as its first field says."""
    for number, line, size in zip(numbers, lines, sizes, strict=True):
        if not line[0].isdigit() or int(line[0]) != size:
            refuse_line(path, number, b" ".join(line), f"{size} as the number of words")


def read_gensim(corpus, id2word=None, *, n_features=None, batch_size=10_000):
    """Read a corpus of gensim's, or any iterable of bags of words, in batches.

    Parameters
    ----------
    corpus : iterable
        Of documents, each a list of pairs (word, count), words counted from 0; such as
        an `MmCorpus` or a `BleiCorpus`.
    id2word : mapping or list, default=None
        The words, such as a `Dictionary`.  None takes the corpus's own, if it has one.
    n_features : int, default=None
        Number of columns.  None is that of ``id2word``, or else the corpus's
        ``num_terms``; or else the corpus is iterated over once before.
    batch_size : int, default=10,000
        Documents in a batch.

    Returns
    -------
    batches : iterable of CSR arrays
        For `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    ValueError
        While it is read, if a document is no list of pairs or has a word out of range.
        The message says which.

    Examples
    --------
    >>> from sktemper.datasets import read_gensim
    >>> corpus = [[(0, 5), (2, 1)], [], [(1, 4)]]
    >>> [X.toarray().tolist() for X in read_gensim(corpus, batch_size=2)]
    [[[5.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [[0.0, 4.0, 0.0]]]
    """
    _check_n_features(n_features)
    names = _names_of_ids(getattr(corpus, "id2word", None) or {}, n_features)
    if id2word is not None:
        names = _names_of_ids(id2word, n_features)
    if n_features is None:
        n_features = len(names) if names else getattr(corpus, "num_terms", None)

    def read():
        size = n_features
        if size is None:
            size = 1 + max((word for bag in corpus for word, _ in bag), default=-1)
        documents, number = iter(corpus), 0
        while bags := list(islice(documents, batch_size)):
            yield _of_bags(bags, size, number)
            number += len(bags)

    return Batches(read, names)


def _names_of_ids(id2word, n_features):
    """Return the words as a list; ``#`` and the number where there is none."""
    pairs = enumerate(id2word) if isinstance(id2word, (list, tuple)) else None
    words = {int(n): str(word) for n, word in pairs or id2word.items()}
    if not words:
        return None
    size = n_features or max(words) + 1
    return [words.get(number, f"#{number}") for number in range(size)]


def _of_bags(bags, n_features, number):
    """Return bags of words as a matrix; ``number`` is that of the first."""
    sizes = [len(bag) for bag in bags]
    try:
        pairs = np.array([pair for bag in bags for pair in bag], dtype=np.float64)
        pairs = pairs.reshape(sum(sizes), 2)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"A document from {number} to {number + len(bags) - 1} is no list of pairs "
            f"(word, count): {error}."
        ) from error
    words, values = pairs.T
    starts = np.concatenate([[0], np.cumsum(sizes)])
    wrong = ~((words >= 0) & (words < n_features)) | (words != np.rint(words))
    if wrong.any():
        place = wrong.argmax()
        document = number + np.searchsorted(starts, place, side="right") - 1
        raise ValueError(
            f"Document {document} has the word {words[place]:g}; expected whole "
            f"numbers from 0 to {n_features - 1}."
        )
    shape = len(bags), n_features
    return sparse.csr_array((values, words.astype(np.int32), starts), shape=shape)
