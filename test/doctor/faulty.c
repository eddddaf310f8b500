/* faulty.c: for a build of abatis in which something is left out that the plan names: ABATIS_FAULT=hide,seccomp.
 *
 * What is printed, and what the result claims, is the plan as it was: only whoever tries it finds out. A word is the name of a step, or of
 * what is done elsewhere: spoil() changes the policy, the rest is of the functions that are wrapped here. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "run/bwrap_linux.h"
#include "run/ground_linux.h"
#include "run/resources_linux.h"
#include "run/run.h"
#include "run/syscall_linux.h"

enum { INHERITED_FD = 200, MOST_KEPT = 64 }; /* the first as in trials_linux.c */

int __real_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err);
int __wrap_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err);
void __real_ground_lay_out(struct ground *ground, const abatis_host *host, const struct child_plan *plan);
void __wrap_ground_lay_out(struct ground *ground, const abatis_host *host, const struct child_plan *plan);
int __real_bwrap_arguments(const struct bwrap_order *order, struct strings *out, abatis_error *err);
int __wrap_bwrap_arguments(const struct bwrap_order *order, struct strings *out, abatis_error *err);
long __real_child_close_others(long *kept, int count, long first);
long __wrap_child_close_others(long *kept, int count, long first);
long __real_child_sweep_prepare(struct child_job *job);
long __wrap_child_sweep_prepare(struct child_job *job);
void __real_child_sweep(struct child_job *job);
void __wrap_child_sweep(struct child_job *job);

/* The children cannot look into the environment. */
static bool leaves_descriptor, leaves_processes, keeps_session;

static bool has_fault(const char *name)
{
        const char *names = getenv("ABATIS_FAULT");
        size_t length = strlen(name);

        for (const char *at = names; at; at = strchr(at, ',')) {
                at += *at == ',';
                if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
                        return true;
        }
        return false;
}

/* ---- the plan and the policy ---------------------------------------------------------------------------- */

static void spoil(abatis_policy *policy)
{
        if (has_fault("deadline"))
                policy->limits[LIMIT_TIMEOUT] = 0;
        if (has_fault("output"))
                policy->limits[LIMIT_OUTPUT] = 0;
        if (has_fault("arguments"))
                policy->argument_check = CHECK_NEVER;
        if (has_fault("environment"))
                strings_add(&policy->environment, "ABATIS_DOCTOR_API_KEY", NULL);
        if (has_fault("mode"))
                policy->network = NETWORK_ALLOW;
        if (has_fault("porter"))
                policy->shares_session = false;
        if (has_fault("bind"))
                strings_done(&policy->bind);
        if (has_fault("connections"))
                policy->limits[LIMIT_CONNECTIONS] = policy->limits[LIMIT_CONNECTION_RATE] =
                        policy->limits[LIMIT_TRAFFIC] = 0;
}

static size_t drop_commands(struct command_step *steps, size_t count, enum command_op op)
{
        size_t kept = 0;

        for (size_t i = 0; i < count; i++)
                if (steps[i].op != op)
                        steps[kept++] = steps[i];
        return kept;
}

static void drop_inside(struct steps *inside, enum command_op op)
{
        inside->command_count = drop_commands(inside->command, inside->command_count, op);
}

/* Every mount of the host's is as it was there. */
static void open_world(struct steps *steps)
{
        for (size_t i = 0; i < steps->init_count; i++)
                if (steps->init[i].op == INIT_READ_ONLY && has_fault("world"))
                        steps->init[i].value &= ~(uint64_t)(ATTR_RDONLY | ATTR_NODEV);
}

int __wrap_resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                          struct resources **out, abatis_error *err)
{
        int r;

        for (size_t i = plan->step_count; i-- > 0;)
                if (has_fault(plan_op_name(plan->steps[i].op)))
                        plan_drop_step((struct plan *)plan, i);
        spoil((abatis_policy *)policy);
        leaves_descriptor = has_fault("closing");
        leaves_processes = has_fault("sweeping");
        keeps_session = has_fault("own-session");
        r = __real_resources_open(plan, policy, host, out, err);
        if (!r && has_fault("closing"))
                drop_inside(&(*out)->inside, COMMAND_DESCRIPTORS);
        if (!r && has_fault("own-session"))
                drop_inside(&(*out)->inside, COMMAND_SESSION);
        if (!r)
                open_world(&(*out)->steps);
        return r;
}

