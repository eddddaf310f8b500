/* print.c: plans and host facts as text for people and JSON for programs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "plan/plan.h"

/* What each step is called, which mechanism it uses, and what it does. */
static const struct op_text {
        const char *name, *mechanism, *meaning;
} op_texts[] = {
        [PLAN_SWEEP] = { "sweep", "init that ends all descendants",
                         "init, in a session of its own, adopts every orphan and ends last" },
        [PLAN_NAMESPACES] = { "namespaces", "PID namespace with its own init",
                              "new namespaces; init is PID 1 and ends last" },
        [PLAN_MAP_IDS] = { "map-ids", "user namespace", "the user is mapped to himself, nobody else exists" },
        [PLAN_STAGE] = { "stage", "tmpfs", "a tmpfs for private directories and masks" },
        [PLAN_READ_ONLY_WORLD] = { "read-only-world", "recursive read-only mount",
                                   "every mount becomes read-only, nosuid, nodev and private" },
        [PLAN_NOEXEC] = { "noexec", "noexec mounts", "no file of any mount is code, except as follows" },
        [PLAN_NEW_ROOT] = { "new-root", "new root", "an empty root; only what is shown next exists" },
        [PLAN_LINK] = { "link", "new root", "the same symbolic link in the new root" },
        [PLAN_SHOW] = { "show", "read-only bind mount", "readable" },
        [PLAN_DEVICES] = { "devices", "nodev mounts", "null zero full random urandom tty, no other device" },
        [PLAN_TERMINALS] = { "terminals", "private devpts", "pseudo terminals of its own" },
        [PLAN_PRIVATE_SHM] = { "private-shm", "tmpfs", "an empty /dev/shm" },
        [PLAN_PRIVATE_TMP] = { "private-tmp", "tmpfs", "an empty /tmp that goes with the job" },
        [PLAN_OWN_TMP] = { "own-tmp", "directory of its own in /tmp",
                           "TMPDIR names it; it goes with the job, and the rest of /tmp is closed" },
        [PLAN_PROC] = { "proc", "private read-only /proc", "a /proc that knows only the job's processes" },
        [PLAN_LIBRARIES] = { "libraries", "read-only bind mount", "can be mapped as code" },
        [PLAN_WRITABLE] = { "writable", "bind mount", "writable" },
        [PLAN_START] = { "start", "read-only bind mount", "can be started" },
        [PLAN_LOADER] = { "loader", "loader that cannot be started", "loads programs, cannot be started" },
        [PLAN_PIN] = { "pin", "bind mount", "cannot be moved away" },
        [PLAN_PROTECT] = { "protect", "read-only bind mount", "readable, not writable" },
        [PLAN_HIDE] = { "hide", "mount mask (mode 000, read-only)", "neither readable nor writable" },
        [PLAN_CLOSED] = { "closed", "access list, looked at",
                          "closed to every container, with all below it, or nothing runs" },
        [PLAN_HOSTS] = { "hosts", "empty /etc/hosts", "no name is known inside: each is asked for" },
        [PLAN_ENTER_ROOT] = { "enter-root", "pivot_root", "the old root goes out of reach" },
        [PLAN_PRIVATE_IPC] = { "private-ipc", "IPC namespace", "System V and POSIX queues of its own" },
        [PLAN_NETWORK] = { "network", "network namespace with a relay",
                           "only what network.connect allows is reached, by a relay" },
        [PLAN_STREAMS] = { "streams", "relay",
                           "only what network.connect allows is reached, by a relay that the broker connects to; "
                           "no UDP, so names are asked for over TCP (RES_OPTIONS); no servers" },
        [PLAN_LOOPBACK] = { "loopback", "network namespace with the first socket",
                            "a loopback of its own, which leads nowhere else and nobody else reaches" },
        [PLAN_LOOPBACK_AT_ONCE] = { "loopback", "network namespace",
                                    "a loopback of its own, which leads nowhere else and nobody else reaches" },
        [PLAN_SESSION] = { "session", "own session without terminal", "a new session and process group" },
        [PLAN_LIMIT] = { "limit", "rlimit", "a limit of the kernel for each process" },
        [PLAN_CGROUP] = { "cgroup", "cgroup", "a cgroup of its own for the whole tree" },
        [PLAN_COUNT] = { "count", "count", "the tree is counted, and killed when it is over the limit" },
        [PLAN_PRIVILEGES] = { "privileges", "no capabilities, no_new_privs",
                              "no capability, none to gain, securebits locked" },
        [PLAN_LANDLOCK] = { "landlock", "Landlock", "only granted paths; other processes out of reach" },
        [PLAN_SECCOMP] = { "seccomp", "seccomp filter", "system calls and socket families that are refused" },
        [PLAN_CALLS] = { "calls", "second seccomp filter",
                         "loaded last: what the command may not, and whoever starts it must" },
        [PLAN_BROKER] = { "broker", "broker",
                          "what mounts and Landlock cannot judge is done by the supervisor, or refused" },
        [PLAN_PROFILE] = { "profile", "Seatbelt profile",
                           "what the profile does not allow, the kernel refuses" },
        [PLAN_CONTAINER] = { "container", "AppContainer",
                             "without a capability; what is not given to it below, or to all containers by Windows, is closed" },
        [PLAN_SUSPENDED] = { "suspended", "suspended start", "the command exists and has not run" },
        [PLAN_JOB_OBJECT] = { "job-object", "job object",
                              "the whole tree is in it, cannot leave it, and ends with it" },
        [PLAN_RESUME] = { "resume", "suspended start",
                          "the command runs if its token is the container's, or else is ended" },
        [PLAN_ARGUMENTS] = { "arguments", "supervisor", "an argument that names a denied path is refused" },
        [PLAN_DESCRIPTORS] = { "descriptors", "close_range", "every descriptor above 2 is closed" },
        [PLAN_ENVIRONMENT] = { "environment", "environment filter",
                               "variables that look secret are left out" },
        [PLAN_PORTER] = { "porter", "porter inside",
                          "the sandbox's commands share /tmp and processes; all end with the sandbox" },
        [PLAN_DEADLINE] = { "deadline", "supervisor", "the whole tree is killed when the time is over" },
        [PLAN_OUTPUT] = { "output", "supervisor", "output over the limit is dropped and counted" },
};

