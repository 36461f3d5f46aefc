"""Renewals: components of a stream that are replaced when its data change.

A stream with a half-life keeps a sample of its recent rows.  From time to time, and
after an alarm, a renewal fits new components to these rows, joins the new components
with the present components, and merges the union to the number of components.  The
result is a challenger.  It replaces the present parameters if it predicts the next rows
better, before the rows are learned.
"""

from numbers import Integral, Real

from ._utils._arguments import Interval, refuse
from ._utils._policy import Policy
from ._utils._typing import Float, Int

__all__ = ["NoRenewals", "Renewals"]


class NoRenewals(Policy):
    """Policy of streams without renewals (``renewals=None``)."""

    memory = 0
    is_on = False


class Renewals(Policy):
    r"""Renew components from a memory of recent rows of a stream.

    The memory is a random sample of the rows so far, in which the weight of a row is
    halved with every half-life.  Renewals take place after 1,250, 2,500, 5,000, ...
    rows until the memory is full, and after every ``memory`` rows from then on.  After
    an alarm there is a renewal after ``wait`` rows.  Further renewals follow at
    intervals that grow from three times ``wait`` to ``memory``.

    An alarm is raised if the score of new rows, before they are learned, differs from
    its running mean in either direction.  This is a two-sided CUSUM test of the
    standardized difference.

    While the memory is not full, a renewal is a new fit to the rows in the memory, with
    the moves of the estimator.  Later, additional components are fitted to the rows
    since the last renewal, or since a little before an alarm.  All components are then
    fitted to the memory, merged by evidence to their previous number, and fitted again.
    A topic that has not changed becomes a weighted mean of the new and the current
    topic, which has learned more documents.

    Topic models and mixtures support renewals: they have the capability "renewals", see
    `sktemper.model.ConjugateModel`.  New components start from the rows that fit worst.
    The present topics are part of the prior of new topics.  Clusters are merged as long
    as the evidence rises, and components that are not needed any more are empty.

    The result of a renewal is a challenger.  The present parameters and the challenger
    both score the next rows and then learn these rows.  The challenger replaces the
    present parameters if its mean gain exceeds two standard errors, or is positive
    after ``trial`` rows; otherwise the present parameters stay.

    Parameters
    ----------
    memory : int, default=10000
        Largest number of rows in the memory.
    births : float, default=0.3
        Number of new components of a renewal, as a share of the components.
    wait : int, default=500
        Number of rows between an alarm and the renewal that it causes.
    trial : int, default=2000
        Number of rows after which a challenger is accepted or rejected at the latest.
    threshold : float, default=6.0
        Sum of standardized differences above which the CUSUM test raises an alarm.  An
        infinite value disables alarms.
    drift : float, default=1.0
        Difference, in standard errors, that the CUSUM test ignores.

    Notes
    -----
    New components are fitted to rows since the last renewal that are still in the
    memory.  A renewal waits until the effective number of these rows, in which weights
    count, is twice the number of new components.  It waits long if few rows enter a
    small memory because the half-life is long, and always if the last row has almost
    all weight because the half-life is short.

    The memory has at most twice as many rows as the sum of the decayed weights of all
    rows, or at most 1,000 rows if this is more.

    A pickle of the estimator contains the rows in the memory;
    ``estimator.clear_memory()`` deletes them.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.renewals import Renewals
    >>> lda = AnnealedLDA(50, half_life=10_000, renewals=Renewals(memory=5_000))
    >>> lda.set_params(renewals__births=0.2).renewals
    Renewals(births=0.2, memory=5000)
    """

    _parameter_constraints = {
        "memory": [Interval(Integral, 100, None, closed="left")],
        "births": [Interval(Real, 0, 1, closed="right")],
        "wait": [Interval(Integral, 1, None, closed="left")],
        "trial": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="right")],
        "drift": [Interval(Real, 0, None, closed="left")],
    }
    is_on = True
    requires = ("renewals",)

    def __init__(
        self,
        memory: Int = 10_000,
        births: Float = 0.3,
        wait: Int = 500,
        trial: Int = 2_000,
        threshold: Float = 6.0,
        drift: Float = 1.0,
    ):
        self.memory = memory
        self.births = births
        self.wait = wait
        self.trial = trial
        self.threshold = threshold
        self.drift = drift

    def n_births(self, n_components: int) -> int:
        """Return the number of new components of a renewal, at least 1."""
        return max(1, round(self.births * n_components))


def as_renewals(value):
    """Return the policy for renewals that ``value`` stands for.

    Parameters
    ----------
    value : Renewals, NoRenewals, "auto" or None
        "auto" stands for `Renewals`, None for no renewals.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is of another type.
    """
    if value is None:
        return NoRenewals()
    if isinstance(value, Renewals | NoRenewals):
        return value
    if isinstance(value, str) and value == "auto":
        return Renewals()
    refuse("renewals", 'a Renewals (see sktemper.renewals), "auto" or None', value)