/* ---- what every sandbox has ----------------------------------------------------------------------------- */

static bool is_left_out(const struct init_step *step)
{
        /* Who has no PID namespace may not mount it. */
        if (step->op == INIT_PROC)
                return has_fault("pids");
        return step->op == INIT_UNSHARE && step->value == CLONE_NEWIPC && has_fault("ipc");
}

void __wrap_ground_lay_out(struct ground *ground, const abatis_host *host, const struct child_plan *plan)
{
        struct child_ground *child = &ground->child;
        size_t kept = 0;

        __real_ground_lay_out(ground, host, plan);
        if (has_fault("own-session"))
                child->command_count =
                        drop_commands(ground->command_steps, child->command_count, COMMAND_SESSION);
        if (has_fault("pids"))
                child->namespaces &= ~(uint64_t)CLONE_NEWPID;
        for (size_t i = 0; i < child->init_count; i++)
                if (!is_left_out(&ground->init_steps[i]))
                        ground->init_steps[kept++] = ground->init_steps[i];
        child->init_count = kept;
}

/* ---- bubblewrap ----------------------------------------------------------------------------------------- */

static const struct option {
        const char *fault, *word;
        const char *argument; /* NULL: it has none; a mount of the whole world has it twice */
        const char *instead;  /* NULL: it is left out, with its argument */
} options[] = {
        { "seccomp", "--seccomp", "", NULL },        { "pids", "--unshare-pid", NULL, NULL },
        { "pids", "--as-pid-1", NULL, NULL },        { "pids", "--die-with-parent", NULL, NULL },
        { "pids", "--proc", "/proc", NULL },         { "ipc", "--unshare-ipc", NULL, NULL },
        { "world", "--ro-bind", "/", "--dev-bind" }, { "world", "--dev", "/dev", NULL },
        { "world", "--remount-ro", "/dev", NULL },
};

static const struct option *find_option(char *const *words)
{
        for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
                const struct option *option = &options[i];

                if (has_fault(option->fault) && !strcmp(option->word, words[0]) &&
                    (!option->argument || !*option->argument || !strcmp(option->argument, words[1])))
                        return option;
        }
        return NULL;
}

int __wrap_bwrap_arguments(const struct bwrap_order *order, struct strings *out, abatis_error *err)
{
        int r = __real_bwrap_arguments(order, out, err);
        size_t kept = 0, i = 0;

        while (!r && i < out->count && strcmp(out->items[i], "--") != 0) {
                const struct option *option = find_option(&out->items[i]);

                if (option) {
                        free(out->items[i]);
                        out->items[i] = option->instead ? strdup(option->instead) : NULL;
                }
                if (option && !option->instead) {
                        if (option->argument)
                                free(out->items[++i]);
                        i++;
                        continue;
                }
                out->items[kept++] = out->items[i++];
        }
        while (!r && i < out->count)
                out->items[kept++] = out->items[i++];
        if (!r) {
                out->count = kept;
                out->items[kept] = NULL;
        }
        return r;
}

/* ---- between clone and exec ----------------------------------------------------------------------------- */

long __wrap_child_close_others(long *kept, int count, long first)
{
        long more[MOST_KEPT];
        int more_count = 0;

        if (!leaves_descriptor || count >= MOST_KEPT)
                return __real_child_close_others(kept, count, first);
        for (; more_count < count; more_count++)
                more[more_count] = kept[more_count];
        more[more_count++] = INHERITED_FD;
        return __real_child_close_others(more, more_count, first);
}

long __wrap_child_sweep_prepare(struct child_job *job)
{
        if (!keeps_session)
                return __real_child_sweep_prepare(job);
        job->init = (int)RAW(SYS_getpid);
        return RAW(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Only the command itself is waited for. */
void __wrap_child_sweep(struct child_job *job)
{
        if (!leaves_processes) {
                __real_child_sweep(job);
                return;
        }
        if (!job->has_status && job->command > 0)
                job->has_status = RAW(SYS_wait4, job->command, &job->status, __WALL, 0) == job->command;
}
