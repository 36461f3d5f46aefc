"""The estimators of the mixtures of multinomials and of Bernoullis."""

from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval, positive_int
from .._estimator import (
    TOL_OF_BOUND,
    AnnealedMixin,
    CountsMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
    annealed,
    check_n_samples,
    document,
    store,
    svi_plus,
    warn_once,
)
from .._expfam import LEAST_CONCENTRATION, WEIGHTS
from .._limits import check_prior
from .._validation import check_data
from ._model import BernoulliMixtureModel, MultinomialMixtureModel


class _DiscreteMixture(
    MixtureMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """What the estimators of both mixtures share."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "feature_prior": [Interval(Real, LEAST_CONCENTRATION, None, closed="left")],
        "weight_concentration_prior_type": [StrOptions(set(WEIGHTS))],
        "weight_concentration_prior": [
            Interval(Real, LEAST_CONCENTRATION, None, closed="left"),
            None,
        ],
    }
    _fixed_by_fit = (
        "n_components",
        "feature_prior",
        "weight_concentration_prior_type",
        "weight_concentration_prior",
    )
    _model = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _make_model(self, n_features, dtype):
        if self.feature_prior != "auto":
            check_prior(self.feature_prior, "feature_prior")
        check_prior(self.weight_concentration_prior, "weight_concentration_prior")
        settings = self._model_settings()
        return self._model(self.n_components, n_features, dtype=dtype, **settings)

    def _model_settings(self):
        return {
            "feature_prior": self.feature_prior,
            "weight_prior": self.weight_concentration_prior_type,
            "weight_concentration": self.weight_concentration_prior,
        }

    def _check_enough(self, data):
        if len(data) < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {len(data)}"
            )

    def predict_proba(self, X):
        """Return the responsibility of each component for each sample, a probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return super().predict_proba(X).astype(self.state_.dtype, copy=False)

    def _drawn(self, n_samples):
        """Return components, their feature probabilities, and random numbers."""
        self._ready()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        y = np.sort(random.choice(len(weights), n_samples, p=weights / weights.sum()))
        return y, self.components_.astype(np.float64)[y], random

    # -- views of the state ------------------------------------------------------------
    @property
    def feature_prior_(self):
        """The concentration of the components' prior in use."""
        return float(np.asarray(self._state().hyper.component).flat[0] + 1.0)

    @property
    def concentration_(self):
        """Parameters of the components' posteriors, Dirichlet or Beta."""
        return np.asarray(self._state().globals_.components) + 1.0


class _MultinomialMixture(CountsMixin, _DiscreteMixture):
    """What the estimators of the mixture of multinomials share."""

    _model = MultinomialMixtureModel
    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "feature_prior": [
            *_DiscreteMixture._parameter_constraints["feature_prior"],
            StrOptions({"auto"}),
        ],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def sample(self, n_samples=1, doc_length=50):
        """Draw documents from the components at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of documents.
        doc_length : int, default=50
            Tokens of each document.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Word counts.
        y : ndarray of shape (n_samples,)
            Their components.

        Raises
        ------
        ValueError
            If ``n_samples`` or ``doc_length`` is less than 1, or no integer.
        """
        doc_length = positive_int(doc_length, "doc_length")
        y, probabilities, random = self._drawn(n_samples)
        rows = [random.multinomial(doc_length, p / p.sum()) for p in probabilities]
        return np.stack(rows), y

    def perplexity(self, X, sample_weight=None):
        """Return ``exp(-score(X))``, per token; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each document counts.

        Returns
        -------
        perplexity : float
            At least 1.
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))

    def top_words(self, feature_names=None, n_words=10):
        """Return the most probable words of each component.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,), default=None
            The words; None takes the column names of the training data, or column
            numbers.
        n_words : int, default=10
            Number of words of each component.

        Returns
        -------
        words : list of n_components lists of str
            The most probable word first.

        Raises
        ------
        ValueError
            If there are not as many names as features, or ``n_words`` is less than 1,
            or no integer.
        """
        return self._top_words(feature_names, n_words)

    @property
    def components_(self):
        """Posterior means of the components' word probabilities: rows sum to 1."""
        concentration = self.concentration_
        means = concentration / concentration.sum(axis=1, keepdims=True)
        return means.astype(self.state_.dtype)


