"""The estimators of the mixtures of multinomials and of Bernoullis."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from .._estimator._constructors import Annealed, Streaming
from .._estimator._counts import (
    ROWS_INSPECTED,
    inspect_counts,
    validate_counts,
    validate_training_counts,
)
from .._estimator._data_checks import check_columns
from .._estimator._estimator import TemperedEstimator
from .._estimator._mixtures import (
    ChosenMoves,
    MixtureMixin,
    active_components,
    check_enough_samples,
    model_of,
)
from .._estimator._streams import drop_features, expand_features, widened_for
from .._estimator._variants import AnnealedMixin, training_constructor
from .._families._dirichlet import CONCENTRATION
from .._families._mixture import drawn_components
from .._utils._arguments import check_statistic, positive_int
from .._utils._constraints import FINITE, StrOptions
from .._utils._docstrings import completed_by
from .._utils._frames import completed
from .._utils._notices import warn_once
from .._utils._results import copy_fit
from .._utils._typing import ArrayLike, DataLike, Float, Int, Statistic
from .._utils._validation import check_counts, check_numbers
from .._utils._words import TopWordsMixin, WordRanks
from ..noise import GradientNoise
from ..tempering import Tempering
from ._model import BernoulliMixtureModel, MultinomialMixtureModel


class DiscreteMixtureParameters(Streaming, total=False):
    """Parameters that the estimators of both models have in common."""

    weight_concentration_prior: Float | None
    moves: ChosenMoves


class _DiscreteMixture(MixtureMixin, TemperedEstimator):
    max_iter: Int = 100
    feature_prior: Float | Literal["auto"]
    batch_size: Int | Literal["auto"] | None = None

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "feature_prior": [CONCENTRATION],
        "weight_concentration_prior": [CONCENTRATION, None],
    }
    _fixed_by_fit = ("n_components", "feature_prior", "weight_concentration_prior")
    expand_features, drop_features = expand_features, drop_features
    _widened_for = widened_for

    _input_tags = {"sparse": True}

    _check_enough = check_enough_samples

    # -- views of the state ------------------------------------------------------------
    @property
    def feature_prior_(self) -> float:
        """Concentration of the prior of the components, float; given or estimated."""
        return float(np.asarray(self._state().hyper.component).flat[0] + 1.0)

    @property
    def concentration_(self) -> np.ndarray:
        """Parameters of the components' posteriors, Dirichlet or Beta, ndarray.

        The shape is (n_components, n_features), or (n_components, n_features, 2).
        """
        return np.asarray(self._state().globals_.components) + 1.0


def _drawn_probabilities(mixture, n_samples):
    """Return drawn components, their feature probabilities, and a random generator."""
    y, random = mixture._draw_components(n_samples)
    return y, mixture.components_.astype(np.float64)[y], random


def _profiles(mixture, item, own, others, tails):
    """Yield rows of `profiles`, given the parameters of Beta distributions.

    ``item`` are the kind and the option.
    """
    ends = stats.beta.ppf(np.reshape(tails, (2, 1)), own, others)
    numbers = map(np.ndarray.tolist, (own / (own + others), *ends))
    for name, *row in zip(mixture._names().tolist(), *numbers, strict=True):
        yield name, *item, *row


class TemperedMultinomialMixture(TopWordsMixin, _DiscreteMixture):
    """Mixture of multinomials (one topic per document), with any tempering, or none.

    It suits very short texts, which rarely have several topics, and clusters of
    documents [1]_.  The fit can use any tempering [2]_.

    Parameters
    ----------
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each document, for data with outliers ("local"), of a policy, or 1 (None).
    feature_prior : float or "auto", default="auto"
        Concentration of the Dirichlet prior of words; larger for smoother components.
        "auto" estimates it from words that repeat in rows, from 0.1 to 1.
    batch_size : int, "auto" or None, default=None
        Number of documents of a step; None takes all (coordinate ascent).  "auto" is
        faster for millions: a tenth, at least 20 per component and at most 5,000.
    learning_rate : LearningRate or float, default=None
        Size of a step, see `sktemper.learning_rates`.  None is 1 if all documents are
        one batch, and otherwise ``RobbinsMonro()``; `AdaptiveRate` suits small batches.
    tol : float, default=1e-3
        Least gain that counts: of the held-out score, in nats per token, and with
        ``batch_size=None`` of the lower bound by a pass or a move.
    half_life : float, duration or None, default=None
        Number of documents after which a document counts half in `partial_fit`, for
        streams that change; or a duration such as "30D", which needs ``times``.

    Notes
    -----
    `score_samples` returns the logarithm of the posterior predictive probability of the
    sequence of a document's tokens, a mixture of Dirichlet-multinomials.  `score` is
    the sum of these logarithms, divided by the number of tokens.

    References
    ----------
    .. [1] J. Yin, J. Wang, "A Dirichlet multinomial mixture model-based
       approach for short text clustering", KDD 2014.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper import TemperedMultinomialMixture
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=100, n_components=5, random_state=0)
    >>> TemperedMultinomialMixture(5, random_state=0).fit(X).predict(X).shape
    (100,)
    """

    @training_constructor(DiscreteMixtureParameters, _DiscreteMixture)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        feature_prior: Float | Literal["auto"] = "auto",
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[DiscreteMixtureParameters],
    ): ...

    _validate, _validate_training = validate_counts, validate_training_counts
    _check_weighted = staticmethod(check_counts)
    _inspect_training_data = inspect_counts

    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "feature_prior": [CONCENTRATION, StrOptions({"auto"})],
    }

    _input_tags = {"positive_only": True}

    @staticmethod
    def _make_model(settings, n_features, dtype):
        return model_of(MultinomialMixtureModel, settings, n_features, dtype)

    def _profiles(self, k, tails):
        own = self.concentration_[k]
        return _profiles(self, ("multinomial", "share"), own, own.sum() - own, tails)

    def _n_parameters(self, n_classes):
        return n_classes * (self.n_features_in_ - 1)

    def _drawn_rows(self, X, seed):
        lengths = np.asarray(X.sum(axis=1)).ravel().astype(np.intp)
        other = copy_fit(self, random_state=seed)
        _, probabilities, random = _drawn_probabilities(other, X.shape[0])
        pairs = zip(random.permutation(lengths), probabilities, strict=True)
        rows = [random.multinomial(n, p / p.sum()) for n, p in pairs]
        return np.stack(rows).astype(np.float64)

    def sample(
        self, n_samples: Int = 1, doc_length: Int = 50
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw documents from the components at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of documents.
        doc_length : int, default=50
            Number of tokens of each document.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Word counts.
        y : ndarray of shape (n_samples,)
            Components of the samples.
        """
        doc_length = positive_int(doc_length, "doc_length")
        y, probabilities, random = _drawn_probabilities(self, n_samples)
        rows = [random.multinomial(doc_length, p / p.sum()) for p in probabilities]
        return np.stack(rows), y

    def perplexity(self, X: DataLike, sample_weight: ArrayLike | None = None) -> float:
        """Return ``exp(-score(X))``, per token; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times that each document counts.

        Returns
        -------
        perplexity : float
            At least 1.
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))

    def _words_of_topics(self):
        concentration, active = self.concentration_, active_components(self)
        tokens = np.zeros_like(concentration)
        tokens[active] = concentration[active] - self.feature_prior_
        return WordRanks.of_tokens(concentration, tokens)

    @property
    def components_(self) -> np.ndarray:
        """Mean word probabilities, ndarray of shape (n_components, n_features)."""
        concentration = self.concentration_
        means = concentration / concentration.sum(axis=1, keepdims=True)
        return means.astype(self.state_.dtype)


class TemperedBernoulliMixture(_DiscreteMixture):
    """Mixture of Bernoullis (latent class analysis), with any tempering, or none.

    Features are independent given the class of a sample [1]_.  The fit can use any
    tempering [2]_.

    Parameters
    ----------
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature of a fit, see `sktemper.tempering`: inferred ("global"), inferred
        for each sample, for data with outliers ("local"), of a policy, or 1 (None).
    feature_prior : float, default=1.0
        Both concentrations of the Beta prior of the probability that a feature is 1;
        larger values keep probabilities away from 0 and 1.
    binarize : float or None, default=0.0
        Threshold above which values count as 1, and others as 0; 1.5 for answers coded
        1 and 2.  With None, values must be 0 or 1.  NaN is a missing value.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step; None takes all (coordinate ascent).  "auto" is
        faster for millions: a tenth, at least 20 per component and at most 5,000.

    Notes
    -----
    NaN is a missing value, and is assumed to be missing at random.  `score_samples`
    returns the logarithm of the posterior predictive probability of the values that are
    not missing, and `score` is the mean of these logarithms.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import TemperedBernoulliMixture
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> TemperedBernoulliMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    binarize: Float | None

    @training_constructor(DiscreteMixtureParameters, _DiscreteMixture)
    def __init__(
        self,
        n_components: Int = 10,
        *,
        tempering: Tempering | Literal["global", "local"] | None = "global",
        feature_prior: Float = 1.0,
        binarize: Float | None = 0.0,
        gradient_noise: GradientNoise | None = None,
        **parameters: Unpack[DiscreteMixtureParameters],
    ): ...

    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "binarize": [FINITE, None],
    }
    _fixed_by_fit = (*_DiscreteMixture._fixed_by_fit, "binarize")

    _input_tags = {"allow_nan": True}

    def _validate(self, X, reset):
        X = check_numbers(self, X, reset, accept_sparse="csr")
        if self.binarize is not None:
            return X
        values = X.data if issparse(X) else X
        if not ((values == 0) | (values == 1) | np.isnan(values)).all():
            raise ValueError(
                f"{type(self).__name__} with binarize=None takes values of 0 and 1, "
                "and NaN for missing values. Set the threshold above which a value "
                "counts as 1, or use sklearn.preprocessing.OneHotEncoder for "
                "categories."
            )
        return X

    def _check_enough(self, data):
        super()._check_enough(data)
        check_columns(self, data)

    def _inspect_training_data(self, data, fresh):
        X = data.counted_sample(ROWS_INSPECTED)
        if self.binarize != 0.0 or issparse(X):
            return
        known = X[~np.isnan(X)]
        are_codes = (known == np.rint(known)).all()
        if are_codes and not ((known == 0) | (known == 1)).all():
            warn_once(
                self,
                "codes",
                f"X has values other than 0 and 1, from {known.min():.4g} to "
                f"{known.max():.4g}. Values above binarize=0.0, "
                f"{(known > 0).mean():.0%} of all, count as 1, and other values as 0. "
                "If this is intended, pass X > 0. Otherwise set a threshold, such as "
                "binarize=1.5 for answers coded 1 and 2, or use OneHotEncoder for more "
                "than two categories.",
                UserWarning,
            )

    @staticmethod
    def _make_model(settings, n_features, dtype):
        given = BernoulliMixtureModel, settings, n_features, dtype
        return model_of(*given, threshold=_threshold(settings))

    def _profiles(self, k, tails):
        return _profiles(self, ("binary", "1"), *self.concentration_[k].T, tails)

    def _n_parameters(self, n_classes):
        return n_classes * self.n_features_in_

    def impute(self, X: DataLike, statistic: Statistic = "mode") -> Any:
        """Return ``X`` in which missing values are filled, given the rest of the row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN is a missing value.
        statistic : {"mode", "mean", "median", "sample"}, default="mode"
            What fills a gap.  "mode", which is also the "median", is 0 or 1, the more
            probable given the observed values of the sample; "mean" the probability of
            1.  "sample" draws the component and then the gaps of a sample, with
            ``random_state``; several samples are pooled as multiple imputations.

        Returns
        -------
        X : ndarray, CSR matrix, DataFrame or list
            A copy of ``X`` in the same container.

        Raises
        ------
        ValueError
            If ``binarize`` does not separate 0 and 1, or ``statistic`` is unknown.
        """
        check_statistic(statistic)
        if not 0 <= _threshold(self) < 1:
            raise ValueError(
                f"impute fills in 0 and 1, but binarize={self.binarize} does not "
                "separate them: fit X > binarize, and pass it to impute."
            )
        shares, ends = self.predict_proba(X), 0.5
        if statistic == "sample":
            random = check_random_state(self.random_state)
            shares = np.eye(shares.shape[1])[drawn_components(shares, random)]
            ends = random.uniform(size=(len(shares), self.n_features_in_))
        means = shares @ self.components_
        found = means if statistic == "mean" else means > ends
        return completed(X, found, self._validate)

    def _drawn_rows(self, X, seed):
        drawn, _ = copy_fit(self, random_state=seed).sample(X.shape[0])
        return drawn - 0.5 + _threshold(self)

    @completed_by(MixtureMixin._draw_components)
    def sample(self, n_samples: Int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples from the components at the posterior means.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Values 0 and 1.
        y : ndarray of shape (n_samples,)
            Components of the samples.
        """
        y, probabilities, random = _drawn_probabilities(self, n_samples)
        drawn = random.uniform(size=probabilities.shape) < probabilities
        return drawn.astype(self.state_.dtype), y

    @property
    def concentration_(self) -> np.ndarray:
        """Parameters of the Beta posteriors, (n_components, n_features, 2)."""
        concentration = super().concentration_
        return concentration.reshape(len(concentration), -1, 2)

    @property
    def components_(self) -> np.ndarray:
        """Mean probabilities of 1, ndarray of shape (n_components, n_features)."""
        concentration = self.concentration_
        means = concentration[..., 0] / concentration.sum(axis=-1)
        return means.astype(self.state_.dtype)


def _threshold(settings):
    """Return the value above which values count as 1."""
    return 0.5 if settings.binarize is None else settings.binarize


class MultinomialMixtureParameters(Annealed, DiscreteMixtureParameters, total=False):
    """Parameters that the estimators of the model have in common."""

    feature_prior: Float | Literal["auto"]


class AnnealedMultinomialMixture(AnnealedMixin, TemperedMultinomialMixture):
    """Mixture of multinomials (one topic per document), by annealing and moves.

    It suits very short texts, which rarely have several topics, and clusters of
    documents [1]_.  The fit starts at a high temperature, which falls to 1 [2]_, and
    then splits and merges components.

    Parameters
    ----------
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.

    Examples
    --------
    >>> from sktemper import AnnealedMultinomialMixture
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> AnnealedMultinomialMixture(5, random_state=0).fit(X).predict(X).shape
    (300,)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        moves: ChosenMoves = "split_merge",
        **parameters: Unpack[MultinomialMixtureParameters],
    ): ...


class BernoulliMixtureParameters(Annealed, DiscreteMixtureParameters, total=False):
    """Parameters that the estimators of the model have in common."""

    feature_prior: Float
    binarize: Float | None


class AnnealedBernoulliMixture(AnnealedMixin, TemperedBernoulliMixture):
    """Mixture of Bernoullis (latent class analysis), by annealing and moves.

    Features are independent given the class of a sample [1]_.  The fit starts at a high
    temperature, which falls to 1 [2]_, and then splits and merges components.

    Parameters
    ----------
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves after the passes of `fit`, to leave poor optima, see `sktemper.moves`.

    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import AnnealedBernoulliMixture
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> AnnealedBernoulliMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        n_components: Int = 10,
        *,
        moves: ChosenMoves = "split_merge",
        **parameters: Unpack[BernoulliMixtureParameters],
    ): ...
