from functools import partial

from sktemper._utils._tasks import run_shared


cdef class Sections:
    """Sections of the samples of an ascent, which threads share."""

    cdef intptr_t n_sections
    cdef object error
    cdef const void *block
    cdef int (*function)(const void *block, intptr_t i) noexcept nogil

    def __init__(self, n_sections):
        self.n_sections = n_sections

    def step(self, intptr_t i):
        """Take the local step of a section; return whether it was stopped."""
        cdef int status
        with nogil:
            status = self.function(self.block, i)
        return status


cdef int _share(void *sharing) noexcept with gil:
    """Take the local steps of all sections; return whether they were stopped."""
    cdef Sections sections = <Sections>sharing
    try:
        n = range(sections.n_sections)
        return any(run_shared([partial(sections.step, i) for i in n]))
    except BaseException as error:
        sections.error = error
        return 1


cdef set_steps(mixture_steps *block, tuple steps, Sections sections=None):
    """Set the steps of an ascent: the arguments of `Ascent.run`, the flag that stops it, and
    ``bounds`` (2, n_steps), which receives the sums of the rows' and the lower bounds."""
    cdef const double[:, ::1] powers
    cdef const int[::1] flags, stop
    cdef const double[::1] limits
    cdef double[:, ::1] bounds
    powers, flags, block.n_left, limits, block.before, block.scale, stop, bounds = steps
    block.n_steps, block.n_done = powers.shape[0], 0
    block.powers, block.flags, block.limits = &powers[0, 0], &flags[0], &limits[0]
    block.stop = &stop[0]
    block.local_bounds, block.lower_bounds = &bounds[0, 0], &bounds[1, 0]
    block.n_sections, block.share, block.sharing = 1, NULL, <void *>sections
    if sections is not None:
        block.n_sections, block.share = sections.n_sections, _share


cdef tuple results_of(int status, mixture_steps *steps):
    """Return the status, ``n_done`` and ``before``, or raise the error of a section."""
    sections = <Sections>steps.sharing
    if sections is not None and sections.error is not None:
        raise sections.error
    return status, steps.n_done, steps.before
