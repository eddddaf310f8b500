/* recording.c: what is written down of a job. */
#define _GNU_SOURCE
#include "lib/recording.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

/* The log says what is wrong, and this what to do about it. */
static int fail_log(const abatis_error *below, abatis_error *err)
{
        int r = error_set(err, below->code, "%s; audit.log names another file, and off does without",
                          below->message);

        if (err)
                err->os_errno = below->os_errno;
        return r;
}

static int open_log(const struct audit_choice *audit, struct audit_log **out, abatis_error *err)
{
        const struct audit_settings settings = { .path = audit->log ? audit->log : audit->usual,
                                                 .sync = audit->is_synced ? AUDIT_SYNC_ALWAYS
                                                                          : AUDIT_SYNC_NEVER,
                                                 .max_size = audit->size,
                                                 .keep = audit->keep < UINT_MAX ? (unsigned)audit->keep : 0 };
        abatis_error below;
        int r = audit_open(&settings, out, &below);

        return r < 0 ? fail_log(&below, err) : 0;
}

static int append(const struct recorder *recorder, const struct audit_record *record, abatis_error *err)
{
        abatis_error below;
        int r = audit_append(recorder->log, record, &below);

        return r < 0 ? fail_log(&below, err) : 0;
}

/* ---- of a sandbox --------------------------------------------------------------------------------------- */

int recorder_open(struct recorder *recorder, abatis_policy *policy, abatis_error *err)
{
        int r = policy_finish(policy, err); /* which a ceiling takes part in */

        if (r < 0 || policy->audit.is_off)
                return r;
        r = open_log(&policy->audit, &recorder->log, err);
        /* What was just made must be protected. */
        if (!r && policy->audit.is_exposed)
                policy_changed(policy);
        return r;
}

static const char **list_clauses(const struct plan *plan, bool are_held)
{
        const char **names = calloc(plan->clause_count + 1, sizeof(*names));
        size_t count = 0;

        for (size_t i = 0; names && i < plan->clause_count; i++)
                if (plan_is_held(plan, i) == are_held)
                        names[count++] = plan->clauses[i].name;
        return names;
}

int recorder_describe(struct recorder *recorder, const abatis_policy *policy, const struct plan *plan,
                      abatis_error *err)
{
        if (!recorder->log)
                return 0;
        policy_digest(policy, recorder->policy);
        free(recorder->enforced);
        free(recorder->not_enforced);
        recorder->enforced = list_clauses(plan, true);
        recorder->not_enforced = list_clauses(plan, false);
        return recorder->enforced && recorder->not_enforced ? 0 : error_memory(err);
}

void recorder_done(struct recorder *recorder)
{
        audit_close(recorder->log);
        free(recorder->enforced);
        free(recorder->not_enforced);
}

/* ---- of a job ------------------------------------------------------------------------------------------- */

enum { SECRET_MIN = 4 /* shorter ones are not looked for in a record either */ };

static bool has_secret(const char *text, const char *const *secrets)
{
        for (; *secrets; secrets++)
                if (strlen(*secrets) >= SECRET_MIN && strstr(text, *secrets))
                        return true;
        return false;
}

/* A working directory that is not in view is not. */
static bool is_entered(const abatis_policy *policy, const char *cwd)
{
        return !strcmp(cwd, policy->workspace) || view_shows(policy, ABATIS_READ, cwd);
}

/* What every record about a command that has not started says of it; *cwd is the caller's to free. *hides_errors: the
 * command line holds a secret, of which an error would tell a part, or in other letters. */
static void describe(const abatis_policy *policy, const abatis_job_options *options,
                     const char *const *secrets, struct audit_record *record, char **cwd, bool *hides_errors)
{
        *cwd = options->cwd ? NULL : reach_working_directory();
        record->argv = options->argv;
        record->cwd = options->cwd                       ? options->cwd
                      : *cwd && is_entered(policy, *cwd) ? *cwd
                                                         : policy->workspace;
        record->context = options->context;
        record->secrets = secrets;
        *hides_errors = has_secret(record->cwd, secrets);
        for (size_t i = 0; options->argv[i] && !*hides_errors; i++)
                *hides_errors = has_secret(options->argv[i], secrets);
}

static const char *shown_error(const char *why, bool is_hidden)
{
        return is_hidden ? "not shown: the command line holds what was kept from the environment" : why;
}

int recording_draft(struct recording *recording, const struct recorder *recorder, const abatis_policy *policy,
                    const char *backend, const abatis_job_options *options, const char *const *secrets,
                    abatis_error *err)
{
        struct audit_record record = { .event = AUDIT_PLANNED,
                                       .id = recording->id,
                                       .policy = recorder->policy,
                                       .backend = backend,
                                       .enforced = recorder->enforced,
                                       .not_enforced = recorder->not_enforced };
        OWN_FREE char *cwd = NULL;
        int r = 0;

        recording_done(recording);
        if (!recorder->log)
                return 0;
        describe(policy, options, secrets, &record, &cwd, &recording->hides_errors);
        for (size_t i = 0; !r && secrets[i]; i++)
                r = strings_add(&recording->secrets, secrets[i], err);
        if (!r)
                r = audit_id_new(recording->id, err);
        if (!r)
                r = audit_draft(&record, &recording->draft, err);
        if (r < 0)
                *recording->id = '\0';
        return r;
}

