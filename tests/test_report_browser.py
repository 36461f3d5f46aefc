"""The page of `topic_report` in a browser without a network."""

import re
import shutil

import numpy as np
import pytest

from sktemper import AnnealedLDA
from sktemper.datasets import make_lda_documents

pytest.importorskip("bokeh", reason="sktemper.report needs bokeh")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="pages are opened by playwright"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    # playwright starts processes and an event loop, which warn
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
N_TOPICS = 6
#: Texts that a page could misinterpret as markup, formulas or template placeholders.
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "$$x$$",
    "{{data}}",
    "&amp;",
    "\\[a\\]",
    "averyveryverylongword" * 5,
]

#: Script that returns the text of an element, including its shadow roots.
TEXT = """element => {
    const nodes = node => [node, node.shadowRoot]
        .flatMap(root => root ? [...root.childNodes] : []);
    const text = node => node.nodeName === "STYLE"
        ? "" : (node.data || "") + nodes(node).map(text).join("");
    return text(element);
}"""


@pytest.fixture(scope="module")
def X():
    return make_lda_documents(300, 80, N_TOPICS, random_state=0)


@pytest.fixture(scope="module")
def names(lda):
    """Return names of words; the most frequent words have hostile names.

    word40 to word49 keep their names.
    """
    names = np.array([f"word{v}" for v in range(80)], dtype=object)
    frequent = np.argsort(-lda.topic_word_.max(axis=0))
    frequent = frequent[(frequent < 40) | (frequent >= 50)]
    names[frequent[: len(HOSTILE)]] = HOSTILE
    return names


@pytest.fixture(scope="module")
def lda(X):
    return AnnealedLDA(N_TOPICS, random_state=0).fit(X)


@pytest.fixture(scope="module")
def path(lda, X, names, tmp_path_factory):
    from sktemper.report import topic_report

    texts = [" ".join(np.repeat(names[row.indices], row.data)) for row in X]
    numbers = np.arange(300)
    return topic_report(
        lda,
        X,
        names,
        [text + " <b>bold \ud800</b>" for text in texts],
        tmp_path_factory.mktemp("report") / "topics.html",
        vectorizer=str.split,
        document_names=[f"<i>name {number}</i>" for number in numbers],
        dates=np.datetime64("2020-01-01") + 40 * (numbers % 10),
        groups=np.array(["$$a$$", "<b>b</b>"])[numbers % 2],
        title="Topics of </title> words",
    )


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, path):
    """The opened page; the test fails if it sends requests or logs errors."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(20_000)
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type in ("error", "warning")
            else None
        ),
    )
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    yield page
    assert requests == [path.as_uri()]
    assert complaints == []
    context.close()


def words_on(page):
    return page.locator("#word-rows tr td:first-child").all_inner_texts()


def place_of(page, topic):
    """Return the position of a topic's circle, in pixels of the window."""
    return page.evaluate(
        """topic => {
            const at = Bokeh.documents.findIndex(d => d.get_model_by_name("topics"));
            const {x, y} = Bokeh.documents[at].get_model_by_name("topics").data;
            const view = Bokeh.index.get_by_id(Bokeh.documents[at].roots()[0].id);
            const box = view.el.getBoundingClientRect();
            const {x_scale, y_scale} = view.frame;
            return [
                box.left + x_scale.compute(x[topic]),
                box.top + y_scale.compute(y[topic]),
            ];
        }""",
        topic,
    )


def test_the_largest_topic_is_chosen_first(page, lda, X, names):
    table = lda.topics(names, 30, X=X)
    largest = table["prevalence"].idxmax()
    topic = table["topic"][largest]
    assert page.locator("#status").inner_text().startswith(f"Topic {topic} is chosen")
    expected = table["word"][table["topic"] == topic].tolist()
    assert words_on(page) == expected
    assert page.title() == "Topics of </title> words"


