/* ground_linux.c: lays out the steps that need no plan. */
#define _GNU_SOURCE
#include "run/ground_linux.h"

#include <sched.h>

#include "plan/plan.h"
#include "run/child_text_linux.h"

/* "ID ID 1": the one id is mapped to itself. */
static void write_map(char *map, unsigned id)
{
        map = text_write(text_write_number(map, id), " ");
        text_write(text_write_number(map, id), " 1");
}

static struct init_step *init_step(struct ground *ground, enum init_op op, const char *path,
                                   enum plan_op plan_op)
{
        struct init_step *step = &ground->init_steps[ground->child.init_count++];

        *step = (struct init_step){ .op = op, .path = path, .plan_op = plan_op };
        return step;
}

static void command_step(struct ground *ground, enum command_op op, enum plan_op plan_op, uint64_t value)
{
        ground->command_steps[ground->child.command_count++] =
                (struct command_step){ .op = op, .plan_op = plan_op, .value = value };
}

static uint64_t namespace_flags(const abatis_host *host)
{
        switch (host->namespaces) {
        case NAMESPACES_NONE:
                return 0;
        case NAMESPACES_USER:
                return CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER;
        case NAMESPACES_ROOT:
                return CLONE_NEWNS | CLONE_NEWPID;
        }
        return 0;
}

static void begin(struct ground *ground, uint64_t namespaces, bool has_mounts)
{
        ground->child = (struct child_ground){ .init_steps = ground->init_steps,
                                               .command_steps = ground->command_steps,
                                               .namespaces = namespaces,
                                               .plan_op = PLAN_NAMESPACES,
                                               .terminal_op = PLAN_TERMINALS,
                                               .has_mounts = has_mounts };
}

/* Another user's namespace only receives mount events; root's would also send them. */
static void part_mounts(struct ground *ground, const abatis_host *host)
{
        if (ground->child.has_mounts && host->namespaces == NAMESPACES_ROOT)
                init_step(ground, INIT_PRIVATE, NULL, PLAN_READ_ONLY_WORLD);
}

static void map_ids(struct ground *ground, const abatis_host *host)
{
        if (host->namespaces != NAMESPACES_USER)
                return;
        write_map(ground->uid_map, host->uid);
        write_map(ground->gid_map, host->gid);
        init_step(ground, INIT_MAP_IDS, ground->uid_map, PLAN_MAP_IDS)->target = ground->gid_map;
}

static void part_command(struct ground *ground, const abatis_host *host)
{
        command_step(ground, COMMAND_UMASK, PLAN_SESSION, 0);
        command_step(ground, COMMAND_SESSION, PLAN_SESSION, 0);
        if (!ground->child.is_plain)
                command_step(ground, COMMAND_PRIVILEGES, PLAN_PRIVILEGES,
                             host->namespaces != NAMESPACES_USER);
}

static void lay_out(struct ground *ground, const abatis_host *host)
{
        part_mounts(ground, host);
        /* First, as the next step looks into it. It becomes read-only with the rest of the world. */
        if (ground->child.has_mounts)
                init_step(ground, INIT_PROC, "/proc", PLAN_PROC);
        map_ids(ground, host);
        if (ground->child.has_mounts)
                init_step(ground, INIT_UNSHARE, NULL, PLAN_PRIVATE_IPC)->value = CLONE_NEWIPC;
        part_command(ground, host);
}

static bool needs_scope(const struct child_plan *plan)
{
        return plan->broker && plan->broker->needs_scope;
}

static bool needs_host(const struct child_plan *plan)
{
        return plan->broker && plan->broker->sockets;
}

void ground_lay_out(struct ground *ground, const abatis_host *host, const struct child_plan *plan)
{
        if (plan->is_plain) {
                begin(ground, 0, false);
                ground->child.is_plain = true;
                part_command(ground, host);
                return;
        }
        begin(ground, namespace_flags(host), host_has_mounts(host));
        ground->child.has_scope = needs_scope(plan);
        ground->child.has_host = needs_host(plan);
        lay_out(ground, host);
        ground->child.has_network = plan->has_network;
        ground->child.has_relay = plan->has_relay;
        if (plan->has_network)
                init_step(ground, INIT_NETWORK, NULL, PLAN_NETWORK);
}

/* To copy the mounts takes longer than all else in the clone, which the parent waits for. */
void ground_lay_out_early(struct ground *ground, const abatis_host *host)
{
        begin(ground, namespace_flags(host) & ~(uint64_t)CLONE_NEWNS, host_has_mounts(host));
        if (ground->child.has_mounts)
                init_step(ground, INIT_UNSHARE, NULL, PLAN_NAMESPACES)->value = CLONE_NEWNS;
        lay_out(ground, host);
}

void ground_lay_out_world(struct ground *ground, const abatis_host *host)
{
        begin(ground, namespace_flags(host) & ~(uint64_t)CLONE_NEWPID, host_has_mounts(host));
        part_mounts(ground, host);
        map_ids(ground, host);
}

uint64_t ground_namespaces_in_world(const abatis_host *host)
{
        return host_has_mounts(host) ? CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC : 0;
}

void ground_lay_out_in_world(struct ground *ground, const abatis_host *host, const struct child_plan *plan)
{
        begin(ground, ground_namespaces_in_world(host), host_has_mounts(host));
        ground->child.has_scope = needs_scope(plan);
        ground->child.has_host = needs_host(plan);
        part_command(ground, host);
}

bool ground_fits(const struct ground *ground, const abatis_host *host, const struct child_plan *plan)
{
        if (ground->child.is_plain || plan->is_plain)
                return ground->child.is_plain && plan->is_plain;
        return (ground->child.namespaces | CLONE_NEWNS) == (namespace_flags(host) | CLONE_NEWNS) &&
               ground->child.has_mounts == host_has_mounts(host) &&
               ground->child.has_scope == needs_scope(plan) && ground->child.has_host == needs_host(plan) &&
               ground->child.has_network == plan->has_network && ground->child.has_relay == plan->has_relay;
}