/* The same where bubblewrap does it. */
static const char *const bwrap_texts[] = {
        [PLAN_NAMESPACES] = "bwrap --unshare-pid --as-pid-1",
        [PLAN_MAP_IDS] = "bwrap --unshare-user",
        [PLAN_READ_ONLY_WORLD] = "bwrap --ro-bind / /",
        [PLAN_NEW_ROOT] = "bwrap --remount-ro /",
        [PLAN_LINK] = "bwrap --symlink",
        [PLAN_SHOW] = "bwrap --ro-bind",
        [PLAN_DEVICES] = "bwrap --dev /dev",
        [PLAN_TERMINALS] = "bwrap --dev /dev",
        [PLAN_PRIVATE_SHM] = "bwrap --tmpfs /dev/shm",
        [PLAN_PRIVATE_TMP] = "bwrap --tmpfs /tmp",
        [PLAN_PROC] = "bwrap --proc /proc",
        [PLAN_WRITABLE] = "bwrap --bind",
        [PLAN_PIN] = "bwrap --bind",
        [PLAN_PROTECT] = "bwrap --ro-bind",
        [PLAN_HIDE] = "bwrap --perms 0000 --tmpfs or --ro-bind-data",
        [PLAN_PRIVATE_IPC] = "bwrap --unshare-ipc",
        [PLAN_LOOPBACK_AT_ONCE] = "bwrap --unshare-net",
        [PLAN_PRIVILEGES] = "bwrap --cap-drop ALL, no_new_privs",
        [PLAN_SECCOMP] = "bwrap --seccomp",
        [PLAN_OUTPUT] = NULL,
};

