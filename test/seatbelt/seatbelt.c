/* seatbelt.c: what a compiled profile allows is what `abatis check` says, for random policies and paths.
 *
 *   seatbelt ROOT SEED COUNT [MISTAKE]
 *
 * ROOT is an empty directory, COUNT how many policies. With a MISTAKE the profiles are spoilt after they were compiled, and
 * something must fail. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "sbpl.h"
#include "world.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- what is counted ------------------------------------------------------------------------------------- */

enum fact { PARSES, AGREES, EXACT, STRICT, SPELLED, PINNED, MOVED, NAMED, FACTS };

static struct {
        const char *name;
        unsigned long asked, failed;
} facts[FACTS] = {
        [PARSES] = { .name = "every_profile_can_be_read" },
        [AGREES] = { .name = "both_orders_of_rules_say_the_same" },
        [EXACT] = { .name = "plain_names_are_allowed_exactly_what_check_says" },
        [STRICT] = { .name = "no_name_is_allowed_more_than_check_says" },
        [SPELLED] = { .name = "other_spellings_of_what_is_denied_are_denied" },
        [PINNED] = { .name = "directories_above_what_is_denied_stay_where_they_are" },
        [MOVED] = { .name = "no_move_leads_out_of_or_into_what_is_denied" },
        [NAMED] = { .name = "no_name_changes_the_rest_of_a_profile" },
};

static unsigned long seed;

__attribute__((format(printf, 3, 4))) static void hold(enum fact fact, bool holds, const char *format, ...)
{
        va_list arguments;

        facts[fact].asked++;
        if (holds || facts[fact].failed++)
                return;
        printf("not ok %s - SEED=%lu: ", facts[fact].name, seed);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        putchar('\n');
}

/* ---- mistakes -------------------------------------------------------------------------------------------- */

#define DENIED "; what is denied\n"
#define TREES "; the policy's trees\n"
#define PROTECTED "; what is protected"

static const char *mistake = "";

static bool is_mistake(const char *name)
{
        return !strcmp(mistake, name);
}

static void replace_all(char **text, const char *from, const char *to)
{
        size_t size = 0;
        char *whole = NULL, *at = *text, *found;
        FILE *out = open_memstream(&whole, &size);

        while ((found = strstr(at, from))) {
                fwrite(at, 1, (size_t)(found - at), out);
                fputs(to, out);
                at = found + strlen(from);
        }
        fputs(at, out);
        fclose(out);
        free(*text);
        *text = whole;
}

/* Leaves out the lines that begin so, from where `section` begins. */
static void drop_lines(char *text, const char *section, const char *beginning)
{
        char *line = strstr(text, section);

        while (line && *line) {
                char *end = strchr(line, '\n') + 1;

                if (!strncmp(line, beginning, strlen(beginning)))
                        memmove(line, end, strlen(end) + 1);
                else
                        line = end;
        }
}

/* The denied part comes before what is allowed. */
static void swap_order(char **text)
{
        char *denied = strstr(*text, DENIED), *trees = strstr(*text, TREES), *whole = NULL;

        if (asprintf(&whole, "%.*s%s\n%.*s", (int)(trees - *text), *text, denied, (int)(denied - trees),
                     trees) < 0)
                exit(2);
        free(*text);
        *text = whole;
}

