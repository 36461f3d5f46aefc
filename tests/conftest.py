"""Corpora so small that a fit takes milliseconds."""

import numpy as np
import pytest

from sktemper.datasets import make_lda_documents


@pytest.fixture(scope="session")
def documents():
    """Word counts of 120 documents, CSR of int32 in canonical format."""
    X = make_lda_documents(120, 60, 4, doc_length=30, random_state=0)
    assert X.has_canonical_format
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


@pytest.fixture(scope="session")
def counts(documents):
    """The same counts in float64."""
    return documents.astype(np.float64)


@pytest.fixture(scope="session")
def many_documents():
    """So many that they take three blocks of rows."""
    return make_lda_documents(700, 60, 4, doc_length=15, random_state=1)


@pytest.fixture(scope="session")
def texts(documents):
    """The documents as strings."""
    words = np.array([f"word{v:02d}" for v in range(documents.shape[1])])
    return [
        " ".join(np.repeat(words[row.indices], row.data))
        for row in (documents[[i]] for i in range(documents.shape[0]))
    ]
