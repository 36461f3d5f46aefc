"""The estimators of mixtures of rows of several kinds of values."""

from collections.abc import Sequence
from numbers import Real

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import StrOptions

from .._arguments import Interval, WholeNumber
from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
)
from .._expfam import LEAST_CONCENTRATION, WEIGHTS
from .._limits import check_prior
from ._coding import CodedColumnsMixin
from ._model import MixedMixtureModel
from ._results import ClassResultsMixin, all_components_are_used


class _MixedMixture(
    CodedColumnsMixin,
    ClassResultsMixin,
    MixtureMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TemperedEstimator,
):
    """Base of the estimators of mixtures of mixed columns."""

    _parameter_constraints = {
        **TemperedEstimator._parameter_constraints,
        "kinds": [str, dict, Sequence, "array-like"],
        "categories": [dict, None],
        "n_bins": [WholeNumber(2)],
        "feature_prior": [Interval(Real, LEAST_CONCENTRATION, None, closed="left")],
        "weight_concentration_prior_type": [StrOptions(set(WEIGHTS))],
        "weight_concentration_prior": [
            Interval(Real, LEAST_CONCENTRATION, None, closed="left"),
            None,
        ],
    }
    _fixed_by_fit = (
        "n_components",
        "kinds",
        "categories",
        "n_bins",
        "feature_prior",
        "weight_concentration_prior_type",
        "weight_concentration_prior",
    )
    _end_of_fit_checks = (all_components_are_used,)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _make_model(self, n_features, dtype):
        check_prior(self.feature_prior, "feature_prior")
        check_prior(self.weight_concentration_prior, "weight_concentration_prior")
        return MixedMixtureModel(
            self.n_components,
            n_features,
            columns=self.columns_,
            feature_prior=self.feature_prior,
            weight_prior=self.weight_concentration_prior_type,
            weight_concentration=self.weight_concentration_prior,
            dtype=dtype,
        )

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
        X : DataFrame or array-like of shape (n_samples, n_features)
            Answers, with the columns of the training data; NaN or None if missing.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return super().predict_proba(X).astype(self.state_.dtype, copy=False)

    # -- views of the state ------------------------------------------------------------
    @property
    def kinds_(self):
        """The kind of each column, by its name or index."""
        return {name: column.kind for name, column in self._named_columns()}

    @property
    def categories_(self):
        """Lists of the options of columns that have options, by name or index."""
        return {
            name: list(column.categories)
            for name, column in self._named_columns()
            if column.n_options
        }

    def _named_columns(self):
        """Return pairs of the name or index of a column, and its `Column`."""
        self._state()
        names = [
            name.item() if hasattr(name, "item") else name for name in self._names()
        ]
        return list(zip(names, self.columns_, strict=True))


