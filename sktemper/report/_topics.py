"""Interactive page that shows the topics of a fitted model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._engine._data import matrices_of
from .._utils._arguments import positive_int
from .._utils._dates import as_dates
from .._utils._extras import check_packages
from .._utils._frames import check_same_rows
from .._utils._typing import ArrayLike, DataLike, Int, StrPath
from .._utils._words import check_documents, name_topics
from ._documents import ShownTexts, shown_documents
from ._figures import line_figure, map_figure
from ._models import MOST_IN_LABEL, find_interface
from ._page import check_path, render_page, write_page
from ._tables import group_table, line_table, word_tables


def check_length(values, n_rows, name):
    if values is None:
        return None
    message = f"{name} must have one value for each of the {n_rows} rows of X"
    try:
        values = np.asarray(values)
    except ValueError as error:  # rows have different lengths
        raise ValueError(f"{message}.") from error
    if values.shape != (n_rows,):
        raise ValueError(f"{message}, got shape {values.shape}.")
    return values


# -- rows of word counts ---------------------------------------------------------------
class CountRows:
    """Rows of word counts, which are read part by part.

    Parameters
    ----------
    X : {array-like, sparse matrix} or sequence of such parts

    Attributes
    ----------
    tokens : ndarray of shape (n_samples,)
        Number of tokens of each document.
    counts : ndarray of shape (n_features,)
        Number of occurrences of each word.
    """

    def __init__(self, X):
        self._parts = matrices_of(X)
        tokens, counts = [], 0.0
        for part in self._read():
            tokens.append(np.asarray(part.sum(axis=1), dtype=np.float64).ravel())
            counts = counts + np.asarray(part.sum(axis=0), dtype=np.float64).ravel()
        self.tokens, self.counts = np.concatenate(tokens), counts

    def __len__(self):
        return len(self.tokens)

    def _read(self):
        for part in self._parts:
            yield sparse.csr_matrix(check_array(part, accept_sparse="csr"))

    def columns(self, words):
        return sparse.vstack([part[:, words] for part in self._read()], format="csr")

    def sums(self, weights):
        """Return weighted sums of all rows; weights have shape (n_samples, n_sums)."""
        start, total = 0, 0.0
        for part in self._read():
            total = total + weights[start : start + part.shape[0]].T @ part
            start += part.shape[0]
        return np.asarray(total)

    def taken(self, numbers):
        """Return the rows ``numbers``, which increase: a data frame if ``X`` is one."""
        if hasattr(self._parts[0], "iloc"):
            return self._parts[0].iloc[numbers]  # keeps the names of the columns
        start, found = 0, []
        for part in self._read():
            here = numbers[(start <= numbers) & (numbers < start + part.shape[0])]
            found.append(part[here - start])
            start += part.shape[0]
        return sparse.vstack(found, format="csr")


# -- the report ------------------------------------------------------------------------
def topic_report(
    lda: Any,
    X: DataLike,
    feature_names: ArrayLike | None = None,
    documents: Sequence | None = None,
    path: StrPath | None = None,
    *,
    vectorizer: Any = None,
    embeddings: ArrayLike | None = None,
    document_names: ArrayLike | None = None,
    dates: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    labeller: Callable | None = None,
    n_words: Int = 30,
    n_documents: Int = 10,
    title: str = "Topics",
) -> Path | str:
    """Make an interactive page that shows the topics of a fitted LDA.

    The page is one HTML file that needs no network and no server.  It has a map of the
    topics; the words of a topic, ranked by term score, class TF-IDF or relevance; the
    documents in which a topic has the largest weight, with words coloured by topic; and
    a search for words.

    Parameters
    ----------
    lda : object
        A fitted LDA; or a fitted mixture of multinomials, whose clusters are topics;
        or, with ``embeddings``, any fitted estimator with ``predict_proba`` or
        ``predict``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents, or a list of such matrices, or a collection.
    feature_names : array-like of shape (n_features,), default=None
        Words of the columns.  None uses the column names of the training data, or
        column indices.
    documents : sequence of str of shape (n_samples,), default=None
        Texts, in the order of the rows of ``X``.  None shows the counted words, those
        that are frequent in the document and rare in the corpus first.
    path : str or path, default=None
        File to write, which keeps the owner and permissions of an existing file.  None
        writes no file and returns the page.
    vectorizer : object or callable, default=None
        Vectorizer that made the counts, or a function that returns the words of a text,
        to find them in the texts.  None finds words of two or more letters.
    embeddings : array-like of shape (n_samples, n_columns), default=None
        Data that the estimator was fitted to, if these were not word counts.  The
        clusters are then labelled as in `sktemper.text.cluster_words`.
    document_names : array-like of shape (n_samples,), default=None
        Heading of each document, shown next to the index of its row.
    dates : array-like of shape (n_samples,), default=None
        Date, ISO 8601 string or number of each document, for a plot of prevalence over
        time; None, NaT and NaN are left out.
    groups : array-like of shape (n_samples,), default=None
        Name of the group of each document, for a table of prevalence by group.  The 30
        groups with the most tokens are shown.
    labeller : callable, default=None
        Function that names a topic, for instance by a language model.  It is called as
        ``labeller(words, texts)`` with two lists of str: the words of the topic, and
        the ``n_documents`` of ``documents`` with its largest weight.  None takes words.
    n_words : int, default=30
        Number of shown words of each topic.
    n_documents : int, default=10
        Number of shown documents of each topic.
    title : str, default="Topics"
        Heading of the page.

    Returns
    -------
    page : pathlib.Path or str
        Absolute path of the file; or the HTML of the page, if ``path`` is None.

    Raises
    ------
    ImportError
        If Bokeh or pandas is not installed; the extra ``report`` installs both.
    TypeError, ValueError
        If an argument is of the wrong type, size or range.
    OSError
        If the file cannot be written, or cannot get the owner and group of the file
        that it replaces.

    Warns
    -----
    UserWarning
        If no shown text contains a word that was counted in its row of ``X``.

    See Also
    --------
    sktemper.plotting.TopicMapDisplay : Static map of topics.

    Notes
    -----
    Texts are cut after 2,000 characters, and the search finds the 20,000 most frequent
    words and the shown words of the topics; the page says so if it applies.  Words are
    ranked as in the method ``topics`` of the LDA, or by class TF-IDF.
    The area of a circle is proportional to the prevalence of the topic in ``X``.

    Examples
    --------
    >>> import tempfile
    >>> from sktemper import AnnealedLDA
    >>> from sktemper.datasets import load_debian_descriptions
    >>> from sktemper.report import topic_report
    >>> debian = load_debian_descriptions()
    >>> X = debian.data[:2000]
    >>> lda = AnnealedLDA(8, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = topic_report(
    ...         lda, X, debian.feature_names, path=f"{folder}/topics.html"
    ...     )
    ...     page.name, page.stat().st_size < 3_000_000
    ('topics.html', True)

    Without a path, the function returns the HTML of the page:

    >>> topic_report(lda, X, debian.feature_names)[:15]
    '<!doctype html>'
    """
    check_packages("topic_report", ("bokeh", "pandas"), "report")
    model = find_interface(lda, embeddings)
    check_is_fitted(lda)
    path = None if path is None else check_path(path)
    n_words = positive_int(n_words, "n_words")
    n_documents = positive_int(n_documents, "n_documents")
    given = {"documents": documents, "document_names": document_names}
    check_same_rows(X=X, **given, dates=dates, groups=groups)
    rows = CountRows(X)
    documents = check_documents(documents, len(rows))
    names = check_length(document_names, len(rows), "document_names")
    dates = as_dates(check_length(dates, len(rows), "dates"))
    groups = check_length(groups, len(rows), "groups")

    texts = ShownTexts(documents, names, vectorizer)
    facts = model.facts(X, rows, feature_names)
    if labeller is not None:
        words = [facts.words(k, MOST_IN_LABEL) for k in range(len(facts.numbers))]
        given = words, facts.doc_topic, documents
        facts = replace(facts, labels=name_topics(labeller, *given, n_documents))
    data = {
        "title": str(title),
        "n_words": n_words,
        **facts.summary(),
        **word_tables(facts, n_words),
        **shown_documents(model, rows, facts, texts, n_documents),
        "dates": line_table(facts, dates),
        "groups": group_table(facts, groups),
    }
    figures = {"map-figure": map_figure(facts)}
    if data["dates"] is not None:
        figures["dates-figure"] = line_figure(data["dates"])
    page = render_page(data, figures)
    return page if path is None else write_page(path, page)
