"""Prevalence over dates, and by groups."""

import numpy as np

from ..plotting import topic_shares

__all__ = ["as_dates", "group_table", "line_table"]

#: Groups that are shown, at most.
MOST_GROUPS = 30


def as_dates(dates):
    """Return dates or numbers as an array that tells which they are, or None.

    Raises
    ------
    ValueError
        If they are neither.
    """
    if dates is None or dates.dtype.kind in "Miuf":
        return dates
    try:
        values = dates.astype("datetime64[s]")
    except (TypeError, ValueError):
        values = None
    if values is None and dates.dtype.kind == "O":
        if hasattr(next((d for d in dates if d is not None), None), "year"):
            return dates
    if values is None:
        raise ValueError(
            "dates must be dates, strings such as '2020-12-31', or numbers, got "
            f"{dates[:3].tolist()}; pass names of groups as groups."
        )
    return values


def line_table(facts, dates):
    """Return the topics' shares over dates or numbers; None if there are none."""
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
    """Return the topics' shares by groups, the largest first, or None."""
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
