/* ground_linux.h: what every sandbox on a host begins with, whatever its policy: namespaces, /proc, ids.
 *
 * It needs no plan, so it is laid on one processor while the policy is read and compiled on another. */
#ifndef RUN_GROUND_LINUX_H
#define RUN_GROUND_LINUX_H

#include "plan/host.h"
#include "run/child_linux.h"

enum { GROUND_INIT_MAX = 5, GROUND_COMMAND_MAX = 3 };

struct ground {
        struct child_ground child;
        struct init_step init_steps[GROUND_INIT_MAX];
        struct command_step command_steps[GROUND_COMMAND_MAX];
        char uid_map[48], gid_map[48];
};

/* What the plan needs of it. The mounts are those of the moment of the clone. */
void ground_lay_out(struct ground *ground, const abatis_host *host, const struct child_plan *plan);
/* Where there is no plan yet: the mounts are copied beside its making, by init. */
void ground_lay_out_early(struct ground *ground, const abatis_host *host);
/* The two parts of one for a plan with mounts: what a keeper does once for all jobs of a sandbox, and what is
 * left for each of them. */
void ground_lay_out_world(struct ground *ground, const abatis_host *host);
uint64_t ground_namespaces_in_world(const abatis_host *host);
void ground_lay_out_in_world(struct ground *ground, const abatis_host *host, const struct child_plan *plan);
/* Whether a plan that was made for `host` can stand on it. */
bool ground_fits(const struct ground *ground, const abatis_host *host, const struct child_plan *plan);

#endif
