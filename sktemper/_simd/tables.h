/* Look-up of the table of a model's loops.  The header that setup.py generates for a model
 * includes this after the type `simd_table`; SIMD_TABLE(isa) is the name of a table. */
#include "dispatch.h"

#if defined(__GNUC__) && !defined(_WIN32)
#define SIMD_HIDDEN __attribute__((visibility("hidden")))
#else
#define SIMD_HIDDEN
#endif

#define DECLARE(isa) extern SIMD_HIDDEN const simd_table SIMD_TABLE(isa);
SIMD_EACH_ISA(DECLARE)
#undef DECLARE

/* Returns the table of the chosen instruction set. */
static inline const simd_table *simd_table_of(const char *name)
{
#define FIND(isa)                                                                      \
    if (strcmp(name, #isa) == 0)                                                       \
        return &SIMD_TABLE(isa);
    SIMD_EACH_ISA(FIND)
#undef FIND
    return 0;
}
