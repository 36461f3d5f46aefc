"""Where a fit of topics starts: its topics, its prior, and its temperature."""

import numpy as np

from .._limits import check_prior
from ._checks import positive
from ._correspondence import Recent, analyse
from ._critical import critical_temperatures
from ._priors import auto_prior
from ._spectral import spectral_tokens
from ._topics import Topics

__all__ = ["StartsMixin"]

#: Where an annealing of sampled documents begins.
SAMPLED_START = 1.2
#: What a word has in a topic at the start where nothing is known, in tokens.
START_OF_A_WORD = 0.1
#: Rows that a correspondence analysis needs, in multiples of the number of topics.
ROWS_PER_TOPIC = 2


class StartsMixin:
    """The part of `LDAModel` that is asked before the first step."""

    def __init__(self):
        super().__init__()
        self._correspondence = Recent()

    def auto_temperature(self, hyper):
        """Return the fourth root of the number of topics.

        Hotter is better for many topics, but where few start too hot they become all
        equal, and a short fit ends before they are told apart again.  Sampled
        documents make topics equal at 1.3 already.
        """
        if self.doc_update == "sampled":
            return SAMPLED_START
        return max(1.0, self.n_topics**0.25)

    def initial_hyper(self, X, sample_weight=None):
        """Return alpha, by the length of the documents where none is given."""
        if self.doc_topic_prior is None:
            alpha = auto_prior(X, self.n_topics, sample_weight)
            return np.full(self.n_topics, alpha)
        return self.doc_topic_prior

    def initial_globals(self, X, random, hyper=None, sample_weight=None):
        """Return the start of lambda: ``init``, or draws, or what documents tell.

        Draws are those of scikit-learn.  Multiplied by them is what the correspondence
        analysis of the documents finds of the topics; those beyond its axes start at
        the draws.
        """
        shape = (self.n_topics, self.n_features)
        init = self.init
        if init is not None:
            init = positive(init, "init", [shape])
            check_prior(init, "init")
        else:
            init = random.gamma(100.0, 0.01, shape).astype(self.dtype, copy=False)
            found = None
            if self.init_params == "spectral":
                found = self._analysed(X, hyper, sample_weight)
            if found is not None:
                tokens = spectral_tokens(found, self.n_topics)
                init = init.astype(np.float64)
                init[: len(tokens)] *= START_OF_A_WORD + tokens
        return Topics.from_dense(init.T, self.topic_word_prior.T)

    def critical_temperatures(self, X, hyper, sample_weight=None):
        """Return them by the correspondence analysis of the documents."""
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
        """Return the correspondence analysis; None where it tells nothing of topics.

        Which are not exchangeable where the priors of some are others, and of which few
        documents tell little.
        """
        hyper = self.initial_hyper(X, sample_weight) if hyper is None else hyper
        alike = (hyper == hyper[0]).all()
        alike = alike and (self.topic_word_prior == self.topic_word_prior[:1]).all()
        if not alike or self.n_topics == 1:
            return None
        found = self._correspondence.result(
            analyse, X, sample_weight, self.n_topics - 1
        )
        if found is None or found.n_rows < ROWS_PER_TOPIC * self.n_topics:
            return None
        return found
