"""Function calls that signals such as Ctrl-C do not interrupt."""

import _signal  # the functions of `signal` spend most of their time on enumerations
import threading

#: Signal numbers of all signals.
SIGNALS = tuple(map(int, _signal.valid_signals()))


def run_undisturbed(function):
    """Call ``function()`` in this thread; delay signals until its end if possible.

    Handlers of signals that are written in Python, such as the handler of Ctrl-C, run
    in the main thread between any two instructions, and may raise there.  If there is
    one such handler, it is replaced during the call, and called afterwards if its
    signal has arrived.  If there are several, signals cannot wait, because several
    handlers could not be restored in one uninterrupted operation.

    Parameters
    ----------
    function : callable

    Returns
    -------
    done : bool
        False if signals could not be delayed; ``function`` is then not called.
    """
    handlers = _handlers()
    if len(handlers) > 1:
        return False
    if not handlers:
        function()
        return True
    ((number, handler),) = handlers
    waiting = []
    # An earlier signal raises before the handler is replaced.
    _signal.signal(number, lambda *arguments: waiting.append(arguments))
    try:
        function()
    finally:
        _signal.signal(number, handler)
        if waiting:
            handler(*waiting[0])
    return True


def _handlers():
    """Return pairs of signals and handlers that may interrupt this thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    pairs = [(number, _signal.getsignal(number)) for number in SIGNALS]
    return [pair for pair in pairs if callable(pair[1])]
