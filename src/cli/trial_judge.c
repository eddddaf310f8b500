/* trial_judge.c: says of each clause of a plan whether it was seen to hold. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/trials.h"

static bool is_claimed(const json_t *clause)
{
        return json_is_true(json_object_get(clause, "enforced"));
}

static json_t *find_clause(const struct trial *trial, const struct trial_promise *promise)
{
        char name[TRIAL_PATH];
        json_t *clause;
        size_t i;

        world_expand(trial->world, promise->clause, name, sizeof(name));
        json_array_foreach(trial->clauses, i, clause)
        {
                const char *text = json_string_value(json_object_get(clause, "clause"));
                size_t length = strlen(name);

                if (!strncmp(text, name, length) && (!text[length] || text[length] == ' '))
                        return clause;
        }
        return NULL;
}

bool trial_claims(const struct trial *trial, const struct trial_promise *promise)
{
        return is_claimed(find_clause(trial, promise));
}

enum verdict { HELD, NOT_HELD, REFUSED, UNTESTED, OPEN };

static const char *const verdict_names[] = { "held", "not held", "refused", "untested", "open" };

struct judgement {
        unsigned refused_ways, working_ways, uncertain_ways;
        char broken[TRIAL_PATH + 128]; /* what should not be; "" when all is as it should */
        char doubt[TRIAL_PATH + 128];  /* why a way proves nothing */
};

static const char *say(int answer)
{
        return answer == NO_ANSWER ? "no answer" : answer ? strerror(answer) : "done";
}

static bool is_evidence(const struct attempt *attempt, struct judgement *out)
{
        if (!attempt->is_possible)
                snprintf(out->doubt, sizeof(out->doubt), "%s: there is none here", attempt->way->what);
        else if (attempt->outside)
                snprintf(out->doubt, sizeof(out->doubt), "%s %s: outside it says: %s", attempt->way->name,
                         attempt->what, say(attempt->outside));
        else
                return true;
        return false;
}

/* It works outside, and inside something else is wrong with it: who knows what it would do. */
static void doubt(const struct attempt *attempt, struct judgement *out)
{
        out->uncertain_ways++;
        snprintf(out->doubt, sizeof(out->doubt), "%s %s: inside it says: %s", attempt->way->name,
                 attempt->what, say(attempt->inside));
}

static void judge_refusal(const struct attempt *attempt, struct judgement *out)
{
        if (attempt->must_work && attempt->inside)
                snprintf(out->broken, sizeof(out->broken), "%s %s must work inside: %s", attempt->way->name,
                         attempt->what, say(attempt->inside));
        else if (attempt->must_work)
                out->working_ways++;
        else if (!attempt->inside)
                snprintf(out->broken, sizeof(out->broken), "%s %s works inside", attempt->way->name,
                         attempt->what);
        else if (attempt->inside != NO_ANSWER && way_is_refused_with(attempt->way->name, attempt->inside))
                out->refused_ways++;
        else
                doubt(attempt, out);
}

/* Of cases with one way, whose sign is another than what it says. */
static void judge_sign(const struct trial *trial, const struct attempt *attempt, struct judgement *out)
{
        bool is_good = false, is_bad = !attempt->inside;

        switch (trial->what->sign) {
        case SIGN_REFUSAL:
                judge_refusal(attempt, out);
                return;
        case SIGN_LIMIT:
                is_good = (trial->limit && !strcmp(trial->limit, attempt->promise->clause)) ||
                          (attempt->inside > 0 && way_is_refused_with(attempt->way->name, attempt->inside));
                break;
        case SIGN_OUTPUT:
                is_good = trial->is_cut;
                break;
        case SIGN_LAUNCH:
                is_good = trial->refusal.code == ABATIS_E_INVALID &&
                          strstr(trial->refusal.message, attempt->what);
                break;
        case SIGN_LOCK:
                is_good = !attempt->inside && !trial->is_held && trial->was_held_outside;
                is_bad = trial->is_held;
                break;
        }
        if (is_good)
                out->refused_ways++;
        else if (is_bad)
                snprintf(out->broken, sizeof(out->broken), "%s %s works inside", attempt->way->name,
                         attempt->what);
        else
                doubt(attempt, out);
}

static bool is_by(json_t *clause, const char *name)
{
        json_t *by;
        size_t i;

        json_array_foreach(json_object_get(clause, "by"), i,
                           by) if (strstr(json_string_value(by), name)) return true;
        return false;
}

