"""What a fit decides besides its parameters: a record in its state."""

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Choices:
    """What a fit decided from its data; the state of the fit contains it.

    Attributes
    ----------
    names : sequence of str or None
        Names of the columns of a collection on disk, or of a table.
    library : {"pandas", "polars"}
        Library of the data frames that are returned.
    lengths : Lengths or None
        Numbers of different words of the documents so far.
    chosen_type : str or None
        Covariance type that stands for "auto".
    is_auto : bool
        Whether the covariance type was "auto".
    subspace : Subspace or None
        Subspace of the covariance type "low_rank".
    cells : Cells or None
        Cells of the covariates of documents.
    has_common_topic : bool
        Whether topic 0 has the common words of the others.
    prediction_prior : ndarray or None
        Prior of the topic weights of new documents, see ``fit_prior``.
    labels_and_bound : tuple or None
        Labels and lower bound of the training rows; None if they do not belong to the
        current parameters.
    """

    names: Any = None
    library: str = "pandas"
    lengths: Any = None
    chosen_type: str | None = None
    is_auto: bool = False
    subspace: Any = None
    cells: Any = None
    has_common_topic: bool = False
    prediction_prior: Any = None
    labels_and_bound: Any = None


def choices_of(estimator):
    """Return the `Choices` of a fit that begins, or else of the last one."""
    known = vars(estimator)
    if "_begun" in known:
        return known["_begun"]
    state = known.get("state_")
    return Choices() if state is None or state.choices is None else state.choices


def choose(estimator, **choices):
    """Decide something in a fit that begins."""
    estimator._begun = replace(choices_of(estimator), **choices)


# -- fits of earlier versions, whose choices were attributes of the estimator ----------
EARLIER = {f"_{one.name}_": one.name for one in fields(Choices)}
EARLIER["prediction_prior_"] = "prediction_prior"


def with_choices(attributes):
    """Return the attributes of a pickle with the choices in the state."""
    state = attributes.get("state_")
    if state is None or state.choices is not None:
        return attributes
    fixed = state.fixed or {}  # of a covariance type, before it was an attribute
    found = {
        "chosen_type": fixed.get("covariance_type"),
        "subspace": fixed.get("subspace"),
    }
    found |= {new: attributes[old] for old, new in EARLIER.items() if old in attributes}
    state.choices = Choices(**found)
    return {k: v for k, v in attributes.items() if k not in EARLIER}