class _BernoulliMixture(_DiscreteMixture):
    """What the estimators of the mixture of Bernoullis share."""

    _model = BernoulliMixtureModel
    _parameter_constraints = {
        **_DiscreteMixture._parameter_constraints,
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }
    _fixed_by_fit = (*_DiscreteMixture._fixed_by_fit, "binarize")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _validate(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if self.binarize is None:
            check_binary(X, type(self).__name__)
        return X

    def _validate_training(self, X, reset):
        X = super()._validate_training(X, reset)
        if self.binarize == 0.0 and not issparse(X):
            self._warn_of_codes(X)
        return X

    def _warn_of_codes(self, X):
        """Warn of whole numbers other than 0 and 1, which may be codes of answers."""
        known = X[~np.isnan(X)]
        are_codes = (known == np.rint(known)).all()
        if not are_codes or ((known == 0) | (known == 1)).all():
            return
        warn_once(
            self,
            "codes",
            f"X has values other than 0 and 1, from {known.min():.4g} to "
            f"{known.max():.4g}: those above binarize=0.0, {(known > 0).mean():.0%} of "
            "them, are taken as 1 and the others as 0. Give the threshold, such as "
            "binarize=1.5 for answers coded 1 and 2; pass X > 0 if that is meant; "
            "OneHotEncoder makes 0 and 1 of more than two categories.",
            UserWarning,
        )

    def _model_settings(self):
        threshold = 0.5 if self.binarize is None else self.binarize
        return {**super()._model_settings(), "threshold": threshold}

    def sample(self, n_samples=1):
        """Draw samples from the components at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Of 0 and 1.
        y : ndarray of shape (n_samples,)
            Their components.

        Raises
        ------
        ValueError
            If ``n_samples`` is less than 1.
        """
        y, probabilities, random = self._drawn(n_samples)
        drawn = random.uniform(size=probabilities.shape) < probabilities
        return drawn.astype(self.state_.dtype), y

    @property
    def components_(self):
        """Posterior means of the probabilities that a feature is 1."""
        concentration = self.concentration_
        means = concentration[..., 0] / concentration.sum(axis=-1)
        return means.astype(self.state_.dtype)


def check_binary(X, name):
    """Raise ValueError unless all values are 0, 1 or NaN."""
    values = X.data if hasattr(X, "indptr") else X
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise ValueError(
            f"{name} with binarize=None takes values of 0 and 1, and NaN for missing "
            "ones. Give the threshold above which a value counts as 1, or use "
            "sklearn.preprocessing.OneHotEncoder for categories."
        )


_WORDS = {
    "unit": "sample",
    "observed": "observation",
    "moves_strings": '"birth", "split-merge", "all"',
    "tol_of_bound": TOL_OF_BOUND,
    "moves_meaning": """"birth" is `BirthMoves` as it comes, "split-merge" is
        `SplitMergeMoves`, and "all" first the latter, then `ReheatMoves`, and then the
        former.""",
}

_PARAMETERS = """
    $moves
    feature_prior : $feature_prior
        $feature_prior_meaning$binarize
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
default="dirichlet_distribution"
        Of the weights: stick-breaking, or a symmetric Dirichlet distribution, which
        with the default concentration is the approximation of [2]_ to the same.
    weight_concentration_prior : float, default=None
        Small ones leave components empty; at least 1e-12.  None is
        ``1 / n_components``.
    max_iter : int, default=100
        Most passes of `fit` over the data.
    $n_init
    batch_size : int, "auto" or None, default=None
        Samples of a step.  None: all at once, which with rate 1 is coordinate ascent.
    $shuffle
    $total_samples
    $evaluate_every
"""

_ATTRIBUTES = """
    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of $components_meaning.
    concentration_ : ndarray of shape $concentration_shape
        Parameters of the components' posteriors.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The concentration prior in use.
    feature_prior_ : float
        The concentration of the components' prior in use.
    labels_ : ndarray of shape (n_samples,)
        The components of what `fit` or `partial_fit` saw last.
    n_active_components_ : int
        Components with more than half a sample.
    converged_ : bool
        Whether the lower bound came to rest, in a `fit` of all samples at once.
    lower_bound_ : float
        The evidence lower bound of the training data at T=1, with every constant.
    lower_bounds_ : list of float
        It before each step at T=1 of a `fit` of all samples at once.
    $policies

    Notes
    -----
    $score_meaning

    References
    ----------
    .. [1] $reference
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
"""

_TEMPERING = """
    tempering : Tempering, "global", "local" or None, default="global"
        The temperature during training, see `sktemper.tempering`: "global" is
        `GlobalTempering` as it comes, "local" `LocalTempering`, and None is T=1: plain
        variational inference."""

_MULTINOMIAL = {
    **_WORDS,
    "samples": "documents",
    "feature_prior": """float or "auto", default="auto\"""",
    "feature_prior_meaning": """Concentration of the Dirichlet prior of the word
        probabilities of a component.  "auto" is found from the data, from 0.1 to 1, by
        how often two tokens of a row are the same word: small for documents about few
        words, 1 for one-hot answers, of which no two are the same; but it is worth at
        most a tenth of the tokens of a component.  It is 0.1 if no row has two tokens,
        or if there are fractions.""",
    "components_meaning": "the components' word probabilities",
    "concentration_shape": "(n_components, n_features)",
    "score_meaning": """`score_samples` is the posterior predictive probability of the
    sequence of a document's tokens, a mixture of Dirichlet-multinomials, and `score` is
    its sum per token.""",
    "binarize": "",
    "reference": """J. Yin, J. Wang, "A Dirichlet multinomial mixture model-based
       approach for short text clustering", KDD 2014.""",
}
_BERNOULLI = {
    **_WORDS,
    "samples": "samples",
    "feature_prior": "float, default=1.0",
    "feature_prior_meaning": """Both concentrations of the Beta prior of the
        probability that a feature is 1, the same for all.""",
    "components_meaning": "the probabilities that a feature is 1",
    "concentration_shape": "(n_components, n_features, 2)",
    "score_meaning": """NaN is a missing value, taken to be missing at random.
    `score_samples` is the posterior predictive probability of the values that are not
    missing, and `score` is its sum per sample.""",
    "binarize": """
    binarize : float or None, default=0.0
        Values above it count as 1, others as 0, as in scikit-learn's `BernoulliNB`;
        NaN is a missing value.  None: the values are 0 and 1 already, others raise.
        Answers coded 1 and 2 need 1.5: with 0.0 all of them would be 1, and a fit to
        dense whole numbers other than 0 and 1 warns.""",
    "reference": """P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.""",
}
_SUMMARY = {
    "Multinomial": """Mixture of multinomials (one topic a document), $how.

    For very short texts, whose few words hardly have several topics, and for clusters
    of documents [1]_.""",
    "Bernoulli": """Mixture of Bernoullis (latent class analysis), $how.

    Features are independent given the class of a sample [1]_; missing values are
    left out.  Sparse data are made dense, some rows at a time.""",
}
_EXAMPLE = {
    "Multinomial": """
    Examples
    --------
    >>> from sktemper import {name}
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(n_samples=300, n_components=5, random_state=0)
    >>> {name}(5, random_state=0).fit(X).predict(X).shape
    (300,)
    """,
    "Bernoulli": """
    Examples
    --------
    >>> import numpy as np
    >>> from sktemper import {name}
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> {name}(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """,
}


def _documentation(name, kind, own, family):
    words = _MULTINOMIAL if family == "Multinomial" else _BERNOULLI
    attributes = _ATTRIBUTES
    if kind == "Annealed":
        attributes = attributes.replace("$policies", "$fitted_schedule\n    $policies")
    text = (
        _SUMMARY[family]
        + _KINDS[kind]
        + """

    Parameters
    ----------
    n_components : int, default=8
        Number of components K; more than are needed stay empty."""
        + own
        + _PARAMETERS
        + attributes
        + _EXAMPLE[family].format(name=name)
    )
    moves = '"split-merge"' if kind == "Annealed" else "None"
    return document(text, moves_default=moves, how=_HOW[kind], **words)


_HOW = {
    "Tempered": "with any tempering, or none",
    "Annealed": "by annealing and moves",
    "SVIPlus": "with tunable noise",
}
_KINDS = {
    "Tempered": """

    Fitted under any tempering [4]_.""",
    "Annealed": """

    Fitted by deterministic annealing [3]_, and then by moves that split and merge
    components.""",
    "SVIPlus": """

    Fitted by SVI+ [2]_, with tuneable noise on the gradients, see
    `sktemper.noise.SVIPlusNoise`.""",
}
_OWN = {
    "Tempered": _TEMPERING + "\n    $learning_rate\n    $gradient_noise",
    "Annealed": """
    $schedule
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`.
    $learning_rate
    $gradient_noise""",
    "SVIPlus": "\n    $effective_batch_size\n    $learning_rate",
}


class TemperedMultinomialMixture(_MultinomialMixture):  # noqa: D101 (composed __doc__)
    __doc__ = _documentation(
        "TemperedMultinomialMixture", "Tempered", _OWN["Tempered"], "Multinomial"
    )
    _parameter_constraints = _MultinomialMixture._parameter_constraints

    def __init__(
        self,
        n_components=8,
        *,
        tempering="global",
        learning_rate=None,
        gradient_noise=None,
        moves=None,
        feature_prior="auto",
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class AnnealedMultinomialMixture(AnnealedMixin, _MultinomialMixture):  # noqa: D101
    __doc__ = _documentation(
        "AnnealedMultinomialMixture", "Annealed", _OWN["Annealed"], "Multinomial"
    )
    _slots, _parameter_constraints = annealed(_MultinomialMixture)

    def __init__(
        self,
        n_components=8,
        *,
        schedule=None,
        target="local_step",
        learning_rate=None,
        gradient_noise=None,
        moves="split-merge",
        feature_prior="auto",
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class SVIPlusMultinomialMixture(SVIPlusMixin, _MultinomialMixture):  # noqa: D101
    __doc__ = _documentation(
        "SVIPlusMultinomialMixture", "SVIPlus", _OWN["SVIPlus"], "Multinomial"
    )
    _slots, _parameter_constraints = svi_plus(_MultinomialMixture)

    def __init__(
        self,
        n_components=8,
        *,
        effective_batch_size=0.5,
        distribution="dirichlet",
        tempering=None,
        learning_rate=None,
        moves=None,
        feature_prior="auto",
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class TemperedBernoulliMixture(_BernoulliMixture):  # noqa: D101 (composed __doc__)
    __doc__ = _documentation(
        "TemperedBernoulliMixture", "Tempered", _OWN["Tempered"], "Bernoulli"
    )
    _parameter_constraints = _BernoulliMixture._parameter_constraints

    def __init__(
        self,
        n_components=8,
        *,
        tempering="global",
        learning_rate=None,
        gradient_noise=None,
        moves=None,
        feature_prior=1.0,
        binarize=0.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class AnnealedBernoulliMixture(AnnealedMixin, _BernoulliMixture):  # noqa: D101
    __doc__ = _documentation(
        "AnnealedBernoulliMixture", "Annealed", _OWN["Annealed"], "Bernoulli"
    )
    _slots, _parameter_constraints = annealed(_BernoulliMixture)

    def __init__(
        self,
        n_components=8,
        *,
        schedule=None,
        target="local_step",
        learning_rate=None,
        gradient_noise=None,
        moves="split-merge",
        feature_prior=1.0,
        binarize=0.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class SVIPlusBernoulliMixture(SVIPlusMixin, _BernoulliMixture):  # noqa: D101
    __doc__ = _documentation(
        "SVIPlusBernoulliMixture", "SVIPlus", _OWN["SVIPlus"], "Bernoulli"
    )
    _slots, _parameter_constraints = svi_plus(_BernoulliMixture)

    def __init__(
        self,
        n_components=8,
        *,
        effective_batch_size=0.5,
        distribution="dirichlet",
        tempering=None,
        learning_rate=None,
        moves=None,
        feature_prior=1.0,
        binarize=0.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        shuffle=True,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())
