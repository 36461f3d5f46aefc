"""Times of the rows of a stream."""

from datetime import datetime, timedelta
from numbers import Number

import numpy as np

from .._utils._validation import check_unmasked

#: Range of times.  All differences of such times are finite in microseconds.
LATEST_YEAR = 100_000
#: Strings of missing times: of NumPy and pandas, and of a float NaN.
MISSING = ("NaT", "<NA>", "nan")


def times_of_chunk(times, rate, state, n_rows):
    """Return the times of the rows of a chunk, or raise if they are invalid."""
    if times is not None and rate is None:
        raise ValueError(
            "times is given, but half_life is None: the times of samples matter "
            "for a half-life only."
        )
    if times is not None:
        last = None if state.stream is None else state.stream.time
        return _checked_times(times, n_rows, last)
    if rate is not None and not isinstance(rate.unit(), float):
        raise ValueError(
            f"half_life={rate.samples!r} is a duration, so that partial_fit needs "
            "times: the dates or times of the samples."
        )
    return None


def _checked_times(times, n_rows, last):
    """Return the times of rows as an array of datetime64, or raise an error."""
    check_unmasked(times, "times", may_be_nan=False)
    try:
        times = np.asarray(times)
        if times.dtype.kind in "biufcm":
            raise ValueError("numbers and durations are no times")
        is_typed = times.dtype.kind == "M"
        convert = _microseconds if is_typed else np.vectorize(_moment, ["M8[us]"])
        times = convert(times)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "times must be dates or times, such as numpy.datetime64 or strings "
            f'"2024-05-31": {error}.'
        ) from error
    if times.ndim == 0:
        times = np.repeat(times, n_rows)
    if times.shape != (n_rows,):
        raise ValueError(f"times has shape {times.shape}, expected ({n_rows},).")
    if np.isnat(times).any():
        raise ValueError("times contains missing values (NaT).")
    before = times[:1] if last is None else np.array([last])
    if (np.diff(np.concatenate([before, times])) < np.timedelta64(0, "us")).any():
        raise ValueError(
            "times must not decrease, within a chunk or from chunk to chunk: sort the "
            "samples by time."
        )
    return times


def _moment(time):
    """Return one time as a datetime64 in UTC; a missing time is NaT."""
    if time is None or str(time) in MISSING:
        return np.datetime64("NaT")
    if isinstance(time, Number | timedelta | np.timedelta64):
        raise ValueError("numbers and durations are no times")
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            # NumPy reads more formats, but takes any number of digits for a year.
            if len(time) > 4 and time.isdigit():
                raise
    offset = None
    if getattr(time, "tzinfo", None) is not None:
        offset, time = time.utcoffset(), time.replace(tzinfo=None)
    if hasattr(time, "to_datetime64"):  # of pandas, which knows more years
        time = time.to_datetime64()
    time = _microseconds(np.datetime64(time))
    return time if offset is None else time - np.timedelta64(offset)


def _microseconds(times):
    """Return datetime64 values in microseconds; raise if they are out of range."""
    years = times.astype("datetime64[Y]").astype(np.int64) + 1970
    if (~np.isnat(times) & (np.abs(years) > LATEST_YEAR)).any():
        raise ValueError(f"years above {LATEST_YEAR:,} are not supported")
    return times.astype("datetime64[us]")