class TemperedMixedMixture(_MixedMixture):
    """Mixture of answers, counts and measurements, with any tempering, or none.

    A latent class analysis of a table whose columns are of several kinds [1]_: options,
    counts and numbers, which are independent given the class of a row.  Missing values
    are left out.

    The fit can use any tempering [4]_.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``tempering`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.  If
        there are more than 5 and none stays empty, `fit` warns.
    kinds : "from_dtype", str, dict or sequence of str, default="from_dtype"
        The kind of each column: "categorical" (one of several options), "binary" (one
        of two), "gaussian" (a normal distribution), "poisson" (a count) or "binned"
        (intervals between quantiles, for skewed numbers, or numbers with many zeros).
        A dict has kinds by the name or the index of a column; a str is the kind of all
        columns.  With "from_dtype", and in columns that a dict does not name, text,
        booleans and categories of data frames are categorical; numbers are Gaussian,
        but whole numbers with at most 10 different values are categorical.
    categories : dict, default=None
        The options of columns, as ordered lists by the name or the index of a column.
        The options of other columns are the categories of the column's type in a data
        frame, or otherwise all values in the data of `fit` or in the first chunk of
        `partial_fit`.
    n_bins : int, default=5
        Number of intervals of a column of the kind "binned".  Intervals have about
        equal numbers of rows.
    feature_prior : float, default=1.0
        Concentration of the Dirichlet prior of the probabilities of the options of a
        column, with the same value for all.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_distribution"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [2]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    tempering : Tempering, "global", "local" or None, default="global"
        Temperature during training, see `sktemper.tempering`: "global" is
        `GlobalTempering()`, "local" is `LocalTempering()`, and None is plain
        variational inference at T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    kinds_ : dict
        The kind of each column, by its name or index.
    categories_ : dict
        List of the options of each column that has options, by its name or index.
    columns_ : tuple of Column
        Descriptions of the columns, which determine the codes of values.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    NaN and None are missing values, and are assumed to be missing at random.  A value
    that is not a category of the fit counts as missing, too, with a warning.  Equal
    numbers are the same category, whatever their type: 1, 1.0 and True.  Numbers and
    text that read the same are, too, unless `fit` saw both: 1 and "1", but not 1 and
    "01".  Integer labels of the columns of a data frame are names, not indices.
    `score_samples` returns the logarithm of the posterior predictive density of the
    values that are not missing, and `score` is the mean of these logarithms.
    Probabilities of options have Dirichlet priors, rates of counts have Gamma priors,
    and means and precisions of numbers have normal-gamma priors, whose scales are
    computed from the column.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import TemperedMixedMixture
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> TemperedMixedMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    _parameter_constraints = _MixedMixture._parameter_constraints

    def __init__(
        self,
        n_components=10,
        *,
        kinds="from_dtype",
        categories=None,
        n_bins=5,
        feature_prior=1.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
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
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.kinds = kinds
        self.categories = categories
        self.n_bins = n_bins
        self.feature_prior = feature_prior
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples


class AnnealedMixedMixture(AnnealedMixin, _MixedMixture):
    """Mixture of answers, counts and measurements, by annealing and moves.

    A latent class analysis of a table whose columns are of several kinds [1]_: options,
    counts and numbers, which are independent given the class of a row.  Missing values
    are left out.

    The fit starts at a high temperature, which falls to 1 [3]_, and then splits and
    merges components.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``schedule`` to ``gradient_noise``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.  If
        there are more than 5 and none stays empty, `fit` warns.
    kinds : "from_dtype", str, dict or sequence of str, default="from_dtype"
        The kind of each column: "categorical" (one of several options), "binary" (one
        of two), "gaussian" (a normal distribution), "poisson" (a count) or "binned"
        (intervals between quantiles, for skewed numbers, or numbers with many zeros).
        A dict has kinds by the name or the index of a column; a str is the kind of all
        columns.  With "from_dtype", and in columns that a dict does not name, text,
        booleans and categories of data frames are categorical; numbers are Gaussian,
        but whole numbers with at most 10 different values are categorical.
    categories : dict, default=None
        The options of columns, as ordered lists by the name or the index of a column.
        The options of other columns are the categories of the column's type in a data
        frame, or otherwise all values in the data of `fit` or in the first chunk of
        `partial_fit`.
    n_bins : int, default=5
        Number of intervals of a column of the kind "binned".  Intervals have about
        equal numbers of rows.
    feature_prior : float, default=1.0
        Concentration of the Dirichlet prior of the probabilities of the options of a
        column, with the same value for all.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_distribution"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [2]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of the model that the temperature flattens, see
        `sktemper.tempering.Annealing`.
    moves : Moves, "birth", "split_merge", "all" or None, default="split_merge"
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    gradient_noise : GradientNoise, default=None
        Noise of the statistics of a batch, see `sktemper.noise`; None adds no noise.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    kinds_ : dict
        The kind of each column, by its name or index.
    categories_ : dict
        List of the options of each column that has options, by its name or index.
    columns_ : tuple of Column
        Descriptions of the columns, which determine the codes of values.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    schedule_ : Schedule
        Schedule of the fit, with "auto" replaced by numbers.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    NaN and None are missing values, and are assumed to be missing at random.  A value
    that is not a category of the fit counts as missing, too, with a warning.  Equal
    numbers are the same category, whatever their type: 1, 1.0 and True.  Numbers and
    text that read the same are, too, unless `fit` saw both: 1 and "1", but not 1 and
    "01".  Integer labels of the columns of a data frame are names, not indices.
    `score_samples` returns the logarithm of the posterior predictive density of the
    values that are not missing, and `score` is the mean of these logarithms.
    Probabilities of options have Dirichlet priors, rates of counts have Gamma priors,
    and means and precisions of numbers have normal-gamma priors, whose scales are
    computed from the column.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import AnnealedMixedMixture
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> AnnealedMixedMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        n_components=10,
        *,
        kinds="from_dtype",
        categories=None,
        n_bins=5,
        feature_prior=1.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        schedule=None,
        target="local_step",
        moves="split_merge",
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
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.kinds = kinds
        self.categories = categories
        self.n_bins = n_bins
        self.feature_prior = feature_prior
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples


