"""Common parts of all kernels, and the layout of the kernel of a model.

A kernel is three files in the folder of its model, and no line elsewhere: ``setup.py``
finds them.

``_blocks.h``
    The structs by which arguments reach the loops, and constants: plain C, no function.
``_loops.h``
    The loops, written once, in C that compilers vectorise.  It is compiled for every
    instruction set, and for each of them in float32 and in float64.  Long ones are cut
    into further headers of the folder, that it includes.
``_kernels.pyx``
    The functions that Python calls: they fill a struct, and call a loop without the
    GIL.  Its line ``include "_loops.pxi"`` declares all that is needed: the structs,
    the constants, and ``SIMD``, the table of the loops for the instruction set in use.

``setup.py`` writes ``_loops.pxi`` and the C around the loops into the build folder,
from the headers alone: no struct and no prototype is written twice.  So these keep to a
form: structs are ``typedef struct { ... } name;``, each pointer on a line of its own,
and a function that Cython calls begins a line as in ::

    LOOP int NAME(local_step)(poisson_block *block)
    {

``SIMD.local_step_f32`` and ``SIMD.local_step_f64`` are its two compilations.

In a loop may be used

``REAL``, ``NAME(x)``
    The floating type, and the name of a function for it, ``x_f32`` or ``x_f64``.  As
    structs are the same for both, pointers to arrays of REAL are ``void *`` there.
``VECTORISE``, ``VECTORISE_REDUCTION(+ : sum)``
    Before an inner loop: it is to be vectorised; sums may be reassociated.
``NAME(exp)``, ``NAME(log)``, ``NAME(digamma_one)``
    Of one number, inlined and vectorised.  These and loops over arrays (``digamma``,
    ``log_gamma``, ``exp_digamma``, ``largest``, ...) stand in ``functions.h``.
``next_random``, ``random_stream``, ``UNIFORM(bits)``
    Random numbers, a stream for each sample.
``UNFUSED``, ``FUSED``
    Lines of their own around functions in which products are rounded before they are
    added: with sums in a fixed order they give the same bits by all instruction sets.
    Of the functions above, these call ``NAME(unfused_exp)`` and ``NAME(unfused_log)``.
``TINY_MASS``, ``NEGLIGIBLE``, ``FARTHEST``
    The least mass to divide by, a share to leave out, the largest distance that counts.
``VECTOR_BYTES``, ``ALWAYS_INLINE``
    Defined where the compiler has vectors as types: the bytes of one.  Models define
    LANES, how many samples are treated at once, from it or from ``SIMD_BYTES``; and
    undefine behind their loops what they defined, since these are compiled twice.
``SIMD_BYTES``
    The bytes of the widest vector; `special.padded` and `special.aligned` make arrays
    whose rows are whole ones.

A loop checks nothing, raises nothing and allocates nothing.  It reads ``*block->stop``
often enough for Ctrl-C, and returns -1 if that is set.  Between
``simd_flush_subnormals`` and ``simd_restore_subnormals`` numbers that are almost 0 are
0, and not slow.

What is here: ``dispatch`` chooses the instruction set, which SKTEMPER_SIMD may name;
``isa/`` has a header for each one, ``both_types.h`` what they compile, ``functions.h``
the shared functions; ``special`` has those that Python sees, and is laid out as the
kernel of a model is.  ``gaussian_lanes.h`` solves Gaussians, for loops that include it,
and ``room`` has memory that the arrays of a fit use one after another.
"""
