"""Constraints of parameters, as scikit-learn has them."""

from numbers import Integral, Real

from sklearn.utils import _param_validation
from sklearn.utils._param_validation import HasMethods, Options, StrOptions  # noqa: F401


class Interval(_param_validation.Interval):
    """Constraint of a parameter: a number in an interval, but no bool."""

    def is_satisfied_by(self, value):
        """Return whether a value satisfies the constraint."""
        return not isinstance(value, bool) and super().is_satisfied_by(value)


class WholeNumber(Interval):
    """Constraint of a parameter: an integer of at least ``least``, but no bool."""

    def __init__(self, least):
        super().__init__(Integral, least, None, closed="left")


#: Constraints of parameters: numbers above 0, from 0, of any size, and from 0 to 1
#: without the ends.
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FINITE = Interval(Real, None, None, closed="neither")
SHARE = Interval(Real, 0, 1, closed="neither")


def check_arguments(**constraints):
    """Return a decorator of functions whose arguments have constraints."""
    return _param_validation.validate_params(
        constraints, prefer_skip_nested_validation=True
    )
