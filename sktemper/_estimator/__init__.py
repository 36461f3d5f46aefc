"""The scikit-learn interface that all estimators share.

`_estimator` has the class that all estimators extend: parameters, `fit`, `partial_fit`
and the methods of fitted estimators.  `_problems` makes the problem of a call from
data, weights, times and the model, `_choices` has what a fit decides from its data,
`_hooks` commits, callbacks and log lines of a fit, and `_pickles` what pickles store.
`_end_of_fit` warns at the end of a fit.
`_variants` has the differences between tempered, annealed and SVI+ estimators, and
`_constructors` the parameters that they share.  `_mixtures` and `_conditional` have the
common parts of mixtures.  `_data_checks` and `_counts` check data.
`_streams` has the memory and the records of streams.  `_columns` adds and removes
columns, and `_critical` finds the critical temperatures of data.
"""

from .._utils._notices import log, warn_once
from ._choices import choices_of, choose
from ._columns import copy_with_state, drop_features, expand_features, widened_for
from ._conditional import Exponential, component_scores, conditional
from ._constructors import Streaming, Training
from ._counts import (
    check_weighted_counts,
    inspect_counts,
    validate_counts,
    validate_training_counts,
)
from ._critical import critical_temperatures
from ._data_checks import (
    EMPTY,
    IDENTIFIER,
    MANY_OPTIONS,
    NAMED,
    check_columns,
    check_first_columns,
    fault_of,
    warn_of_columns,
)
from ._end_of_fit import LARGEST_START_SHARE, is_above_one, warn_if_above_one
from ._estimator import TemperedEstimator, mean_score, top_words
from ._mixtures import (
    ACTIVE,
    MixtureMixin,
    aic,
    bic,
    check_enough_samples,
    check_n_samples,
    plain_is_better,
)
from ._problems import (
    ReadyModel,
    Validation,
    stream_rate,
    training_settings,
    validated_weight,
    workers_for,
)
from ._streams import alarms, clear_memory, prevalence, renewals
from ._variants import (
    AnnealedMixin,
    SVIPlusMixin,
    annealed_constructor,
    svi_plus_constructor,
    training_constructor,
)
