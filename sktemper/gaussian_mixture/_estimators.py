"""The estimators of the Gaussian mixture."""

import functools
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval
from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
    check_n_samples,
)
from .._expfam import LEAST_CONCENTRATION, WEIGHTS
from .._limits import check_prior, check_values, check_variances
from .._notices import warn
from .._validation import check_data
from ._empirical import FREE_DEGREES, LEARNED
from ._model import COVARIANCE_TYPES, GaussianMixtureModel
from ._parameters import Hyper
from ._starts import STARTS


class _GaussianMixture(
    MixtureMixin,
    TemperedEstimator,
):
    """What the estimators of the Gaussian mixture share."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "priors": [StrOptions({"learned", "scikit-learn"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "init_params": [StrOptions(set(STARTS))],
        "weight_concentration_prior_type": [StrOptions(set(WEIGHTS))],
        "weight_concentration_prior": [
            Interval(Real, LEAST_CONCENTRATION, None, closed="left"),
            None,
        ],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither"), None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_prior": [
            "array-like",
            Interval(Real, 0, None, closed="neither"),
            None,
        ],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X, reset):
        X = check_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        check_values(X, self._dtype_for(X, reset))
        return X

    def _validate_training(self, X, reset):
        X = check_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
        )
        check_values(X, self._dtype_for(X, reset), training=reset)
        return X

    _fixed_by_fit = (
        "n_components",
        "covariance_type",
        "weight_concentration_prior_type",
        "weight_concentration_prior",
        "mean_precision_prior",
        "mean_prior",
        "degrees_of_freedom_prior",
        "covariance_prior",
        "priors",
    )

    _min_samples = 2  # a start has a covariance

    def _check_enough(self, data):
        if len(data) < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {len(data)}"
            )
        if self.covariance_type == "full" and self.n_features_in_ > len(data):
            warn(
                f"X has {self.n_features_in_} columns and {len(data)} rows: too few "
                'rows for full covariances. Use covariance_type="diag" or "spherical", '
                "or fewer columns, such as principal components."
            )

    def _make_model(self, n_features, dtype):
        check_variances(max(self.reg_covar, 1.0), dtype, "reg_covar")
        return GaussianMixtureModel(
            self.n_components,
            n_features,
            covariance_type=self.covariance_type,
            weight_prior=self.weight_concentration_prior_type,
            priors=functools.partial(self._priors, dtype=dtype),
            init=STARTS[self.init_params],
            reg_covar=self.reg_covar,
            is_wishart=self._has_wishart(),
            learned=self._learned(),
            dtype=dtype,
        )

    def _learned(self):
        """Return the parts of the priors that are learned: none that is given.

        A tied covariance is one draw of its prior, and teaches nothing.
        """
        if self.priors == "scikit-learn":
            return []
        given = {part: getattr(self, f"{part}_prior") for part in LEARNED}
        if self.covariance_type == "tied":
            given = {"mean_precision": self.mean_precision_prior}
        return [part for part, value in given.items() if value is None]

    def _has_wishart(self):
        """Return whether the precisions have a Wishart distribution."""
        return self.covariance_type in ("full", "tied") or self.priors != "learned"

    def _starts_free(self):
        """Return whether the covariance prior starts with few degrees of freedom."""
        return self.covariance_type != "tied" and self.priors == "learned"

    def _priors(self, mean, covariance, dtype):
        """Return the priors; None stands for a choice for such data, or a start."""
        n_features = len(mean)
        concentration = self.weight_concentration_prior
        if concentration is None:
            concentration = 1.0 / self.n_components
        precision = self.mean_precision_prior
        freedom = self.degrees_of_freedom_prior
        least = n_features - 1 if self._has_wishart() else 0
        if freedom is None:
            freedom = least + FREE_DEGREES if self._starts_free() else n_features
        if freedom <= least:
            raise ValueError(
                "The parameter 'degrees_of_freedom_prior' should be greater than "
                f"{least:g}, but got {freedom:.3f}."
            )
        check_prior(concentration, "weight_concentration_prior")
        check_prior(precision, "mean_precision_prior")
        check_prior(freedom, "degrees_of_freedom_prior")
        prior_mean = mean
        if self.mean_prior is not None:
            prior_mean = check_array(self.mean_prior, dtype=np.float64, ensure_2d=False)
            if prior_mean.shape != (n_features,):
                raise ValueError(
                    f"The parameter 'means' should have the shape of ({n_features},), "
                    f"but got {prior_mean.shape}"
                )
            check_values(prior_mean, dtype, "mean_prior")
        return Hyper(
            float(concentration),
            1.0 if precision is None else float(precision),
            float(freedom),
            prior_mean,
            self._covariance_prior(covariance, freedom, dtype),
            mean,
        )

    def _covariance_prior(self, default, freedom, dtype):
        """Return the inverse scale of the prior, of the shape of ``default``."""
        if self.covariance_prior is None:
            prior = self._regular(default)
            check_variances(_variances(prior), dtype, "X has features with a variance")
            return freedom * prior if self._starts_free() else prior
        prior = check_array(
            np.atleast_1d(self.covariance_prior), dtype=np.float64, ensure_2d=False
        ).reshape(np.shape(self.covariance_prior))
        if prior.shape != np.shape(default):
            raise ValueError(
                f"The parameter '{self.covariance_type} covariance_prior' should have "
                f"the shape of {np.shape(default)}, but got {prior.shape}"
            )
        if (_variances(prior) > 0).all():
            check_variances(_variances(prior), dtype, "covariance_prior has variances")
        matrix = prior if prior.ndim == 2 else np.diag(np.atleast_1d(prior))
        symmetric = np.allclose(matrix, matrix.T)
        if not symmetric or not (np.linalg.eigvalsh(matrix) > 0).all():
            what = "symmetric, positive-definite" if prior.ndim == 2 else "positive"
            raise ValueError(
                f"'{self.covariance_type} covariance_prior' should be {what}"
            )
        return prior

    def _regular(self, covariance):
        """Return a covariance, with `reg_covar` on its diagonal if it is singular."""
        matrix = np.atleast_1d(covariance)
        if _is_regular(matrix if matrix.ndim == 2 else np.diag(matrix)):
            return covariance
        if self.reg_covar == 0:
            raise ValueError(
                "The covariance of the data is singular and can be no prior. Increase "
                "reg_covar, give covariance_prior, or remove constant features."
            )
        return covariance + self.reg_covar * (
            np.eye(len(matrix)) if matrix.ndim == 2 else 1.0
        )

    def _largest_final_change(self, run):
        """Return ``tol``: it says of `converged_` what scikit-learn would."""
        return self.tol

    def _is_logged(self, passes):
        return passes % self.verbose_interval == 0

    # -- what users call ---------------------------------------------------------------
    def sample(self, n_samples=1):
        """Draw samples from the Gaussians at the posterior means.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The samples, sorted by component.
        y : ndarray of shape (n_samples,)
            Their components.

        Raises
        ------
        ValueError
            If ``n_samples`` is less than 1.
        """
        self._check_fitted()
        check_n_samples(n_samples)
        random = check_random_state(self.random_state)
        weights = self.weights_.astype(np.float64)
        counts = random.multinomial(n_samples, weights / weights.sum())
        model, _ = self._fitted()
        covariances = model.covariance.matrices(self.covariances_)
        X = [
            random.multivariate_normal(mean, covariance, int(count))
            for mean, covariance, count in zip(
                self.means_, covariances, counts, strict=True
            )
        ]
        return np.vstack(X), np.repeat(np.arange(len(counts)), counts)

    # -- views of the state ------------------------------------------------------------
    def _fitted(self):
        """Return the model and the Normal-Wishart parameters of the fit."""
        state = self._state()
        model = self._fitted_model()
        return model, model.usual(state.globals_)

    @property
    def means_(self):
        """Posterior means of the components' means, (n_components, n_features)."""
        state = self._state()
        _, expected = self._fitted()
        return (expected.means + state.hyper.origin).astype(state.dtype)

    @property
    def covariances_(self):
        """Inverse expected precisions, of a shape that the covariance type sets."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        return (expected.inverse_scale / freedom).astype(self._state().dtype)

    @property
    def precisions_(self):
        """Expected precisions, of the shape of `covariances_`."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        scale = model.covariance.scale(expected.inverse_scale)
        return (freedom * scale).astype(self._state().dtype)

    @property
    def precisions_cholesky_(self):
        """Upper triangles (roots, where diagonal) whose products are `precisions_`."""
        model, expected = self._fitted()
        freedom = model.covariance.widened(expected.freedom)
        roots = model.covariance.roots(expected.inverse_scale)
        return (np.sqrt(freedom) * roots).astype(self._state().dtype)

    @property
    def mean_precision_(self):
        """Kappa of each component, ndarray (n_components,)."""
        return self._fitted()[1].precision

    @property
    def degrees_of_freedom_(self):
        """Nu of each component, ndarray (n_components,); one number if tied."""
        return self._fitted()[1].freedom

    @property
    def mean_precision_prior_(self):
        """The precision prior of the means in use."""
        return self._state().hyper.mean_precision

    @property
    def mean_prior_(self):
        """The prior mean in use."""
        return self._state().hyper.mean

    @property
    def degrees_of_freedom_prior_(self):
        """The prior degrees of freedom in use."""
        return self._state().hyper.degrees_of_freedom

    @property
    def covariance_prior_(self):
        """The covariance prior in use."""
        return self._state().hyper.covariance


