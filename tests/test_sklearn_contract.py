import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sktemper import AnnealedLDA, TemperedLDA
from sktemper.tempering import Annealing

T = ("local_step", "likelihood", "posterior")
C = [(AnnealedLDA, {"target": t}) for t in T] + [
    (TemperedLDA, {"tempering": p})
    for p in (None, *map(lambda t: Annealing(target=t), T))
]
ests = (
    [c(3, max_iter=20, **k) for c, k in C]
    + [AnnealedLDA(3, max_iter=20, batch_size=None, target=t) for t in T]
    + [TemperedLDA(3, max_iter=20, batch_size=None)]
)


@parametrize_with_checks(ests)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
