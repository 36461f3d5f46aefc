"""What users have that breaks: of a module that workers can import, too."""

from fits import Broken

from sktemper.schedules import LinearSchedule

__all__ = ["Broken", "BreakingBlock", "BreakingSchedule"]


class BreakingSchedule(LinearSchedule):
    """A schedule of a user's that fails at a step."""

    def __call__(self, t):
        if t >= 3:
            raise Broken("at 3")
        return super().__call__(t)


class BreakingBlock:
    """A reader that fails."""

    def __call__(self):
        raise Broken("no such file")
