"""Start of a fit of topics: the topics, the prior, and the temperature."""

import numpy as np

from .._cache import LastCall, are_same_objects
from .._limits import check_prior
from ._checks import positive
from ._correspondence import analyse
from ._critical import critical_temperatures
from ._priors import auto_prior
from ._spectral import spectral_tokens
from ._topics import Topics

__all__ = ["StartsMixin"]

#: Start temperature of an annealing with sampled documents.
SAMPLED_START = 1.2
#: Initial tokens of each word in a topic, to which the tokens of an axis are added.
START_OF_A_WORD = 0.1
#: Smallest number of rows of a correspondence analysis, per topic.
ROWS_PER_TOPIC = 2


class StartsMixin:
    """The methods of `LDAModel` that are called before the first step."""

    def __init__(self):
        super().__init__()
        self._correspondence = LastCall(are_same_objects)

    def auto_temperature(self, hyper):
        """Return the fourth root of the number of topics.

        A fit of many topics needs a high start temperature.  If the start temperature
        is too high for few topics, they become equal, and a short fit ends before they
        differ again.  If documents are sampled, topics become equal at a temperature of
        1.3.
        """
        if self.doc_update == "sampled":
            return SAMPLED_START
        return max(1.0, self.n_topics**0.25)

    def initial_hyper(self, X, sample_weight=None):
        """Return alpha; if none is given, it follows from the documents' lengths."""
        if self.doc_topic_prior is None:
            alpha = auto_prior(X, self.n_topics, sample_weight)
            return np.full(self.n_topics, alpha)
        return self.doc_topic_prior

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the initial lambda: ``init``, or random draws, or spectral topics.

        The draws are those of scikit-learn.  A spectral start multiplies them by the
        topics that a correspondence analysis of the documents finds.  If the analysis
        finds too few topics, the remaining topics start at the draws.
        """
        shape = (self.n_topics, self.n_features)
        init = self.init
        if init is not None:
            init = positive(init, "init", [shape])
            check_prior(init, "init")
        else:
            found = tokens = None
            if self.init_params == "spectral":
                found = self._analysed(X, hyper, sample_weight)
            if found is not None:  # before the draws, to limit memory
                tokens = spectral_tokens(found, self.n_topics)
            init = random.gamma(100.0, 0.01, shape).astype(self.dtype, copy=False)
            if tokens is not None:
                init = init.astype(np.float64, copy=False)
                tokens += START_OF_A_WORD
                init[: len(tokens)] *= tokens
                del tokens
        return Topics.from_dense(init.T, self.topic_word_prior.T)

    def critical_temperatures(self, X, hyper, sample_weight=None):
        """Return the temperatures below which topics differ along each axis."""
        found = self._analysed(X, hyper, sample_weight)
        if found is None:
            return None
        eigenvalues = np.zeros(self.n_topics - 1)
        of_data = found.eigenvalues_without_sampling_noise()
        eigenvalues[: len(of_data)] = of_data
        return critical_temperatures(
            eigenvalues, found.tokens_per_row, self.n_topics, float(hyper[0])
        )

    def _analysed(self, X, hyper, sample_weight):
        """Return the correspondence analysis, or None if it cannot show topics.

        The analysis cannot show topics if their priors differ, or if there are few
        documents.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        alike = (hyper == hyper[0]).all()
        alike = alike and (self.topic_word_prior == self.topic_word_prior[:1]).all()
        if not alike or self.n_topics == 1:
            return None
        found = self._correspondence.of(
            (X, sample_weight, self.n_topics - 1), lambda arguments: analyse(*arguments)
        )
        if found is None or found.n_rows < ROWS_PER_TOPIC * self.n_topics:
            return None
        return found
