"""Fits of StepMix's latent class model."""

import numpy as np


def fit_stepmix(X, n_classes, n_levels=None, **options):
    """Fit StepMix, and return weights, probabilities and labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Items of 0 and 1, or one-hot answers with the same number of levels each.
    n_classes : int
    n_levels : int, default=None
        Number of levels of each question; None: items of 0 and 1.
    **options
        Parameters of StepMix.

    Returns
    -------
    weights : ndarray of shape (n_classes,)
    probabilities : ndarray of shape (n_classes, n_features)
        Smoothed probabilities: each class gets one more observation, spread evenly over
        the answers.
    labels : ndarray of shape (n_samples,)
    """
    from stepmix import StepMix

    model = StepMix(
        n_classes,
        measurement="categorical" if n_levels else "binary",
        progress_bar=0,
        verbose=0,
        **options,
    )
    codes = X.reshape(len(X), -1, n_levels).argmax(axis=2) if n_levels else X
    labels = model.fit(codes.astype(np.float64)).predict(codes.astype(np.float64))
    found = model.get_parameters()
    p = np.asarray(found["measurement"]["pis"]).reshape(n_classes, -1)
    weights = np.asarray(found["weights"])
    rows = weights[:, None] * len(X)
    return weights, (rows * p + 1 / (n_levels or 2)) / (rows + 1), labels
