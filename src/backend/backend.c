/* backend.c: the list of backends and the choice between them. */
#include "backend/backend.h"

#include <string.h>

#include "base/error.h"

/* The strongest first. */
static const struct backend *const backends[] = { &backend_native, &backend_bwrap, &backend_seatbelt,
                                                  &backend_appcontainer, &backend_none };

#define COUNT (sizeof(backends) / sizeof(*backends))

static const char *const elsewhere[] = {
        [SYSTEM_LINUX] = "it is for Linux",
        [SYSTEM_MACOS] = "it is for macOS",
        [SYSTEM_WINDOWS] = "it is for Windows, and this version does not run there yet",
};

static const struct backend *find(enum backend_kind kind)
{
        for (size_t i = 0; i < COUNT; i++)
                if (backends[i]->kind == kind)
                        return backends[i];
        return NULL;
}

/* The strongest of this system, or NULL. */
static const struct backend *find_for(enum host_system system)
{
        for (size_t i = 0; i < COUNT; i++)
                if (backends[i]->kind != BACKEND_NONE && backends[i]->system == system)
                        return backends[i];
        return NULL;
}

static const char *find_reason(const struct backend *backend, const abatis_host *host)
{
        if (backend->kind != BACKEND_NONE && backend->system != host->system)
                return elsewhere[backend->system];
        return backend->find_reason ? backend->find_reason(host) : NULL;
}

size_t backend_examine(const abatis_host *host, struct host_backend out[BACKEND_COUNT])
{
        size_t count = 0;

        for (size_t i = 0; i < COUNT; i++) {
                const struct backend *backend = backends[i];

                out[count++] =
                        (struct host_backend){ .name = backend_names[backend->kind],
                                               .version = backend->find_version ? backend->find_version(host)
                                                                                : NULL,
                                               .reason = find_reason(backend, host) };
        }
        return count;
}

static int compile_with(const struct backend *backend, const abatis_policy *policy, const abatis_host *host,
                        bool is_best_effort, struct plan **out, abatis_error *err)
{
        struct plan *plan = plan_new(policy, backend->kind);
        int r;

        if (!plan)
                return error_memory(err);
        backend->compile(policy, host, plan);
        r = plan_check(plan, is_best_effort || backend->kind == BACKEND_NONE, err);
        if (r < 0) {
                plan_free(plan);
                return r;
        }
        *out = plan;
        return 0;
}

static int compile_named(abatis_policy *policy, const abatis_host *host, bool is_best_effort,
                         struct plan **out, abatis_error *err)
{
        const struct backend *backend = find(policy->backend);
        const char *reason = find_reason(backend, host);

        if (reason)
                return error_set(err, ABATIS_E_BACKEND, "the backend %s is not available: %s",
                                 backend_names[policy->backend], reason);
        return compile_with(backend, policy, host, is_best_effort, out, err);
}

static int report_none(const abatis_host *host, abatis_error *err)
{
        struct text reasons = { 0 };
        int r;

        for (size_t i = 0; i < COUNT; i++) {
                const char *reason = find_reason(backends[i], host);

                if (reason && backends[i]->system == host->system)
                        text_addf(&reasons, "%s%s: %s", reasons.length ? "; " : "",
                                  backend_names[backends[i]->kind], reason);
        }
        r = error_set(err, ABATIS_E_NO_BACKEND, "nothing on this machine can hold a sandbox: %s",
                      reasons.data ? reasons.data : "");
        text_done(&reasons);
        return r;
}

/* Of several that do not hold it, what the strongest lacks is told. */
static int compile_best(abatis_policy *policy, const abatis_host *host, bool is_best_effort,
                        struct plan **out, abatis_error *err)
{
        const struct backend *strongest = NULL, *best;
        abatis_error below;
        int r = 0;

        for (size_t i = 0; i < COUNT && r != ABATIS_E_MEMORY; i++) {
                const struct backend *backend = backends[i];

                if (backend->kind == BACKEND_NONE || find_reason(backend, host))
                        continue;
                r = compile_with(backend, policy, host, false, out, strongest ? NULL : &below);
                if (!r)
                        return 0;
                if (!strongest)
                        strongest = backend;
        }
        /* Who accepts less gets what there is. */
        best = strongest ? strongest : find_for(host->system);
        if (is_best_effort && best)
                return compile_with(best, policy, host, true, out, err);
        if (!strongest)
                return report_none(host, err);
        if (err)
                *err = below;
        return below.code;
}

int backend_compile(abatis_policy *policy, const abatis_host *host, bool is_best_effort, struct plan **out,
                    abatis_error *err)
{
        int r = policy_finish(policy, err);

        if (r < 0)
                return r;
        return policy->backend == BACKEND_AUTO ? compile_best(policy, host, is_best_effort, out, err)
                                               : compile_named(policy, host, is_best_effort, out, err);
}
