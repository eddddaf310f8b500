/* shortage.h: lets one allocation of the core fail. */
#ifndef UNIT_SHORTAGE_H
#define UNIT_SHORTAGE_H

#include "scratch.h"

extern long countdown;  /* the allocation that fails, counted down to zero; 0 is off */
extern bool has_failed; /* it did */

/* What the core calls instead of malloc(), for libraries that are told what to call. */
void *__wrap_malloc(size_t size);

#endif