static void spoil(char **text)
{
        if (is_mistake("order"))
                swap_order(text);
        if (is_mistake("denied"))
                drop_lines(*text, DENIED, "(deny file-read*");
        if (is_mistake("protected"))
                drop_lines(*text, PROTECTED, "(deny file-write*");
        if (is_mistake("pins"))
                drop_lines(*text, TREES, "(deny file-write-create file-write-unlink");
        if (is_mistake("members"))
                replace_all(text,
                            "file-read* file-read-data file-read-metadata file-test-existence file-write* "
                            "file-write-create file-write-data file-write-unlink file-link process-exec*",
                            "file-read* file-test-existence file-write* file-link process-exec*");
        if (is_mistake("links"))
                replace_all(text, "file-write-unlink file-link", "file-write-unlink");
        if (is_mistake("quotes"))
                replace_all(text, "\\\"", "\"");
        if (is_mistake("backslashes"))
                replace_all(text, "\\\\", "\\");
        if (is_mistake("cases"))
                replace_all(text, "(regex \"^(", "(regex \"^(x");
        if (is_mistake("roots"))
                replace_all(text, "\"/private/", "\"/");
        if (is_mistake("ends"))
                replace_all(text, "(/|$)", "");
        if (is_mistake("writes"))
                replace_all(text, "(allow file-read* file-test-existence ", "(allow file-read* file-write* ");
}

/* ---- one profile ----------------------------------------------------------------------------------------- */

static const struct sbpl_parameter parameters[] = {
        { "TMP", OWN_TMP }, { "TTY", "/dev/null" }, { "JOB", "abatis.job" }, { NULL, NULL }
};

/* One policy, and its profile as the evaluator reads it. */
struct round {
        abatis_policy *policy;
        struct sbpl *profile;
        bool has_holes;  /* no rule that denies or protects was missed */
        bool has_grants; /* nor any other */
        bool is_plain;   /* the former have no capital letters or the like in them */
};

static char *compile(const abatis_policy *policy, struct round *round)
{
        static const abatis_host host = { .system = SYSTEM_MACOS, .kernel = "15.1", .uid = 501 };
        struct plan *plan = plan_new(policy, BACKEND_SEATBELT);
        char *text = NULL;

        backend_seatbelt.compile(policy, &host, plan);
        if (plan->has_failed)
                exit(2);
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == PLAN_PROFILE)
                        text = strdup(plan->steps[i].target);
        for (size_t i = 0; i < plan->clause_count && round; i++) {
                enum clause_kind kind = plan->clauses[i].kind;
                bool is_hole = kind == CLAUSE_DENY || kind == CLAUSE_PROTECT;

                if (plan_is_held(plan, i))
                        continue;
                round->has_holes &= !is_hole;
                round->has_grants &= is_hole;
        }
        plan_free(plan);
        return text;
}

static bool allows(const struct round *round, enum sbpl_order order, const char *operation, const char *path)
{
        struct sbpl_question question = { .operation = operation, .path = path };

        return sbpl_allows(round->profile, order, &question);
}

/* By either order: what one of them would allow is not held. */
static bool may_be_allowed(const struct round *round, const char *operation, const char *path)
{
        return allows(round, SBPL_LAST, operation, path) || allows(round, SBPL_NARROWEST, operation, path);
}

static bool begin_round(struct round *round)
{
        char message[256] = "", *text;

        *round = (struct round){
                .policy = world_policy(), .has_holes = true, .has_grants = true, .is_plain = true
        };
        for (size_t i = 0; i < round->policy->rule_count; i++) {
                const struct rule *rule = &round->policy->rules[i];

                if (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)
                        round->is_plain &= world_is_plain(rule->path);
        }
        text = compile(round->policy, round);
        spoil(&text);
        round->profile = sbpl_parse(text, parameters, message, sizeof(message));
        hold(PARSES, round->profile != NULL, "%s", message);
        free(text);
        return round->profile;
}

static void end_round(struct round *round)
{
        sbpl_free(round->profile);
        abatis_policy_free(round->policy);
}

/* ---- questions ------------------------------------------------------------------------------------------- */

static bool check(const struct round *round, abatis_access access, const char *real)
{
        abatis_error err;
        int is_allowed;

        if (abatis_policy_check(round->policy, access, real, &is_allowed, NULL, &err) < 0) {
                printf("not ok check_answers - '%s': %s\n", real, err.message);
                exit(2);
        }
        return is_allowed;
}

