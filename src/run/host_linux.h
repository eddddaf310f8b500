/* host_linux.h: the probes that the run layer of Linux is made of. */
#ifndef RUN_HOST_LINUX_H
#define RUN_HOST_LINUX_H

#include "plan/host.h"

/* A few system calls. */
void host_probe_quickly(abatis_host *host);
/* Adds what limits of a whole tree can stand on. */
void host_probe_limits(abatis_host *host);
void host_probe_broker(abatis_host *host);
/* Looks for bubblewrap and tries it, with the arguments that commands get. */
void host_probe_bwrap(abatis_host *host);
/* Corrects the quick probe, which takes namespaces for granted: the kernel refused them with this errno. */
void host_lose_namespaces(abatis_host *host, int error);

#endif