def test_a_click_on_a_circle_shows_words_and_documents(page, lda, X, names):
    table = lda.topics(names, 30, X=X)
    top = lda.top_documents(X, 10)
    for topic in 3, 1, 3:
        page.wait_for_timeout(400)  # faster clicks would be a double click
        page.mouse.click(*place_of(page, topic))
        status = playwright.expect(page.locator("#status"))
        status.to_contain_text(f"Topic {topic} is chosen")
        assert words_on(page) == table["word"][table["topic"] == topic].tolist()
        headings = page.locator("#document-list h3").all_inner_texts()
        rows = [int(re.match(r"<i>name (\d+)</i>", text)[1]) for text in headings]
        assert rows == top["document"][top["topic"] == topic].tolist()
        assert page.locator("#topics").input_value() == str(topic)
        assert page.locator("mark").count() > 20
        for heading in "words", "dates", "groups", "documents":
            assert f"{topic}:" in page.locator(f"#{heading}-heading").inner_text()


def test_a_click_beside_all_circles_changes_nothing(page):
    before = page.locator("#status").inner_text()
    box = page.locator("#map-figure").bounding_box()
    page.mouse.click(box["x"] + 3, box["y"] + box["height"] - 3)
    page.wait_for_timeout(200)
    assert page.locator("#status").inner_text() == before
    assert page.evaluate(
        "Bokeh.documents[0].get_model_by_name('topics').selected.indices.length"
    )


def test_the_keyboard_reaches_topics_and_all_has_a_name(page):
    topics = page.get_by_role("listbox", name="Topics, the largest first")
    assert topics.get_by_role("option").count() == N_TOPICS
    topics.focus()
    first = topics.input_value()
    page.keyboard.press("ArrowDown")
    second = topics.input_value()
    assert second != first
    assert f"Topic {second} is chosen" in page.locator("#status").inner_text()
    assert page.evaluate(
        "Bokeh.documents[0].get_model_by_name('topics').selected.indices"
    ) == [int(second)]
    page.keyboard.press("Shift+Tab")
    search = page.get_by_role("searchbox", name="Search for a word")
    assert search.evaluate("element => element === document.activeElement")
    assert page.get_by_role("slider", name=re.compile("Relevance")).count() == 1
    for role, name in (
        ("img", re.compile("Map of the topics")),
        ("img", re.compile("Share of the tokens of topic")),
        ("region", "Map of topics"),
        ("region", re.compile("Documents with the most of topic")),
    ):
        assert page.get_by_role(role, name=name).count() == 1
    assert page.locator("#status").get_attribute("aria-live") == "polite"
    nameless = page.locator("button").filter(has_not_text=re.compile(r"\S"))
    assert nameless.count() == 0


def test_the_slider_ranks_by_relevance(page, lda, X, names):
    slider = page.get_by_role("slider")
    topic = int(page.locator("#topics").input_value())
    assert slider.is_disabled()
    page.get_by_role("combobox", name="Rank words by").select_option("relevance")
    for relevance in 0.0, 0.35, 1.0:
        slider.fill(str(relevance))
        table = lda.topics(names, 30, X=X, rank_by=relevance)
        assert words_on(page) == table["word"][table["topic"] == topic].tolist()
        assert page.locator("#lambda").inner_text() == f"{relevance:.2f}"


def test_search_finds_words_and_their_topics(page, lda):
    search = page.get_by_role("searchbox")
    share = lda.topic_word_[:, 40]
    search.fill("WORD40")
    found = page.locator("#found")
    assert "“word40” occurs" in found.inner_text()
    button = found.get_by_role("button").first
    topic = int(button.inner_text().split(":")[0])
    assert share[topic] >= 0.5 * share.max()
    button.click()
    assert f"Topic {topic} is chosen" in page.locator("#status").inner_text()
    assert page.locator(".searched").count() > 0
    assert page.locator(".searched").first.inner_text() == "word40"
    strength = page.evaluate(
        "Bokeh.documents[0].get_model_by_name('topics').data.strength"
    )
    assert int(np.argmax(list(strength))) == topic
    search.fill("word4")
    likes = found.get_by_role("button").all_inner_texts()
    likes = {like for like in likes if re.fullmatch(r"word\d+", like)}
    assert likes == {f"word{n}" for n in range(40, 50)}
    found.get_by_role("button", name="word41").click()
    assert "“word41” occurs" in found.inner_text()
    search.fill("nothing of the kind")
    assert "No word contains “nothing of the kind”" in found.inner_text()
    search.fill("")
    assert found.inner_text() == "" and page.locator(".searched").count() == 0


