"""Renewals: components of a stream that are replaced when its data change.

A stream with a half-life keeps a sample of its recent rows.  From time to time, and
after an alarm, a renewal fits new components to these rows, joins the new components
with the present components, and merges the union to the number of components.  The
result is a challenger.  It replaces the present parameters if it predicts the next rows
better, before the rows are learned.
"""

from dataclasses import dataclass
from numbers import Real

from ._utils._constraints import NOT_NEGATIVE, Interval, WholeNumber
from ._utils._policy import Policy, as_policy
from ._utils._typing import Float, Int

__all__ = ["NoRenewals", "Renewals"]


class NoRenewals(Policy):
    """Policy of streams without renewals (``renewals=None``).

    Examples
    --------
    >>> from sktemper.renewals import NoRenewals
    >>> NoRenewals().is_on
    False
    """

    memory = 0
    is_on = False


@dataclass(eq=False, repr=False)
class Renewals(Policy):
    r"""Renew components from a memory of recent rows of a stream.

    The memory is a random sample of the rows so far, in which the weight of a row is
    halved with every half-life.  Renewals take place after 1,250, 2,500, 5,000, ...
    rows until the memory is full, then after every ``memory`` rows, and ``wait`` rows
    after an alarm: a two-sided CUSUM test of the scores of new rows, before they are
    learned.

    A renewal fits new components to the memory, or to the rows since the last one, and
    merges them with the present ones.  The result, a challenger, replaces the present
    parameters if it predicts the next rows better: if its mean gain exceeds two
    standard errors, or is positive after ``trial`` rows.

    Parameters
    ----------
    memory : int, default=10000
        Largest number of rows in the memory; larger for rare components.
    births : float, default=0.3
        Number of new components of a renewal, as a share of the components; larger if
        much changes at once.
    wait : int, default=500
        Number of rows between an alarm and the renewal that it causes.
    trial : int, default=2000
        Number of rows after which a challenger is accepted or rejected at the latest.
    threshold : float, default=2.9
        Sum of standardized differences above which the CUSUM test raises an alarm, one
        in 200,000 rows without changes; larger for fewer alarms, and infinite for none.
    drift : float, default=1.0
        Difference, in standard errors, that the CUSUM test ignores.

    Notes
    -----
    Topic models and mixtures support renewals: they have the capability "renewals", see
    `sktemper.model.ConjugateModel`.  A pickle of the estimator contains the rows in the
    memory; ``estimator.clear_memory()`` deletes them.

    The default threshold is that of an average run length of 800 tests of 250 rows [1]_
    without changes: one alarm in 20 memories, the false-alarm rate of the package.

    References
    ----------
    .. [1] D. Siegmund, "Sequential analysis: tests and confidence intervals", 1985.

    Examples
    --------
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.renewals import Renewals
    >>> lda = AnnealedLDA(50, half_life=10_000, renewals=Renewals(memory=5_000))
    >>> lda.set_params(renewals__births=0.2).renewals
    Renewals(births=0.2, memory=5000)
    """

    _parameter_constraints = {
        "memory": [WholeNumber(100)],
        "births": [Interval(Real, 0, 1, closed="right")],
        "wait": [WholeNumber(1)],
        "trial": [WholeNumber(1)],
        "threshold": [Interval(Real, 0, None, closed="right")],
        "drift": [NOT_NEGATIVE],
    }
    is_on = True
    requires = ("renewals",)

    memory: Int = 10_000
    births: Float = 0.3
    wait: Int = 500
    trial: Int = 2_000
    threshold: Float = 2.9
    drift: Float = 1.0

    def n_births(self, n_components: int) -> int:
        """Return the number of new components of a renewal, at least 1."""
        return max(1, round(self.births * n_components))


def as_renewals(value):
    """Return the policy for renewals that ``value`` stands for.

    "auto" stands for `Renewals`, and None for no renewals.
    """
    shortcuts = {None: NoRenewals, "auto": Renewals}
    expected = 'a Renewals (see sktemper.renewals), "auto" or None'
    return as_policy(value, Renewals | NoRenewals, shortcuts, "renewals", expected)
