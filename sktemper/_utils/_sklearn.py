"""What estimators share of scikit-learn, and what its oldest version does not have.

Other modules import these parts from here, so that they do not depend on the installed
version.  scikit-learn has callbacks from version 1.9 on.  With an older version,
estimators have no method ``set_callbacks``, and a fit does not report its progress.
"""

import functools

import sklearn
from scipy import sparse
from threadpoolctl import ThreadpoolController

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    CallbackSupportMixin = None


#: Whether scikit-learn has callbacks.
HAS_CALLBACKS = CallbackSupportMixin is not None


def remove_callbacks(estimator):
    """Remove the callbacks of an estimator, if there can be any."""
    if HAS_CALLBACKS:
        estimator.set_callbacks()


def csr_container():
    """Return the CSR class that scikit-learn's ``sparse_interface`` specifies.

    The setting is new in 1.9; older versions return matrices.
    """
    is_array = sklearn.get_config().get("sparse_interface") == "sparray"
    return sparse.csr_array if is_array else sparse.csr_matrix


@functools.cache
def thread_pools():
    """Return the controller of the threads of loaded libraries.

    It takes milliseconds to find them, more than a small fit, so that scikit-learn's
    controller is shared if there is one.
    """
    try:
        from sklearn.utils.parallel import _get_threadpool_controller
    except ImportError:
        return ThreadpoolController()
    return _get_threadpool_controller()


if not HAS_CALLBACKS:

    class NoContext:
        """The context of a task of a fit when there are no callbacks."""

        def subcontext(self, **task):
            return self

        def call_on_fit_task_begin(self, **callback_kwargs):
            """Call no hook."""

        def call_on_fit_task_end(self, **callback_kwargs):
            """Call no hook; return False, because no hook asks to end the fit."""
            return False

    class CallbackSupportMixin:
        """Replacement of scikit-learn's mixin if scikit-learn has no callbacks."""

        @property
        def set_callbacks(self):
            """Raise an error that names the remedy; ``hasattr`` returns False."""
            raise AttributeError(
                f"{type(self).__name__} has no set_callbacks with scikit-learn "
                f"{sklearn.__version__}: callbacks need scikit-learn 1.9 or later."
            )

        def _init_callback_context(self, **task):
            return NoContext()

    def with_callbacks(method):
        return method
