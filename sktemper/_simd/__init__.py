"""Common parts of all kernels, and the layout of the kernel of a model.

A kernel consists of three files in the folder of its model.  ``setup.py`` finds them;
they are listed nowhere else.

``_blocks.h``
    The structs with the arguments of loops, and constants, in plain C without
    functions.
``_loops.h``
    The loops, written once, in C that compilers vectorise.  It is compiled for every
    instruction set, and for each of them in float32 and in float64.  Long loops are in
    further headers of the folder, which it includes.
``_kernels.pyx``
    The functions that Python calls.  They fill a struct, and call a loop without the
    GIL.  The line ``include "_loops.pxi"`` declares the structs, the constants, and
    ``SIMD``, the table of the loops for the instruction set in use.

``setup.py`` generates ``_loops.pxi``, and the C files that include the loops, in the
build folder.  It reads the headers, so that no struct and no prototype is written
twice.  This requires a certain form: structs are ``typedef struct { ... } name;``, each
pointer is declared on a line of its own, and a function that Cython calls begins on a
line as in ::

    LOOP int NAME(local_step)(poisson_block *block)
    {

It is compiled to ``SIMD.local_step_f32`` and ``SIMD.local_step_f64``.

Loops may use:

``REAL``, ``NAME(x)``
    The floating-point type, and the name of a function for it, ``x_f32`` or ``x_f64``.
    Structs are the same for both types, so pointers to arrays of REAL are ``void *``
    there.
``VECTORISE``, ``VECTORISE_REDUCTION(+ : sum)``
    A line before an inner loop that the compiler should vectorise.  The second one
    allows it to change the order of a sum.
``NAME(exp)``, ``NAME(log)``, ``NAME(digamma_one)``
    Functions of one number, which are inlined and vectorised.  They are in
    ``functions.h``, with functions of arrays (``digamma``, ``log_gamma``,
    ``exp_digamma``, ``largest``, ...).
``next_random``, ``random_stream``, ``NAME(uniform)(bits)``
    Random numbers, with a stream for each sample.
``UNFUSED``, ``FUSED``
    Lines before and after functions in which products are rounded before they are
    added.  With sums in a fixed order they return the same bits with all instruction
    sets.  They call ``NAME(unfused_exp)`` and ``NAME(unfused_log)``.
``TINY_MASS``, ``NEGLIGIBLE``, ``FARTHEST``
    The smallest mass that is a divisor, a negligible share, and the largest distance
    that matters.
``VECTOR_BYTES``
    The size of vectors.  It is defined only if the compiler has vector types.
    Models define LANES, the number of samples that are processed at once, from it or
    from ``SIMD_BYTES``.
``ALWAYS_INLINE``, ``UNROLLED``
    The beginning of a function that is always inlined, and a line before a short loop
    that is unrolled completely, so that arrays of vectors stay in registers.  Loops use
    such functions instead of macros.  Macros are only for types, for sizes that depend
    on types, and for code that is compiled for several types.  They must be undefined
    at the end of the loops, because these are compiled twice.
``SIMD_BYTES``
    The size of the widest vector.  `special.padded` and `special.aligned` make arrays
    whose rows are multiples of it.

A loop checks nothing, raises nothing and allocates nothing.  It reads ``*block->stop``
often, for Ctrl-C, and returns -1 if that is set.  Between ``simd_flush_subnormals`` and
``simd_restore_subnormals``, subnormal numbers are replaced by 0, because they are slow.

In this folder, ``dispatch`` chooses the instruction set; the environment variable
SKTEMPER_SIMD overrides it.  ``isa/`` has a header for each instruction set; a new one
needs such a header, and its name and the test for it in ``dispatch.h``.
``both_types.h`` compiles the loops of a header for both types, ``functions.h`` has the
shared functions, and ``special`` has those that Python calls, in the layout of a
kernel.  ``gaussian_lanes.h`` solves Gaussians, for loops that include it.  ``room``
provides memory that the arrays of a fit use one after another.
"""
