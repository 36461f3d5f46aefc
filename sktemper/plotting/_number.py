"""Plot of held-out scores against the number of components."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils._typing import Axes
from ._axes import Display


class NumberOfComponentsDisplay(Display):
    """Plot of held-out scores against the number of components, with two suggestions.

    A star marks the number of components with the best score.  A square marks the
    smallest number of components whose score is at most one standard error below the
    best score [1]_, because smaller differences may be noise.  A dotted line shows the
    best score minus one standard error.

    Parameters
    ----------
    n_components : ndarray of shape (n_points,)
        Numbers of components, increasing.
    scores : ndarray of shape (n_points,)
        Mean scores over the splits; higher is better.
    errors : ndarray of shape (n_points,)
        Standard errors of the mean scores.
    score_name : str, default="Held-out score"
        Label of the vertical axis.
    name : str, default=None
        Name of the curve in the legend; None leaves it out.

    Attributes
    ----------
    best_, one_standard_error_ : int
        The marked numbers of components: the one with the best score, and the smallest
        one within one standard error.
    line_ : matplotlib Line2D
        The curve.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes with the curve, and the figure.

    See Also
    --------
    TrainingCurveDisplay : Held-out score or lower bound during a fit.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). "Classification and
           regression trees". Section 3.4.3.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktemper import AnnealedLDA, plotting
    >>> from sktemper.datasets import make_lda_documents
    >>> X = make_lda_documents(300, 60, 5, random_state=0)
    >>> grid = {"n_components": [2, 3, 5, 8, 12]}
    >>> search = GridSearchCV(AnnealedLDA(random_state=0), grid)
    >>> search = search.fit(X)  # doctest: +SKIP
    >>> plotting.NumberOfComponentsDisplay.from_estimator(search)  # doctest: +SKIP
    """

    n_components: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    score_name: str = "Held-out score"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        param: str = "n_components",
        metric: str | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the scores of a search for the number of components.

        Parameters
        ----------
        estimator : object
            A fitted search of scikit-learn, such as ``GridSearchCV``.  If the search
            varied other parameters too, the best score for each number of components
            is drawn.
        param : str, default="n_components"
            The parameter that the search varied.  For a step of a pipeline, the full
            name, such as "lda__n_components", is needed only if the search varied this
            parameter in several steps.
        metric : str, default=None
            Score to draw from a search with several scores; None is the score that
            ``refit`` names.
        name : str, default=None
            Name in the legend; None leaves it out.
        **line_kw : dict
            Passed to matplotlib's ``errorbar``.
        """
        cls._check()
        check_is_fitted(estimator, "cv_results_")
        results = estimator.cv_results_
        param = _parameter_name(results, param)
        metric = _metric_name(results, metric, estimator.refit)
        numbers = np.asarray(results[f"param_{param}"], dtype=float)
        scores = np.asarray(results[f"mean_test_{metric}"])
        errors = results[f"std_test_{metric}"] / np.sqrt(
            max(estimator.n_splits_ - 1, 1)
        )
        best = {}
        for place in np.flatnonzero(np.isfinite(scores) & np.isfinite(numbers)):
            known = best.get(numbers[place])
            if known is None or scores[place] > scores[known]:
                best[numbers[place]] = place
        if not best:
            raise ValueError(
                f"The search has no finite score {metric!r}. Set error_score='raise' "
                "in the search to see why its fits failed."
            )
        places = [best[number] for number in sorted(best)]
        display = cls(
            n_components=numbers[places].astype(int),
            scores=scores[places],
            errors=np.asarray(errors)[places],
            score_name="Held-out score" if metric == "score" else metric,
            name=name,
        )
        return display.plot(ax, **line_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any
    ) -> Self:
        """Draw the scores."""
        numbers, scores = np.asarray(self.n_components), np.asarray(self.scores)
        best = int(np.argmax(scores))
        least = scores[best] - np.asarray(self.errors)[best]
        enough = int(np.flatnonzero(scores >= least)[0])
        self.best_, self.one_standard_error_ = int(numbers[best]), int(numbers[enough])
        ax = self._make_axes(ax)
        name = self.name if name is None else name
        style = {"marker": "o", "capsize": 3, "label": name, **line_kw}
        container = ax.errorbar(numbers, scores, yerr=self.errors, **style)
        self.line_ = container.lines[0]
        colour = self.line_.get_color()
        ax.axhline(least, color=colour, linestyle=":", linewidth=1)
        whose = "" if name is None else f"{name}, "
        marked = {"color": colour, "linestyle": "none", "markersize": 13}
        few = {"marker": "s", "fillstyle": "none"}
        for place, text, symbol in (
            (best, "best", {"marker": "*"}),
            (enough, "fewest above the dotted line", few),
        ):
            label = f"{whose}{text}: {int(numbers[place])}"
            ax.plot(numbers[place], scores[place], label=label, **symbol, **marked)
        ax.set(xlabel="Number of components", ylabel=self.score_name)
        handles, labels = ax.get_legend_handles_labels()
        # sorted labels keep the elements of one curve together
        order = sorted(range(len(labels)), key=labels.__getitem__)
        ax.legend([handles[i] for i in order], [labels[i] for i in order], fontsize=8)
        return self


def _parameter_name(results, param):
    names = _names(results, "param_")
    found = [name for name in names if name.endswith(f"__{param}")]
    if param not in names and len(found) != 1:
        raise ValueError(
            f"param={param!r} must name one parameter that the search varied: "
            f"{_choices(names)}."
        )
    return param if param in names else found[0]


def _metric_name(results, metric, refit):
    names = _names(results, "mean_test_")
    if metric is None:
        metric = refit if isinstance(refit, str) else "score"
        if metric not in names:
            raise ValueError(
                "The search has several scores; set metric to one of "
                f"{_choices(names)}."
            )
    if metric not in names:
        raise ValueError(
            f"The search has no score metric={metric!r}, only {_choices(names)}."
        )
    return metric


def _names(results, prefix):
    return [key.removeprefix(prefix) for key in results if key.startswith(prefix)]


def _choices(names):
    return " or ".join(map(repr, names))
