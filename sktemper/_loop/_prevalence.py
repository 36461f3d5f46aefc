"""Prevalence of components, and scores, along a stream, in a table of bounded size."""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Prevalence"]

#: Largest number of points.  When a table is full, each two points become one point.
MOST_POINTS = 512


class Point(NamedTuple):
    """Sums over consecutive steps.

    Attributes
    ----------
    sample : int
        Number of rows after the last step.
    time : object
        Time of the last row, or None.
    n_scored : float
        Number of steps with a score.
    score : float
        Sum of the scores of these steps.
    counts : ndarray of shape (n_components,)
        Number of observations of each component in the rows of the steps.
    """

    sample: int
    time: Any
    n_scored: float
    score: float
    counts: np.ndarray

    def joined(self, later):
        """Return the sums over the steps of two points."""
        return Point(
            later.sample,
            later.time,
            self.n_scored + later.n_scored,
            self.score + later.score,
            self.counts + later.counts,
        )


class Prevalence(NamedTuple):
    """Table of `Point` objects.  Further steps may be added to the last point.

    Attributes
    ----------
    points : tuple of Point
    stride : int
        Number of steps of each point before the last.
    n_steps : int
        Number of steps of the last point.
    """

    points: tuple = ()
    stride: int = 1
    n_steps: int = 0

    def after(self, sample, time, score, counts):
        """Return the table after a step.  NaN means that the step has no score."""
        known = np.isfinite(score)
        counts = np.maximum(counts, 0.0).astype(np.float32)
        point = Point(sample, time, float(known), score if known else 0.0, counts)
        if self.points and self.n_steps < self.stride:
            point = self.points[-1].joined(point)
            return Prevalence((*self.points[:-1], point), self.stride, self.n_steps + 1)
        if len(self.points) < MOST_POINTS:
            return Prevalence((*self.points, point), self.stride, 1)
        pairs = zip(self.points[::2], self.points[1::2], strict=True)
        points = tuple(one.joined(other) for one, other in pairs)
        return Prevalence((*points, point), 2 * self.stride, 1)

    def to_dict(self):
        """Return the columns as arrays: "sample", "time", "score" and "shares"."""
        points = self.points
        times = np.empty(len(points), dtype=object)
        times[:] = [point.time for point in points]
        with np.errstate(invalid="ignore"):
            scores = [np.float64(p.score) / np.float64(p.n_scored) for p in points]
        counts = np.array([point.counts for point in points], dtype=np.float64)
        totals = counts.sum(axis=-1, keepdims=True)
        return {
            "sample": np.array([point.sample for point in points], dtype=np.int64),
            "time": times,
            "score": np.array(scores, dtype=np.float64),
            "shares": counts / np.where(totals > 0, totals, 1.0),
        }
