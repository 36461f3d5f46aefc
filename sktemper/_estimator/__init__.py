"""The scikit-learn interface that all estimators share.

`_estimator` has the class that all estimators extend: parameters, `fit`, `partial_fit`,
the methods of fitted estimators and pickles.  `_end_of_fit` warns at the end of a fit.
`_variants` has the differences between tempered, annealed and SVI+ estimators, and
`_constructors` the parameters that they share.  `_mixtures` and `_conditional` have the
common parts of mixtures, and `_counts` the validation of counts.  `_streams` has the
memory and the records of streams.  `_columns` adds and removes columns, and `_critical`
finds the critical temperatures of data.
"""

from .._utils._notices import log, warn_once
from ._columns import copy_with_state, drop_features, expand_features, widened_for
from ._conditional import ConditionalMixin, Exponential
from ._constructors import Streaming, Training
from ._counts import (
    check_weighted_counts,
    inspect_counts,
    validate_counts,
    validate_training_counts,
)
from ._critical import critical_temperatures
from ._end_of_fit import LARGEST_START_SHARE, is_above_one, warn_if_above_one
from ._estimator import (
    ReadyModel,
    TemperedEstimator,
    Validation,
    mean_score,
    stream_rate,
    top_words,
    training_settings,
    validated_weight,
    workers_for,
)
from ._mixtures import (
    ACTIVE,
    EMPTY,
    IDENTIFIER,
    MANY_OPTIONS,
    NAMED,
    MixtureMixin,
    aic,
    bic,
    check_columns,
    check_enough_samples,
    check_first_columns,
    check_n_samples,
    looks_like_identifier,
    plain_is_better,
    warn_of_columns,
)
from ._streams import alarms, clear_memory, prevalence, renewals
from ._variants import (
    AnnealedMixin,
    SVIPlusMixin,
    annealed_constructor,
    svi_plus_constructor,
    training_constructor,
)
