"""Dates and times: of documents on an axis, and of the rows of a stream."""

import re
from datetime import date, datetime, timedelta
from numbers import Number, Real

import numpy as np

from ._validation import check_unmasked

#: What `str` returns for missing dates of NumPy and pandas, and for a float NaN.
MISSING = ("NaT", "<NA>", "nan")
#: Largest year and number that are accepted.  Browsers support dates up to the year
#: 275,760, and the axis of a plot extends beyond the dates.  All differences of such
#: dates are finite in microseconds.
LARGEST_YEAR, LARGEST_NUMBER = 99_999, 2**63


def is_missing(date):
    """Return whether a date is None, NaN, NaT, pandas.NA, or a string that says so."""
    text = date.decode("ascii", "replace") if isinstance(date, bytes) else date
    return date is None or str(text).strip() in ("", *MISSING)


def without_zone(date):
    """Return a date of Python or pandas without its time zone, and its offset."""
    if getattr(date, "tzinfo", None) is None:
        return date, None
    return date.replace(tzinfo=None), date.utcoffset()


def as_moment(value):
    """Return a date of any type as a `datetime`, and other values unchanged.

    Moments are equal, as keys too, whatever the type and unit of the date was.  Dates
    are times at midnight, as in pandas and NumPy; those that a `datetime` cannot
    represent do not change.
    """
    if isinstance(value, np.datetime64) and not is_beyond(value):
        moment = value.astype("datetime64[us]")
        is_exact = isinstance(moment.item(), datetime) and moment == value
        return moment.item() if is_exact else value
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, datetime.min.time())
    return value


def is_beyond(dates):
    """Return whether dates are in years beyond `LARGEST_YEAR`, in either direction."""
    if not np.can_cast(dates.dtype, "datetime64[us]", "safe"):
        return np.zeros(dates.shape, bool)  # dates in smaller units span 584 years
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    return ~np.isnat(dates) & (np.abs(years) > LARGEST_YEAR)


# -- dates of documents ----------------------------------------------------------------
#: A date of ISO 8601 and its time zone, which is ignored.  Years have at most six
#: digits, because numpy would convert longer years with an overflow.
DATE = re.compile(
    r"([+-]?\d{1,6}(?:-\d\d(?:-\d\d(?:[T ][\d:.]+)?)?)?)(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def as_dates(dates):
    """Return an array of datetime64[s], integers or float64; None if that is given."""
    if dates is None:
        return None
    if dates.dtype.kind in "OTSU":
        dates = _parse_objects(dates.astype(object))
    if dates.dtype.kind == "M":
        return _in_range_of_years(dates)
    if dates.dtype.kind not in "iuf":
        _refuse(dates[0])
    with np.errstate(over="ignore"):
        wrong = ~(np.isnan(dates) | (np.abs(dates.astype(float)) <= LARGEST_NUMBER))
    if wrong.any():
        raise ValueError(
            f"dates has the number {dates[wrong.argmax()]}; expected numbers from "
            "-2^63 to 2^63, or NaN for a document without a date."
        )
    return dates.astype(np.float64) if dates.dtype.kind == "f" else dates


def _parse_objects(dates):
    """Return objects as an array of numbers or dates; strings are parsed as dates."""
    known = np.array([not is_missing(date) for date in dates], dtype=bool)
    values = dates[known].tolist()
    if all(isinstance(date, Real) and not isinstance(date, bool) for date in values):
        found = np.full(len(dates), np.nan)
        try:
            found[known] = np.array(values, dtype=np.float64)
        except OverflowError:  # an int is too large for a float
            found[known] = np.inf
        return found
    found = np.full(len(dates), "NaT", dtype="datetime64[s]")
    found[known] = [_as_date(date) for date in values]
    return found


def _as_date(date):
    """Return a date, a string or an object, as datetime64[s] without its time zone."""
    if isinstance(date, np.datetime64):
        return _in_range_of_years(np.array([date]))[0]
    text = date.decode("ascii", "replace") if isinstance(date, bytes) else date
    try:
        if isinstance(text, str):
            return np.datetime64(DATE.fullmatch(text.strip())[1], "s")
        if not hasattr(date, "year"):
            raise TypeError("no date")
        return np.array([without_zone(date)[0]], dtype="datetime64[s]")[0]
    except (TypeError, ValueError, OverflowError):
        _refuse(date)


def _in_range_of_years(dates):
    """Return dates as datetime64[s]; raise if a year is too large."""
    wrong = is_beyond(dates)  # before a conversion, which could overflow
    if wrong.any():
        raise ValueError(
            f"dates has {dates[wrong.argmax()]}; expected dates of the years "
            f"{-LARGEST_YEAR} to {LARGEST_YEAR}."
        )
    if np.datetime_data(dates.dtype)[0] == "as":  # numpy cannot convert it to seconds
        dates = dates.astype("datetime64[fs]")
    return dates.astype("datetime64[s]")


def _refuse(date):
    raise ValueError(
        "dates must be dates, strings such as '2020-12-31', or numbers, got "
        f"{date!r}; pass names of groups as the parameter groups."
    )


# -- times of the rows of a stream -----------------------------------------------------
def checked_times(times, n_rows, last):
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
    if is_missing(time):
        return np.datetime64("NaT", "us")
    if isinstance(time, Number | timedelta | np.timedelta64):
        raise ValueError("numbers and durations are no times")
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            # NumPy reads more formats, but takes any number of digits for a year.
            if len(time) > 4 and time.isdigit():
                raise
    time, offset = without_zone(time)
    if hasattr(time, "to_datetime64"):  # of pandas, which knows more years
        time = time.to_datetime64()
    time = _microseconds(np.datetime64(time))
    return time if offset is None else time - np.timedelta64(offset)


def _microseconds(times):
    """Return datetime64 values in microseconds; raise if they are out of range."""
    if is_beyond(times).any():
        raise ValueError(f"years above {LARGEST_YEAR:,} are not supported")
    return times.astype("datetime64[us]")
