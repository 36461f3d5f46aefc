"""The engine: fits of a model without an estimator have the bits of an estimator's."""

import subprocess
import sys

import numpy as np
import pytest
from fits import fitted_model
from registry import ROWS
from sources import ALONE

from sktemper._contract import numbers_in
from sktemper._engine._data import Problem, data_of
from sktemper._engine._fit import fit, new_states
from sktemper._engine._workers import InlineWorkers
from sktemper._estimator._problems import training_settings


@pytest.mark.deep  # the tests of imports see what the sources import
def test_the_engine_loads_neither_estimators_nor_models():
    loaded = "[m for m in sys.modules if m.startswith('sktemper._estimator')]"
    program = f"{ALONE}import sys, sktemper._engine._fit; assert not {loaded}"
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


def contents(state):
    return [
        np.asarray(part).tobytes() for part in numbers_in((state.globals_, state.hyper))
    ]


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_model_is_fitted_without_an_estimator(row):
    X = row.data(120)
    estimator = row.estimator().set_params(random_state=3, max_iter=4).fit(X)
    model, training = fitted_model(estimator), training_settings(estimator)
    data = data_of(X, lambda X: estimator._validate(X, reset=False))
    problem = Problem(model, data, InlineWorkers(1, model.stop))
    state = fit(problem, training, new_states(problem, 1, 3)).state
    assert state.progress.steps == estimator.n_batch_iter_ > 0
    assert contents(state) == contents(estimator.state_)