/* And where Windows does, with what it means there. */
static const struct {
        const char *mechanism, *meaning;
} windows_texts[] = {
        [PLAN_SHOW] = { "access entry", "readable" },
        [PLAN_OWN_TMP] = { "directory of the container's own", "TEMP and TMP name it; it goes with the job" },
        [PLAN_WRITABLE] = { "access entry", "writable" },
        [PLAN_PIN] = { "access entry without DELETE", "cannot be moved away" },
        [PLAN_PROTECT] = { "access entry, held open",
                           "readable, not writable; nobody replaces it meanwhile" },
        [PLAN_HIDE] = { "no access entry, held open",
                        "neither readable nor writable; nobody replaces it meanwhile" },
        [PLAN_SESSION] = { "console of its own", "a console without a window; the caller's is out of reach" },
        [PLAN_PRIVILEGES] = { "privileges removed", "no privilege is left but SeChangeNotify" },
        [PLAN_DESCRIPTORS] = { "list of handles",
                               "no handle is inherited but the three of input and output" },
        [PLAN_OUTPUT] = { NULL, NULL },
};

static const char *const job_object_texts[LIMIT_COUNT] = {
        [LIMIT_PROCESSES] = "job object ActiveProcessLimit",
        [LIMIT_MEMORY] = "job object JobMemoryLimit",
        [LIMIT_CPU] = "job object's accounting, read every 50 ms",
};

/* Of the three steps that hold a limit, the mechanism depends on which one: from where the number comes, and how exact
 * it is. */
static const struct limit_text {
        const char *rlimit, *cgroup, *count;
} limit_texts[LIMIT_COUNT] = {
        [LIMIT_OPEN_FILES] = { .rlimit = "RLIMIT_NOFILE of each process" },
        [LIMIT_FILE_SIZE] = { .rlimit = "RLIMIT_FSIZE of each file" },
        [LIMIT_PROCESSES] = { .rlimit = "RLIMIT_NPROC of the user namespace", .cgroup = "cgroup pids.max" },
        [LIMIT_MEMORY] = { .rlimit = "RLIMIT_DATA of each process (twice the limit, 1 GiB more at least)",
                           .cgroup = "cgroup memory.max",
                           .count =
                                   "tree counted every 20 to 100 ms (what is mapped; the private tmpfs, if there is one)" },
        [LIMIT_CPU] = { .rlimit = "RLIMIT_CPU of each process (whole seconds)",
                        .cgroup = "cgroup cpu.stat, read at least every 100 ms",
                        .count = "tree counted every 20 to 100 ms (10 ms ticks of each process)" },
        [LIMIT_WRITTEN] = { .count = "tree counted every 20 to 100 ms (/proc/PID/io)" },
};

static bool is_of_limit(const struct step *step)
{
        return step->op == PLAN_LIMIT || step->op == PLAN_CGROUP || step->op == PLAN_COUNT;
}

static const char *of_windows(const struct step *step)
{
        if (is_of_limit(step))
                return job_object_texts[step->value];
        return windows_texts[step->op].mechanism;
}

static const char *mechanism_of(const struct plan *plan, const struct step *step)
{
        const char *mechanism = plan->backend == BACKEND_BWRAP          ? bwrap_texts[step->op]
                                : plan->backend == BACKEND_APPCONTAINER ? of_windows(step)
                                                                        : NULL;

        if (plan->backend == BACKEND_APPCONTAINER)
                return mechanism ? mechanism : op_texts[step->op].mechanism;
        if (step->op == PLAN_SWEEP && step->value == PLAN_SWEEPS_MARKED)
                return "sweep of all that have the profile";
        if (step->op == PLAN_DESCRIPTORS && step->value == PLAN_CLOSES_AT_EXEC)
                return "closed by exec";
        if (step->op == PLAN_LIMIT)
                mechanism = limit_texts[step->value].rlimit;
        else if (step->op == PLAN_CGROUP)
                mechanism = limit_texts[step->value].cgroup;
        else if (step->op == PLAN_COUNT)
                mechanism = limit_texts[step->value].count;
        return mechanism ? mechanism : op_texts[step->op].mechanism;
}

