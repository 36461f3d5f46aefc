"""Displays of topics, mixtures and components, drawn without a screen."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sktemper import AnnealedLDA, AnnealedMultinomialMixture
from sktemper.datasets import load_debian_descriptions
from sktemper.metrics import completion_scorer, diversity_scorer
from sktemper.plotting import (
    ComponentsDisplay,
    DocumentDisplay,
    MixtureEllipsesDisplay,
    NumberOfComponentsDisplay,
    TemperatureDisplay,
    TopicMapDisplay,
    TopicPrevalenceDisplay,
    TopicWordsDisplay,
)
from sktemper.plotting._axes import COLOUR_ORDER, topic_colours

WORDS = [f"w{v}" for v in range(60)]


@pytest.fixture(scope="module")
def lda(counts):
    return AnnealedLDA(4, random_state=0).fit(counts)


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    centres = np.array([[0, 0, 5], [9, 0, 0], [0, 9, -5]])
    return np.concatenate([random.normal(c, 1.0, (40, 3)) for c in centres])


@pytest.fixture(scope="module")
def search(counts):
    grid = {"n_components": [5, 1, 3], "doc_topic_prior": [0.05, 0.5]}
    lda = AnnealedLDA(
        random_state=0, max_iter=2, batch_size=20, doc_update="variational"
    )
    with warnings.catch_warnings():  # the fits are short
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GridSearchCV(lda, grid, cv=3).fit(counts)


def test_topic_words(plt, lda):
    display = TopicWordsDisplay.from_estimator(lda, feature_names=WORDS, n_words=5)
    sizes = lda.topics(n_words=1)["prevalence"].to_numpy()
    np.testing.assert_array_equal(display.topics, np.argsort(-sizes))
    for panel, topic in zip(display.axes_, display.topics, strict=True):
        names = [label.get_text() for label in panel.get_yticklabels()]
        assert names == lda.top_words(WORDS, 5)[topic]
        widths = [bar.get_width() for bar in panel.patches]
        places = [WORDS.index(name) for name in names]
        np.testing.assert_allclose(widths, lda.topic_word_[topic][places], rtol=1e-6)
        assert f"topic {topic}" in panel.get_title(loc="left")
    some = TopicWordsDisplay.from_estimator(lda, topics=[2], color="red")
    assert len(some.axes_) == 1
    assert some.axes_[0].patches[0].get_facecolor() == (1, 0, 0, 1)
    with pytest.raises(ValueError, match="from 0 to 3"):
        TopicWordsDisplay.from_estimator(lda, topics=[4])


def test_topic_map(plt, lda):
    display = TopicMapDisplay.from_estimator(lda, feature_names=WORDS)
    sizes = display.circles_.get_sizes()
    np.testing.assert_allclose(sizes / sizes[0], display.prevalence / sizes_of(lda)[0])
    # three topics can be placed with exact distances
    three = lda.merge_topics(3)
    placed = TopicMapDisplay.from_estimator(three).positions
    root = np.sqrt(three.topic_word_)
    for i in range(3):
        for j in range(i):
            np.testing.assert_allclose(
                np.hypot(*(placed[i] - placed[j])),
                np.linalg.norm(root[i] - root[j]),
                rtol=1e-5,
            )


def sizes_of(lda):
    return lda.topics(n_words=1)["prevalence"].to_numpy()


@pytest.mark.every(2)
@pytest.mark.parametrize("n_topics", [5, 80])
def test_labels_on_the_map_do_not_overlap_and_circles_are_apart(plt, n_topics):
    from matplotlib.text import Text

    random = np.random.default_rng(0)
    display = TopicMapDisplay(
        positions=random.normal(size=(n_topics, 2)) * [1, 0.1],
        prevalence=random.dirichlet(np.ones(n_topics)),
        labels=[f"some words {k}" for k in range(n_topics)],
    ).plot()
    renderer = display.figure_.canvas.get_renderer()
    # boxes of the words, without the lines to circles
    boxes = [Text.get_window_extent(label, renderer) for label in display.labels_]
    boxes = np.array([(*box.min, *box.max) for box in boxes])
    for number, box in enumerate(boxes):
        others = np.delete(boxes, number, axis=0)
        apart = (
            (others[:, 2] <= box[0])
            | (others[:, 0] >= box[2])
            | (others[:, 3] <= box[1])
            | (others[:, 1] >= box[3])
        )
        assert apart.all()
    assert len(boxes) == 5 if n_topics == 5 else 10 < len(boxes)
    centres = display.ax_.transData.transform(display.circles_.get_offsets())
    radii = np.sqrt(display.circles_.get_sizes() / np.pi) * display.figure_.dpi / 72
    distance = np.linalg.norm(centres[:, None] - centres, axis=2)
    pairs = np.triu_indices(n_topics, 1)
    assert (distance > 0.7 * (radii[:, None] + radii))[pairs].all()


def test_prevalence(plt, lda, counts):
    display = TopicPrevalenceDisplay.from_estimator(lda, counts, feature_names=WORDS)
    tokens = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    shares = (lda.transform(counts) * tokens).sum(axis=0) / tokens.sum()
    widths = [bar.get_width() for bar in display.artists_]
    np.testing.assert_allclose(widths, -np.sort(-shares), rtol=1e-6)
    parts = TopicPrevalenceDisplay.from_estimator(lda, [counts[:50], counts[50:]])
    np.testing.assert_allclose(parts.shares, display.shares)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    first = np.argmax(shares)
    assert labels[0] == f"{first}: {' '.join(lda.top_words(WORDS, 3)[first])}"


@pytest.mark.parametrize("n_dates", [5, 100])
def test_prevalence_over_dates(plt, lda, counts, n_dates):
    days = np.arange(120) % n_dates
    dates = np.datetime64("2020-01-01") + days
    display = TopicPrevalenceDisplay.from_estimator(lda, counts, dates, n_bins=10)
    assert len(display.artists_) == 4
    lines = np.array([line.get_ydata() for line in display.artists_])
    assert lines.shape == (4, 5 if n_dates == 5 else 10)
    np.testing.assert_allclose(lines.sum(axis=0), 1.0)
    rows = counts[days == 0] if n_dates == 5 else counts[days < 9.9]
    tokens = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
    shares = (lda.transform(rows) * tokens).sum(axis=0) / tokens.sum()
    np.testing.assert_allclose(lines[:, 0], shares[display.topics], rtol=1e-6)
    numbers = TopicPrevalenceDisplay.from_estimator(lda, counts, days, n_bins=10)
    np.testing.assert_allclose(numbers.shares, display.shares)


def test_dates_that_are_written(plt, lda, counts):
    days = np.datetime64("2020-01-01") + np.arange(120) % 5
    dates = TopicPrevalenceDisplay.from_estimator(lda, counts, days)
    written = TopicPrevalenceDisplay.from_estimator(lda, counts, days.astype(str))
    np.testing.assert_array_equal(written.places, dates.places)
    np.testing.assert_array_equal(written.shares, dates.shares)
    some = [None, np.nan, *days.astype(str)[2:]]
    again = TopicPrevalenceDisplay.from_estimator(lda, counts, some)
    days[:2] = np.datetime64("NaT", "D")
    dates = TopicPrevalenceDisplay.from_estimator(lda, counts, days)
    np.testing.assert_array_equal(again.shares, dates.shares)
    for names in (["2020", "2021"], ["2020-06-31", "2020-06-30"], ["a", "2020-06-30"]):
        display = TopicPrevalenceDisplay.from_estimator(lda, counts, names * 60)
        assert display.places.tolist() == sorted(names)


def test_only_the_largest_of_many_groups_are_drawn(plt, lda, counts):
    groups = [f"g{number:02}" for number in range(40)] * 3
    display = TopicPrevalenceDisplay.from_estimator(lda, counts, groups)
    tokens = np.asarray(counts.sum(axis=1)).reshape(3, 40).sum(axis=0)
    largest = np.sort(np.argsort(-tokens, kind="stable")[:30])
    assert display.places.tolist() == [groups[number] for number in largest]
    first = counts[largest[0] :: 40]
    weights = lda.transform(first) * np.asarray(first.sum(axis=1)).reshape(-1, 1)
    shares = weights.sum(axis=0) / weights.sum()
    np.testing.assert_allclose(display.shares[:, 0], shares[display.topics], rtol=1e-5)
    assert display.ax_.get_xlabel() == "The largest 30 of 40 groups"


def test_prevalence_by_groups(plt, lda, counts):
    groups = ["a", "b", "c"] * 40
    display = TopicPrevalenceDisplay.from_estimator(lda, counts, groups)
    assert display.colorbar_ is not None
    assert display.places.tolist() == ["a", "b", "c"]
    mesh = np.reshape(display.artists_[0].get_array(), (-1, 3))
    np.testing.assert_allclose(mesh.sum(axis=0), 1.0)
    alone = TopicPrevalenceDisplay.from_estimator(
        lda, counts[1::3], topics=display.topics
    )
    np.testing.assert_allclose(mesh[:, 1], alone.shares)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        TopicPrevalenceDisplay.from_estimator(lda, counts, ["a"])


def test_a_document_of_counts(plt, lda, counts):
    display = DocumentDisplay.from_estimator(lda, counts[[3]], feature_names=WORDS)
    table = lda.explain(counts[[3]], WORDS).drop_duplicates("word")
    texts = [text.get_text() for text in display.texts_ if text.get_text().strip()]
    assert [text.split()[0] for text in texts] == table["word"].tolist()
    assert [k for k in display.topics if k >= 0] == table["topic"].tolist()
    with pytest.raises(ValueError, match="x must be one document, got 2"):
        DocumentDisplay.from_estimator(lda, counts[:2])


def test_a_document_of_text(plt, lda):
    text = "W1 met w2, and  w1 left.\nUnknown: w59!" + " w7" * 60
    x = CountVectorizer(vocabulary=WORDS).transform([text])
    display = DocumentDisplay.from_estimator(lda, x, text=text, feature_names=WORDS)
    assert "".join(display.pieces) == text
    tinted = [p for p, k in zip(display.pieces, display.topics, strict=True) if k >= 0]
    assert tinted[:4] == ["W1", "w2", "w1", "w59"] and len(tinted) == 64
    table = lda.explain(x, WORDS).drop_duplicates("word").set_index("word")
    assert display.topics[0] == table["topic"]["w1"]
    # the lines of text are inside the axes and do not overlap
    frame = display.ax_.get_window_extent()
    renderer = display.figure_.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in display.texts_]
    assert max(box.x1 for box in boxes) <= frame.x1 + 10
    lines = {round(box.y0) // 8 for box in boxes}
    assert len(lines) == 3


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_ellipses(plt, blobs, kind):
    mixture = GaussianMixture(3, covariance_type=kind, random_state=0).fit(blobs)
    display = MixtureEllipsesDisplay.from_estimator(
        mixture, blobs, features=(1, 2), n_std=3
    )
    assert len(display.ellipses_) == 3
    for number, ellipse in enumerate(display.ellipses_):
        np.testing.assert_array_equal(ellipse.center, mixture.means_[number, 1:])
        # all points of the ellipse are three standard deviations from the centre
        angles = np.linspace(0, 2 * np.pi, 7)
        unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        rim = ellipse.get_patch_transform().transform(unit) - ellipse.center
        covariance = display.covariances[number]
        squares = np.einsum("ni,ij,nj->n", rim, np.linalg.inv(covariance), rim)
        np.testing.assert_allclose(squares, 9.0)
        if kind == "full":
            expected = mixture.covariances_[number, 1:, 1:]
            np.testing.assert_array_equal(covariance, expected)
    assert display.points_.get_offsets().shape == (120, 2)
    np.testing.assert_array_equal(display.labels, mixture.predict(blobs))
    without = MixtureEllipsesDisplay.from_estimator(mixture, ax=display.ax_)
    assert without.points_ is None and without.ax_ is display.ax_
    with pytest.raises(ValueError, match="features must be 2 indices"):
        MixtureEllipsesDisplay.from_estimator(mixture, features=(0, 3))


def test_empty_components_have_no_ellipse(plt, blobs):
    mixture = GaussianMixture(3, random_state=0).fit(blobs)
    mixture.weights_ = np.array([0.5, 0.005, 0.495])
    display = MixtureEllipsesDisplay.from_estimator(mixture, blobs)
    assert len(display.ellipses_) == 2
    np.testing.assert_array_equal(display.means, mixture.means_[[0, 2], :2])
    assert set(display.labels) <= {-1, 0, 1}


def test_components_as_images(plt, counts):
    mixture = AnnealedMultinomialMixture(5, random_state=0, max_iter=3).fit(counts)
    display = ComponentsDisplay.from_estimator(mixture, (6, 10))
    rows = getattr(mixture, "components_", None)
    rows = mixture.means_ if rows is None else rows
    for image, row in zip(display.images_, rows, strict=True):
        np.testing.assert_array_equal(image.get_array(), row.reshape(6, 10))
        assert image.get_clim() == (0.0, rows.max())
    signed = ComponentsDisplay(images=[[[-3.0, 1.0]]], numbers=[0]).plot(colorbar=False)
    assert signed.images_[0].get_clim() == (-3.0, 3.0) and signed.colorbar_ is None
    some = ComponentsDisplay.from_estimator(mixture, (6, 10), components=[4, 2])
    assert [panel.get_title() for panel in some.axes_] == ["4", "2"]
    with pytest.raises(ValueError, match="image_shape=.5, 10. does not fit 60"):
        ComponentsDisplay.from_estimator(mixture, (5, 10))
    with pytest.raises(ValueError, match="from 0 to 4"):
        ComponentsDisplay.from_estimator(mixture, (6, 10), components=[5])


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
def test_number_of_components(plt, search):
    display = NumberOfComponentsDisplay.from_estimator(search, name="LDA")
    assert display.n_components.tolist() == [1, 3, 5]
    results = search.cv_results_
    for number, score, error in zip(
        display.n_components, display.scores, display.errors, strict=True
    ):
        rows = np.flatnonzero(np.array(results["param_n_components"]) == number)
        best = rows[np.argmax(results["mean_test_score"][rows])]
        assert score == results["mean_test_score"][best]
        assert error == results["std_test_score"][best] / np.sqrt(2)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.scores)
    with pytest.raises(ValueError, match="param='tol' must name"):
        NumberOfComponentsDisplay.from_estimator(search, param="tol")
    with pytest.raises(ValueError, match="no score metric='npmi'"):
        NumberOfComponentsDisplay.from_estimator(search, metric="npmi")


@pytest.mark.filterwarnings("ignore")
def test_number_of_components_of_a_pipeline_by_several_scores(plt, counts):
    scoring = {"completion": completion_scorer, "diversity": diversity_scorer}
    lda = AnnealedLDA(
        random_state=0, max_iter=2, batch_size=20, doc_update="variational"
    )
    steps = Pipeline([("tfidf", TfidfTransformer()), ("lda", lda)])
    grid = {"lda__n_components": [1, 3]}
    search = GridSearchCV(steps, grid, scoring=scoring, refit="diversity", cv=2)
    search.fit(counts)
    display = NumberOfComponentsDisplay.from_estimator(search)
    assert display.score_name == "diversity"
    np.testing.assert_array_equal(
        display.scores, search.cv_results_["mean_test_diversity"]
    )
    whole = NumberOfComponentsDisplay.from_estimator(search, param="lda__n_components")
    assert whole.n_components.tolist() == display.n_components.tolist() == [1, 3]
    with pytest.raises(ValueError, match="'components' .* varied: 'lda__n_components'"):
        NumberOfComponentsDisplay.from_estimator(search, param="components")
    with pytest.raises(ValueError, match="'npmi', only 'completion' or 'diversity'"):
        NumberOfComponentsDisplay.from_estimator(search, metric="npmi")
    search.refit = False
    with pytest.raises(ValueError, match="metric to one of 'completion' or 'div"):
        NumberOfComponentsDisplay.from_estimator(search)


def test_the_smallest_within_one_standard_error(plt):
    display = NumberOfComponentsDisplay(
        n_components=[2, 4, 8, 16],
        scores=[-3.0, -2.05, -2.02, -2.0],
        errors=[0.5, 0.01, 0.01, 0.03],
    ).plot()
    assert (display.best_, display.one_standard_error_) == (16, 8)


def test_many_lines_of_prevalence_differ_also_without_colours(plt):
    display = TopicPrevalenceDisplay(
        shares=np.full((24, 3), 0.125),
        labels=[f"topic {k}" for k in range(24)],
        topics=np.arange(24),
        places=np.arange(3),
    ).plot()
    looks = [
        (line.get_linestyle(), line.get_marker(), line.get_color())
        for line in display.artists_
    ]
    assert len(set(looks)) == 24
    display.ax_.set_yticks([0.025, 0.05])
    display.figure_.draw_without_rendering()
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks == ["2.5%", "5.0%"]  # ticks are not rounded to other values


def test_numbers_of_small_topics_have_room_on_the_map(plt):
    display = TopicMapDisplay(
        positions=np.random.default_rng(0).normal(size=(30, 2)),
        prevalence=np.r_[0.971, np.full(29, 0.001)],
        labels=["word"] * 30,
    ).plot()
    renderer = display.figure_.canvas.get_renderer()
    radii = np.sqrt(display.circles_.get_sizes() / np.pi) * display.figure_.dpi / 72
    numbers = [text for text in display.ax_.texts if text.get_text().isdigit()]
    assert len(numbers) == 30
    widths = [text.get_window_extent(renderer).width for text in numbers]
    assert (np.array(widths) < 2 * radii).all()


def test_the_legend_of_two_searches_groups_their_lines(plt, search):
    first = NumberOfComponentsDisplay.from_estimator(search, name="b")
    NumberOfComponentsDisplay.from_estimator(search, name="a", ax=first.ax_)
    texts = [text.get_text() for text in first.ax_.get_legend().texts]
    assert [text[0] for text in texts] == list("aaabbb")


def test_colours_differ_while_there_are_some():
    pytest.importorskip("matplotlib")
    numbers = [6, 24, 0, 18, 6]
    colours = topic_colours(numbers)
    assert len(set(colours)) == 4 and colours[0] == colours[4]
    assert len(set(topic_colours(range(40)))) == len(COLOUR_ORDER)
    assert topic_colours([5]) == topic_colours([5, 6])[:1]


DISPLAYS = {
    TopicWordsDisplay: lambda lda, X: (lda,),
    TopicMapDisplay: lambda lda, X: (lda,),
    TopicPrevalenceDisplay: lambda lda, X: (lda, X),
    DocumentDisplay: lambda lda, X: (lda, X[[0]]),
    ComponentsDisplay: lambda lda, X: (lda, (6, 10)),
    TemperatureDisplay: lambda lda, X: (lda,),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("display", DISPLAYS)
def test_displays_follow_conventions(plt, lda, counts, display, monkeypatch):
    _, ax = plt.subplots()
    arguments = DISPLAYS[display](lda, counts)
    drawn = display.from_estimator(*arguments, ax=ax)
    assert drawn.ax_ is ax and drawn.figure_ is ax.figure
    again = drawn.plot()
    assert again is drawn and drawn.ax_ is not ax
    drawn.figure_.canvas.draw()
    with pytest.raises(NotFittedError):
        display.from_estimator(AnnealedLDA(), *arguments[1:])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=f"{display.__name__}.from_estimator requires"
    ):
        display.from_estimator(*arguments)


@pytest.mark.parametrize("display", [*DISPLAYS][:4])
def test_displays_of_topics_refuse_other_estimators(plt, lda, counts, display):
    mixture = GaussianMixture(2).fit(counts.toarray()[:, :2])
    _, *others = DISPLAYS[display](lda, counts)
    with pytest.raises(TypeError, match="must be a fitted LDA, got GaussianMixture"):
        display.from_estimator(mixture, *others)
    with pytest.raises(TypeError, match=r"pass the last step, pipeline\[-1\]"):
        display.from_estimator(Pipeline([("lda", lda)]), *others)


def test_displays_refuse_bad_arguments(plt, lda, counts):
    with pytest.raises(TypeError, match="Gaussian mixture, got AnnealedLDA"):
        MixtureEllipsesDisplay.from_estimator(lda, counts)
    with pytest.raises(TypeError, match="text must be a str, got .'a'"):
        DocumentDisplay.from_estimator(lda, counts[[0]], text=["a"])
    with pytest.raises(ValueError, match="image_shape=.6,. does not fit 60"):
        ComponentsDisplay.from_estimator(lda, 6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_empty_topics_are_not_drawn(plt):
    X = load_debian_descriptions().data[:40]
    lda = AnnealedLDA(30, random_state=0).fit(X)
    filled = [k for k, words in enumerate(lda.top_words()) if words]
    assert 2 < len(filled) <= 12
    display = TopicMapDisplay.from_estimator(lda)
    assert display.topics.tolist() == filled
    panels = TopicWordsDisplay.from_estimator(lda)
    assert sorted(panels.topics) == filled
    some = TopicWordsDisplay.from_estimator(lda, topics=range(30))
    assert some.topics.tolist() == filled
