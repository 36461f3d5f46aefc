"""Interface of a report to a fitted model: LDA, or a mixture of multinomials."""

import numpy as np
from scipy import sparse

from ..metrics import npmi_coherence
from ..plotting import topic_shares
from ._facts import Facts

__all__ = ["model_of"]

#: Words that coherence is taken of.
COHERENT_WORDS = 10
#: Topics of a word that are less probable are left out, but for the most probable.
LEAST_PROBABILITY = 0.1


def model_of(estimator):
    """Return the interface to a fitted estimator, chosen by its methods.

    Raises
    ------
    TypeError
        If it is neither an LDA nor a mixture of multinomials of this package.
    """
    for kind in LDA, Mixture:
        if not isinstance(estimator, type) and all(
            hasattr(estimator, name) for name in kind.needs
        ):
            return kind(estimator)
    hint = ""
    if hasattr(estimator, "steps"):
        hint = (
            ": of a pipeline pass the last step, pipeline[-1], and as X what "
            "pipeline[:-1].transform returns"
        )
    raise TypeError(
        "lda must be a fitted LDA or mixture of multinomials of sktemper, got "
        f"{type(estimator).__name__}{hint}."
    )


class LDA:
    """Interface to latent Dirichlet allocation, where each word has topics.

    Parameters
    ----------
    lda : object
        The fitted estimator.
    """

    needs = ("topics", "explain", "transform")

    def __init__(self, lda):
        self._lda = lda

    def facts(self, X, rows, feature_names):
        """Return the `Facts` of the model and of a corpus."""
        names = _names_of(self._lda, feature_names, rows)
        # a frame cannot have every str: to pyarrow it must be valid Unicode
        table = self._lda.topics(_numbers(names), COHERENT_WORDS, X=X)
        first = table[table["rank"] == 1]
        return Facts.of(
            names=names,
            rows=rows,
            topic_word=np.asarray(self._lda.topic_word_, dtype=np.float64),
            doc_topic=np.asarray(self._lda.transform(X)),
            prevalence=first["prevalence"].to_numpy(),
            coherence=first["coherence"].to_numpy(),
        )

    def word_topics(self, X, facts):
        """Return of each document a dict of the topics of its words.

        Parameters
        ----------
        X : CSR matrix or DataFrame of shape (n_samples, n_features)
        facts : Facts

        Returns
        -------
        topics : list of dict of int to dict of int to float
            The probabilities of topics of each word.
        """
        numbers = _numbers(facts.names)
        table = self._lda.explain(X, numbers, min_probability=LEAST_PROBABILITY)
        found = [{} for _ in range(X.shape[0])]
        fields = (table[name] for name in ("document", "word", "topic", "probability"))
        for document, word, topic, probability in zip(*fields, strict=True):
            found[document].setdefault(int(word), {})[topic] = probability
        return found


class Mixture:
    """Interface to a mixture of multinomials, where each document has one topic.

    Parameters
    ----------
    mixture : object
        The fitted estimator.
    """

    needs = ("top_words", "predict_proba", "sample")

    def __init__(self, mixture):
        self._mixture = mixture

    def facts(self, X, rows, feature_names):
        """Return the `Facts` of the model and of a corpus."""
        names = _names_of(self._mixture, feature_names, rows)
        components = np.asarray(self._mixture.components_, dtype=np.float64)
        topics = np.argsort(-components, axis=1, kind="stable")[:, :COHERENT_WORDS]
        words, places = np.unique(topics, return_inverse=True)
        doc_topic = np.asarray(self._mixture.predict_proba(X))
        return Facts.of(
            names=names,
            rows=rows,
            topic_word=components / components.sum(axis=1, keepdims=True),
            doc_topic=doc_topic,
            prevalence=topic_shares(doc_topic, rows.tokens),
            coherence=npmi_coherence(
                list(places.reshape(topics.shape)), rows.columns(words)
            ),
        )

    def word_topics(self, X, facts):
        """Return of each document a dict of the topics of its words; see `LDA`."""
        X = sparse.csr_matrix(X)
        X.eliminate_zeros()
        words = np.unique(X.indices)
        joint = facts.prevalence[:, None] * facts.topic_word[:, words]
        topics_of = {}
        for word, shares in zip(
            words.tolist(), (joint / facts.in_corpus[words]).T, strict=True
        ):
            kept = {*np.flatnonzero(shares >= LEAST_PROBABILITY), shares.argmax()}
            topics_of[word] = {int(k): float(shares[k]) for k in kept}
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [{v: topics_of[v] for v in X.indices[a:b].tolist()} for a, b in ends]


def _names_of(estimator, feature_names, rows):
    """Return the words: those given, those of the training data, or numbers."""
    n_features = len(rows.counts)
    if feature_names is None:
        feature_names = getattr(
            estimator, "feature_names_in_", _numbers(range(n_features))
        )
    is_sequence = np.ndim(feature_names) == 1 and hasattr(feature_names, "__len__")
    if not is_sequence or len(feature_names) != n_features:
        found = len(feature_names) if is_sequence else type(feature_names).__name__
        raise ValueError(
            "feature_names must have one name for each of the "
            f"{n_features} columns of X, got {found}."
        )
    return [str(name) for name in feature_names]


def _numbers(names):
    """Return the numbers of columns as strings."""
    return [str(v) for v in range(len(names))]
