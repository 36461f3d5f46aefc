"""A page to explore the topics of a fitted LDA."""

from sklearn.utils.validation import check_is_fitted

from ._checks import check_count, check_documents, check_length, check_packages
from ._documents import Texts, shown_documents
from ._figures import line_figure, map_figure
from ._models import model_of
from ._page import page_of
from ._places import as_dates, group_table, line_table
from ._rows import Rows
from ._target import check_path, write_page
from ._words import word_tables

__all__ = ["topic_report"]


def topic_report(
    lda,
    X,
    feature_names=None,
    documents=None,
    path=None,
    *,
    vectorizer=None,
    document_names=None,
    dates=None,
    groups=None,
    n_words=30,
    n_documents=10,
    title="Topics",
):
    r"""Make a page to explore the topics of a fitted LDA.

    One HTML file that needs no network and no server: a map of the topics, their words
    by a relevance that a slider sets, the documents that have the most of each, with
    words tinted by topic, and a search for words.

    Parameters
    ----------
    lda : object
        A fitted LDA of this package; or a fitted mixture of multinomials, where each
        cluster is a topic and a word has the tint of the topics it speaks for.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents, or a list of such matrices, or a collection.
    feature_names : array-like of shape (n_features,), default=None
        The words; None takes the column names of the training data, or column numbers.
    documents : sequence of str of shape (n_samples,), default=None
        The texts, in the order of the rows of ``X``.  None shows the words that were
        counted, those first that tell most: of the largest
        :math:`-n_{dv} \log p_v`, where :math:`n_{dv}` is the count and :math:`p_v` the
        word's share of the corpus.
    path : str or path, default=None
        The file to write.  None writes no file and returns the page.  A file that is
        there is replaced once the new one is complete; its owner and permissions stay.
        A symbolic link stays too, and the file that it leads to is replaced.
    vectorizer : object or callable, default=None
        What made the counts of the texts: a vectorizer with ``build_analyzer``, or a
        function that returns the words of a text.  It finds which words of a text are
        which features.  None takes those of two letters or more, in lower case, as
        scikit-learn's vectorizers do by default.
    document_names : array-like of shape (n_samples,), default=None
        What stands above each document, beside the number of its row.
    dates : array-like of shape (n_samples,), default=None
        A date or a number of each document, to show prevalence over; strings are read
        as dates of ISO 8601.  Documents without one (None, NaT, NaN) are left out
        there.  Dates are from the years -99999 to 99999, numbers from
        :math:`-2^{63}` to :math:`2^{63}`.
    groups : array-like of shape (n_samples,), default=None
        The name of a group of each document, to show prevalence by; the 30 groups with
        the most tokens are shown.
    n_words : int, default=30
        Words of each topic.
    n_documents : int, default=10
        Documents of each topic.
    title : str, default="Topics"
        The page's heading.

    Returns
    -------
    page : pathlib.Path or str
        The absolute path of the file; without ``path`` the HTML of the page.

    Raises
    ------
    ImportError
        If Bokeh or pandas is not installed; they come with the extra ``report``.
    TypeError
        If the estimator is not such a one, or a document is not a str, or the path
        neither a str nor a path.
    ValueError
        If there are not as many words as features, or not as many documents, names,
        dates or groups as rows; if a number or a date is infinite or out of range; or
        if the path is a device, a pipe or the like.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    FileNotFoundError
        If there is no such folder.
    IsADirectoryError
        If the path is a folder.
    PermissionError
        If the file is read-only, if no file can be made in its folder, or if it has an
        owner that a new file cannot have.

    Warns
    -----
    UserWarning
        If no word of the texts shown is one that was counted in their rows.

    See Also
    --------
    sktemper.plotting.TopicMapDisplay : The map as a picture.

    Notes
    -----
    Texts are cut after 2,000 characters, and the search knows the 20,000 words that
    occur most and those that the topics show; the page says so where it is the case.
    Words are ranked by the relevance of `topics`, whose prevalence of ``X`` is also
    the area of the circles.

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

    Without a path the page is returned, to be served or stored elsewhere:

    >>> topic_report(lda, X, debian.feature_names)[:15]
    '<!doctype html>'
    """
    check_packages("topic_report")
    model = model_of(lda)
    check_is_fitted(lda)
    path = None if path is None else check_path(path)
    n_words = check_count(n_words, "n_words")
    n_documents = check_count(n_documents, "n_documents")
    rows = Rows(X)
    documents = check_documents(documents, len(rows))
    names = check_length(document_names, len(rows), "document_names")
    dates = as_dates(check_length(dates, len(rows), "dates"))
    groups = check_length(groups, len(rows), "groups")

    texts = Texts(documents, names, vectorizer)
    facts = model.facts(X, rows, feature_names)
    data = {
        "title": str(title),
        "n_words": n_words,
        **_summary(facts),
        **word_tables(facts, n_words),
        **shown_documents(model, rows, facts, texts, n_documents),
        "dates": line_table(facts, dates),
        "groups": group_table(facts, groups),
    }
    lines = None if data["dates"] is None else line_figure(data["dates"])
    figures = {"map-figure": map_figure(facts), "dates-figure": lines}
    page = page_of(data, figures)
    return page if path is None else write_page(path, page)


def _summary(facts):
    """Return the figures of the corpus and of its topics."""
    return {
        "n_documents": len(facts.tokens),
        "n_tokens": round(float(facts.tokens.sum())),
        "n_features": len(facts.names),
        "labels": [facts.label(k) for k in range(len(facts.prevalence))],
        "prevalence": facts.prevalence.round(6).tolist(),
        "coherence": facts.coherence.round(3).tolist(),
    }
