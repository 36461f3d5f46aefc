"""Reader of gensim corpora and other iterables of bags of words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from numbers import Integral

import numpy as np
from scipy import sparse

from .._utils._typing import Int
from ._arguments import LARGEST_SIZE, checked_size, refuse_argument
from ._batches import Batches, first_that_fails

#: Largest number of columns without a word in `id2word`.
MOST_UNNAMED = 2**24
NO_PAIRS = "is no list of pairs (word, count) of numbers"


def read_gensim(
    corpus: Iterable,
    id2word: Mapping | Sequence | None = None,
    *,
    n_features: Int | None = None,
    batch_size: Int = 10_000,
) -> Iterable:
    """Read a gensim corpus, or any iterable of bags of words, in batches.

    Parameters
    ----------
    corpus : iterable
        Documents, such as an `MmCorpus`: lists of pairs (id, count) of a word, whose
        ids from 0 on become columns.  A generator can be read only once, and requires
        ``n_features`` or ``id2word``.
    id2word : mapping or sequence, default=None
        Words by id, such as a `Dictionary`.  None takes the attribute ``id2word`` of
        the corpus, if it exists.
    n_features : int, default=None
        Number of columns.  None takes the number of words in ``id2word``, or the
        corpus's ``num_terms``.  If both are missing, an additional pass over the corpus
        finds the number.
    batch_size : int, default=10,000
        Number of documents in a batch.

    Returns
    -------
    batches : iterable of CSR arrays
        Batches for `write_counts`, with the words as ``feature_names``.

    Raises
    ------
    TypeError
        If the corpus cannot be iterated over.
    ValueError
        If another argument is invalid, an id in ``id2word`` is ``n_features`` or more,
        or the corpus is a generator and the number of columns is unknown.  During
        reading: if the corpus is a generator that was read before, or a document is not
        a list of pairs, has an id out of range, or has a count that is negative or not
        finite.  The message gives the index of the document, from 0.

    Examples
    --------
    >>> from sktemper.datasets import read_gensim
    >>> corpus = [[(0, 5), (2, 1)], [], [(1, 4)]]
    >>> [X.toarray().tolist() for X in read_gensim(corpus, batch_size=2)]
    [[[5.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [[0.0, 4.0, 0.0]]]
    """
    if not isinstance(corpus, Iterable) or isinstance(corpus, (str, bytes)):
        raise TypeError(
            "corpus must be an iterable of documents, each a list of pairs (word, "
            f"count), got {type(corpus).__name__}."
        )
    batch_size = checked_size(batch_size, "batch_size")
    n_features = checked_size(n_features, "n_features", optional=True)
    if id2word is None:
        id2word = getattr(corpus, "id2word", None)
    names = _names_of_ids(id2word, n_features)
    size = n_features if names is None else len(names)
    if size is None:
        n_terms = getattr(corpus, "num_terms", None)
        size = checked_size(n_terms, "corpus.num_terms", optional=True)
    if isinstance(corpus, Iterator):
        corpus = _Once(corpus, size)
    return Batches(lambda: _matrices(corpus, size, batch_size), names)


class _Once:
    """Iterable over a generator of documents; a second iteration raises an error."""

    def __init__(self, documents, n_features):
        if n_features is None:
            raise ValueError(
                "corpus is a generator, which can be read once only, but to find the "
                "number of columns it would have to be read twice. Give n_features or "
                "id2word, or a list of the documents."
            )
        self.documents = documents

    def __iter__(self):
        if self.documents is None:
            raise ValueError(
                "corpus is a generator, which can be read only once, and it was read "
                "before. Call read_gensim again with a new generator, or with a list "
                "of the documents."
            )
        documents, self.documents = self.documents, None
        return documents


def _names_of_ids(id2word, n_features):
    """Return the words as a list, or None; a missing word becomes ``#`` and its id."""
    if id2word is None:
        return None
    is_mapping = hasattr(id2word, "items")
    if isinstance(id2word, (str, bytes, Set)) or not (
        is_mapping or isinstance(id2word, Iterable)
    ):
        refuse_argument("id2word", "a mapping or a sequence of words", id2word)
    words = dict(id2word.items() if is_mapping else enumerate(id2word))
    if not words:
        return None
    for number in words:
        is_whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_whole or not 0 <= number < (n_features or LARGEST_SIZE):
            last = "" if n_features is None else f" to {n_features - 1}"
            raise ValueError(
                f"id2word has a word with the number {number!r}; expected whole "
                f"numbers from 0{last}."
            )
    size = n_features or max(words) + 1
    if size - len(words) > MOST_UNNAMED and n_features is None:
        raise ValueError(
            f"id2word has {len(words)} words, but numbers up to {size - 1}; give "
            "n_features if there are so many columns."
        )
    return [str(words.get(number, f"#{number}")) for number in range(size)]


def _matrices(corpus, n_features, batch_size):
    """Yield bags of words as CSR arrays of float64."""
    if n_features is None:
        n_features = _n_words(corpus, batch_size)
    for starts, words, counts in _parsed(corpus, batch_size, n_features):
        shape = len(starts) - 1, n_features
        yield sparse.csr_array((counts, words.astype(np.int32), starts), shape=shape)


def _n_words(corpus, batch_size):
    """Return the largest word id plus one; 0 if there are no documents."""
    largest = [
        words.max(initial=-1) for _, words, _ in _parsed(corpus, batch_size, None)
    ]
    if largest and max(largest) < 0:
        raise ValueError(
            "The documents have no words, so that the number of columns is unknown; "
            "give n_features."
        )
    return int(max(largest, default=-1)) + 1


def _parsed(corpus, batch_size, n_features):
    """Yield the starts, words and counts of each batch of documents."""
    documents, first = iter(corpus), 0
    while some := list(islice(documents, batch_size)):
        bags = [_as_list(bag, number) for number, bag in enumerate(some, first)]
        pairs = _pairs_of(bags)
        if pairs is None:
            place = first_that_fails(bags, lambda bags: _pairs_of(bags) is None)
            _refuse(first + place, NO_PAIRS)
        starts = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
        words, counts = pairs.T
        last = (n_features or LARGEST_SIZE) - 1
        wrong_words = ~((words >= 0) & (words <= last)) | (words != np.rint(words))
        wrong_counts = ~((counts >= 0) & (counts < np.inf))
        for wrong, values, what, expected in (
            (wrong_words, words, "word", f"whole numbers from 0 to {last}"),
            (wrong_counts, counts, "count", "counts that are finite and at least 0"),
        ):
            if wrong.any():
                place = wrong.argmax()
                document = first + np.searchsorted(starts, place, side="right") - 1
                _refuse(
                    document, f"has the {what} {values[place]:g}; expected {expected}"
                )
        yield starts, words, counts
        first += len(bags)


def _as_list(bag, number):
    try:
        return list(bag)
    except TypeError:
        _refuse(number, NO_PAIRS)


def _pairs_of(bags):
    """Return an array of shape (n_pairs, 2), or None if an item is not a pair."""
    pairs = [pair for bag in bags for pair in bag]
    try:
        table = np.array(pairs)
    except (TypeError, ValueError):
        return None
    if not pairs:
        return np.empty((0, 2))
    is_table = table.dtype.kind in "buif" and table.shape == (len(pairs), 2)
    return table.astype(np.float64) if is_table else None


def _refuse(document, what):
    raise ValueError(f"Document {document} {what}.")
