"""Displays follow scikit-learn's conventions; tests draw without a screen."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.plotting import TemperatureDisplay, TrainingCurveDisplay


@pytest.fixture(scope="module")
def lda(documents):
    return AnnealedLDA(
        3, max_iter=6, batch_size=20, evaluate_every=2, random_state=0
    ).fit(documents)


@pytest.mark.every(5)
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


@pytest.fixture(scope="module", params=["global", "local"])
def tempered(documents, request):
    return TemperedLDA(
        3, tempering=request.param, max_iter=6, batch_size=20, random_state=0
    ).fit(documents)


@pytest.mark.every(7)
@pytest.mark.parametrize("x", ["passes", "seconds", "steps"])
def test_heat_map(plt, tempered, x):
    display = TemperatureDisplay.from_estimator(
        tempered, kind="heatmap", x=x, mesh_kw={"cmap": "Greys"}, c="red"
    )
    history = tempered.history_
    mesh, points = display.mesh_, history["step" if x == "steps" else x]
    cells = np.reshape(mesh.get_array(), display.probabilities.T.shape)
    np.testing.assert_array_equal(cells, display.probabilities.T)
    np.testing.assert_array_equal(
        display.probabilities, history["temperature_probabilities"]
    )
    corners = mesh.get_coordinates()
    edges, temperatures = corners[0, :, 0], corners[:, 0, 1]
    assert (edges[:-1] <= points).all() and (points <= edges[1:]).all()
    ladder = tempered.tempering_.ladder()
    assert (temperatures[:-1] < ladder).all() and (ladder < temperatures[1:]).all()
    assert display.ax_.get_yscale() == "log"
    np.testing.assert_array_equal(display.line_.get_ydata(), history["temperature"])
    assert display.line_.get_color() == "red"
    assert display.line_.get_zorder() > mesh.get_zorder()
    assert mesh.get_cmap().name == "Greys"
    assert display.colorbar_.ax.get_ylabel() == "Probability"
    assert display.ax_.get_xlabel() and display.ax_.get_ylabel() == "Temperature"
    display.figure_.canvas.draw()


def test_heat_map_of_uneven_points(plt):
    ladder = np.array([1.0, 4.0, 16.0])
    probabilities = np.array([[np.nan] * 3, [0.2, 0.3, 0.5], [1, 0, 0]])
    display = TemperatureDisplay(
        x=[1, 2, 6], temperature=[2, 2, 1], ladder=ladder, probabilities=probabilities
    )
    assert display.plot(colorbar=False) is display
    assert display.colorbar_ is None
    corners = display.mesh_.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [0.5, 1.5, 4, 8])
    np.testing.assert_allclose(corners[:, 0, 1], [0.5, 2, 8, 32])
    blank = np.ma.getmaskarray(display.mesh_.get_array()).reshape(3, 3)
    # rows with other temperatures than the last ones stay blank
    np.testing.assert_array_equal(blank, np.isnan(probabilities.T))
    single = TemperatureDisplay(
        x=[3], temperature=[2], ladder=ladder, probabilities=probabilities[1:2]
    ).plot(mesh_kw={"norm": "log"})
    edges = single.mesh_.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [2.5, 3.5])


def test_a_line_has_no_heat_map(plt, tempered):
    display = TemperatureDisplay.from_estimator(tempered)
    assert display.mesh_ is None and display.colorbar_ is None
    assert display.ax_.get_yscale() == "linear"


def test_no_heat_map_without_a_ladder(plt, documents, lda):
    with pytest.raises(ValueError, match="AnnealedLDA has no ladder"):
        TemperatureDisplay.from_estimator(lda, kind="heatmap")
    with pytest.raises(ValueError, match="'kind' parameter"):
        TemperatureDisplay.from_estimator(lda, kind="surface")
    # the number of samples of a stream grows, so that old passes become fractions
    stream = TemperedLDA(3, tempering="local", batch_size=5, random_state=0)
    stream.partial_fit(documents).partial_fit(documents)
    with pytest.raises(ValueError, match="x='steps'"):
        TemperatureDisplay.from_estimator(stream, kind="heatmap", x="passes")
    TemperatureDisplay.from_estimator(stream, kind="heatmap", x="steps")
    assert len(plt.get_fignums()) == 1


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


def test_displays_refuse_data_that_cannot_be_drawn(plt):
    points = {"x": [1.0, 2.0], "y": [1.0, 2.0]}
    with pytest.raises(ValueError, match="x_name. parameter must be .*'steps'"):
        TrainingCurveDisplay(**points, x_name="step").plot()
    with pytest.raises(ValueError, match="y_name. parameter must be .*'heldout"):
        TrainingCurveDisplay(**points, y_name=["score"]).plot()
    points = {"x": [1.0, 2.0], "temperature": [2.0, 1.0]}
    with pytest.raises(ValueError, match="x_name. parameter must be one of"):
        TemperatureDisplay(**points, x_name=None).plot()
    for ladder, probabilities in (
        (None, np.ones((2, 3))),
        ([1.0, 2.0], np.ones((2, 3))),
        ([1.0, 2.0, 3.0], np.ones((3, 3))),
        ([1.0, 2.0, 3.0], 0.5),
        ([], np.ones((2, 0))),
    ):
        display = TemperatureDisplay(
            **points, ladder=ladder, probabilities=probabilities
        )
        with pytest.raises(ValueError, match="probabilities must be of shape"):
            display.plot()
    assert not plt.get_fignums()  # the error comes before a figure is made