static json_t *list_ways(const struct trial *trial, const struct trial_promise *promise)
{
        json_t *ways = json_array();

        for (size_t i = 0; i < trial->count; i++) {
                const struct attempt *attempt = &trial->attempts[i];

                if (attempt->promise == promise && attempt->is_possible)
                        json_array_append_new(ways, json_pack("{s:s, s:s, s:b, s:s, s:s}", "way",
                                                              attempt->way->name, "what", attempt->what,
                                                              "must_work", attempt->must_work, "outside",
                                                              say(attempt->outside), "inside",
                                                              say(attempt->inside)));
        }
        return ways;
}

/* A row that is missing would be a clause that nobody misses. */
static void add_row(json_t *rows, const struct trial *trial, const struct trial_promise *promise,
                    json_t *clause, enum verdict verdict, const char *reason, unsigned proofs)
{
        json_t *by = json_object_get(clause, "by");
        json_t *row = json_pack("{s:s, s:s, s:s, s:O, s:s?, s:i, s:o}", "backend", trial->backend, "clause",
                                promise ? promise->label : "what is allowed", "verdict",
                                verdict_names[verdict], "by", by ? by : json_null(), "reason", reason,
                                "proofs", (int)proofs, "ways", list_ways(trial, promise));

        if (json_array_append_new(rows, row) < 0)
                _exit(1);
}

/* Nobody was promised anything: these are the ways that are closed otherwise. */
static void judge_none(json_t *rows, const struct trial *trial, const struct trial_promise *promise,
                       const struct judgement *judgement)
{
        if (*judgement->broken)
                add_row(rows, trial, promise, NULL, OPEN, NULL, 0);
        else
                add_row(rows, trial, promise, NULL, UNTESTED, "the backend none enforces nothing", 0);
}

/* What is let through shows that by working; everything else by a refusal. */
static bool is_proven(const struct trial_promise *promise, const struct judgement *judgement)
{
        return !judgement->uncertain_ways &&
               (promise->ways[0].name ? judgement->refused_ways : judgement->working_ways);
}

static void judge_promise(json_t *rows, const struct trial *trial, const struct trial_promise *promise)
{
        json_t *clause = find_clause(trial, promise);
        const char *reason = json_string_value(json_object_get(clause, "reason"));
        struct judgement judgement = { 0 };

        if (promise->by && !is_by(clause, promise->by))
                return;
        for (size_t i = 0; i < trial->count; i++)
                if (trial->attempts[i].promise == promise && is_evidence(&trial->attempts[i], &judgement))
                        judge_sign(trial, &trial->attempts[i], &judgement);
        if (!strcmp(trial->backend, "none"))
                judge_none(rows, trial, promise, &judgement);
        else if (!is_claimed(clause) && trial->is_refused)
                add_row(rows, trial, promise, clause, REFUSED,
                        reason ? reason : "this backend has no mechanism for it", 0);
        else if (!is_claimed(clause))
                add_row(rows, trial, promise, clause, NOT_HELD,
                        "the plan does not claim it, and yet it is not refused", 0);
        else if (trial->refusal.code && trial->what->sign != SIGN_LAUNCH)
                add_row(rows, trial, promise, clause, UNTESTED, trial->refusal.message, 0);
        else if (*judgement.broken)
                add_row(rows, trial, promise, clause, NOT_HELD, judgement.broken, 0);
        else if (is_proven(promise, &judgement))
                add_row(rows, trial, promise, clause, HELD, NULL,
                        judgement.refused_ways + judgement.working_ways);
        else
                add_row(rows, trial, promise, clause, UNTESTED, judgement.doubt, 0);
}

/* A sandbox in which nothing works would hold everything. */
static void judge_allowed(json_t *rows, const struct trial *trial)
{
        struct judgement judgement = { 0 };

        if (!trial->is_whole || trial->refusal.code)
                return;
        for (size_t i = 0; i < trial->count; i++)
                if (!trial->attempts[i].promise && is_evidence(&trial->attempts[i], &judgement))
                        judge_refusal(&trial->attempts[i], &judgement);
        if (*judgement.broken)
                add_row(rows, trial, NULL, NULL, NOT_HELD, judgement.broken, 0);
}

void trial_judge(const struct trial *trial, json_t *rows)
{
        for (size_t i = 0; i < TRIAL_PROMISES && trial->what->promises[i].label; i++)
                judge_promise(rows, trial, &trial->what->promises[i]);
        judge_allowed(rows, trial);
}

void trial_is_untested(const struct trial *trial, const char *reason, json_t *rows)
{
        for (size_t i = 0; i < TRIAL_PROMISES && trial->what->promises[i].label; i++)
                add_row(rows, trial, &trial->what->promises[i], NULL, UNTESTED, reason, 0);
}
