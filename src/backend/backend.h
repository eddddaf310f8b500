/* backend.h: a backend is a pure function: policy + host -> plan. No OS header, no open file. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "plan/plan.h"

struct backend {
        enum backend_kind kind;
        enum host_system system;
        /* Why it cannot be used on this host, and the fix; NULL when it can. */
        const char *(*find_reason)(const abatis_host *host);
        /* What the host has of it; NULL where that has no version. */
        const char *(*find_version)(const abatis_host *host);
        /* Adds steps and grants to a plan that already has the policy's clauses. */
        void (*compile)(const abatis_policy *policy, const abatis_host *host, struct plan *plan);
};

extern const struct backend backend_native, backend_bwrap, backend_seatbelt, backend_appcontainer,
        backend_none;

/* Of every kind but auto, in the order in which auto tries them. Returns how many there are. */
size_t backend_examine(const abatis_host *host, struct host_backend out[BACKEND_COUNT]);

/* Compiles for this host, and checks that every clause is held. The policy says with which backend; then it is this one or none.
 * For auto it is the first that holds everything, and never the backend none. */
int backend_compile(abatis_policy *policy, const abatis_host *host, bool is_best_effort, struct plan **out,
                    abatis_error *err);

#endif
