/* ground_linux.h: what every sandbox on a host begins with, whatever its policy: namespaces, /proc, ids, the stage.
 *
 * It needs no plan, so it is laid on one processor while the policy is read and compiled on another. */
#ifndef RUN_GROUND_LINUX_H
#define RUN_GROUND_LINUX_H

#include "plan/host.h"
#include "run/child_linux.h"

enum { GROUND_INIT_MAX = 8, GROUND_COMMAND_MAX = 4 };

struct ground {
        struct child_ground child;
        struct init_step init_steps[GROUND_INIT_MAX];
        struct command_step command_steps[GROUND_COMMAND_MAX];
        char uid_map[48], gid_map[48];
};

/* Fails where there is no directory for the stage. */
int ground_lay_out(struct ground *ground, const abatis_host *host, abatis_error *err);
/* Whether a plan that was made for `host` can stand on it. */
bool ground_fits(const struct ground *ground, const abatis_host *host);
/* Where the stage is mounted: a directory that is nobody's, covered again before the command sees it. */
int ground_find_stage(const char **out, abatis_error *err);

#endif
