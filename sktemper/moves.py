"""Moves: proposals that leave a poor optimum, kept where the lower bound rises.

What no temperature reaches, a change of the components may: a superfluous one is put
where the model explains the data worst.  The model says what to propose, the policy
how often and how the proposal is brought to its own optimum, and the loop does it.
"""

import math
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from .policy import Policy, refuse
from .schedules import ExponentialSchedule
from .tempering import Annealing, Untempered

__all__ = ["BirthMoves", "Moves", "NoMoves"]


class Moves(Policy):
    """Base of the policies for moves.

    Attributes
    ----------
    n_moves : int
        Most proposals of a fit.
    patience : int
        Proposals in a row without success after which no more are made.
    max_samples : int
        Most rows on which a proposal is first tried.
    """

    n_moves = 0
    patience = 1
    max_samples = 1

    def propose(self, model, globals_, hyper, block, random):
        """Return changed global parameters and priors.

        Parameters
        ----------
        model : ConjugateModel
        globals_, hyper : object
        block : object
            Rows of the data, from ``model.take``.
        random : numpy.random.Generator
        """
        raise NotImplementedError

    def tempering(self):
        """Return the tempering of the steps that bring a proposal to its optimum."""
        raise NotImplementedError

    def n_steps(self):
        """Return how many steps these are."""
        raise NotImplementedError


class NoMoves(Moves):
    """Nothing is proposed (``moves=None``)."""


class BirthMoves(Moves):
    """Take a component away and let another be born where the model fits badly.

    Once a `fit` has settled at T=1, a component is put elsewhere by
    `ConjugateModel.propose_birth`; from there a short annealed fit of all components to
    a part of the data follows, then a few steps on all of them, and if the lower bound
    rose the result is the model.

    Parameters
    ----------
    n_moves : int, default=100
        Most proposals of a fit.
    patience : int, default=15
        Proposals in a row without success after which no more are made.
    n_iter : int, default=5
        Steps on each proposal.
    start : float, default=1.0
        The temperature of the first of them; the last third are at T=1.
    max_samples : int, default=2000
        Most rows for these steps.

    Examples
    --------
    >>> from sktemper.moves import BirthMoves
    >>> BirthMoves(n_moves=20)
    BirthMoves(n_moves=20)
    """

    _parameter_constraints = {
        "n_moves": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "start": [Interval(Real, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_moves=100, patience=15, n_iter=5, start=1.0, max_samples=2000):
        self.n_moves = n_moves
        self.patience = patience
        self.n_iter = n_iter
        self.start = start
        self.max_samples = max_samples

    def propose(self, model, globals_, hyper, block, random):
        """Return parameters and priors with one component elsewhere."""
        return model.propose_birth(globals_, hyper, block, random)

    def tempering(self):
        """Return an annealing over the first two thirds of the steps."""
        if self.start == 1:
            return Untempered()
        length = math.ceil(2 * self.n_iter / 3)
        return Annealing(ExponentialSchedule(self.start, length=length))

    def n_steps(self):
        """Return the steps on a proposal."""
        return self.n_iter


_SHORTCUTS = {"birth": BirthMoves}


def as_moves(value):
    """Return the moves that ``value`` stands for: None is `NoMoves`.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If ``value`` is neither a policy, nor "birth" or None.
    """
    if value is None:
        return NoMoves()
    if isinstance(value, Moves):
        return value
    if isinstance(value, str) and value in _SHORTCUTS:
        return _SHORTCUTS[value]()
    refuse("moves", "moves (see sktemper.moves), 'birth' or None", value)