static const char *meaning_on_windows(const struct step *step)
{
        static const char *const objects[] = {
                [0] = "the whole tree is in it, cannot leave it, and ends with it",
                [PLAN_ALONE] = "one process is in it, which starts no other, and ends with it",
                [PLAN_NO_DESKTOP] =
                        "the whole tree is in it, cannot leave it, and ends with it; no desktop, no clipboard",
                [PLAN_ALONE | PLAN_NO_DESKTOP] =
                        "one process is in it, which starts no other, and ends with it; no desktop, no clipboard",
        };

        if (step->op == PLAN_CONTAINER && step->value)
                return "with internetClientServer and privateNetworkClientServer; what is not given to it below, or to all "
                       "containers by Windows, is closed";
        if (step->op == PLAN_JOB_OBJECT)
                return objects[step->value & (PLAN_ALONE | PLAN_NO_DESKTOP)];
        if (step->op == PLAN_LIMIT)
                return "a limit of the job object, for the whole tree";
        return windows_texts[step->op].meaning ? windows_texts[step->op].meaning : op_texts[step->op].meaning;
}

static const char *meaning_of(const struct plan *plan, const struct step *step)
{
        if (plan->backend == BACKEND_APPCONTAINER)
                return meaning_on_windows(step);
        if (step->op == PLAN_BROKER && step->value == BROKER_DOORS)
                return "a connection waits until the relay listens where it goes";
        if (step->op == PLAN_SWEEP && step->value == PLAN_SWEEPS_MARKED)
                return "whoever has this job's profile is ended, whose child it may be";
        if (step->op != PLAN_NETWORK || !(step->value & PLAN_CHECKS_NAMES))
                return op_texts[step->op].meaning;
        return step->value & PLAN_HAS_DATAGRAMS
                       ? "only what network.connect allows is reached, by a relay that checks its name, but not in "
                         "datagrams (QUIC)"
                       : "only what network.connect allows is reached, by a relay that checks its name";
}

const char *plan_op_name(enum plan_op op)
{
        return op_texts[op].name;
}

static bool is_covered_by(const struct plan *plan, size_t clause, size_t step)
{
        for (size_t i = 0; i < plan->cover_count; i++)
                if (plan->covers[i].clause == clause && plan->covers[i].step == step)
                        return true;
        return false;
}

static json_t *clause_to_json(const struct plan *plan, size_t index)
{
        const struct clause *clause = &plan->clauses[index];
        json_t *by = json_array();

        for (size_t i = 0; i < plan->step_count; i++)
                if (is_covered_by(plan, index, i))
                        json_array_append_new(by, json_string(mechanism_of(plan, &plan->steps[i])));
        return json_pack("{s:o, s:b, s:o, s:o}", "clause", json_from_string(clause->name), "enforced",
                         plan_is_held(plan, index), "by", by, "reason", json_from_string(clause->reason));
}

static const char *find_profile(const struct plan *plan)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == PLAN_PROFILE)
                        return plan->steps[i].target;
        return NULL;
}

static bool has_leftovers(const struct plan *plan)
{
        return plan->backend == BACKEND_NATIVE || plan->backend == BACKEND_BWRAP;
}

