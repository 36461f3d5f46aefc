"""Corpora so small that a fit takes milliseconds."""

import signal

import numpy as np
import pytest
from fits import documents_of, samples_of


@pytest.fixture(scope="session")
def documents():
    """Word counts of 120 documents, CSR of int32 in canonical format."""
    return documents_of()


@pytest.fixture(scope="session")
def counts(documents):
    """The same counts in float64."""
    return documents.astype(np.float64)


@pytest.fixture(scope="session")
def many_documents():
    """So many that they take three blocks of rows."""
    return documents_of(700)


@pytest.fixture(scope="session")
def samples():
    """Sums of three features and noise, 120 rows of 6 values."""
    return samples_of()


@pytest.fixture(scope="session")
def texts(documents):
    """The documents as strings."""
    words = np.array([f"word{v:02d}" for v in range(documents.shape[1])])
    return [
        " ".join(np.repeat(words[row.indices], row.data))
        for row in (documents[[i]] for i in range(documents.shape[0]))
    ]


# A shell without job control starts what it runs in the background, a whole test run
# too, with Ctrl-C ignored, and Python keeps it so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
