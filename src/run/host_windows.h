/* host_windows.h: what this Windows can enforce. */
#ifndef RUN_HOST_WINDOWS_H
#define RUN_HOST_WINDOWS_H

#include "plan/host.h"

void windows_probe(abatis_host *host);

#endif