/* What check() says of a private /tmp is about the job's own; of the host's only what a rule names is there. */
static bool is_hidden(const struct round *round, const char *real)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(round->policy, ABATIS_READ, real, &is_allowed);

        return round->policy->has_private_tmp && path_is_below(real, "/tmp") &&
               !path_is_below(real, OWN_TMP_HERE) && !(rule && is_allowed);
}

/* Whether a rule denies it, or protects it from this access. */
static bool is_in_hole(const struct round *round, abatis_access access, const char *real)
{
        bool is_allowed, is_own = round->policy->has_private_tmp && path_is_below(real, OWN_TMP_HERE);
        const struct rule *rule = policy_decide(round->policy, access, real, &is_allowed);

        return rule && (rule->kind == RULE_DENY || (rule->kind == RULE_PROTECT && (rule->glob || !is_own)));
}

/* The first operation of each is the one that must be allowed if the access is; none may be if it is not. */
static const struct {
        abatis_access access;
        const char *operations[8];
} accesses[] = {
        { ABATIS_READ, { "file-read-data", "file-read-xattr" } },
        { ABATIS_WRITE,
          { "file-write-data", "file-write-create", "file-write-unlink", "file-write-mode",
            "file-write-owner", "file-write-xattr", "file-link" } },
        { ABATIS_EXECUTE, { "process-exec", "process-exec-interpreter" } },
};

/* Which clauses have refused something that was asked about: for the table in the README. */
static struct {
        const char *clause;
        unsigned long count;
} checked[] = { { "filesystem.read", 0 },
                { "filesystem.write", 0 },
                { "filesystem.execute", 0 },
                { "filesystem.deny", 0 },
                { "filesystem.deny of a pattern", 0 },
                { "filesystem.deny of what is absent", 0 },
                { "filesystem.protect", 0 },
                { "filesystem.tmp private", 0 } };

static const char *clause_of(const struct round *round, abatis_access access, const char *real)
{
        static const char *const of_access[] = { "filesystem.read", "filesystem.write",
                                                 "filesystem.execute" };
        bool is_allowed;
        const struct rule *rule = policy_decide(round->policy, access, real, &is_allowed);

        if (is_hidden(round, real))
                return "filesystem.tmp private";
        if (rule && rule->kind == RULE_PROTECT)
                return "filesystem.protect";
        if (!rule || rule->kind != RULE_DENY)
                return of_access[access];
        if (rule->glob)
                return "filesystem.deny of a pattern";
        return rule->facts.kind == PATH_ABSENT ? "filesystem.deny of what is absent" : "filesystem.deny";
}

static void count_refusal(const struct round *round, abatis_access access, const char *real)
{
        const char *clause = clause_of(round, access, real);

        for (size_t i = 0; i < COUNT(checked); i++)
                checked[i].count += !strcmp(checked[i].clause, clause);
}

static void ask(const struct round *round, const char *real)
{
        char *path = world_on_mac(real);
        bool is_plain = round->is_plain && round->has_grants && world_is_plain(real);

        /* Protected names are so in the job's own directory, too: a directory with one in it could be moved there. */
        is_plain &= !path_is_below(real, OWN_TMP_HERE) || !is_in_hole(round, ABATIS_WRITE, real);
        for (size_t i = 0; i < COUNT(accesses); i++) {
                bool expected = !is_hidden(round, real) && check(round, accesses[i].access, real);

                if (!expected)
                        count_refusal(round, accesses[i].access, real);
                for (size_t j = 0; accesses[i].operations[j]; j++) {
                        const char *operation = accesses[i].operations[j];
                        bool last = allows(round, SBPL_LAST, operation, path);
                        bool narrowest = allows(round, SBPL_NARROWEST, operation, path);

                        hold(AGREES, last == narrowest, "%s of '%s'", operation, path);
                        hold(STRICT, expected || !(last || narrowest), "%s of '%s' is allowed", operation,
                             path);
                        if (!j && is_plain)
                                hold(EXACT, expected == last, "%s of '%s' is %s", operation, path,
                                     last ? "allowed" : "refused");
                }
        }
        free(path);
}

