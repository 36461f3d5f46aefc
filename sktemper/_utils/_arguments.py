"""Checks of arguments.  Unlike in scikit-learn, a bool is not accepted as a number."""

import datetime
import math
import re
from collections.abc import Hashable
from numbers import Integral, Real
from typing import get_args

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from ._notices import listed
from ._typing import Statistic

BOOLEANS = bool, np.bool_


def refuse(parameter, expected, value):
    raise InvalidParameterError(
        f"The {parameter!r} parameter must be {expected}. Got {value!r} instead."
    )


def is_number(value):
    """Return whether a value is a real number, but no bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_interval(interval):
    """Raise unless this is the probability of an interval."""
    if not (is_number(interval) and 0 < interval < 1):
        refuse("interval", "a float between 0 and 1", interval)


def check_share(value, name):
    """Return a float; raise unless it is a number from 0 to 1."""
    if not is_number(value):
        refuse(name, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value}.")
    return float(value)


def is_integer(value):
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_statistic(value, *others):
    known = [*get_args(Statistic), *others]
    if value not in known:
        refuse("statistic", f"one of {known}", value)


def positive_int(value, name):
    if not is_integer(value):
        refuse(name, "an int of at least 1", value)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return int(value)


def concentrations_of(priors, second_name):
    """Return the two concentrations of ``partition_priors`` of a mixture, as floats.

    ``second_name`` says what has the second concentration, for the message.
    """
    pair = np.asarray(priors, dtype=np.float64)
    if pair.shape != (2,) or not ((pair > 0) & np.isfinite(pair)).all():
        refuse(
            "partition_priors",
            "a pair of positive numbers, the concentrations of weights and of "
            f"{second_name}",
            priors,
        )
    return pair.tolist()


def check_flag(value, name):
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)


def check_scale(clip):
    if clip is None:
        return
    numbers = np.shape(clip) == (2,) and all(map(is_number, clip))
    if not numbers or not clip[0] < clip[1]:
        raise ValueError(
            f"clip must be the two ends of a scale, such as (1, 5), got {clip!r}."
        )


def columns_of(given, names, parameter="features"):
    """Return column indices, in increasing order; raise if there is no such column.

    ``given`` are names or indices of columns, or a mask of all columns, whose
    ``names``, or indices, are given.
    """
    if isinstance(given, str) or not np.iterable(given):
        refuse(parameter, "a list of names or indices of columns", given)
    given, places = list(given), {name: place for place, name in enumerate(names)}
    if len(given) == len(names) and all(isinstance(c, BOOLEANS) for c in given):
        given = np.flatnonzero(given).tolist()
    for c in given:
        is_label = isinstance(c, Hashable) and not isinstance(c, BOOLEANS)
        if not is_label or (c not in places and c not in range(len(names))):
            raise ValueError(
                f"{parameter} must be a list of names or indices of columns, or a mask "
                f"of all {len(names)} columns; {c!r} is none of these. The columns "
                f"are [{listed(map(repr, names))}]"
            )
    return np.unique([places.get(c, c) for c in given]).astype(np.intp)


def half_life_of(value):
    """Return a half-life, a float number of rows or a `numpy.timedelta64`.

    A string is a whole number and a unit: "W", "D", "h", "min" or "s".
    """
    if isinstance(value, datetime.timedelta | np.timedelta64):
        duration = np.timedelta64(value)
        fixed = np.datetime_data(duration.dtype)[0] not in ("Y", "M", "generic")
        if fixed and duration > np.timedelta64(0, "s"):
            return duration
    elif is_number(value):
        if 0 < value < math.inf:
            return float(value)
    elif isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*(W|D|h|min|s)\s*", value)
        if found and int(found[1]) > 0:
            unit = "m" if found[2] == "min" else found[2]
            return np.timedelta64(int(found[1]), unit)
    refuse(
        "half_life",
        'a positive number of samples, or a duration such as "30D", "12h" or "90min"',
        value,
    )
