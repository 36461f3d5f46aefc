"""Vectorizer of word counts whose vocabulary grows with a stream."""

import math
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import TransformerMixin, _fit_context
from sklearn.feature_extraction.text import CountVectorizer

from .._utils._arguments import columns_of
from .._utils._checksums import checked, refusing_damage, with_checksum
from .._utils._constraints import POSITIVE
from .._utils._docstrings import completed_by
from .._utils._frames import as_frame, frame_library, is_frame
from .._utils._notices import warn
from .._utils._signatures import completed, parameters_of
from .._utils._sklearn import csr_container
from .._utils._typing import ArrayLike, Float, Int, SparseMatrix
from .._utils._validation import looks_like_text
from .._utils._words import MOST_UNKNOWN
from ._frequencies import TextCounts, WordFrequencies, as_documents

#: A word loses its column below this multiple of ``min_df``, so that a word near
#: ``min_df`` does not lose and regain a column repeatedly.
SHARE_OF_MIN_DF = 0.5


class StreamingCountVectorizer(
    TransformerMixin, CountVectorizer, auto_wrap_output_keys=None
):
    r"""Counter of the words of texts, with a vocabulary that grows with a stream.

    `fit`, `fit_transform` and a fixed ``vocabulary`` have the same results as in
    :class:`sklearn.feature_extraction.text.CountVectorizer`.  In addition,
    `partial_fit` learns new words from each chunk of a stream, whose columns come after
    the present ones.  ``partial_fit`` of topic models and of mixtures of multinomials
    or Bernoullis accepts the wider data and adds the new features to the model.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        Form of a document: name of a file, open file, or its text as str or bytes.
    encoding : str, default="utf-8"
        Encoding of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        Treatment of bytes that are not valid in the encoding: raise an error, leave
        them out, or replace them.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Method by which accents are removed; None keeps them.
    lowercase : bool, default=True
        Whether to convert text to lower case.
    preprocessor : callable, default=None
        Function of a text that replaces the removal of accents and lower case.
    tokenizer : callable, default=None
        Function that splits a preprocessed text into tokens; None uses
        ``token_pattern``.
    stop_words : {"english"}, list, default=None
        Words that are left out.
    token_pattern : str or None, default=r"(?u)\b\w\w+\b"
        Regular expression of a token.
    ngram_range : tuple of int, default=(1, 1)
        Smallest and largest n of the n-grams that are features.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether features are n-grams of words or of characters; a callable returns the
        features of a raw document.
    max_df : float in [0, 1] or int, default=1.0
        Largest number, or share as a float, of the documents with a word that gets a
        column.
    min_df : float in [0, 1] or int, default=1
        Smallest number, or share as a float, of the documents with a word that gets a
        column, which it keeps until `drop_features` removes it.
    max_features : int, default=None
        Largest number of columns; the most frequent new words get the free ones.
    vocabulary : Mapping or iterable, default=None
        Fixed vocabulary, to which no word is added.
    binary : bool, default=False
        Whether all counts above 0 become 1.
    dtype : type, default=np.int64
        Type of the counts.
    half_life : float, default=None
        Number of documents after which a document counts half for ``min_df``,
        ``max_df`` and ``max_features``; for a language that changes.  None counts all
        equally.

    Attributes
    ----------
    vocabulary_ : dict
        Column of each word.
    fixed_vocabulary_ : bool
        Whether ``vocabulary`` was given.
    n_tokens_ : int
        Number of tokens of all documents that `fit` and `partial_fit` have processed.
    n_unknown_tokens_ : int
        Number of these tokens that had no column after their chunk was learned: their
        word was too rare or too frequent, or no column was free.

    See Also
    --------
    sklearn.feature_extraction.text.HashingVectorizer : Vectorizer with a fixed number
        of columns, in which several words share a column and columns have no names.

    Notes
    -----
    With a half-life H, a chunk of n documents multiplies the number of documents of
    each word by :math:`2^{-n/H}`.  Words without a column are counted too; if they are
    many, rare ones are forgotten (fewer than 0.1 documents, or all but the most
    frequent half million of more than a million).

    Examples
    --------
    >>> from sktemper.text import StreamingCountVectorizer
    >>> vectorizer = StreamingCountVectorizer(min_df=2)
    >>> X = vectorizer.partial_fit_transform(["old news", "old words", "old news"])
    >>> vectorizer.get_feature_names_out()
    array(['news', 'old'], dtype=object)
    >>> X = vectorizer.partial_fit_transform(["new words", "new news"])
    >>> vectorizer.get_feature_names_out()
    array(['news', 'old', 'new', 'words'], dtype=object)
    >>> X.toarray()
    array([[0, 0, 1, 1],
           [1, 0, 1, 0]])
    """

    _parameter_constraints = {
        **CountVectorizer._parameter_constraints,
        "half_life": [POSITIVE, None],
    }

    @completed(parameters_of(CountVectorizer.__init__))
    def __init__(self, *, half_life: Float | None = None, **parameters: Any): ...

    def fit(self, raw_documents: Iterable, y: Any = None) -> Self:
        """Learn a new vocabulary from documents.

        Parameters
        ----------
        raw_documents : iterable
            Documents in the form that ``input`` specifies.
        y : None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        self : object
            The vectorizer.  It has the columns of scikit-learn's ``CountVectorizer``,
            in alphabetical order of the words.
        """
        self._learn(raw_documents, restart=True)
        return self

    @completed_by(fit)
    def fit_transform(self, raw_documents: Iterable, y: Any = None) -> SparseMatrix:
        """Learn a new vocabulary from documents, and count their words.

        Returns
        -------
        X : CSR of shape (n_samples, n_features)
            Counts; a data frame after ``set_output``.
        """
        return self._contained(self._learn(raw_documents, restart=True), raw_documents)

    @completed_by(fit)
    def partial_fit(self, raw_documents: Iterable, y: Any = None) -> Self:
        """Learn new words from a chunk of a stream.

        Returns
        -------
        self : object
            The vectorizer.  The first chunk is learned as by `fit`, except that no
            error is raised if no word gets a column.  The new words of a later chunk
            get columns after the present ones, in alphabetical order.  An error or
            Ctrl-C leaves the vectorizer unchanged.

        Warns
        -----
        UserWarning
            Once, if the words of more than 5 % of the tokens of a chunk cannot get a
            column, because ``vocabulary`` is fixed or ``max_features`` is reached.
        """
        self._learn(raw_documents, restart=False)
        return self

    @completed_by(fit)
    def partial_fit_transform(
        self, raw_documents: Iterable, y: Any = None
    ) -> SparseMatrix:
        """Learn new words from a chunk of a stream, and count its words.

        The documents are split into words only once, so this method takes half as long
        as `partial_fit` followed by `transform`.

        Returns
        -------
        X : CSR of shape (n_samples, n_features)
            Counts, including columns of the new words; a data frame after
            ``set_output``.
        """
        return self._contained(self._learn(raw_documents, restart=False), raw_documents)

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn(self, raw_documents, restart):
        if isinstance(raw_documents, str):
            raise ValueError(
                "Iterable over raw text documents expected, string object received."
            )
        _refuse_frames(raw_documents)
        self._validate_ngram_range()
        fresh = restart or not hasattr(self, "_frequencies")
        if fresh and self.vocabulary is None:
            self._warn_for_unused_params()
        elif fresh:
            CountVectorizer.fit_transform(self, [])  # checks the vocabulary
        counted = TextCounts.from_documents(raw_documents, self.build_analyzer())
        if not (restart or counted.counts.shape[0]):
            raise ValueError("Found 0 documents while a minimum of 1 is required.")
        chunk = counted.as_type(self.dtype, self.binary)
        if self.vocabulary is None:
            vocabulary, frequencies, refused = self._grown(chunk, fresh, restart)
        else:
            vocabulary, frequencies = self.vocabulary_, WordFrequencies()
            refused = chunk.columns(vocabulary) < 0
        self._install(vocabulary, frequencies, counted, fresh)
        if not restart:
            self._warn_once_if_refused(counted, refused)
        return chunk.select(vocabulary)

    def _grown(self, chunk, fresh, restart):
        """Return the vocabulary with new words, frequencies, and words without columns.

        The last is a mask of the new words for which no column was free.
        """
        known = {} if fresh else self.vocabulary_
        before = WordFrequencies() if fresh else self._frequencies
        share = 2.0 ** -(chunk.counts.shape[0] / (self.half_life or math.inf))
        frequencies = before.add(chunk, share)
        new = np.flatnonzero(chunk.columns(known) < 0)
        if fresh:
            documents, tokens = chunk.document_frequencies, chunk.term_frequencies
        else:
            at = frequencies.positions(chunk.words)
            documents, tokens = frequencies.documents[at], frequencies.tokens[at]
        least, largest = (
            as_documents(limit, frequencies.n_documents)
            for limit in (self.min_df, self.max_df)
        )
        chosen = new[(least <= documents[new]) & (documents[new] <= largest)]
        refused = np.zeros(len(chunk.words), dtype=bool)
        n_free = len(chosen)
        if self.max_features is not None:
            n_free = max(self.max_features - len(known), 0)
        if len(chosen) > n_free:  # the most frequent words get the free columns
            kind = None if fresh else "stable"  # None orders ties like CountVectorizer
            order = np.argsort(-tokens[chosen], kind=kind)
            refused[chosen[order[n_free:]]] = True
            chosen = chosen[~refused[chosen]]
        columns = enumerate(chosen, len(known))
        vocabulary = known | {chunk.words[word]: column for column, word in columns}
        if restart:
            _check_found(chunk, least, largest, vocabulary)
        return vocabulary, frequencies.pruned(vocabulary), refused

    def _install(self, vocabulary, frequencies, chunk, fresh):
        """Set all attributes after a chunk at once, which Ctrl-C cannot interrupt."""
        tokens, unknown = chunk.term_frequencies, chunk.columns(vocabulary) < 0
        n_tokens, n_unknown = int(tokens.sum()), int(tokens[unknown].sum())
        vars(self).update(
            vocabulary_=vocabulary,
            fixed_vocabulary_=self.vocabulary is not None,
            n_tokens_=n_tokens + (0 if fresh else self.n_tokens_),
            n_unknown_tokens_=n_unknown + (0 if fresh else self.n_unknown_tokens_),
            _frequencies=frequencies,
            _warned=not fresh and self._warned,
        )

    def _warn_once_if_refused(self, chunk, refused):
        """Warn once if the words of many tokens of a chunk cannot get columns."""
        tokens = chunk.term_frequencies
        n_tokens, n_refused = tokens.sum(), tokens[refused].sum()
        if self._warned or n_refused <= MOST_UNKNOWN * n_tokens:
            return
        self._warned, reason = True, "the vocabulary is fixed"
        if self.vocabulary is None:
            reason = f"all columns of max_features={self.max_features} are taken"
        warn(
            f"{n_refused / n_tokens:.0%} of the tokens of this chunk are of words that "
            f"get no column, because {reason}. The counts do not contain these tokens. "
            "Raise max_features, remove words that no longer occur with drop_features, "
            "or leave vocabulary at None."
        )

    # -- columns -----------------------------------------------------------------------
    @property
    def document_frequencies_(self) -> np.ndarray:
        """Numbers of documents that contain each word, ndarray (n_features,).

        With a ``half_life``, older documents count less.
        """
        self._check_learned()
        return self._frequencies.documents[
            self._frequencies.positions(self.get_feature_names_out())
        ]

    def drop_features(self, features: ArrayLike | Int | None = None) -> np.ndarray:
        """Remove columns; the later columns move to the left.

        Call ``drop_features`` of the model with the result, so that the model has the
        same columns as the vectorizer.

        Parameters
        ----------
        features : array-like of str or int, default=None
            Words or column indices.  None removes the words whose number of documents
            has fallen below half of ``min_df``, which can happen with a ``half_life``.

        Returns
        -------
        columns : ndarray of int
            Indices of the removed columns, in increasing order.  A removed word gets a
            new column when the documents that contain it since then reach ``min_df``.

        Raises
        ------
        ValueError
            If the vocabulary is fixed, a word or column does not exist, or no column
            would be left.

        Examples
        --------
        >>> from sktemper.text import StreamingCountVectorizer
        >>> vectorizer = StreamingCountVectorizer(half_life=1)
        >>> for text in ["old news", "news", "news", "new words"]:
        ...     vectorizer = vectorizer.partial_fit([text])
        >>> vectorizer.drop_features()
        array([1])
        >>> vectorizer.get_feature_names_out()
        array(['news', 'new', 'words'], dtype=object)
        """
        self._check_learned()
        names = self.get_feature_names_out()
        if features is None:
            frequencies = self._frequencies
            least = as_documents(self.min_df, frequencies.n_documents)
            is_rare = self.document_frequencies_ < SHARE_OF_MIN_DF * least
            columns = np.flatnonzero(is_rare)
        else:
            columns = columns_of(features, names)
        if len(columns) == len(names):
            raise ValueError(
                "drop_features would leave no column: features must not contain all "
                "columns."
            )
        kept = np.delete(names, columns)
        vars(self).update(
            vocabulary_={word: column for column, word in enumerate(kept)},
            _frequencies=self._frequencies.drop(names[columns]),
            _warned=False,
        )
        return columns

    def __getstate__(self):
        return with_checksum(dict(super().__getstate__()))

    def __setstate__(self, state):
        """Set the attributes; raise ValueError if their checksum differs."""
        with refusing_damage(self):
            state = checked(state)
        super().__setstate__(state)

    def _check_learned(self):
        self._check_vocabulary()
        if self.fixed_vocabulary_:
            raise ValueError(
                "The vocabulary is fixed, so no frequencies are counted: set "
                "vocabulary=None to learn it from documents."
            )

    # -- counting words ----------------------------------------------------------------
    @completed_by(fit)
    def transform(self, raw_documents: Iterable) -> SparseMatrix:
        """Count the words that have a column in each document.

        Returns
        -------
        X : CSR of shape (n_samples, n_features)
            Counts; a data frame after ``set_output``.
        """
        _refuse_frames(raw_documents)
        return self._contained(super().transform(raw_documents), raw_documents)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Set the type of the results of `transform` and `fit_transform`.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "default" is a sparse matrix, "pandas" a data frame with sparse columns, and
            "polars" a data frame with dense columns.  None leaves the type unchanged.

        Returns
        -------
        self : object
            The vectorizer.
        """
        if transform is not None:
            config = vars(self).setdefault("_sklearn_output_config", {})
            config["transform"] = transform
        return self

    def _contained(self, X, raw_documents):
        """Return counts in the type that `set_output` has set."""
        config = vars(self).get("_sklearn_output_config", {})
        output = config.get("transform", sklearn.get_config()["transform_output"])
        if output == "default":
            return csr_container()(X)
        names, frames = self.get_feature_names_out(), frame_library(output)
        if output == "polars":
            return frames.DataFrame(dict(zip(names, X.toarray().T, strict=True)))
        # a pandas object has the labels of the rows
        index = raw_documents.index if hasattr(raw_documents, "iloc") else None
        return frames.DataFrame.sparse.from_spmatrix(
            sparse.csr_matrix(X), index=index, columns=names
        )


def _refuse_frames(raw_documents):
    """Raise if texts are a data frame, whose items are the names of its columns."""
    if is_frame(frame := as_frame(raw_documents)):
        texts = (name for name in frame.columns if looks_like_text(frame[name]))
        raise ValueError(
            "Iterable over raw text documents expected, data frame received. Pass a "
            f"column of texts, such as X[{next(texts, 'text')!r}]."
        )


def _check_found(chunk, least, largest, vocabulary):
    """Raise the errors of CountVectorizer if a fit found no words."""
    if not chunk.words:
        raise ValueError(
            "empty vocabulary; perhaps the documents only contain stop words"
        )
    if largest < least:
        raise ValueError("max_df corresponds to < documents than min_df")
    if not vocabulary:
        raise ValueError(
            "After pruning, no terms remain. Try a lower min_df or a higher max_df."
        )
