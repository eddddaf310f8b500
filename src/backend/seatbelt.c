/* seatbelt.c: compiles a policy for macOS: one profile for the kernel's Seatbelt, and what is done outside it.
 *
 * What neither can hold exactly is refused by name. */
#include "backend/seatbelt.h"

#include <stdlib.h>

static void cover_files(struct seatbelt *seatbelt, size_t step)
{
        struct plan *plan = seatbelt->plan;

        plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        plan_cover_all(plan, step, CLAUSE_DENY);
        plan_cover_all(plan, step, CLAUSE_PROTECT);
        plan_cover(plan, step, CLAUSE_TMP, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_DEVICES, PLAN_NO_INDEX);
        if (!seatbelt->policy->reads_all) {
                plan_leave_visible(plan, "the system's own libraries and data, which every program loads");
                plan_leave_visible(
                        plan,
                        "the directories above what may be read: that they exist, and their attributes");
        }
}

/* Of a list only files outside writable trees, by one name: what is written is judged by its path. */
static void cover_commands(struct seatbelt *seatbelt, size_t step)
{
        const abatis_policy *policy = seatbelt->policy;

        plan_cover(seatbelt->plan, step, CLAUSE_COMMANDS, PLAN_NO_INDEX);
        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];
                bool is_writable;

                policy_decide_by_paths(policy, ABATIS_WRITE, startable->path, &is_writable);
                if (is_writable || startable->is_copied)
                        plan_miss(
                                seatbelt->plan, CLAUSE_COMMANDS, PLAN_NO_INDEX,
                                "the command could change '%s'%s; list a file outside the writable trees that has "
                                "one name",
                                startable->path, is_writable ? "" : " through another of its names");
        }
}

static void cover_network(struct seatbelt *seatbelt, size_t step)
{
        static const enum limit connections[] = { LIMIT_CONNECTIONS, LIMIT_CONNECTION_RATE, LIMIT_TRAFFIC };
        const abatis_policy *policy = seatbelt->policy;
        struct plan *plan = seatbelt->plan;
        bool has_all = network_has_unix_sockets(policy->network);

        plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX); /* macOS has none */
        plan_cover_all(plan, step, CLAUSE_UNIX);
        plan_miss(plan, CLAUSE_NAMES, PLAN_NO_INDEX, "nobody looks into connections on macOS");
        for (size_t i = 0; i < policy->connect.count && policy->network != NETWORK_LIST; i++)
                plan_miss(plan, CLAUSE_CONNECT, i, "it is for network.mode: list");
        for (size_t i = 0; i < policy->bind.count && policy->network != NETWORK_LIST; i++)
                plan_miss(plan, CLAUSE_BIND, i, "it is for network.mode: list");
        for (size_t i = 0; i < policy->unix_sockets.count && has_all; i++)
                plan_miss(plan, CLAUSE_UNIX, i,
                          "it is for network.mode deny or list: %s lets every unix socket through",
                          network_mode_name(policy->network));
        for (size_t i = 0; i < sizeof(connections) / sizeof(*connections); i++)
                if (policy->network == NETWORK_DENY)
                        plan_cover(plan, step, CLAUSE_LIMIT, connections[i]);
                else
                        plan_miss(plan, CLAUSE_LIMIT, connections[i], "nobody counts connections on macOS");
}

static void cover_processes(struct seatbelt *seatbelt, size_t step)
{
        static const enum clause_kind kinds[] = { CLAUSE_FORK,     CLAUSE_PRIVACY,    CLAUSE_IPC,
                                                  CLAUSE_TERMINAL, CLAUSE_PRIVILEGES, CLAUSE_KERNEL };
        static const enum clause_kind of_root[] = { CLAUSE_PRIVILEGES, CLAUSE_KERNEL };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                plan_cover(seatbelt->plan, step, kinds[i], PLAN_NO_INDEX);
        for (size_t i = 0; i < sizeof(of_root) / sizeof(*of_root) && !seatbelt->host->uid; i++)
                plan_miss(seatbelt->plan, of_root[i], PLAN_NO_INDEX,
                          "a profile takes no privilege away from root; run as an ordinary user");
}

