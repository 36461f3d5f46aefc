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


def fit_stepmix_to_table(X, n_items, n_classes, **options):
    """Fit StepMix with categorical items and normal numbers, and return labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The first ``n_items`` columns are codes of options.
    n_items, n_classes : int
    **options
        Parameters of StepMix.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
    """
    from stepmix import StepMix

    n_numbers = X.shape[1] - n_items
    parts = {
        "items": {"model": "categorical", "n_columns": n_items},
        "numbers": {"model": "gaussian_diag", "n_columns": n_numbers},
    }
    model = StepMix(
        n_classes,
        measurement={name: part for name, part in parts.items() if part["n_columns"]},
        progress_bar=0,
        verbose=0,
        **options,
    )
    return model.fit(X).predict(X)
