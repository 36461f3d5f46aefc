"""Common parts of all kernels, and the layout of the kernel of a model.

A kernel consists of three files in the folder of its model.  ``setup.py`` finds them by
their names.

``_blocks.h``
    The structs with the arguments of loops, and constants, in plain C without
    functions.
``_loops.h``
    The loops, written once, in C that compilers vectorise.  The file is compiled in
    float32 and in float64 for every instruction set.  It includes further headers of
    the folder for long loops.
``_kernels.pyx``
    The functions that Python calls.  They fill a struct, and call a loop without the
    GIL.  The line ``include "_loops.pxi"`` declares the structs, the constants, and
    ``SIMD``, the table of the loops for the instruction set in use.

``setup.py`` generates ``_loops.pxi``, and the C files that include the loops, in the
build folder.  It reads the headers, so that no struct and no prototype is written
twice.  This requires a certain form: structs are ``typedef struct { ... } name;``, each
pointer is declared on a separate line, and a function that Cython calls begins with a
line such as ::

    LOOP int NAME(local_step)(poisson_block *block)
    {

This function is compiled to ``SIMD.local_step_f32`` and ``SIMD.local_step_f64``.
``call_local_step(is_float, &block)`` calls one of them, and so does
``run_local_step(is_float, &block)`` while subnormal numbers are 0, if the loop returns
an int.  If a parameter has the type ``REAL *``, ``call_...`` takes no ``is_float``, and
there is no ``run_...``.

Loops may use:

``REAL``, ``NAME(x)``
    The floating-point type, and the name of a function for this type, ``x_f32`` or
    ``x_f64``.  Structs are the same for both types.  Therefore their pointers to
    arrays of REAL have the type ``void *``.
``VECTORISE``, ``VECTORISE_REDUCTION(+ : sum)``
    A line before an inner loop that the compiler should vectorise.  The second line
    allows the compiler to change the order of a sum.
``NAME(exp)``, ``NAME(log)``, ``NAME(digamma_one)``
    Functions of one number, which are inlined and vectorised.  They are in
    ``functions.h``, with functions of arrays (``digamma``, ``log_gamma``,
    ``exp_digamma``, ``largest``, ...).
``next_random``, ``random_stream``, ``NAME(uniform)(bits)``
    Random numbers, with a stream for each sample.
``UNFUSED``, ``FUSED``
    Lines before and after functions in which products are rounded before they are
    added.  If such a function adds terms in a fixed order, it returns the same bits
    with all instruction sets.  It calls ``NAME(unfused_exp)`` and
    ``NAME(unfused_log)`` instead of ``NAME(exp)`` and ``NAME(log)``.
``TINY_MASS``, ``NEGLIGIBLE``, ``FARTHEST``
    The smallest sum by which loops divide, a negligible share, and the largest distance
    that loops distinguish from infinity.
``VECTOR_BYTES``
    The size of vectors of this instruction set.  It is defined only if the compiler
    has vector types.  Models derive LANES, the number of samples that are processed
    at once, from this size or from ``SIMD_BYTES``.
``ALWAYS_INLINE``, ``UNROLLED``
    The beginning of a function that is always inlined, and a line before a short loop
    that is unrolled completely, so that arrays of vectors stay in registers.  Loops use
    such functions instead of macros.  Macros are only for types, for sizes that depend
    on types, and for code that is compiled for several types.  A macro is undefined at
    the end of a header if another header defines it in a different way.  Otherwise it
    stays defined, although loops are compiled twice: equal definitions are allowed.
``VECTOR_TYPE(name, element, bytes)``
    Defines a type of vectors, if the compiler has them.
``TRANSPOSE(vector, bytes, type, v)``
    Transposes an array ``v`` of as many vectors as a vector has elements.  The type of
    the elements is f32, f64 or SUFFIX.
``SIMD_BYTES``
    The size of the widest vector.  `special.padded` and `special.aligned` make arrays
    whose rows are multiples of it.

A loop does not check its arguments, raises no exception and allocates no memory.  It
reads ``*block->stop`` often, for Ctrl-C, and returns -1 if the flag is set.  Between
``simd_flush_subnormals`` and ``simd_restore_subnormals``, subnormal numbers are
replaced by 0, because they are slow.

In this folder, ``dispatch`` chooses the instruction set; the environment variable
SKTEMPER_SIMD overrides the choice.  ``isa/`` has a header for each instruction set.  A
new instruction set needs a header in ``isa/``, and a name and a test in ``dispatch.h``.
``both_types.h`` compiles the loops of a header for both types, ``functions.h`` has the
shared functions, and ``special`` is a kernel with shared functions that Python calls.
``gaussian_lanes.h`` computes moments of Gaussians, for loops that include it.  ``room``
provides memory that the arrays of a fit use one after another.
"""
