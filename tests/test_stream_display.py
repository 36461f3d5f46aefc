"""The display of a stream: scores, alarms, renewals, births and deaths."""

import numpy as np
import pytest

from sktemper import AnnealedGaussianMixture, AnnealedLDA
from sktemper.plotting import StreamDisplay
from sktemper.renewals import Renewals

RENEWALS = Renewals(memory=400, wait=100, trial=200)


@pytest.fixture(scope="module")
def mixture():
    """A mixture fitted to a stream of two clusters; one changes after 1,200 samples."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2400, 2)) + 12.0 * random.integers(2, size=2400)[:, None]
    X[1200:] *= np.where(X[1200:, :1] > 6, -1.0, 1.0)
    model = AnnealedGaussianMixture(
        4, half_life=1000, renewals=RENEWALS, random_state=0
    )
    times = np.datetime64("2024-01-01") + np.arange(2400) // 10
    for start in range(0, 2400, 200):
        model.partial_fit(X[start : start + 200], times=times[start : start + 200])
    return model


def test_stream_of_a_mixture(plt, mixture):
    display = StreamDisplay.from_estimator(mixture, alpha=0.5)
    course, alarms = mixture.stream_history_, mixture.alarms_
    dates = np.array(list(course["time"]), dtype="datetime64[us]")
    found = display.score_line_.get_xdata()
    np.testing.assert_array_equal(found, dates[np.isfinite(course["score"])])
    assert len(display.alarms_) == len(alarms["sample"]) > 0
    place = np.searchsorted(course["sample"], alarms["sample"][0])
    assert display.alarms_[0].get_xdata()[0] == dates[place]
    assert 3 <= len(display.lines_) <= 5
    assert {line.get_alpha() for line in display.lines_} == {0.5}
    texts = [text.get_text() for text in display.axes_[0].get_legend().texts]
    assert texts[:2] == ["running mean", "alarm"] and "renewal kept" in texts
    display.figure_.canvas.draw()
    assert display.axes_[0].get_xlim() == display.axes_[1].get_xlim()


def course_of(n, shares):
    return {
        "sample": 100 * np.arange(1, n + 1),
        "time": np.array([None] * n, dtype=object),
        "score": np.linspace(-6, -5, n),
        "shares": np.asarray(shares, dtype=float),
    }


def test_lives_of_columns_begin_and_end_with_renewals(plt):
    shares = np.tile([0.5, 0.3, 0.2], (40, 1))
    table = {
        "reason": np.array(["start", "alarm", "alarm"]),
        "kept": np.array([True, True, False], dtype=object),
        "decided": np.array([1000, 2000, 2400]),
        "columns": np.array([(0, 1, 2), (1,), (2,)], dtype=object),
    }
    parts = {
        "course": course_of(40, shares),
        "renewals": table,
        "alarms": {"sample": np.zeros(0, dtype=int)},
        "labels": {0: "a", 1: "b", 2: "c"},
    }
    display = StreamDisplay(**parts, n_components=5).plot()
    labels = [line.get_label() for line in display.lines_]
    assert labels == ["a", "1: until 1,900", "b", "c"]
    old, new = display.lines_[1:3]
    np.testing.assert_array_equal(old.get_xdata(), 100 * np.arange(1, 20))
    np.testing.assert_array_equal(new.get_xdata(), 100 * np.arange(20, 41))
    marks = [line for line in display.axes_[1].lines if line.get_marker() in ("o", "x")]
    assert [(m.get_marker(), m.get_xdata()[0]) for m in marks] == [
        ("x", 1900),
        ("o", 2000),
    ]
    assert not display.alarms_
    fewer = StreamDisplay(**parts, n_components=2)
    fewer.plot(ax=plt.figure().add_subplot())
    assert [line.get_label() for line in fewer.lines_] == ["a", "1: until 1,900"]


def test_words_of_topics_are_labels(plt, counts):
    lda = AnnealedLDA(3, half_life=100, random_state=0).partial_fit(counts)
    names = [f"w{v}" for v in range(counts.shape[1])]
    display = StreamDisplay.from_estimator(lda, feature_names=names)
    words = lda.top_words(names, 3)
    labels = {line.get_label() for line in display.lines_}
    assert labels <= {f"{k}: {' '.join(words[k])}" for k in range(3)} and labels


def test_without_a_stream_there_is_nothing_to_draw(plt, counts):
    for model in AnnealedLDA(3), AnnealedLDA(3, half_life=100, renewals=None):
        with pytest.raises(ValueError, match="no stream with renewals"):
            StreamDisplay.from_estimator(
                model.set_params(random_state=0).partial_fit(counts)
            )
    with pytest.raises(TypeError, match="estimator must be"):
        StreamDisplay.from_estimator(object())
