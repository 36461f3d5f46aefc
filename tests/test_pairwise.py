"""Tests of `pairwise`: its designs contain every pair."""

import itertools

import pytest
from pairwise import pairwise


@pytest.mark.parametrize("sizes", [(7, 4, 3), (2, 2, 2, 2), (1, 5), (3, 3, 1)])
def test_every_pair_of_values_occurs(sizes):
    cases = pairwise(*sizes)
    for i, j in itertools.combinations(range(len(sizes)), 2):
        found = {(case[i], case[j]) for case in cases}
        assert found == set(itertools.product(range(sizes[i]), range(sizes[j])))
    least = max(a * b for a, b in itertools.combinations(sizes, 2))
    assert least <= len(cases) <= 1.5 * least
    assert cases == pairwise(*sizes)


def test_cases_that_are_not_permitted_are_left_out():
    cases = pairwise(3, 3, 3, permitted=lambda a, b, c: a + b < 4)
    assert all(a + b < 4 for a, b, _ in cases)
    every = set(itertools.product(range(3), range(3)))
    assert {(a, b) for a, b, _ in cases} == every - {(2, 2)}
    assert {(b, c) for _, b, c in cases} == every
