"""The kind of sparse container that data sets come in."""

from scipy import sparse
from sklearn import get_config


def csr_container():
    """Return the CSR class that scikit-learn's ``sparse_interface`` asks for."""
    if get_config()["sparse_interface"] == "sparray":
        return sparse.csr_array
    return sparse.csr_matrix
