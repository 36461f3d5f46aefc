"""Tempering policies: the temperature of each step of the training.

A high temperature T flattens the likelihood to p(x, z | globals)^(1/T), which makes
poor local optima shallower.  Scores and transforms are always computed at T=1.
"""

from .._utils._arguments import refuse
from ._annealing import Annealing
from ._base import Tempering, Untempered
from ._global import GlobalTempering
from ._local import LocalTempering

__all__ = [
    "Annealing",
    "GlobalTempering",
    "LocalTempering",
    "Tempering",
    "Untempered",
]

_SHORTCUTS = {"global": GlobalTempering, "local": LocalTempering}


def as_tempering(value):
    """Return the tempering that ``value`` stands for: None is `Untempered`.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is neither a policy, nor "global", "local" or None.
    """
    if value is None:
        return Untempered()
    if isinstance(value, Tempering):
        return value
    if isinstance(value, str) and value in _SHORTCUTS:
        return _SHORTCUTS[value]()
    refuse(
        "tempering",
        "a tempering (see sktemper.tempering), 'global', 'local' or None",
        value,
    )