/* Another case of some letters, or the disk's other name before it. */
static char *respell(const char *path)
{
        char *spelled = NULL;

        if (asprintf(&spelled, "%s%s", world_chance(30) ? "/System/Volumes/Data" : "", path) < 0)
                exit(2);
        for (char *at = spelled; *at; at++)
                if (((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') && world_chance(20))
                        *at ^= 0x20;
        return spelled;
}

static void ask_spellings(const struct round *round)
{
        for (size_t i = 0; i < round->policy->rule_count; i++) {
                const struct rule *rule = &round->policy->rules[i];
                char *path, *spelled;

                if (rule->glob || (rule->kind != RULE_DENY && rule->kind != RULE_PROTECT))
                        continue;
                path = world_on_mac(rule->facts.real);
                spelled = respell(path);
                hold(SPELLED, !may_be_allowed(round, "file-write-create", spelled), "'%s' can be made",
                     spelled);
                if (rule->kind == RULE_DENY)
                        hold(SPELLED, !may_be_allowed(round, "file-read-data", spelled), "'%s' can be read",
                             spelled);
                free(spelled);
                free(path);
        }
}

static void ask_above(const struct round *round, const char *real)
{
        char *above = strdup(real), *end;

        while ((end = strrchr(above, '/')) > above) {
                char *path;

                *end = '\0';
                path = world_on_mac(above);
                hold(PINNED, !may_be_allowed(round, "file-write-unlink", path), "'%s' can be moved", path);
                hold(PINNED, !may_be_allowed(round, "file-write-create", path), "'%s' can be made", path);
                free(path);
        }
        free(above);
}

static void ask_pins(const struct round *round)
{
        for (size_t i = 0; i < round->policy->rule_count; i++) {
                const struct rule *rule = &round->policy->rules[i];

                if (rule->glob || (rule->kind != RULE_DENY && rule->kind != RULE_PROTECT))
                        continue;
                ask_above(round, rule->facts.real);
                for (size_t j = 0; j < rule->facts.links.count; j++)
                        ask_above(round, rule->facts.links.items[j]);
        }
}

/* Moves a directory with something in it, if the profile lets that happen, and looks at what it was and what it is then. */
static void ask_move(const struct round *round)
{
        static const char *const names[] = { "x",     ".env",    "key.pem", "b",        "b/c",
                                             "hooks", "hooks/x", "a/b",     "secret/x", "c" };
        const char *from = world_directory(), *rest = names[world_random(COUNT(names))];
        char *to = world_chance(30) ? strdup(OWN_TMP_HERE "/moved") : world_path();
        char *from_path = world_on_mac(from), *to_path = world_on_mac(to);
        char *before = world_join(from, rest), *after = world_join(to, rest);

        if (text_is_utf8(to, strlen(to)) && !path_is_below(to, from) && !path_is_below(from, to) &&
            may_be_allowed(round, "file-write-unlink", from_path) &&
            may_be_allowed(round, "file-write-create", to_path)) {
                hold(MOVED, !is_in_hole(round, ABATIS_READ, before) || is_in_hole(round, ABATIS_READ, after),
                     "'%s' can be moved to '%s', and '%s' be read", from, to, rest);
                hold(MOVED,
                     !is_in_hole(round, ABATIS_WRITE, before) || is_in_hole(round, ABATIS_WRITE, after),
                     "'%s' can be moved to '%s', and '%s' be written", from, to, rest);
                hold(MOVED,
                     is_in_hole(round, ABATIS_WRITE, before) || !is_in_hole(round, ABATIS_WRITE, after),
                     "'%s' can be moved to '%s', where '%s' may not be made", from, to, rest);
        }
        free(before);
        free(after);
        free(from_path);
        free(to_path);
        free(to);
}

/* ---- names ----------------------------------------------------------------------------------------------- */

static char *skeleton_of(abatis_policy *policy, const char *named)
{
        char message[256] = "", *text = compile(policy, NULL), *skeleton = NULL;
        struct sbpl *profile;

        spoil(&text);
        profile = sbpl_parse(text, parameters, message, sizeof(message));
        if (profile && (!named || sbpl_has_string(profile, named)))
                skeleton = sbpl_skeleton(profile);
        sbpl_free(profile);
        free(text);
        return skeleton;
}

/* The same policy with a hostile path and with a harmless one of the same depth, and with none: a profile has the first as
 * it has the second, or leaves it out. */
static void ask_name(void)
{
        static const enum rule_kind kinds[] = { RULE_READ, RULE_WRITE, RULE_EXECUTE, RULE_DENY,
                                                RULE_PROTECT };
        enum rule_kind kind = kinds[world_random(COUNT(kinds))];
        abatis_policy *policy = world_policy();
        char *hostile = world_hostile_path(), *harmless = strdup(hostile), *out, *shape, *with, *without;

        out = harmless;
        for (char *at = harmless; *at; at++)
                if (*at == '/' || at[-1] == '/')
                        *out++ = *at;
        *out = '\0';
        without = skeleton_of(policy, NULL);
        if (policy_add_examined(policy, kind, harmless, PATH_FILE, "test", NULL) < 0)
                exit(2);
        with = skeleton_of(policy, NULL);
        policy_drop_last_rule(policy);
        if (policy_add_examined(policy, kind, hostile, PATH_FILE, "test", NULL) < 0)
                exit(2);
        policy->is_finished = true;
        shape = skeleton_of(policy, NULL);
        hold(NAMED, shape && with && without && (!strcmp(shape, with) || !strcmp(shape, without)), "'%s'",
             hostile);
        /* A policy that reads all has no rule for one that may be read. */
        if (shape && with && without && !strcmp(shape, with) && strcmp(with, without) != 0) {
                free(shape);
                shape = skeleton_of(policy, hostile);
                hold(NAMED, shape != NULL, "'%s' is not in it as it is", hostile);
        }
        free(shape);
        free(with);
        free(without);
        free(hostile);
        free(harmless);
        abatis_policy_free(policy);
}

/* ---- all ------------------------------------------------------------------------------------------------- */

enum { QUESTIONS = 24, MOVES = 24 };

static void play(void)
{
        struct round round;

        if (begin_round(&round)) {
                /* A policy that is refused holds nothing, and says so. */
                for (int i = 0; i < QUESTIONS && round.has_holes; i++) {
                        char *real = world_path();

                        /* No disk of a Mac has other names. */
                        if (text_is_utf8(real, strlen(real)))
                                ask(&round, real);
                        free(real);
                }
                if (round.has_holes) {
                        ask_spellings(&round);
                        ask_pins(&round);
                }
                for (int i = 0; i < MOVES && round.has_holes; i++)
                        ask_move(&round);
        }
        end_round(&round);
        ask_name();
}

int main(int argc, char **argv)
{
        unsigned long count, first, failed = 0;

        if (argc < 4)
                return 2;
        if (!setlocale(LC_CTYPE, ""))
                return 2;
        world_make(argv[1]);
        first = strtoul(argv[2], NULL, 10);
        count = strtoul(argv[3], NULL, 10);
        if (argc > 4)
                mistake = argv[4];
        for (seed = first; seed < first + count; seed++) {
                world_seed(seed);
                play();
        }
        for (size_t i = 0; i < FACTS; i++) {
                failed += facts[i].failed != 0;
                if (facts[i].failed)
                        printf("# %s: %lu of %lu failed\n", facts[i].name, facts[i].failed, facts[i].asked);
                else if (facts[i].asked)
                        printf("ok %s # %lu times\n", facts[i].name, facts[i].asked);
                else
                        printf("not ok %s - nothing was asked\n", facts[i].name);
        }
        for (size_t i = 0; i < COUNT(checked); i++)
                if (checked[i].count)
                        printf("# checked\t%s\t%lu\n", checked[i].clause, checked[i].count);
        puts("complete");
        return failed != 0;
}
