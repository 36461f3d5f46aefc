"""Moves: proposals that leave a poor optimum, accepted if the lower bound rises.

A change of components can escape from optima that tempering cannot escape from.  For
example, a superfluous component moves to where the model explains the data worst.  The
model makes proposals.  The policy decides how many proposals are made and how they are
fitted, and the loop fits and tests them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ._utils._arguments import refuse
from ._utils._constraints import Interval, StrOptions, WholeNumber
from ._utils._policy import Policy, as_policy
from ._utils._typing import Float, Int
from .model import ConjugateModel
from .schedules import ExponentialSchedule
from .tempering import Annealing, Tempering, Untempered

__all__ = [
    "BirthMoves",
    "MoveSequence",
    "Moves",
    "NoMoves",
    "Proposal",
    "ReheatMoves",
    "SplitMergeMoves",
]


#: Bounds that differ by less than `SAME_BOUND` nats belong to the same optimum, if a
#: step changes the bound by less than `AT_REST` nats.
SAME_BOUND, AT_REST = 0.5, 0.05


class Proposal(NamedTuple):
    """The parameters that a move proposes.

    Attributes
    ----------
    globals_, hyper : object
        Proposed parameters and priors of the model.
    key : object
        Name of the proposal, see ``refused`` of `Moves.propose`.

    Examples
    --------
    >>> from sktemper.moves import Proposal
    >>> Proposal(globals_="parameters", hyper=None, key=3)  # of component 3
    Proposal(globals_='parameters', hyper=None, key=3)
    """

    globals_: Any
    hyper: Any
    key: Any = None


class Moves(Policy):
    """Base of the policies for moves.

    Attributes
    ----------
    n_moves : int
        The largest number of proposals in a fit.
    patience : int
        Stop after this many proposals in a row without success.
    max_samples : int
        Largest number of rows for finding a proposal and for its first steps.
    n_iter : int
        Number of steps on a proposal, unless `n_steps` returns another number.
    start : float
        Temperature of the first of these steps.

    Examples
    --------
    >>> from sktemper.moves import BirthMoves, MoveSequence, SplitMergeMoves
    >>> MoveSequence([SplitMergeMoves(5), BirthMoves(2)]).phases()
    (SplitMergeMoves(n_moves=5), BirthMoves(n_moves=2))
    """

    n_moves = 0
    patience = 1
    max_samples = 1
    n_iter: Any
    start = 1.0
    #: Whether proposals are the same whatever was refused, so that several are tried at
    #: the same time.
    _ignores_refused = False

    def phases(self) -> tuple[Moves, ...]:
        """Return the policies that follow one another, by default only this policy."""
        return (self,)

    def propose(
        self,
        model: ConjugateModel,
        globals_: Any,
        hyper: Any,
        block: Any,
        random: np.random.Generator,
        refused: frozenset[str],
        row_weight: np.ndarray | None = None,
    ) -> Proposal | None:
        """Return a `Proposal`, or None if nothing is left to propose.

        Parameters
        ----------
        model : ConjugateModel
        globals_, hyper : object
        block : object
            Rows of the data, from ``model.take``.
        random : numpy.random.Generator
        refused : frozenset
            Keys of the proposals that were rejected since the last accepted proposal.
        row_weight : ndarray of shape (n_rows,) or None
            Number of times that each row of the block counts; None means once.
        """
        raise NotImplementedError

    def n_steps(self, model: ConjugateModel) -> int:
        """Return the number of steps that bring a proposal to its optimum."""
        return self.n_iter

    def tempering(self, n_steps: int) -> Tempering:
        """Return the tempering of the steps on a proposal.

        By default it is an annealing over the first two thirds of the steps, or none if
        `start` is 1.
        """
        if self.start == 1:
            return Untempered()
        length = math.ceil(2 * n_steps / 3)
        return Annealing(ExponentialSchedule(self.start, length=length))

    def is_hopeless(self, deficit: Float, gain: Float, n_left: Int) -> bool:
        """Return whether a proposal is given up before its last step.

        It is called between steps at T=1, from the third step on.  By default a
        proposal is hopeless if the remaining steps would not make up for the deficit,
        even if each gained as much as the last step.  It is also hopeless if it has
        returned to the parameters without the move: the bounds differ by less than 0.5
        nats, and the last step changed the bound by less than 0.05 nats.  The final
        step is always made.

        Parameters
        ----------
        deficit : float
            Lower bound without the move minus the lower bound of the proposal, in nats.
        gain : float
            Increase of the lower bound by the last step.
        n_left : int
            Number of remaining steps, at least 1.

        Returns
        -------
        hopeless : bool
        """
        has_returned = abs(deficit) < SAME_BOUND and abs(gain) < AT_REST
        return n_left > 1 and (has_returned or deficit > n_left * max(gain, 0.0))

    def _limits(self, best):
        """Return the numbers by which `is_hopeless` decides, for `Ascent.run`.

        None means that a subclass decides in another way.
        """
        if type(self).is_hopeless is not Moves.is_hopeless:
            return None
        return best, SAME_BOUND, AT_REST, -math.inf, 0.0


#: Constraints of parameters that several moves have.
CONSTRAINTS = {
    "n_moves": [WholeNumber(0)],
    **dict.fromkeys(("patience", "n_iter", "max_samples"), [WholeNumber(1)]),
}


class NoMoves(Moves):
    """No moves: nothing is proposed (``moves=None``).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sktemper import AnnealedGaussianMixture
    >>> X, _ = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    >>> mixture = AnnealedGaussianMixture(2, moves=None, random_state=0).fit(X)
    >>> "move_kept" in mixture.history_
    False
    """


@dataclass(eq=False, repr=False)
class BirthMoves(Moves):
    """Restart superfluous components where the model fits badly.

    When a `fit` has settled at T=1, `ConjugateModel.propose_birth` puts one component
    elsewhere.  A short fit of all components to a part of the data follows, and then a
    few steps on all data.  The result is kept if the lower bound has risen; hopeless
    proposals are given up early, see `Moves.is_hopeless`.

    Parameters
    ----------
    n_moves : int, default=100
        The largest number of proposals in a fit; fewer for a shorter fit.
    patience : int, default=30
        Stop after this many proposals in a row without success; more for large fits.
    n_iter : int or "auto", default="auto"
        Number of steps of the short fit of each proposal; "auto" takes the number that
        the model recommends.
    start : float, default=1.0
        The temperature of the first of these steps; the last third is at T=1.
    max_samples : int, default=2000
        The largest number of rows that these steps use; more for rare components.
    only_misfits : bool, default=False
        Whether to end births if all components fit their rows, see
        `ConjugateModel.fits_well`; True saves time after other moves.

    Examples
    --------
    >>> from sktemper.moves import BirthMoves
    >>> BirthMoves(n_moves=20)
    BirthMoves(n_moves=20)
    """

    requires = ("births",)
    _parameter_constraints = {
        **CONSTRAINTS,
        "n_iter": [*CONSTRAINTS["n_iter"], StrOptions({"auto"})],
        "start": [Interval(Real, 1, None, closed="left")],
        "only_misfits": ["boolean"],
    }

    n_moves: Int = 100
    patience: Int = 30
    n_iter: Int | Literal["auto"] = "auto"
    start: Float = 1.0
    max_samples: Int = 2000
    only_misfits: bool = False

    @property
    def _ignores_refused(self):
        return type(self) is BirthMoves  # subclasses may propose otherwise

    def propose(
        self, model, globals_, hyper, block, random, refused, row_weight=None
    ) -> Proposal | None:
        """Return parameters and priors with one component elsewhere, or None."""
        if self.only_misfits and model.fits_well(globals_, hyper, block, row_weight):
            return None
        return Proposal(
            *model.propose_birth(globals_, hyper, block, random, row_weight)
        )

    def n_steps(self, model) -> int:
        return model.birth_steps if self.n_iter == "auto" else self.n_iter


@dataclass(eq=False, repr=False)
class SplitMergeMoves(Moves):
    """Split a component in two and merge two others, the best candidates first [1]_.

    When a `fit` has settled at T=1, `ConjugateModel.propose_split_merge` finds the most
    promising split and merge, and a short fit follows, which is kept if the lower bound
    has risen.  The moves end when no split and merge is promising.

    Parameters
    ----------
    n_moves : int, default=100
        The largest number of proposals in a fit; fewer for a shorter fit.
    patience : int, default=10
        Stop after this many proposals in a row without success; more for large fits.
    n_iter : int, default=6
        Steps on each proposal.
    max_samples : int, default=20000
        The largest number of rows for these steps and for finding the proposal.

    References
    ----------
    .. [1] N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, "SMEM algorithm for mixture
       models", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sktemper.moves import SplitMergeMoves
    >>> SplitMergeMoves(patience=5)
    SplitMergeMoves(patience=5)
    """

    requires = ("splits",)
    _parameter_constraints = CONSTRAINTS

    n_moves: Int = 100
    patience: Int = 10
    n_iter: Int = 6
    max_samples: Int = 20_000

    def propose(
        self, model, globals_, hyper, block, random, refused, row_weight=None
    ) -> Proposal | None:
        """Return parameters with a component split and two merged."""
        proposal = model.propose_split_merge(
            globals_, hyper, block, random, refused, row_weight
        )
        return None if proposal is None else Proposal(*proposal)


@dataclass(eq=False, repr=False)
class ReheatMoves(Moves):
    """Raise the temperature of all components once more, and let it fall again.

    After other moves, components that overlap may hold a few wrong samples, because the
    shape of each component fits the samples that it holds.  A few steps from a higher
    temperature, which may be above that of the start of a fit, assign these samples
    anew.

    Parameters
    ----------
    n_moves : int, default=1
        The largest number of proposals in a fit; the first without success ends them.
    n_iter : int, default=30
        Steps on each proposal.
    start : float, default=5.0
        The temperature of the first of these steps; the last third is at T=1.
    max_samples : int, default=20000
        The largest number of rows for these steps.

    Examples
    --------
    >>> from sktemper.moves import ReheatMoves
    >>> ReheatMoves(start=3.0)
    ReheatMoves(start=3.0)
    """

    _parameter_constraints = {
        **CONSTRAINTS,
        "start": [Interval(Real, 1, None, closed="neither")],
    }

    n_moves: Int = 1
    n_iter: Int = 30
    start: Float = 5.0
    max_samples: Int = 20_000

    def propose(
        self, model, globals_, hyper, block, random, refused, row_weight=None
    ) -> Proposal | None:
        """Return the unchanged parameters and priors."""
        return Proposal(globals_, hyper)


@dataclass(eq=False, repr=False)
class MoveSequence(Moves):
    """Moves of several kinds, one after another.

    If one was accepted, those before it follow once more, up to their number.

    Parameters
    ----------
    moves : sequence of Moves, default=()
        Policies for moves, in the order in which they are used.

    Examples
    --------
    >>> from sktemper.moves import BirthMoves, MoveSequence, SplitMergeMoves
    >>> MoveSequence([SplitMergeMoves(), BirthMoves(n_moves=10)])
    MoveSequence(moves=[SplitMergeMoves(), BirthMoves(n_moves=10)])
    """

    _parameter_constraints = {"moves": ["array-like"]}

    moves: Sequence = ()

    def phases(self) -> tuple[Moves, ...]:
        return tuple(self.moves)

    def validate(self) -> Self:
        self._validate_params()
        for policy in self.moves:
            if not isinstance(policy, Moves):
                refuse("moves", "a sequence of moves (see sktemper.moves)", policy)
            policy.validate()
        return self


_SHORTCUTS = {
    None: NoMoves,
    "birth": BirthMoves,
    "split_merge": SplitMergeMoves,
    "all": lambda: MoveSequence(
        [SplitMergeMoves(), ReheatMoves(), BirthMoves(only_misfits=True)]
    ),
}


def as_moves(value):
    """Return the moves that ``value`` stands for: None is `NoMoves`."""
    expected = "moves (see sktemper.moves), 'birth', 'split_merge', 'all' or None"
    return as_policy(value, Moves, _SHORTCUTS, "moves", expected)
