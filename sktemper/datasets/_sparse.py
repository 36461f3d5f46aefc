"""Class of the sparse containers that functions of this package return."""

from scipy import sparse

from .._utils._sklearn import prefers_sparse_arrays


def csr_container():
    """Return the CSR class that scikit-learn's ``sparse_interface`` specifies."""
    return sparse.csr_array if prefers_sparse_arrays() else sparse.csr_matrix