def _variances(covariance):
    """Return the diagonal of a covariance of any type."""
    return np.diag(covariance) if np.ndim(covariance) == 2 else covariance


def _is_regular(covariance):
    """Return whether each feature varies, also given those before it."""
    variances = np.diag(covariance)
    try:
        left = np.diag(np.linalg.cholesky(covariance)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((left > 1e-14 * len(variances) * variances).all())


class TemperedGaussianMixture(_GaussianMixture):
    """Gaussian mixture with any tempering, or with none.

    Variational inference for a mixture whose number of components is at most
    ``n_components`` [1]_, as in scikit-learn's `BayesianGaussianMixture`: with fewer
    bad optima, in minibatches if wanted.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step (``tempering`` to
    ``gradient_noise``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Number of components K; more than are needed stay empty.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Of the components: each its own matrix, all the same one, diagonal ones, or a
        variance each.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Of the weights: stick-breaking, or a symmetric Dirichlet distribution, which
        with the default concentration is the approximation of [4]_ to the same.
    weight_concentration_prior : float, default=None
        Small ones leave components empty; at least 1e-12.  None is
        ``1 / n_components``.
    mean_prior : array-like of shape (n_features,), default=None
        None is the mean of the data.
    mean_precision_prior : float, default=None
        How many samples the prior mean counts for.  None starts from 1 and learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts from the covariance of the data, or what
        ``covariance_type`` keeps of it, times the degrees of freedom, and learns it; if
        tied it is the covariance of the data.  ``reg_covar`` is added to the diagonal
        of a covariance that is singular.
    degrees_of_freedom_prior : float, default=None
        How many samples ``covariance_prior`` counts for; more than ``n_features - 1``
        if the prior is a Wishart distribution, else more than 0.  None starts from 3
        above this limit and learns it; if tied it is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        What priors that are None are, and the distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to those that maximise the
          lower bound for the components that are not empty, if there are two or more
          (empirical Bayes).  Each feature's precision has a Gamma distribution, or that
          of all features one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Precisions that are diagonal or spherical have the
          Wishart distribution of a full matrix.  With many features components merge
          that are far apart.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Where the responsibilities start, as in scikit-learn: from the clusters of
        k-means, from the samples that it starts from, from random numbers or from
        random samples.  Of more than 100,000 samples as many are taken.  It does not
        depend on the order of the samples, and a weight is a repetition.
    tempering : Tempering, "global", "local" or None, default="global"
        The temperature during training, see `sktemper.tempering`.

        - "global", `GlobalTempering` as it comes: one temperature, inferred from how
          well the model fits, and never above a cap that falls to 1.
        - "local", `LocalTempering` as it comes: a temperature for each sample.
          Outliers weigh less, and `temperatures` tells them.
        - An `Annealing`, for schedules and targets of your own;
          `AnnealedGaussianMixture` says it in fewer words, and is the first to try.
        - None, T=1: plain variational inference, the algorithm of scikit-learn's
          `BayesianGaussianMixture`.  A baseline.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: "birth" is `BirthMoves` as it comes, "split_merge" is
        `SplitMergeMoves`, and "all" first the latter, then `ReheatMoves`, and then the
        former.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Samples of a step.  None: all at once, which with rate 1 is coordinate ascent.
        "auto": a tenth of the data, from 20 samples a component to 10,000.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    max_iter : int, default=100
        Most passes of `fit` over the data; 0 leaves the start as it is.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
        A fit of all samples at once ends when the lower bound changes by less than
        this in a step at T=1, and a move is kept if it raises the bound by more.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    verbose_interval : int, default=10
        Passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        The expected precisions, their inverses and their triangular roots, of shape
        (n_components,) if spherical, (n_features, n_features) if tied, (n_components,
        n_features) if diag, (n_components, n_features, n_features) if full.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Of the Normal-Wishart distributions; if tied these have one number of degrees
        of freedom.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        The priors in use.
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
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Parameters and attributes are those of scikit-learn's `BayesianGaussianMixture`,
    and with ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"`` so are the
    fits, from the same
    responsibilities: to rounding errors and, as the bound is that before a step, maybe
    one step more.  The same ``random_state`` starts from the same ones if the samples
    are in increasing order, and all different and of one weight.  But a tied covariance
    starts from the samples that the components start from, where with ``init_params``
    "k-means++" or "random_from_data" theirs is that of all samples.
    What differs otherwise: `score_samples` and `score` are the exact posterior
    predictive density, a mixture of Student-t distributions, and ``lower_bound_`` has
    every constant.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import TemperedGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = TemperedGaussianMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    _parameter_constraints = _GaussianMixture._parameter_constraints

    def __init__(
        self,
        n_components=10,
        *,
        covariance_type="full",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=None,
        mean_prior=None,
        mean_precision_prior=None,
        covariance_prior=None,
        degrees_of_freedom_prior=None,
        reg_covar=1e-6,
        priors="learned",
        init_params="kmeans",
        tempering="global",
        moves=None,
        batch_size=None,
        learning_rate=None,
        gradient_noise=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        verbose_interval=10,
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples


class AnnealedGaussianMixture(AnnealedMixin, _GaussianMixture):
    """Gaussian mixture fitted by deterministic annealing and moves.

    Variational inference for a mixture whose number of components is at most
    ``n_components`` [1]_, as in scikit-learn's `BayesianGaussianMixture`, from a higher
    temperature down [3]_ and then by moves that split, merge and replace clusters [5]_:
    what it ends at hardly depends on the start.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step (``schedule`` to
    ``gradient_noise``); length of the fit (``max_iter`` to ``warm_start``); data and
    machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Number of components K; more than are needed stay empty.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Of the components: each its own matrix, all the same one, diagonal ones, or a
        variance each.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Of the weights: stick-breaking, or a symmetric Dirichlet distribution, which
        with the default concentration is the approximation of [4]_ to the same.
    weight_concentration_prior : float, default=None
        Small ones leave components empty; at least 1e-12.  None is
        ``1 / n_components``.
    mean_prior : array-like of shape (n_features,), default=None
        None is the mean of the data.
    mean_precision_prior : float, default=None
        How many samples the prior mean counts for.  None starts from 1 and learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts from the covariance of the data, or what
        ``covariance_type`` keeps of it, times the degrees of freedom, and learns it; if
        tied it is the covariance of the data.  ``reg_covar`` is added to the diagonal
        of a covariance that is singular.
    degrees_of_freedom_prior : float, default=None
        How many samples ``covariance_prior`` counts for; more than ``n_features - 1``
        if the prior is a Wishart distribution, else more than 0.  None starts from 3
        above this limit and learns it; if tied it is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        What priors that are None are, and the distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to those that maximise the
          lower bound for the components that are not empty, if there are two or more
          (empirical Bayes).  Each feature's precision has a Gamma distribution, or that
          of all features one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Precisions that are diagonal or spherical have the
          Wishart distribution of a full matrix.  With many features components merge
          that are far apart.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Where the responsibilities start, as in scikit-learn: from the clusters of
        k-means, from the samples that it starts from, from random numbers or from
        random samples.  Of more than 100,000 samples as many are taken.  It does not
        depend on the order of the samples, and a weight is a repetition.
    schedule : Schedule or callable, default=None
        The temperature at each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`.
    moves : Moves, "birth", "split_merge", "all" or None, default="all"
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: "birth" is `BirthMoves` as it comes, "split_merge" is
        `SplitMergeMoves`, and "all" first the latter, then `ReheatMoves`, and then the
        former.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Samples of a step.  None: all at once, which with rate 1 is coordinate ascent.
        "auto": a tenth of the data, from 20 samples a component to 10,000.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise on the statistics of a batch, see `sktemper.noise`; None is off.
    max_iter : int, default=100
        Most passes of `fit` over the data; 0 leaves the start as it is.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
        A fit of all samples at once ends when the lower bound changes by less than
        this in a step at T=1, and a move is kept if it raises the bound by more.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    verbose_interval : int, default=10
        Passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        The expected precisions, their inverses and their triangular roots, of shape
        (n_components,) if spherical, (n_features, n_features) if tied, (n_components,
        n_features) if diag, (n_components, n_features, n_features) if full.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Of the Normal-Wishart distributions; if tied these have one number of degrees
        of freedom.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        The priors in use.
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
    schedule_ : Schedule
        The schedule in use, with its length resolved.
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Parameters and attributes are those of scikit-learn's `BayesianGaussianMixture`,
    and with ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"`` so are the
    fits, from the same
    responsibilities: to rounding errors and, as the bound is that before a step, maybe
    one step more.  The same ``random_state`` starts from the same ones if the samples
    are in increasing order, and all different and of one weight.  But a tied covariance
    starts from the samples that the components start from, where with ``init_params``
    "k-means++" or "random_from_data" theirs is that of all samples.
    What differs otherwise: `score_samples` and `score` are the exact posterior
    predictive density, a mixture of Student-t distributions, and ``lower_bound_`` has
    every constant.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import AnnealedGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = AnnealedGaussianMixture(8, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    >>> mixture.n_active_components_
    3
    """

    def __init__(
        self,
        n_components=10,
        *,
        covariance_type="full",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=None,
        mean_prior=None,
        mean_precision_prior=None,
        covariance_prior=None,
        degrees_of_freedom_prior=None,
        reg_covar=1e-6,
        priors="learned",
        init_params="kmeans",
        schedule=None,
        target="local_step",
        moves="all",
        batch_size=None,
        learning_rate=None,
        gradient_noise=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        verbose_interval=10,
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.schedule = schedule
        self.target = target
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.gradient_noise = gradient_noise
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples


class SVIPlusGaussianMixture(SVIPlusMixin, _GaussianMixture):
    """Gaussian mixture with tunable gradient noise (SVI+).

    Variational inference for a mixture whose number of components is at most
    ``n_components`` [1]_, as in scikit-learn's `BayesianGaussianMixture`, with steps as
    noisy as those of a smaller batch [4]_, see `sktemper.noise.SVIPlusNoise`.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``init_params``); temperature and step
    (``effective_batch_size`` to ``learning_rate``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Number of components K; more than are needed stay empty.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Of the components: each its own matrix, all the same one, diagonal ones, or a
        variance each.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_process"
        Of the weights: stick-breaking, or a symmetric Dirichlet distribution, which
        with the default concentration is the approximation of [4]_ to the same.
    weight_concentration_prior : float, default=None
        Small ones leave components empty; at least 1e-12.  None is
        ``1 / n_components``.
    mean_prior : array-like of shape (n_features,), default=None
        None is the mean of the data.
    mean_precision_prior : float, default=None
        How many samples the prior mean counts for.  None starts from 1 and learns it.
    covariance_prior : float or array-like, default=None
        Inverse scale of the prior: the covariance that you expect of a component, times
        the degrees of freedom.  None starts from the covariance of the data, or what
        ``covariance_type`` keeps of it, times the degrees of freedom, and learns it; if
        tied it is the covariance of the data.  ``reg_covar`` is added to the diagonal
        of a covariance that is singular.
    degrees_of_freedom_prior : float, default=None
        How many samples ``covariance_prior`` counts for; more than ``n_features - 1``
        if the prior is a Wishart distribution, else more than 0.  None starts from 3
        above this limit and learns it; if tied it is ``n_features``.
    reg_covar : float, default=1e-6
        Variance added to the samples in each covariance.
    priors : {"learned", "scikit-learn"}, default="learned"
        What priors that are None are, and the distribution of the precisions if
        ``covariance_type`` is "diag" or "spherical".

        - "learned": each step sets the priors that are None to those that maximise the
          lower bound for the components that are not empty, if there are two or more
          (empirical Bayes).  Each feature's precision has a Gamma distribution, or that
          of all features one.
        - "scikit-learn": as in scikit-learn, ``mean_precision_prior`` is 1,
          ``degrees_of_freedom_prior`` is ``n_features`` and ``covariance_prior`` is the
          covariance of the data.  Precisions that are diagonal or spherical have the
          Wishart distribution of a full matrix.  With many features components merge
          that are far apart.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, \
            default="kmeans"
        Where the responsibilities start, as in scikit-learn: from the clusters of
        k-means, from the samples that it starts from, from random numbers or from
        random samples.  Of more than 100,000 samples as many are taken.  It does not
        depend on the order of the samples, and a weight is a repetition.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        M: a share of the batch, a number of samples, or a number at each step; see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Of the weights of samples, see `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        What `fit` does once it has settled at T=1, to leave a poor optimum, see
        `sktemper.moves`: "birth" is `BirthMoves` as it comes, "split_merge" is
        `SplitMergeMoves`, and "all" first the latter, then `ReheatMoves`, and then the
        former.  The lower
        bound of the training data never falls by it; after minibatches it is judged by
        100,000 samples at most.  `partial_fit` makes none.
    batch_size : int, "auto" or None, default=None
        Samples of a step.  None: all at once, which with rate 1 is coordinate ascent.
        "auto": a tenth of the data, from 20 samples a component to 10,000.
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target.  None is ``RobbinsMonro()``, and
        ``ConstantRate(1.0)`` in a `fit` with ``batch_size=None``; a number is a
        `ConstantRate`.
    max_iter : int, default=100
        Most passes of `fit` over the data; 0 leaves the start as it is.
    n_init : int, default=1
        How many times `fit` fits, one after another and each time from another start.
        The fit with the best `lower_bound` of the training data, their
        ``sample_weight`` included, is kept; with ``verbose`` the bounds are logged.
        If ``init`` is an array, only the order of the samples and the noise differ.
        A `fit` that goes on by ``warm_start``, and `partial_fit`, ignore it.
    tol : float, default=1e-3
        Least improvement of the held-out score, in nats per sample.
        A fit of all samples at once ends when the lower bound changes by less than
        this in a step at T=1, and a move is kept if it raises the bound by more.
    n_iter_no_change : int, default=None
        Stop a `fit` after so many evaluations without improvement by ``tol``, and keep
        the best state.  Only states at a settled temperature of 1 count.
    evaluate_every : int, default=0
        Score a held-out part of the data after each so many passes of `fit`, into
        ``history_["heldout_score"]``.  0 scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise never.
    validation_fraction : float, default=0.1
        Share of the rows held out, if they are scored and `fit` has no ``X_val``.
    warm_start : bool, default=False
        Whether `fit` goes on: it finishes an interrupted plan, or else adds
        ``max_iter`` passes; temperature and rate go on from where they were.  An
        interrupted pass goes on at the batch where it was, with another ``batch_size``
        at the one of the first row not visited yet, and from its beginning where the
        rows that it is trained on are others.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Threads at most: small pieces of work are done by one, which takes less time.
        None is 1 unless in a `joblib.parallel_config`.  The result is the same, bit for
        bit, for every value.
    verbose : int, default=0
        Whether to log a line a pass to the logger "sktemper".
    verbose_interval : int, default=10
        Passes between the lines that ``verbose`` logs.
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in another order.
    total_samples : int, default=None
        Size of the data for which a batch stands.  None is the rows of `fit`, plus
        those of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    means_ : ndarray of shape (n_components, n_features)
        Posterior means of the components' means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        The expected precisions, their inverses and their triangular roots, of shape
        (n_components,) if spherical, (n_features, n_features) if tied, (n_components,
        n_features) if diag, (n_components, n_features, n_features) if full.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    mean_precision_, degrees_of_freedom_ : ndarray of shape (n_components,)
        Of the Normal-Wishart distributions; if tied these have one number of degrees
        of freedom.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, \
            degrees_of_freedom_prior_, covariance_prior_ : object
        The priors in use.
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
    tempering_, learning_rate_, gradient_noise_ : object
        The policies in use, with "auto" resolved.
    batch_size_ : int
        Rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Passes of `fit` completed.
    n_batch_iter_ : int
        Steps completed.
    n_samples_seen_ : int
        Rows seen, repeats included.
    history_ : dict of ndarrays
        A row a step (thinned when there are too many): "step", "passes", "seconds",
        "temperature", "learning_rate", "batch_bound" (the part of the samples in the
        tempered bound of the batch, in nats per sample), "heldout_score" (NaN where
        not evaluated) and "mean_iterations" (on a row); where the tempering has a
        ladder also "temperature_probabilities", of shape (n_rows, n_temperatures);
        in a fit of all samples at once perhaps "lower_bound" (before a step at T=1);
        where moves were made also, a row a move, "move_step", "move_seconds",
        "move_kept" and "move_bound" (the lower bound after it).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the data had any.

    Notes
    -----
    Parameters and attributes are those of scikit-learn's `BayesianGaussianMixture`,
    and with ``tempering=None``, ``moves=None`` and ``priors="scikit-learn"`` so are the
    fits, from the same
    responsibilities: to rounding errors and, as the bound is that before a step, maybe
    one step more.  The same ``random_state`` starts from the same ones if the samples
    are in increasing order, and all different and of one weight.  But a tied covariance
    starts from the samples that the components start from, where with ``init_params``
    "k-means++" or "random_from_data" theirs is that of all samples.
    What differs otherwise: `score_samples` and `score` are the exact posterior
    predictive density, a mixture of Student-t distributions, and ``lower_bound_`` has
    every constant.

    References
    ----------
    .. [1] H. Attias, "A variational Bayesian framework for graphical models", NIPS
       2000.
    .. [2] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [5] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import SVIPlusGaussianMixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mixture = SVIPlusGaussianMixture(8, batch_size=100, random_state=0).fit(X)
    >>> mixture.predict(X).shape
    (300,)
    """

    def __init__(
        self,
        n_components=10,
        *,
        covariance_type="full",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=None,
        mean_prior=None,
        mean_precision_prior=None,
        covariance_prior=None,
        degrees_of_freedom_prior=None,
        reg_covar=1e-6,
        priors="learned",
        init_params="kmeans",
        effective_batch_size=0.5,
        noise_distribution="dirichlet",
        tempering=None,
        moves=None,
        batch_size=None,
        learning_rate=None,
        max_iter=100,
        n_init=1,
        tol=1e-3,
        n_iter_no_change=None,
        evaluate_every=0,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        verbose_interval=10,
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.covariance_prior = covariance_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.reg_covar = reg_covar
        self.priors = priors
        self.init_params = init_params
        self.effective_batch_size = effective_batch_size
        self.noise_distribution = noise_distribution
        self.tempering = tempering
        self.moves = moves
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_init = n_init
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.evaluate_every = evaluate_every
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.shuffle = shuffle
        self.total_samples = total_samples
