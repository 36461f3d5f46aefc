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
    embeddings=None,
    document_names=None,
    dates=None,
    groups=None,
    n_words=30,
    n_documents=10,
    title="Topics",
):
    r"""Make a page to explore the topics of a fitted LDA.

    The page is one HTML file that needs no network and no server.  It has a map of the
    topics; the words of a topic, ranked by a relevance that a slider sets; the
    documents with the largest share of a topic, with words coloured by topic; and a
    search for words.

    Parameters
    ----------
    lda : object
        A fitted LDA of this package; or a fitted mixture of multinomials, where each
        cluster is a topic and a word has the colour of the topics that it supports; or,
        with ``embeddings``, any fitted estimator with ``predict_proba`` or ``predict``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the documents, or a list of such matrices, or a collection.
    feature_names : array-like of shape (n_features,), default=None
        Words of the columns.  None takes the column names of the training data, or
        column numbers.
    documents : sequence of str of shape (n_samples,), default=None
        Texts, in the order of the rows of ``X``.  None shows the counted words, most
        informative first: in decreasing order of :math:`-n_{dv} \log p_v`, where
        :math:`n_{dv}` is the count and :math:`p_v` the word's share of the corpus.
    path : str or path, default=None
        File to write.  None writes no file and returns the page.  An existing file is
        replaced once the new one is complete; its owner and permissions stay.  A
        symbolic link stays too, and the file that it leads to is replaced.
    vectorizer : object or callable, default=None
        Vectorizer that made the counts, with ``build_analyzer``, or a function that
        returns the words of a text.  It finds the features in the texts.  None takes
        words of two letters or more, in lower case, as scikit-learn's vectorizers do by
        default.
    embeddings : array-like of shape (n_samples, n_columns), default=None
        Rows from which the estimator predicts the clusters of the documents, if it was
        not fitted to word counts.  Each cluster with documents is a topic then, and the
        words with the largest class TF-IDF are its label; see
        `sktemper.text.cluster_words`.
    document_names : array-like of shape (n_samples,), default=None
        Heading of each document, shown next to its row number.
    dates : array-like of shape (n_samples,), default=None
        Date or number of each document, for a plot of prevalence over time.  Strings
        are read as dates of ISO 8601.  The plot leaves out documents without a date
        (None, NaT, NaN).  Dates must be from the years -99999 to 99999, and numbers
        from :math:`-2^{63}` to :math:`2^{63}`.
    groups : array-like of shape (n_samples,), default=None
        Name of the group of each document, for a table of prevalence by group.  The 30
        groups with the most tokens are shown.
    n_words : int, default=30
        Number of words of each topic.
    n_documents : int, default=10
        Number of documents of each topic.
    title : str, default="Topics"
        Heading of the page.

    Returns
    -------
    page : pathlib.Path or str
        Absolute path of the file, or without ``path`` the HTML of the page.

    Raises
    ------
    ImportError
        If Bokeh or pandas is not installed; they come with the extra ``report``.
    TypeError
        If the estimator is of another class, a document is not a str, or the path is
        neither a str nor a path.
    ValueError
        If the number of words differs from that of features, or the number of
        documents, embeddings, names, dates or groups from that of rows; if a number or
        a date is infinite or out of range; or if the path is a device, a pipe or the
        like.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    FileNotFoundError
        If the folder of the path does not exist.
    IsADirectoryError
        If the path is a folder.
    PermissionError
        If the file is read-only, if no file can be made in its folder, or if it has an
        owner that a new file cannot have.

    Warns
    -----
    UserWarning
        If the shown texts contain none of the words that were counted in their rows.

    See Also
    --------
    sktemper.plotting.TopicMapDisplay : The map as a picture.

    Notes
    -----
    Texts are cut after 2,000 characters.  The search finds the 20,000 most frequent
    words and the words of the topics.  The page mentions both limits if they apply.
    Words are ranked by the relevance of `topics` or by class TF-IDF.  The area of a
    circle is the prevalence of the topic in ``X``.

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
    model = model_of(lda, embeddings)
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
        "numbers": facts.numbers.tolist(),
        "by_tfidf": facts.by_tfidf,
        "labels": [facts.label(k) for k in range(len(facts.prevalence))],
        "prevalence": facts.prevalence.round(6).tolist(),
        "coherence": facts.coherence.round(3).tolist(),
    }
