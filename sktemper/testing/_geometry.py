"""Checks of Fisher products and gradients."""

import numpy as np

from ..model import Powers
from ._case import OBJECTIVES, Skip, close, precision

#: Largest tolerance, in nats, of local steps for finite differences.
MOST_TOL = 1e-9


def check_fisher_product_is_symmetric_and_positive(case):
    """The Fisher information F is symmetric and positive: u F v = v F u, u F u > 0."""
    case.require("fisher_products")
    globals_, u, v = case.globals_, case.tangent(), case.tangent()
    fu = np.asarray(case.model.fisher_product(globals_, u))
    fv = np.asarray(case.model.fisher_product(globals_, v))
    for square in (u @ fu, v @ fv):
        if not square > 0:
            raise AssertionError(
                "fisher_product is not positive: expected u F u > 0 for a change u of "
                f"the parameters, got {square:.6g}"
            )
    size = np.sqrt((u @ fu) * (v @ fv))
    fault = "fisher_product is not symmetric: u F v differs from v F u"
    close(u @ fv, v @ fu, fault, 1e-6, 1e-7 * size)


def check_fisher_product_fits_finite_differences(case):
    """The gradient of the bound's global part is F (p prior - parameters)."""
    case.require("fisher_products")
    if case.model.parameter_dtype != np.float64:
        raise Skip("parameters of float32 have too few digits for finite differences")
    vector, direction = case.vector(), case.tangent()
    statistics = case.local_step().statistics
    for power in (0.0, 0.5, 1.0):
        powers = Powers(prior=power)
        gradient = case.target(statistics, powers, 0.0) - vector
        product = np.asarray(case.model.fisher_product(case.globals_, gradient))
        found = _slope(
            lambda v, powers=powers: case.model.global_bound(
                case.at(v), case.hyper, powers
            ),
            vector,
            direction,
        )
        atol = 1e-6 * np.linalg.norm(product) * np.linalg.norm(direction)
        rtol = max(1e-4, 32 * precision(case.model))
        fault = (
            "fisher_product does not fit the differences of global_bound at "
            f"prior={power}: slope of the bound"
        )
        close(direction @ product, found, fault, rtol, atol)


def check_natural_gradients_fit_finite_differences(case):
    """The gradient of the tempered bound is F (target - parameters)."""
    case.require_exact()
    case.require("fisher_products")
    if case.model.local_tol > MOST_TOL:
        raise Skip("local steps end too far from their optimum: lower their tolerance")
    vector, direction = case.vector(), case.tangent()
    if np.dtype(case.model.dtype) == np.float32:
        raise Skip("float32 has too few digits for finite differences")
    for powers in OBJECTIVES:
        statistics = case.local_step(powers=powers).statistics
        gradient = case.target(statistics, powers) - vector
        product = np.asarray(case.model.fisher_product(case.globals_, gradient))
        found = _slope(
            lambda v, powers=powers: case.bound(case.at(v), powers), vector, direction
        )
        atol = 1e-4 * np.linalg.norm(product) * np.linalg.norm(direction)
        # rounding of the bound, about 20 eps, is divided by steps of 1e-4 / 2
        atol += 1e-10 * (1 + abs(case.bound(case.globals_, powers)))
        fault = (
            "the natural gradient, target - parameters, does not fit the differences "
            f"of the bound at {powers}: slope of the bound"
        )
        close(direction @ product, found, fault, 1e-3, atol)


def _slope(function, vector, direction):
    """Return the derivative along a direction, by differences of fourth order."""
    step = 1e-4 * max(1.0, float(np.abs(vector).min()))

    def central(h):
        return (function(vector + h * direction) - function(vector - h * direction)) / h

    return (4 * central(step / 2) - central(step)) / 6