/* Before it, since its parameters name what is made for the job. */
static void add_ground(struct seatbelt *seatbelt)
{
        struct plan *plan = seatbelt->plan;

        plan_cover(plan, plan_step(plan, PLAN_SWEEP, NULL, PLAN_SWEEPS_MARKED), CLAUSE_LIFETIME,
                   PLAN_NO_INDEX);
        if (seatbelt->policy->has_private_tmp)
                plan_cover(plan, plan_step(plan, PLAN_OWN_TMP, NULL, 0), CLAUSE_TMP, PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_SESSION, NULL, 0), CLAUSE_TERMINAL, PLAN_NO_INDEX);
}

/* macOS limits each process, and all processes of a user; of a tree it knows nothing. */
static void add_limits(struct seatbelt *seatbelt)
{
        static const enum limit of_process[] = { LIMIT_OPEN_FILES, LIMIT_FILE_SIZE };
        static const enum limit of_tree[] = { LIMIT_PROCESSES, LIMIT_MEMORY, LIMIT_CPU, LIMIT_WRITTEN };
        struct plan *plan = seatbelt->plan;

        for (size_t i = 0; i < sizeof(of_process) / sizeof(*of_process); i++)
                if (seatbelt->policy->limits[of_process[i]])
                        plan_cover(plan, plan_step(plan, PLAN_LIMIT, NULL, of_process[i]), CLAUSE_LIMIT,
                                   of_process[i]);
        for (size_t i = 0; i < sizeof(of_tree) / sizeof(*of_tree); i++)
                plan_miss(
                        plan, CLAUSE_LIMIT, of_tree[i],
                        "macOS has no limit for a tree of processes, and this version counts none there; leave "
                        "the limit out");
}

static void add_profile(struct seatbelt *seatbelt)
{
        struct plan *plan = seatbelt->plan;
        size_t step;

        seatbelt_write(seatbelt);
        if (seatbelt->profile.has_failed || !seatbelt->profile.data) {
                plan->has_failed = true;
                return;
        }
        step = plan_step(plan, PLAN_PROFILE, NULL, 0);
        plan_target(plan, step, seatbelt->profile.data);
        cover_files(seatbelt, step);
        cover_commands(seatbelt, step);
        cover_network(seatbelt, step);
        cover_processes(seatbelt, step);
}

static void add_supervision(struct seatbelt *seatbelt)
{
        const abatis_policy *policy = seatbelt->policy;
        struct plan *plan = seatbelt->plan;

        if (arguments_are_checked(policy))
                plan_cover(plan, plan_step(plan, PLAN_ARGUMENTS, NULL, 0), CLAUSE_ARGUMENTS, PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_DESCRIPTORS, NULL, PLAN_CLOSES_AT_EXEC), CLAUSE_DESCRIPTORS,
                   PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_ENVIRONMENT, NULL, 0), CLAUSE_ENVIRONMENT, PLAN_NO_INDEX);
        plan_miss(plan, CLAUSE_CALLS, PLAN_NO_INDEX, "a profile has no list of system calls");
        plan_miss(plan, CLAUSE_NEW_CODE, PLAN_NO_INDEX, "a profile does not say what memory becomes code");
        plan_miss(plan, CLAUSE_SHARING, PLAN_NO_INDEX,
                  "each command has a profile and a directory of its own on macOS; fix: session: private");
        if (policy->limits[LIMIT_TIMEOUT])
                plan_cover(plan, plan_step(plan, PLAN_DEADLINE, NULL, 0), CLAUSE_LIMIT, LIMIT_TIMEOUT);
        if (policy->limits[LIMIT_OUTPUT])
                plan_cover(plan, plan_step(plan, PLAN_OUTPUT, NULL, 0), CLAUSE_LIMIT, LIMIT_OUTPUT);
}

static void compile_seatbelt(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        struct seatbelt seatbelt = { .policy = policy, .host = host, .plan = plan };

        add_ground(&seatbelt);
        add_limits(&seatbelt);
        add_profile(&seatbelt);
        add_supervision(&seatbelt);
        text_done(&seatbelt.profile);
        strings_done(&seatbelt.ways);
        strings_done(&seatbelt.pins);
}

static const char *find_reason(const abatis_host *host)
{
        return *host->seatbelt_reason ? host->seatbelt_reason : NULL;
}

/* Seatbelt has none of its own. */
static const char *find_version(const abatis_host *host)
{
        return host->system == SYSTEM_MACOS && *host->kernel ? host->kernel : NULL;
}

const struct backend backend_seatbelt = { .kind = BACKEND_SEATBELT,
                                          .system = SYSTEM_MACOS,
                                          .find_reason = find_reason,
                                          .find_version = find_version,
                                          .compile = compile_seatbelt };
