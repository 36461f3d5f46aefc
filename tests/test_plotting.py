"""Displays by scikit-learn's conventions, drawn without a screen."""

import builtins

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sktemper import AnnealedLDA
from sktemper.plotting import TemperatureDisplay, TrainingCurveDisplay


@pytest.fixture
def plt():
    """Return pyplot on Agg; its figures are closed afterwards."""
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def lda(documents):
    return AnnealedLDA(
        3, max_iter=6, batch_size=20, evaluate_every=2, random_state=0
    ).fit(documents)


@pytest.mark.parametrize("x", ["passes", "seconds", "steps"])
@pytest.mark.parametrize("y", ["heldout_score", "batch_bound"])
def test_training_curve(plt, lda, x, y):
    display = TrainingCurveDisplay.from_estimator(lda, x=x, y=y, color="red")
    history = lda.history_
    known = np.isfinite(history[y])
    column = history["step" if x == "steps" else x]
    np.testing.assert_array_equal(display.line_.get_xdata(), column[known])
    np.testing.assert_array_equal(display.line_.get_ydata(), history[y][known])
    assert known.sum() == (3 if y == "heldout_score" else len(known))
    assert display.line_.get_color() == "red"
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() and display.ax_.get_ylabel()
    assert [t.get_text() for t in display.ax_.get_legend().texts] == ["AnnealedLDA"]


def test_temperatures(plt, lda):
    display = TemperatureDisplay.from_estimator(lda, name="T")
    history = lda.history_
    np.testing.assert_array_equal(display.line_.get_xdata(), history["step"])
    np.testing.assert_array_equal(display.line_.get_ydata(), history["temperature"])
    assert display.line_.get_label() == "T"


@pytest.mark.parametrize("Display", [TrainingCurveDisplay, TemperatureDisplay])
def test_several_estimators_share_an_axis(plt, lda, Display):
    first = Display.from_estimator(lda, x="passes")
    second = Display.from_estimator(lda, x="passes", ax=first.ax_, name="again")
    assert second.ax_ is first.ax_
    assert len(plt.get_fignums()) == 1
    legend = [text.get_text() for text in first.ax_.get_legend().texts]
    assert legend == ["AnnealedLDA", "again"]


def test_plot_returns_the_display_and_draws_again(plt):
    display = TrainingCurveDisplay(x=[1, 2], y=[-5.0, -4.0])
    assert not hasattr(display, "line_")
    assert display.plot() is display
    assert display.ax_.get_legend() is None
    _, ax = plt.subplots()
    assert display.plot(ax, name="curve", label="mine").ax_ is ax
    assert display.line_.get_label() == "mine"
    assert display.plot(ax, name="curve").line_.get_label() == "curve"


def test_refuses(plt, documents, lda):
    with pytest.raises(NotFittedError):
        TemperatureDisplay.from_estimator(AnnealedLDA(3))
    with pytest.raises(ValueError, match="'x' parameter"):
        TrainingCurveDisplay.from_estimator(lda, x="hours")
    with pytest.raises(ValueError, match="'y' parameter"):
        TrainingCurveDisplay.from_estimator(lda, y="temperature")
    unscored = AnnealedLDA(3, random_state=0).partial_fit(documents)
    with pytest.raises(ValueError, match="evaluate_every=1"):
        TrainingCurveDisplay.from_estimator(unscored)
    assert not plt.get_fignums()


def test_says_that_matplotlib_is_missing(monkeypatch, lda):
    found = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match="requires matplotlib"):
        TemperatureDisplay.from_estimator(lda)
