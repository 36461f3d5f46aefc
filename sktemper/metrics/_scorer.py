"""Scorers for searches, made of a measure and its parameters."""


class Scorer:
    """Scorer of fitted estimators, a callable ``scorer(estimator, X)``.

    Parameters
    ----------
    measure : callable
        Function of a module, so that scorers can be pickled.  It is called as
        ``measure(estimator, X, **parameters)``; higher is better.
    name : str
        Name of the function that makes the scorer.
    parameters : dict
        Further keyword arguments of the measure.
    """

    def __init__(self, measure, name, parameters):
        self._measure, self._name, self._parameters = measure, name, parameters

    def __call__(self, estimator, X, y=None):
        """Return the measure of a fitted estimator as a float."""
        return float(self._measure(estimator, X, **self._parameters))

    def __repr__(self):
        shown = ", ".join(f"{key}={value!r}" for key, value in self._parameters.items())
        return f"{self._name}({shown})"