int recording_plan(struct recording *recording, const struct recorder *recorder, abatis_error *err)
{
        abatis_error below;
        int r = *recording->id ? audit_append_draft(recorder->log, &recording->draft, &below) : 0;

        audit_draft_done(&recording->draft);
        if (r < 0)
                return fail_log(&below, err);
        recording->is_planned = *recording->id;
        return 0;
}

int recording_start(const struct recording *recording, const struct recorder *recorder, abatis_error *err)
{
        const struct audit_record record = { .event = AUDIT_STARTED, .id = recording->id };

        return recording->is_planned ? append(recorder, &record, err) : 0;
}

/* As a list that ends with NULL, owned by the caller; NULL when memory is short. */
static const char **list_secrets(const struct recording *recording)
{
        const char **list = calloc(recording->secrets.count + 1, sizeof(*list));

        for (size_t i = 0; list && i < recording->secrets.count; i++)
                list[i] = recording->secrets.items[i];
        return list;
}

int recording_refuse(const struct recording *recording, const struct recorder *recorder, const char *why,
                     abatis_error *err)
{
        OWN_FREE const char **secrets = list_secrets(recording);
        const struct audit_record record = { .event = AUDIT_REFUSED,
                                             .id = recording->id,
                                             .error = shown_error(why, recording->hides_errors),
                                             .secrets = secrets };

        if (!recording->is_planned)
                return 0;
        return secrets ? append(recorder, &record, err) : error_memory(err);
}

/* Likewise, of what was set aside: where it is now, or was. *out stays NULL where there is nothing. */
static int list_set_aside(const struct strings *set_aside, const char ***out, abatis_error *err)
{
        if (!set_aside->count)
                return 0;
        *out = calloc(set_aside->count / 2 + 1, sizeof(**out));
        for (size_t i = 0; *out && i < set_aside->count / 2; i++)
                (*out)[i] =
                        *set_aside->items[2 * i + 1] ? set_aside->items[2 * i + 1] : set_aside->items[2 * i];
        return *out ? 0 : error_memory(err);
}

int recording_finish(const struct recording *recording, const struct recorder *recorder,
                     const struct job_outcome *outcome, const char *why, abatis_error *err)
{
        const bool has_words = why || outcome->connections.count || outcome->set_aside.count;
        OWN_FREE const char **secrets = has_words ? list_secrets(recording) : NULL, **set_aside = NULL;
        struct audit_record record = { .event = AUDIT_FINISHED,
                                       .error = why ? shown_error(why, recording->hides_errors) : NULL,
                                       .secrets = secrets,
                                       .id = recording->id,
                                       .has_ended = true,
                                       .exit_code = outcome->exit_code,
                                       .signal = outcome->signal,
                                       .duration_ms = outcome->duration_ms,
                                       .has_timed_out = outcome->has_timed_out,
                                       .is_cancelled = outcome->is_cancelled,
                                       .limit = outcome->limit,
                                       .connections = &outcome->connections };

        if (!recording->is_planned)
                return 0;
        if (list_set_aside(&outcome->set_aside, &set_aside, err) < 0)
                return ABATIS_E_MEMORY;
        record.set_aside = set_aside;
        if (has_words && !secrets)
                return error_memory(err);
        for (int i = 0; i < 2; i++)
                if (*outcome->digests[i])
                        record.output[i] = (struct audit_output){ outcome->digests[i], outcome->totals[i],
                                                                  outcome->are_cut[i] };
        return append(recorder, &record, err);
}

void recording_done(struct recording *recording)
{
        audit_draft_done(&recording->draft);
        strings_done(&recording->secrets);
        *recording = (struct recording){ 0 };
}

int recorder_refuse(const struct recorder *recorder, const abatis_policy *policy,
                    const abatis_job_options *options, const char *why, abatis_error *err)
{
        char id[AUDIT_ID_SIZE];
        struct audit_record record = {
                .event = AUDIT_REFUSED, .id = id, .policy = recorder->policy, .error = why
        };
        const char *const *envp = options->envp ? options->envp : (const char *const *)system_environment();
        OWN_FREE const char **passed = NULL, **secrets = NULL;
        OWN_FREE char *cwd = NULL;
        bool hides_errors = false;
        int r;

        if (!recorder->log)
                return 0;
        r = environment_sort(policy, envp, &passed, &secrets, err);
        if (r < 0)
                return r;
        describe(policy, options, secrets, &record, &cwd, &hides_errors);
        record.error = shown_error(why, hides_errors);
        r = audit_id_new(id, err);
        return r ? r : append(recorder, &record, err);
}

/* A policy that asks for less than its ceiling wants was refused, and that is written where the ceiling says. */
static void require(struct audit_choice *audit, const abatis_policy *ceiling)
{
        if (!ceiling || !ceiling->has[KEY_AUDIT_LOG] || ceiling->audit.is_off)
                return;
        audit->is_off = false;
        if (ceiling->audit.log)
                audit->log = ceiling->audit.log;
}

int abatis_audit_refused(abatis_policy *policy, const abatis_job_options *options, const abatis_error *why,
                         abatis_error *err)
{
        struct audit_choice audit = policy->audit;
        struct recorder recorder = { 0 };
        int r;

        if (!options || options->size < sizeof(*options) || !options->argv || !options->argv[0])
                return error_set(err, ABATIS_E_INVALID, "abatis_job_options.size or argv is not set");
        require(&audit, policy->ceiling);
        if (audit.is_off)
                return 0;
        r = open_log(&audit, &recorder.log, err);
        policy_digest(policy, recorder.policy);
        if (!r)
                r = recorder_refuse(&recorder, policy, options, why->message, err);
        recorder_done(&recorder);
        return r;
}
