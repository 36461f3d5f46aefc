"""Pairwise designs: few cases of several factors that contain every pair of values."""

import itertools

import numpy as np

__all__ = ["pairwise"]


def pairwise(*sizes, permitted=lambda *case: True, n_tried=50, seed=0):
    """Return cases in which any two values of any two factors occur together.

    Cases are chosen greedily: each is the best of ``n_tried`` random cases, with the
    most new pairs.

    Parameters
    ----------
    *sizes : int
        Number of values of each factor.
    permitted : callable
        Whether a case, given as one index per factor, may be chosen. Pairs that occur
        in no permitted case are left out.
    n_tried : int
    seed : int

    Returns
    -------
    cases : list of tuple of int
    """
    every = itertools.product(*map(range, sizes))
    pairs = {case: _pairs(case) for case in every if permitted(*case)}
    missing = set().union(*pairs.values())
    random, cases = np.random.default_rng(seed), []
    while missing:
        wanted = min(missing)
        tried = [case for case, own in pairs.items() if wanted in own]
        random.shuffle(tried)
        tried = map(tuple, tried[:n_tried])
        best = max(tried, key=lambda case: len(pairs[case] & missing))
        cases.append(best)
        missing -= pairs[best]
    return cases


def _pairs(case):
    """Return all pairs of (factor, value) in a case."""
    return set(itertools.combinations(enumerate(case), 2))
