"""Line plots of the history of a fit, for several displays."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

#: Column of ``history_`` and label of the axis for each name of a quantity.
X_COLUMNS = {
    "passes": ("passes", "Passes over the data"),
    "seconds": ("seconds", "Training time (seconds)"),
    "steps": ("step", "Steps"),
}
Y_LABELS = {
    "heldout_score": "Held-out log-likelihood per unit (nats)",
    "batch_bound": "Evidence lower bound of the batch (nats)",
    "temperature": "Temperature",
}


def read_history(estimator, x, y, names):
    """Return columns x and y of the history, without rows in which one is missing."""
    constraints = {"x": [StrOptions(set(X_COLUMNS))], "y": [StrOptions(names)]}
    validate_parameter_constraints(constraints, {"x": x, "y": y}, "from_estimator")
    check_is_fitted(estimator, "history_")
    history = estimator.history_
    horizontal, vertical = history[X_COLUMNS[x][0]], history[y]
    known = np.isfinite(horizontal) & np.isfinite(vertical)
    if not known.any():
        raise ValueError(
            f"The history of this {type(estimator).__name__} has no finite {y!r} with "
            f"a known value of {x!r}."
            + " Fit with evaluate_every=1 to record it."
            * (y == "heldout_score")
        )
    return horizontal[known], vertical[known]


def check_name(parameter, name, names):
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"{parameter} must be one of {list(names)}, got {name!r}.")


def draw_line(display, x, y, labels, ax, name, line_kw):
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    name = display.name if name is None else name
    if name is not None:
        line_kw = {"label": name, **line_kw}
    (display.line_,) = ax.plot(x, y, **line_kw)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if "label" in line_kw:
        # a fixed location, because matplotlib's search for the best can take seconds
        ax.legend(loc="lower right" if y[-1] > y[0] else "upper right")
    display.ax_, display.figure_ = ax, ax.figure
    return display
