/* backend.h: a backend is a pure function: policy + host -> plan. No OS header, no open file. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "plan/plan.h"

struct backend {
        const char *name;
        /* Adds steps and grants to a plan that already has the policy's clauses. */
        void (*compile)(const abatis_policy *policy, const abatis_host *host, struct plan *plan);
};

extern const struct backend backend_native;
extern const struct backend backend_seatbelt;

/* Compiles with the best backend for this host, and checks that every clause is held. */
int backend_compile(abatis_policy *policy, const abatis_host *host, bool is_best_effort, struct plan **out,
                    abatis_error *err);

#endif
