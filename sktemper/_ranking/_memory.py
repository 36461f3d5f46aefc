"""What is made of a fit once, and used until the fit changes."""

__all__ = ["Memory", "read_only"]


class Memory:
    """Values made of a fit; of another fit it is another memory.

    Threads that ask for the same value at once may make it twice; the last one stays,
    and both are the same.

    Parameters
    ----------
    key : tuple
        Objects, of which other ones make another fit.
    values : dict, optional
        By name.
    """

    def __init__(self, key, values=None):
        self.key, self.values = key, {} if values is None else values

    def is_of(self, key):
        """Return whether it is that of a fit."""
        return len(key) == len(self.key) and all(
            a is b for a, b in zip(key, self.key, strict=True)
        )


def read_only(array):
    """Return a view that cannot be written to: what is remembered stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