def test_a_word_of_a_topic_is_searched_for_by_a_click(page):
    button = page.locator("#word-rows button").nth(2)
    word = button.inner_text()
    button.click()
    assert page.get_by_role("searchbox").input_value() == word
    assert f"“{word}” occurs" in page.locator("#found").inner_text()


def test_markup_in_words_texts_and_names_is_shown_as_text(page):
    topics = page.get_by_role("listbox")
    seen = ""
    for option in range(N_TOPICS):
        topics.select_option(str(option))
        seen += page.locator("main").inner_text()
    search, found = page.get_by_role("searchbox"), page.locator("#found")
    assert all(word in seen for word in HOSTILE)
    for word in HOSTILE:
        search.fill(word)
        assert f"“{word}” occurs" in found.inner_text()
    shown = ""
    for topic in range(N_TOPICS):
        page.mouse.move(*place_of(page, topic))
        tooltip = page.locator(".bk-Tooltip").last
        playwright.expect(tooltip).to_contain_text("words")
        page.wait_for_timeout(100)
        shown += tooltip.evaluate(TEXT)
    assert all(word in shown for word in (HOSTILE[0], HOSTILE[1], HOSTILE[4]))
    assert page.locator(".bk-Tooltip img, .bk-Tooltip script").count() == 0
    assert page.locator("#found button").first.inner_text()[0].isdigit()
    assert "<b>bold" in seen and "<i>name" in seen and "<b>b</b>" in seen
    assert page.locator("main b, main i, main script, main img").count() == 0


@pytest.mark.parametrize("width", [1600, 1280, 800, 380])
def test_nothing_is_wider_than_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for section in page.locator("section:visible").all():
        inner, outer = section.evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert inner <= outer + 1


def test_prevalence_over_dates_and_by_groups(page, lda, X):
    theta, tokens = lda.transform(X), np.asarray(X.sum(axis=1)).ravel()
    page.get_by_role("listbox").select_option("2")
    here = np.arange(300) % 10 == 3
    share = tokens[here] @ theta[here, 2] / tokens[here].sum()
    page.get_by_text("Show as a table").click()
    row = page.locator("#date-rows tr").nth(3).inner_text().split()
    assert row[0] == "2020-04-30" and abs(float(row[1]) - 100 * share) < 0.06
    drawn = page.evaluate(
        """() => Array.from(Bokeh.documents.map(d => d.get_model_by_name("line"))
                    .find(m => m).data.y)"""
    )
    assert abs(drawn[3] - share) < 1e-4
    assert page.locator("#group-rows tr").count() == 2


def test_a_page_without_texts_dates_and_groups(browser, lda, X, tmp_path):
    from sktemper.report import topic_report

    page = browser.new_page()
    page.goto(topic_report(lda, X, path=tmp_path / "bare.html").as_uri())
    page.wait_for_selector("html[data-ready=true]")
    for absent in "dates", "groups":
        assert not page.locator(f"#{absent}").is_visible()
    assert "No texts were given" in page.locator("#documents-note").inner_text()
    counted = page.locator(".text > *").filter(has_text="×").first.inner_text()
    word = counted.split(" ")[0]
    page.get_by_role("searchbox").fill(word)
    assert counted in page.locator(".searched").all_inner_texts()
    page.close()
