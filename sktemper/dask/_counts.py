"""Counts of text on a cluster."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np

if TYPE_CHECKING:
    from dask.array import Array


def counts(text: Any, vectorizer: Any) -> Array:
    """Return the word counts of texts as a dask array, which computes them lazily.

    Parameters
    ----------
    text : dask Series or Bag of str
        Documents.
    vectorizer : object
        Object with ``transform``, such as a `HashingVectorizer` with
        ``alternate_sign=False`` and ``norm=None``, or a `CountVectorizer` that was
        fitted to a sample or has a given vocabulary.  The graph contains it once.

    Returns
    -------
    counts : dask array of shape (n_documents, n_features)
        Word counts.  There is one block of unknown size for each partition, a CSR
        matrix.  Call ``persist`` on the array if you use it more than once.

    Raises
    ------
    TypeError
        If ``text`` is not a collection of texts in partitions.
    NotFittedError
        If the vectorizer has no vocabulary yet.

    Examples
    --------
    >>> import dask.bag
    >>> import sktemper.dask
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> text = dask.bag.from_sequence(["a cat", "a dog", "cat dog"], npartitions=2)
    >>> vectorizer = HashingVectorizer(
    ...     n_features=64, alternate_sign=False, norm=None
    ... )
    >>> X = sktemper.dask.counts(text, vectorizer)
    >>> [int(block.compute().sum()) for block in X.blocks]
    [2, 2]
    """
    has_partitions = dask.is_dask_collection(text) and hasattr(text, "npartitions")
    if not has_partitions or getattr(text, "ndim", 1) != 1:
        raise TypeError(
            "text must be a dask Series or Bag of strings, got "
            f"{type(text).__name__}. Pass one column of a data frame."
        )
    meta = vectorizer.transform([""])[:0]
    one = dask.delayed(
        vectorizer, name=f"vectorizer-{uuid.uuid4().hex}", traverse=False
    )
    counted, shape = dask.delayed(_counted), (np.nan, meta.shape[1])
    blocks = [
        da.from_delayed(counted(part, one, meta), shape, meta=meta)
        for part in text.to_delayed()
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _counted(part, vectorizer, empty):
    documents = list(part)
    return vectorizer.transform(documents) if documents else empty
