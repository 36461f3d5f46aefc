"""The scikit-learn interface that all estimators share.

`_estimator` has the class that all estimators extend: parameters, `fit`, `partial_fit`
and the methods of fitted estimators.  `_problems` makes the problem of a call from
data, weights, times and the model, and finds the critical temperatures of data.
`_choices` has what a fit decides from its data and what pickles store, and
`_end_of_fit` commits, callbacks, log lines and warnings of a fit.
`_variants` has the differences between tempered, annealed and SVI+ estimators, and
`_constructors` the parameters that they share.  `_mixtures` and `_conditional` have the
common parts of mixtures.  `_data_checks` and `_counts` check data.
`_streams` adds and removes columns, and has the memory and the records of streams.
"""
