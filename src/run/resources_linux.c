/* resources_linux.c: opens a plan: steps, rules and a filter, ready for the children. */
#define _GNU_SOURCE
#include "run/resources_linux.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/own.h"
#include "run/broker_linux.h"
#include "run/grants_linux.h"
#include "run/keeper_linux.h"
#include "run/session_linux.h"

void resources_describe_filter(const struct plan *plan, const abatis_policy *policy,
                               struct filter_options *out)
{
        /* A list that is left out, since it cannot be enforced, leaves no network. */
        bool has_no_list = policy->network == NETWORK_LIST && !plan_has(plan, PLAN_NETWORK) &&
                           !plan_has(plan, PLAN_STREAMS);

        *out = (struct filter_options){
                /* In a network that the command has from the beginning nothing is asked. */
                .network = has_no_list                             ? NETWORK_DENY
                           : plan_has(plan, PLAN_LOOPBACK_AT_ONCE) ? NETWORK_LIST
                                                                   : policy->network,
                .has_loopback = plan_has(plan, PLAN_LOOPBACK),
                .has_memory_files = !policy->commands.count,
                .counts_memory = plan_limits_by(plan, PLAN_COUNT, LIMIT_MEMORY),
                .is_among_others = plan_has(plan, PLAN_SWEEP),
                .has_broker = plan_has(plan, PLAN_BROKER) && plan_broker_asks(plan) != BROKER_DOORS,
                .asks_writes = plan_broker_asks(plan) & BROKER_WRITES,
                .asks_reads = plan_broker_asks(plan) & BROKER_READS,
                .asks_connects = plan_broker_asks(plan) & (BROKER_CONNECTS | BROKER_SOCKETS),
                .asks_doors = plan_broker_asks(plan) & BROKER_DOORS,
                .asks_streams = plan_broker_asks(plan) & BROKER_STREAMS,
                .asks_signals = plan_broker_asks(plan) & BROKER_SIGNALS,
                .asks_truncate = plan_broker_asks(plan) & BROKER_TRUNCATION,
                .asks_mappings = plan_broker_asks(plan) & BROKER_MAPPINGS
        };
}

int resources_open(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                   struct resources **out, abatis_error *err)
{
        struct resources *resources = calloc(1, sizeof(*resources));
        const bool is_wrapped = plan->backend == BACKEND_BWRAP;
        struct filter_options *filter;
        int r;

        if (!resources)
                return error_memory(err);
        filter = &resources->filter_options;
        resources_describe_filter(plan, policy, filter);
        resources->host = host;
        r = copies_read(plan, &resources->copies, err);
        if (!r)
                r = steps_make(is_wrapped ? STEPS_WRAP : STEPS_WHOLE, plan, policy, host, &resources->copies,
                               &resources->strings, &resources->steps, err);
        if (!r && is_wrapped)
                r = steps_make(STEPS_INSIDE, plan, policy, host, &resources->copies, &resources->strings,
                               &resources->inside, err);
        if (!r)
                r = filter_build(filter, &resources->filter, err);
        if (!r && plan_has(plan, PLAN_CALLS))
                r = filter_build_second(plan_calls(plan), &resources->calls, err);
        if (!r && plan_has(plan, PLAN_LANDLOCK))
                r = grants_make(plan, policy, host, resources, err);
        if (!r && plan_has(plan, PLAN_BROKER))
                r = broker_make(plan, policy, resources, err);
        if (!r && plan->backend != BACKEND_NONE)
                r = leftovers_find(policy, resources, err);
        if (r < 0) {
                resources_free(resources);
                return r;
        }
        resources->child.is_wrapped = is_wrapped;
        resources->child.is_plain = plan->backend != BACKEND_NATIVE;
        resources->child.keeps_masks = plan_has(plan, PLAN_HIDE) || plan_has(plan, PLAN_PROTECT);
        resources->child.has_network = plan_has(plan, PLAN_NETWORK);
        resources->child.has_relay = plan_has(plan, PLAN_NETWORK) || plan_has(plan, PLAN_STREAMS);
        resources->child.has_loopback = plan_has(plan, PLAN_LOOPBACK);
        resources->child.has_loopback_at_once = plan_has(plan, PLAN_LOOPBACK_AT_ONCE);
        resources->child.counts_memory = plan_limits_by(plan, PLAN_COUNT, LIMIT_MEMORY);
        resources->child.counts_threads = plan_limits_by(plan, PLAN_LIMIT, LIMIT_PROCESSES);
        resources->child.root_length = resources->steps.root_length;
        resources->child.init_steps = resources->steps.init;
        resources->child.init_count = resources->steps.init_count;
        resources->child.kept_steps = resources->steps.init;
        resources->child.kept_count = resources->steps.init_count;
        resources->child.command_steps = resources->steps.command;
        resources->child.command_count = resources->steps.command_count;
        resources->child.rules = resources->rules;
        resources->child.filter =
                (struct sock_fprog){ (unsigned short)resources->filter.length, resources->filter.code };
        resources->child.calls =
                (struct sock_fprog){ (unsigned short)resources->calls.length, resources->calls.code };
        *out = resources;
        return 0;
}

int resources_close_network(const struct resources *resources, const struct sock_fprog **out,
                            abatis_error *err)
{
        struct filter_options options = resources->filter_options;
        struct {
                struct sock_fprog program;
                struct filter filter;
        } *closed = malloc(sizeof(*closed));
        int r;

        if (!closed)
                return error_memory(err);
        options.network = NETWORK_DENY;
        options.has_loopback = false;
        r = filter_build(&options, &closed->filter, err);
        if (r < 0) {
                free(closed);
                return r;
        }
        closed->program = (struct sock_fprog){ (unsigned short)closed->filter.length, closed->filter.code };
        *out = &closed->program;
        return 0;
}

void resources_free(struct resources *resources)
{
        if (!resources)
                return;
        keeper_free(resources->keeper);
        session_free(resources->session);
        stacks_done(&resources->stacks);
        for (size_t i = 0; i < resources->child.rule_count; i++)
                free((void *)resources->rules[i].except);
        free(resources->rules);
        free(resources->leftovers);
        broker_done(resources);
        steps_done(&resources->steps);
        steps_done(&resources->inside);
        strings_done(&resources->strings);
        copies_done(&resources->copies);
        free(resources);
}
