"""Law: warnings are right.

Data without a fault cause a warning at most once in 20 draws, data with it in at least
nine of ten; the remedy, followed literally, ends better, and the warning is gone.
"""

import re
import warnings

import numpy as np
import pytest

from .draws import LENGTH, generator, too_few, too_many
from .warned import WARNED

#: Numbers of draws of each row, quick and at length.
N_DRAWS = 2 if LENGTH == 1 else 8 * LENGTH
FALSE_ALARMS, FOUND = 0.05, 0.9
#: Names of functions that issue warnings.
ISSUES = {"warn", "warn_of_fit", "warn_once"}
#: Sites without a row: they repeat a warning of another object, or name an argument or
#: a call that is wrong, instead of a fault of data.
WITHOUT_DATA = {
    "warn_of_fit",
    "warn_once",
}


def messages_of(row, case, number):
    """Return the number of a run on a draw, and whether its warning was issued."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = row.run(generator("warning", row.name, number), case)
    return result, any(re.search(row.match, str(one.message)) for one in caught)


@pytest.mark.every(6)
@pytest.mark.parametrize("row", WARNED, ids=lambda row: row.name)
def test_warnings_are_right(row):
    runs = {
        case: [messages_of(row, case, number) for number in range(N_DRAWS)]
        for case in ("sound", "fault", "remedy")
    }
    n_warned = {case: sum(said for _, said in found) for case, found in runs.items()}
    n_cells = len(WARNED)
    assert not too_many(n_warned["sound"], N_DRAWS, FALSE_ALARMS, n_cells), n_warned
    assert not too_few(n_warned["fault"], N_DRAWS, FOUND, n_cells), n_warned
    assert not too_many(n_warned["remedy"], N_DRAWS, FALSE_ALARMS, n_cells), n_warned
    if row.improves:
        results = {case: [result for result, _ in runs[case]] for case in runs}
        assert np.mean(results["remedy"]) > np.mean(results["fault"]), results