/* What git outside would go by, and no mechanism keeps the command from making. */
static void add_leftovers(struct text *text, const struct plan *plan, const abatis_policy *policy)
{
        bool is_first = true;

        for (size_t i = 0; i < policy->leftovers.count; i++) {
                if (!git_leftover_is_possible(policy, policy->leftovers.items[i]))
                        continue;
                text_add(text, is_first ? "\nleftovers\n  " : "  ");
                is_first = false;
                text_add_line(text, policy->leftovers.items[i]);
                text_add(text, has_leftovers(plan)
                                       ? ": if it is new when the command has ended, it is moved aside\n"
                                       : ": not held, the command could make it\n");
        }
        if (!is_first && has_leftovers(plan))
                text_add(text, "  not held: while the command runs, git outside could meet it there\n");
}

static json_t *leftovers_to_json(const struct plan *plan, const abatis_policy *policy)
{
        json_t *list = json_array();

        for (size_t i = 0; i < policy->leftovers.count; i++)
                if (git_leftover_is_possible(policy, policy->leftovers.items[i]))
                        json_array_append_new(list, json_pack("{s:o, s:b}", "path",
                                                              json_from_string(policy->leftovers.items[i]),
                                                              "set_aside", has_leftovers(plan)));
        return list;
}

static int print_plan_json(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                           char **out, abatis_error *err)
{
        json_t *clauses = json_array(), *steps = json_array(), *grants = json_array(),
               *visible = json_array(), *closed = json_array(), *whole;
        const char *profile = find_profile(plan);

        for (size_t i = 0; i < plan->clause_count; i++)
                json_array_append_new(clauses, clause_to_json(plan, i));
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *step = &plan->steps[i];

                json_array_append_new(steps,
                                      json_pack("{s:s, s:o, s:s, s:s}", "step", op_texts[step->op].name,
                                                "path", json_from_string(step->path), "mechanism",
                                                mechanism_of(plan, step), "meaning", meaning_of(plan, step)));
        }
        for (size_t i = 0; i < plan->grant_count; i++) {
                const struct grant *grant = &plan->grants[i];

                json_array_append_new(grants,
                                      json_pack("{s:o, s:b, s:b, s:b}", "path", json_from_string(grant->path),
                                                "read", !!(grant->rights & GRANT_READ), "write",
                                                !!(grant->rights & GRANT_WRITE), "execute",
                                                !!(grant->rights & GRANT_EXECUTE)));
        }
        for (size_t i = 0; i < plan->visible.count; i++)
                json_array_append_new(visible, json_string(plan->visible.items[i]));
        for (size_t i = 0; i < plan->closed.count; i++)
                json_array_append_new(closed, json_string(plan->closed.items[i]));
        whole = json_pack("{s:o, s:o, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "preset",
                          json_from_string(policy->preset), "workspace", json_from_string(policy->workspace),
                          "backend", backend_names[plan->backend], "kernel", host->kernel, "landlock_abi",
                          host->landlock_abi, "clauses", clauses, "steps", steps, "landlock", grants,
                          "visible", visible, "closed", closed, "commands",
                          plan_commands_to_json(plan, policy), "leftovers", leftovers_to_json(plan, policy));
        if (whole && profile)
                json_object_set_new(whole, "profile", json_from_string(profile));
        return json_to_text(whole, JSON_INDENT(2), out, err);
}

static void add_held_by(struct text *text, const struct plan *plan, size_t clause)
{
        const char *last = "";
        bool is_first = true;

        for (size_t i = 0; i < plan->step_count; i++) {
                const char *mechanism = mechanism_of(plan, &plan->steps[i]);

                if (!is_covered_by(plan, clause, i) || !strcmp(mechanism, last))
                        continue;
                text_addf(text, "%s%s", is_first ? "" : " + ", mechanism);
                is_first = false;
                last = mechanism;
        }
        if (plan->clauses[clause].reason) {
                text_add(text, is_first ? "NOT ENFORCED: " : "; NOT ENFORCED: ");
                text_add_line(text, plan->clauses[clause].reason);
        } else if (is_first)
                text_add(text, "NOT ENFORCED");
}

