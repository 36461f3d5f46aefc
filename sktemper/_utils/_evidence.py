"""How much data count as evidence for structure, and how often chance may imitate it.

A model is never exactly true.  With enough rows, any small deviation of real clusters
from the distributions of the model would pass for another cluster.  Therefore n rows
count as at most `MOST_EVIDENCE` rows, as in a survey of that many respondents: what
they cannot show is too fine to be a statement about groups.  And among all that is
looked at, structure is found where there is none in one data set of twenty.
"""

import math

#: a: however many rows there are, they count as fewer than this number.  With the
#: answers of 300 respondents, a share has a standard error of at most 3 %.
MOST_EVIDENCE = 300
#: Probability that chance alone looks like structure, over all looks at a data set.
FALSE_ALARM_RATE = 0.05
#: What structure must gain for each row, in nats.
COST_OF_ROW = -math.log(FALSE_ALARM_RATE) / MOST_EVIDENCE


def least_gain(n_rows):
    """Return the rise of the bound by which structure is found, in nats [1]_.

    It is log(1 / alpha) (1 + n / a): the odds of chance, where n rows count as
    a n / (a + n).

    References
    ----------
    .. [1] J. Miller, D. Dunson, "Robust Bayesian inference via coarsening", Journal of
       the American Statistical Association 114, 2019.
    """
    return -math.log(FALSE_ALARM_RATE) + COST_OF_ROW * n_rows


def effective_rows(n_rows):
    """Return the number of rows that count, a n / (a + n)."""
    return MOST_EVIDENCE * n_rows / (MOST_EVIDENCE + n_rows)
