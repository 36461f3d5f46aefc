"""Tables of the words of topics, and of their prevalence over dates and by group."""

import re
from numbers import Real

import numpy as np

from ..plotting import topic_shares
from ._models import largest

#: Relevances that the slider of the page offers.
RELEVANCES = np.linspace(0.0, 1.0, 21)
#: Number of most frequent words that the search finds, in addition to words of topics.
MOST_WORDS = 20_000
#: Largest number and smallest share of the topics that the search shows for a word.
MOST_TOPICS, LEAST_SHARE = 10, 0.02


def word_tables(facts, n_words):
    """Return the part of the page's data that describes words.

    Parameters
    ----------
    facts : Facts
    n_words : int
        Number of words of a topic that are shown at once.

    Returns
    -------
    tables : dict
        "words", the names of words; "counts", the number of occurrences of each word;
        "topics_of_words", for each word the flattened pairs of a topic and its
        probability in thousandths; "words_of_topics", for each topic the flattened
        triples of a word (its position in "words"), its log probability and its log
        lift.  The words of a topic are the ``n_words`` most relevant words for each of
        `RELEVANCES`, and the words with the largest class TF-IDF.
    """
    chosen = _candidates(facts, n_words)
    known = np.zeros(len(facts.names), dtype=bool)
    known[largest(facts.counts, MOST_WORDS)] = True
    for words in chosen:
        known[words] = True
    known = np.flatnonzero(known)
    return {
        "words": [facts.names[v] for v in known],
        "counts": [round(float(count), 1) for count in facts.counts[known]],
        "topics_of_words": _topics_of_words(facts, known),
        "words_of_topics": [
            _interleave(
                np.searchsorted(known, words).tolist(),
                np.log(facts.topic_word[k, words]).round(7).tolist(),
                _log_lift(facts, k)[words].round(7).tolist(),
            )
            for k, words in enumerate(chosen)
        ],
    }


def _log_lift(facts, k):
    return np.log(facts.topic_word[k]) - np.log(facts.in_corpus)


def _candidates(facts, n_words):
    """Return for each topic the words that are at the top of a ranking of the page."""
    chosen = []
    for k, weight in enumerate(facts.topic_word):
        log_weight, log_lift = np.log(weight), _log_lift(facts, k)
        found = [
            largest(r * log_weight + (1.0 - r) * log_lift, n_words) for r in RELEVANCES
        ]
        found.append(largest(facts.class_tfidf(k), n_words))
        chosen.append(np.unique(found))
    return chosen


def _topics_of_words(facts, known):
    """Return the probabilities of topics given each word, in thousandths."""
    joint = facts.prevalence[:, None] * facts.topic_word[:, known]
    shares = (joint / facts.in_corpus[known]).T
    order = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_TOPICS]
    shares = np.take_along_axis(shares, order, axis=1)
    lengths = np.maximum((shares >= LEAST_SHARE).sum(axis=1), 1)
    thousandths = np.rint(1000 * shares).astype(int)
    return [
        _interleave(row[:length].tolist(), share[:length].tolist())
        for row, share, length in zip(order, thousandths, lengths, strict=True)
    ]


def _interleave(*lists):
    """Interleave lists: the first items of all lists, then the second ones, ..."""
    return [value for values in zip(*lists, strict=True) for value in values]


# -- prevalence over dates and by group ------------------------------------------------
#: Largest number of groups that are shown.
MOST_GROUPS = 30
#: Largest year and number that are accepted.  Browsers support dates up to the year
#: 275,760, and the axis of a plot extends beyond the dates.
LARGEST_YEAR, LARGEST_NUMBER = 99_999, 2**63
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
    known = np.array([not _is_missing(date) for date in dates], dtype=bool)
    values = dates[known].tolist()
    if all(isinstance(date, Real) and not isinstance(date, bool) for date in values):
        return _parse_numbers(dates, known, values)
    found = np.full(len(dates), "NaT", dtype="datetime64[s]")
    found[known] = [_as_date(date) for date in values]
    return found


def _is_missing(date):
    """Return whether a date is None, NaN, NaT, pandas.NA or an empty string."""
    if isinstance(date, (str, bytes)):
        return date.strip() in ("", "NaT", b"", b"NaT")
    if date is None:
        return True
    try:
        return bool(date != date)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array has no truth value
        return False


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
        if getattr(date, "tzinfo", None):
            date = date.replace(tzinfo=None)
        return np.array([date], dtype="datetime64[s]")[0]
    except (TypeError, ValueError, OverflowError):
        _refuse(date)


def _parse_numbers(dates, known, values):
    found = np.full(len(dates), np.nan)
    try:
        found[known] = np.array(values, dtype=np.float64)
    except OverflowError:  # an int is too large for a float
        found[known] = np.inf
    return found


def _in_range_of_years(dates):
    """Return dates as datetime64[s]; raise if a year is too large."""
    if np.datetime_data(dates.dtype)[0] == "as":  # numpy cannot convert it to seconds
        dates = dates.astype("datetime64[fs]")
    found = dates.astype("datetime64[s]")
    years = found.astype("datetime64[Y]").astype(np.int64) + 1970
    wrong = np.abs(years) > LARGEST_YEAR
    if np.can_cast(dates.dtype, found.dtype, "safe"):  # numpy reports no overflow
        wrong |= found.astype(dates.dtype) != dates
    wrong &= ~np.isnat(dates)
    if wrong.any():
        raise ValueError(
            f"dates has {dates[wrong.argmax()]}; expected dates of the years "
            f"{-LARGEST_YEAR} to {LARGEST_YEAR}."
        )
    return found


def _refuse(date):
    raise ValueError(
        "dates must be dates, strings such as '2020-12-31', or numbers, got "
        f"{date!r}; pass names of groups as the parameter groups."
    )


def line_table(facts, dates):
    """Return the topics' shares over dates or numbers; None if there are no dates."""
    if dates is None:
        return None
    shares, places = topic_shares(facts.doc_topic, facts.tokens, dates)
    if len(places) == 0:
        return None
    are_dates = places.dtype.kind == "M"
    seconds = places.astype("datetime64[s]") if are_dates else places
    labels = seconds.astype("datetime64[D]") if are_dates else places
    return {
        "are_dates": are_dates,
        "places": (
            (1000 * seconds.astype(np.int64)).tolist() if are_dates else places.tolist()
        ),
        "labels": [str(label) for label in labels],
        "shares": shares.round(5).tolist(),
    }


def group_table(facts, groups):
    """Return the topics' shares by group, largest group first; None without groups."""
    if groups is None:
        return None
    names, numbers = np.unique(groups.astype(str), return_inverse=True)
    sizes = np.bincount(numbers, weights=facts.tokens)
    order = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    shares, _ = topic_shares(facts.doc_topic, facts.tokens, names[numbers])
    return {
        "names": names[order].tolist(),
        "n_tokens": sizes[order].round(1).tolist(),
        "n_groups": len(names),
        "shares": shares[:, order].round(5).tolist(),
    }