static void add_system(struct text *text, const abatis_host *host)
{
        static const char *const names[] = { "Linux", "macOS", "Windows" };

        text_addf(text, "%s %s", names[host->system], host->kernel);
        if (host->system == SYSTEM_LINUX)
                text_addf(text, ", Landlock ABI %d", host->landlock_abi);
}

/* As it is, but for characters of names that would be seen as something else. */
static void add_profile(struct text *text, const char *profile)
{
        size_t left = strlen(profile);

        text_add(text, "\nprofile\n");
        for (bool is_new = true; left; is_new = *profile == '\n', profile++, left--) {
                char shown[TEXT_SHOWN_SIZE];
                size_t taken = text_show(profile, left, shown);

                if (is_new && *profile != '\n')
                        text_add(text, "  ");
                text_add(text, *profile == '\n' ? "\n" : shown);
                profile += taken - 1;
                left -= taken - 1;
        }
}

static void add_grants(struct text *text, const struct plan *plan)
{
        text_add(text, "\nlandlock grants\n");
        for (size_t i = 0; i < plan->grant_count; i++) {
                const struct grant *grant = &plan->grants[i];

                text_addf(text, "  %s%s%s%s %s", grant->rights & GRANT_READ ? "r" : "-",
                          grant->rights & GRANT_WRITE ? "w" : "-", grant->rights & GRANT_EXECUTE ? "x" : "-",
                          grant->rights & GRANT_DEVICE ? "d" : "-", grant->is_inside ? "(private) " : "");
                text_add_line(text, grant->path);
                text_add(text, "\n");
        }
        for (size_t i = 0; i < plan->avoided.count; i++) {
                text_add(text, "  ---- ");
                text_add_line(text, plan->avoided.items[i]);
                text_add(text, ", whatever appears there\n");
        }
}

static int print_plan_text(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                           char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        const char *profile = find_profile(plan);

        /* No name makes a line that looks like one of ours. */
        text_addf(&text, "preset %s, workspace ", policy->preset ? policy->preset : "none");
        text_add_line(&text, policy->workspace);
        text_addf(&text, "\nbackend %s on ", backend_names[plan->backend]);
        add_system(&text, host);
        text_add(&text, "\n\nclauses\n");
        for (size_t i = 0; i < plan->clause_count; i++) {
                size_t column = text.length + 40;

                text_add(&text, "  ");
                text_add_line(&text, plan->clauses[i].name);
                text_addf(&text, "%*s  ", text.length < column ? (int)(column - text.length) : 0, "");
                add_held_by(&text, plan, i);
                text_add(&text, "\n");
        }
        text_add(&text, "\nsteps\n");
        for (size_t i = 0; i < plan->step_count; i++) {
                const char *path = plan->steps[i].path;

                text_addf(&text, "  %2zu %-16s ", i + 1, op_texts[plan->steps[i].op].name);
                if (is_of_limit(&plan->steps[i]))
                        text_addf(&text, "%s: ", limit_key((enum limit)plan->steps[i].value));
                text_add_line(&text, path ? path : "");
                text_addf(&text, "%s%s\n", path ? ": " : "", meaning_of(plan, &plan->steps[i]));
        }
        if (profile)
                add_profile(&text, profile);
        else if (host->system != SYSTEM_WINDOWS)
                add_grants(&text, plan);
        if (plan->visible.count)
                text_add(&text, "\nstays visible\n");
        for (size_t i = 0; i < plan->visible.count; i++)
                text_addf(&text, "  %s\n", plan->visible.items[i]);
        if (plan->closed.count)
                text_add(&text, "\nstays closed\n");
        for (size_t i = 0; i < plan->closed.count; i++)
                text_addf(&text, "  %s\n", plan->closed.items[i]);
        add_leftovers(&text, plan, policy);
        plan_add_commands_text(&text, plan, policy);
        return text_take(&text, out, err);
}

