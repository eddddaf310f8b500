/* firewall_windows.h: whether what keeps a container without capabilities from networks is there. */
#ifndef RUN_FIREWALL_WINDOWS_H
#define RUN_FIREWALL_WINDOWS_H

#include "run/system_windows.h"

/* ABATIS_E_UNENFORCEABLE, with the name, if one of Windows' services for it does not run. */
int firewall_check(abatis_error *err);
/* The same of one service. */
int service_check(const wchar_t *name, abatis_error *err);

#endif
