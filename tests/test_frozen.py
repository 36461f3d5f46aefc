"""What later versions keep of a release: names, and pickles that load.

A minor release writes both anew by ``.ci/freeze``, as does a change on purpose before
the first release.
"""

import pickle
from pathlib import Path

import numpy as np
import pytest
from registry import ROWS
from sources import signatures

FOLDER = Path(__file__).parent / "frozen"


def test_names_and_parameters_are_kept():
    frozen = (FOLDER / "names.txt").read_text("utf-8").splitlines()
    then = {name: set(parts) for name, *parts in map(str.split, frozen)}
    now = {name: set(parts) for name, parts in signatures()}
    assert len(then) > 1000 and not then.keys() - now.keys()
    assert not {name: then[name] - now[name] for name in then if then[name] - now[name]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(ROWS))
def test_pickles_are_read(name):
    """Fits of a release say the same with other versions, and can be continued."""
    dump = (FOLDER / f"{name}.pickle").read_bytes()
    estimator, X, (transformed, score) = pickle.loads(dump)
    np.testing.assert_allclose(estimator.transform(X), transformed, 1e-5, 1e-8)
    assert estimator.score(X) == pytest.approx(score, rel=1e-8)
    before = estimator.n_batch_iter_
    assert estimator.partial_fit(X).n_batch_iter_ > before