int plan_print(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
               abatis_format format, char **out, abatis_error *err)
{
        switch (format) {
        case ABATIS_TEXT:
                return print_plan_text(plan, policy, host, out, err);
        case ABATIS_JSON:
                return print_plan_json(plan, policy, host, out, err);
        }
        return error_set(err, ABATIS_E_INVALID, "unknown format");
}

bool host_is_ready(const abatis_host *host)
{
        if (host_is_bare(host))
                return true;
        for (unsigned i = 0; i < host->finding_count; i++)
                if (host->findings[i].is_required && !host->findings[i].is_available)
                        return false;
        return host->system != SYSTEM_LINUX || host->namespaces != NAMESPACES_NONE;
}

static json_t *backend_to_json(const struct host_backend *backend)
{
        json_t *object = json_pack("{s:s, s:b}", "name", backend->name, "available", !backend->reason);

        if (backend->version)
                json_object_set_new(object, "version", json_from_string(backend->version));
        if (backend->reason)
                json_object_set_new(object, "reason", json_from_string(backend->reason));
        return object;
}

static int print_host_json(const abatis_host *host, const struct host_backend *backends, size_t count,
                           char **out, abatis_error *err)
{
        static const char *const modes[] = { "none", "user", "root" };
        json_t *findings = json_array(), *list = json_array();

        for (size_t i = 0; i < count; i++)
                json_array_append_new(list, backend_to_json(&backends[i]));

        for (unsigned i = 0; i < host->finding_count; i++) {
                const struct host_finding *finding = &host->findings[i];

                json_array_append_new(findings,
                                      json_pack("{s:s, s:b, s:b, s:o}", "name", finding->name, "available",
                                                finding->is_available, "required", finding->is_required,
                                                "detail", json_from_string(finding->detail)));
        }
        return json_to_text(json_pack("{s:s, s:s, s:i, s:i, s:s, s:b, s:o, s:o}", "kernel", host->kernel,
                                      "machine", host->machine, "landlock_abi", host->landlock_abi,
                                      "landlock_errata", (int)host->landlock_errata, "namespaces",
                                      modes[host->namespaces], "ready", host_is_ready(host), "findings",
                                      findings, "backends", list),
                            JSON_INDENT(2), out, err);
}

static void add_backends_text(struct text *text, const struct host_backend *backends, size_t count)
{
        text_add(text, "backends\n");
        for (size_t i = 0; i < count; i++) {
                const struct host_backend *backend = &backends[i];

                text_addf(text, "  %-3s %-20s ", backend->reason ? "no" : "yes", backend->name);
                text_add_line(text, backend->reason    ? backend->reason
                                    : backend->version ? backend->version
                                                       : "");
                text_add(text, "\n");
        }
}

int host_print(const abatis_host *host, const struct host_backend *backends, size_t count,
               abatis_format format, char **out, abatis_error *err)
{
        static const char *const systems[] = {
                [SYSTEM_LINUX] = "Linux", [SYSTEM_MACOS] = "macOS", [SYSTEM_WINDOWS] = "Windows"
        };
        OWN_TEXT struct text text = { 0 };

        if (format == ABATIS_JSON)
                return print_host_json(host, backends, count, out, err);
        text_addf(&text, "%s %s on %s\n", systems[host->system], host->kernel, host->machine);
        for (unsigned i = 0; i < host->finding_count; i++) {
                const struct host_finding *finding = &host->findings[i];

                text_addf(&text, "  %-3s %-20s ",
                          finding->is_available  ? "yes"
                          : finding->is_required ? "NO"
                                                 : "no",
                          finding->name);
                text_add_line(&text, finding->detail);
                text_add(&text, "\n");
        }
        add_backends_text(&text, backends, count);
        text_add(&text, !host_is_ready(host) ? "This machine cannot hold the default policy.\n"
                        : host_is_bare(host) ? "This machine holds the default policy, without namespaces.\n"
                                             : "This machine holds the default policy.\n");
        return text_take(&text, out, err);
}
