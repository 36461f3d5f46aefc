"""Users' objects that raise errors, in a module that worker processes can import."""

from fits import Broken

from sktemper.schedules import LinearSchedule

__all__ = ["Broken", "BreakingBlock", "BreakingSchedule"]


class BreakingSchedule(LinearSchedule):
    """A user's schedule that raises an error at a step."""

    def __call__(self, t):
        if t >= 3:
            raise Broken("at 3")
        return super().__call__(t)

    def check_values(self, *_):
        """Check nothing: the error comes in a step, not in the plan of a fit."""


class BreakingBlock:
    """A user's reader of a block that raises an error."""

    def __call__(self):
        raise Broken("no such file")
