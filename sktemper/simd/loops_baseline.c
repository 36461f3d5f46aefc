#define ISA baseline
#include "loops_isa.h"