class SVIPlusMixedMixture(SVIPlusMixin, _MixedMixture):
    """Mixture of answers, counts and measurements, with tunable noise.

    A latent class analysis of a table whose columns are of several kinds [1]_: options,
    counts and numbers, which are independent given the class of a row.  Missing values
    are left out.

    The fit uses SVI+ [2]_: gradients with tunable noise, see
    `sktemper.noise.SVIPlusNoise`.

    Parameters are in groups, each with its most important ones first: the model
    (``n_components`` to ``weight_concentration_prior``); temperature and step
    (``effective_batch_size`` to ``learning_rate``); length of the fit (``max_iter`` to
    ``warm_start``); data and machine (``random_state`` to ``total_samples``).

    Parameters
    ----------
    n_components : int, default=10
        Largest number of components K.  Components that are not needed stay empty.  If
        there are more than 5 and none stays empty, `fit` warns.
    kinds : "from_dtype", str, dict or sequence of str, default="from_dtype"
        The kind of each column: "categorical" (one of several options), "binary" (one
        of two), "gaussian" (a normal distribution), "poisson" (a count) or "binned"
        (intervals between quantiles, for skewed numbers, or numbers with many zeros).
        A dict has kinds by the name or the index of a column; a str is the kind of all
        columns.  With "from_dtype", and in columns that a dict does not name, text,
        booleans and categories of data frames are categorical; numbers are Gaussian,
        but whole numbers with at most 10 different values are categorical.
    categories : dict, default=None
        The options of columns, as ordered lists by the name or the index of a column.
        The options of other columns are the categories of the column's type in a data
        frame, or otherwise all values in the data of `fit` or in the first chunk of
        `partial_fit`.
    n_bins : int, default=5
        Number of intervals of a column of the kind "binned".  Intervals have about
        equal numbers of rows.
    feature_prior : float, default=1.0
        Concentration of the Dirichlet prior of the probabilities of the options of a
        column, with the same value for all.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, \
            default="dirichlet_distribution"
        Prior of the weights: a stick-breaking process, or a symmetric Dirichlet
        distribution.  With the default concentration, the latter approximates a
        Dirichlet process [2]_.
    weight_concentration_prior : float, default=None
        Concentration of the prior of the weights, at least 1e-12.  With small values
        components that are not needed stay empty.  None is ``1 / n_components``.
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size M of a batch without added noise that would have the same gradient noise: a
        share of the batch, a number of samples, or a schedule of such values, see
        `sktemper.noise.SVIPlusNoise`.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of samples, see
        `sktemper.noise.SVIPlusNoise`.
    tempering : Tempering, "global", "local" or None, default=None
        Temperature during training, see `sktemper.tempering`; None is T=1.
    moves : Moves, "birth", "split_merge", "all" or None, default=None
        Moves that `fit` makes after its passes, at T=1, to leave a poor optimum, see
        `sktemper.moves`.  "birth" is `BirthMoves()`, "split_merge" is
        `SplitMergeMoves()`, and "all" is split and merge moves, then reheating, then
        births.  A move never lowers the lower bound of the training data, which is
        computed from at most 100,000 samples if the fit used mini-batches.
        `partial_fit` makes no moves.
    batch_size : int, "auto" or None, default=None
        Number of samples of a step.  None takes all samples, which is coordinate ascent
        with a learning rate of 1.
    learning_rate : LearningRate or float, default=None
        Step size: the share of the distance to its target by which a step moves the
        parameters.  None is ``RobbinsMonro()``, or ``ConstantRate(1.0)`` in a `fit`
        with ``batch_size=None``.  A number is a `ConstantRate`.
    max_iter : int, default=100
        Largest number of passes of `fit` over the data.
    n_init : int, default=1
        Number of fits from different starts, one after another.  The fit with the
        highest `lower_bound` of the training data, with their ``sample_weight``, is
        kept; ``verbose`` logs the bounds.  If ``init`` is an array, fits differ only in
        the order of the samples and in noise.  A `fit` that continues with
        ``warm_start``, and `partial_fit`, ignore this parameter.
    tol : float, default=1e-3
        Least rise of the held-out score that counts as an improvement, in nats per
        sample.  A fit with ``batch_size=None`` ends when the lower bound changes by
        less than this in a step at T=1.  A move is kept if it raises the bound by more
        than this.
    n_iter_no_change : int, default=None
        Number of consecutive evaluations without an improvement by ``tol`` after which
        `fit` ends and keeps the best state.  Only states after the temperature has
        settled at 1 are considered.  None disables early stopping.
    evaluate_every : int, default=0
        Number of passes of `fit` between two scores of held-out data, which are in
        ``history_["heldout_score"]``.  0 computes scores after each pass if
        ``n_iter_no_change`` or the ``X_val`` of `fit` is given, and otherwise none.
    validation_fraction : float, default=0.1
        Share of the rows that `fit` holds out to compute scores, if it has no
        ``X_val``.
    warm_start : bool, default=False
        Whether `fit` continues the last fit.  It finishes the planned passes if the
        last fit was interrupted, and otherwise adds ``max_iter`` passes.  Temperature
        and learning rate continue from their last values.  An interrupted pass
        continues with the first unvisited row, or starts again if the training rows
        changed.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of the order of the samples.
    n_jobs : int, default=None
        Largest number of threads.  Small amounts of work use one thread, which is
        faster.  None is 1 unless in a `joblib.parallel_config`.  The result has the
        same bits for every value.
    verbose : int, default=0
        Whether to log a line for each pass to the logger "sktemper".
    shuffle : bool, default=True
        Whether each pass of `fit` visits the samples in a new random order.
    total_samples : int, default=None
        Number of rows of the data that a batch represents.  None is the number of rows
        of `fit`, plus rows of later `partial_fit` calls.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    kinds_ : dict
        The kind of each column, by its name or index.
    categories_ : dict
        List of the options of each column that has options, by its name or index.
    columns_ : tuple of Column
        Descriptions of the columns, which determine the codes of values.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two such
        Dirichlet parameters, or the Beta parameters of the sticks.
    weight_concentration_prior_ : float
        The ``weight_concentration_prior`` of the fit.
    labels_ : ndarray of shape (n_samples,)
        Component of each sample of the last `fit` or `partial_fit`.
    n_active_components_ : int
        Number of components whose responsibilities sum to more than 0.5.
    converged_ : bool
        Whether the lower bound converged, in a `fit` with ``batch_size=None``.
    lower_bound_ : float
        Evidence lower bound of the training data at T=1, with all constants.
    lower_bounds_ : list of float
        Lower bounds before each step at T=1, in a `fit` with ``batch_size=None``.
    tempering_, learning_rate_, gradient_noise_ : object
        Policies of the fit, with "auto" replaced by numbers.
    batch_size_ : int
        Number of rows of a step.
    temperature_ : float
        Temperature of the last step.
    n_iter_ : int
        Number of completed passes of `fit`.
    n_batch_iter_ : int
        Number of completed steps.
    n_samples_seen_ : int
        Total number of rows in the batches of all steps.
    history_ : dict of ndarrays
        Arrays with a value for each step, thinned if there are many: "step", "passes",
        "seconds", "temperature", "learning_rate", "batch_bound" (the part of the
        samples in the tempered bound of the batch, in nats per observation),
        "heldout_score" (NaN without an evaluation) and "mean_iterations" (mean number
        of local iterations of a row).  If temperatures are inferred, also
        "temperature_probabilities", of shape (n_rows, n_temperatures).  If the fit
        computed it, also "lower_bound" (before a step at T=1).  Arrays with a value for
        each move, if there were moves: "move_step", "move_seconds", "move_kept" and
        "move_bound" (the lower bound after the move).
    state_ : State
        Everything that changes during a fit: parameters, progress and policies.  Its
        fields may change between versions.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the data had column names.

    Notes
    -----
    NaN and None are missing values, and are assumed to be missing at random.  A value
    that is not a category of the fit counts as missing, too, with a warning.  Equal
    numbers are the same category, whatever their type: 1, 1.0 and True.  Numbers and
    text that read the same are, too, unless `fit` saw both: 1 and "1", but not 1 and
    "01".  Integer labels of the columns of a data frame are names, not indices.
    `score_samples` returns the logarithm of the posterior predictive density of the
    values that are not missing, and `score` is the mean of these logarithms.
    Probabilities of options have Dirichlet priors, rates of counts have Gamma priors,
    and means and precisions of numbers have normal-gamma priors, whose scales are
    computed from the column.

    References
    ----------
    .. [1] P. Lazarsfeld, N. Henry, "Latent structure analysis", 1968.
    .. [2] J. Paisley, G. Fazelnia, B. Barr, "Stochastic variational inference with
       tuneable stochastic annealing".
    .. [3] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    .. [4] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
       tempering", AISTATS 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktemper import SVIPlusMixedMixture
    >>> X = pd.DataFrame({"likes": ["tea", "coffee"] * 20, "cups": [1, 4] * 20})
    >>> SVIPlusMixedMixture(2, random_state=0).fit(X).predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        n_components=10,
        *,
        kinds="from_dtype",
        categories=None,
        n_bins=5,
        feature_prior=1.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
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
        shuffle=True,
        total_samples=None,
    ):
        self.n_components = n_components
        self.kinds = kinds
        self.categories = categories
        self.n_bins = n_bins
        self.feature_prior = feature_prior
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
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
        self.shuffle = shuffle
        self.total_samples = total_samples
