/* seatbelt_rules.c: the policy's rules for files as rules of a profile: first what is allowed, then what is protected, then what
 * is denied.
 *
 * Seatbelt judges a file by its path, and a command could give it another one: by moving a directory on the way, or by a hard
 * link. A link needs "file-link" for the file that it is made to, which is allowed where that may be written. Directories on
 * the way to what is denied or protected are pinned: they can be neither moved, removed nor made. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/seatbelt.h"

bool seatbelt_lists_commands(const struct seatbelt *seatbelt)
{
        return seatbelt->policy->commands.count > 0;
}

bool seatbelt_starts_all(const struct seatbelt *seatbelt)
{
        return seatbelt->policy->reads_all && seatbelt->policy->executes_all &&
               !seatbelt_lists_commands(seatbelt);
}

/* One rule of a profile, if its filters could be said. */
static bool add_rule(struct seatbelt *seatbelt, const char *beginning, const char *path,
                     bool (*add)(struct text *, const char *))
{
        OWN_TEXT struct text line = { 0 };
        bool is_said;

        text_addf(&line, "(%s", beginning);
        is_said = add(&line, path);
        text_add(&line, ")\n");
        seatbelt->profile.has_failed |= line.has_failed;
        if (is_said && line.data)
                text_add(&seatbelt->profile, line.data);
        return is_said;
}

static void collect(struct seatbelt *seatbelt, struct strings *list, const char *path)
{
        if (!strings_has(list, path) && strings_add(list, path, NULL) < 0)
                seatbelt->profile.has_failed = true;
}

/* ---- what is allowed ------------------------------------------------------------------------------------- */

/* A path is looked up directory by directory, and each must at least be known; so must links. */
static void add_way(struct seatbelt *seatbelt, const char *path)
{
        char *above = strdup(path), *end = above ? strrchr(above, '/') : NULL;

        seatbelt->profile.has_failed |= !above;
        for (; end && end > above; end = strrchr(above, '/')) {
                *end = '\0';
                collect(seatbelt, &seatbelt->ways, above);
        }
        free(above);
}

static void miss_grant(struct seatbelt *seatbelt, const struct rule *rule)
{
        enum clause_kind kind = rule->kind == RULE_WRITE         ? CLAUSE_WRITE
                                : rule->kind == RULE_READ        ? CLAUSE_READ
                                : seatbelt->policy->executes_all ? CLAUSE_READ
                                                                 : CLAUSE_EXECUTE;

        plan_miss(
                seatbelt->plan, kind, PLAN_NO_INDEX,
                "'%s' has a control character in its name, or bytes that are not UTF-8, which no profile can "
                "name; rename it",
                rule->path);
}

static bool is_in_tmp(struct seatbelt *seatbelt, const char *real)
{
        char *canonical = seatbelt_canonical(real);
        bool is_below = canonical && path_is_below(canonical, "/private/tmp");

        seatbelt->profile.has_failed |= !canonical;
        free(canonical);
        return is_below && seatbelt->policy->has_private_tmp;
}

static void add_grant(struct seatbelt *seatbelt, const struct rule *rule)
{
        const abatis_policy *policy = seatbelt->policy;
        const char *real = rule->facts.real;
        bool is_tmp = is_in_tmp(seatbelt, real);
        bool reads = !policy->reads_all || is_tmp, writes = rule->kind == RULE_WRITE;
        bool starts = !seatbelt_lists_commands(seatbelt) && (!seatbelt_starts_all(seatbelt) || is_tmp) &&
                      (rule->kind != RULE_READ || policy->executes_all);
        OWN_TEXT struct text beginning = { 0 };

        if (!reads && !writes && !starts)
                return;
        text_addf(&beginning, "allow%s%s%s%s", reads ? " " READS : "", writes ? " " WRITES : "",
                  writes && network_has_unix_sockets(policy->network) ? " network-bind" : "",
                  starts ? " " STARTS : "");
        if (!beginning.data)
                seatbelt->profile.has_failed = true;
        else if (!add_rule(seatbelt, beginning.data, real, seatbelt_add_tree)) {
                miss_grant(seatbelt, rule);
                return;
        }
        if (!reads)
                return;
        add_way(seatbelt, real);
        for (size_t i = 0; i < rule->facts.links.count; i++) {
                collect(seatbelt, &seatbelt->ways, rule->facts.links.items[i]);
                add_way(seatbelt, rule->facts.links.items[i]);
        }
}

/* Interpreters of scripts are among them. Nothing else is started, and no other file becomes code. */
static void add_startables(struct seatbelt *seatbelt)
{
        const abatis_policy *policy = seatbelt->policy;
        bool is_said = true;

        for (size_t i = 0; i < policy->startable_count; i++)
                if (policy->startables[i].kind != STARTABLE_LOADER)
                        is_said &= add_rule(seatbelt, "allow " STARTS, policy->startables[i].path,
                                            seatbelt_add_itself);
        for (size_t i = 0; i < policy->libraries.count; i++)
                is_said &= add_rule(seatbelt, "allow file-map-executable", policy->libraries.items[i],
                                    seatbelt_add_tree);
        if (!is_said)
                plan_miss(seatbelt->plan, CLAUSE_COMMANDS, PLAN_NO_INDEX,
                          "the name of a listed command, or of a directory of libraries, cannot be said in a "
                          "profile");
}

void seatbelt_add_grants(struct seatbelt *seatbelt)
{
        const abatis_policy *policy = seatbelt->policy;

        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind != RULE_DENY && policy->rules[i].kind != RULE_PROTECT)
                        add_grant(seatbelt, &policy->rules[i]);
        if (seatbelt_lists_commands(seatbelt))
                add_startables(seatbelt);
        /* One that cannot be said leads to something that was missed already. */
        for (size_t i = 0; i < seatbelt->ways.count; i++)
                add_rule(seatbelt, "allow file-read-metadata", seatbelt->ways.items[i], seatbelt_add_itself);
}

/* ---- what is not ----------------------------------------------------------------------------------------- */

static bool is_writable(const struct seatbelt *seatbelt, const char *path)
{
        for (size_t i = 0; i < seatbelt->policy->rule_count; i++) {
                const struct rule *rule = &seatbelt->policy->rules[i];

                if (rule->kind == RULE_WRITE && path_is_below(path, rule->facts.real))
                        return true;
        }
        return false;
}

static void pin_above(struct seatbelt *seatbelt, const char *path)
{
        char *above = strdup(path), *end = above ? strrchr(above, '/') : NULL;

        seatbelt->profile.has_failed |= !above;
        for (; end && end > above; end = strrchr(above, '/')) {
                *end = '\0';
                if (is_writable(seatbelt, above))
                        collect(seatbelt, &seatbelt->pins, above);
        }
        free(above);
}

static void add_pins(struct seatbelt *seatbelt)
{
        for (size_t i = 0; i < seatbelt->pins.count; i++)
                add_rule(seatbelt, "deny " PINNED, seatbelt->pins.items[i], seatbelt_add_itself_spelled);
        strings_done(&seatbelt->pins);
        seatbelt->pins = (struct strings){ 0 };
}

static void miss_hole(struct seatbelt *seatbelt, const struct rule *rule, const char *reason)
{
        plan_miss(seatbelt->plan, rule->kind == RULE_DENY ? CLAUSE_DENY : CLAUSE_PROTECT,
                  (size_t)(rule - seatbelt->policy->rules), "%s", reason);
}

static bool is_ascii(const char *text)
{
        while (*text && !(*text & 0x80))
                text++;
        return !*text;
}

/* The longest beginning of the path that is known to exist. */
static size_t known_length(const abatis_policy *policy, const char *path)
{
        const char *known[] = { policy->workspace, policy->homes[0], policy->homes[1] };
        size_t longest = 0;

        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
                if (known[i] && path_is_below(path, known[i]) && strlen(known[i]) > longest)
                        longest = strlen(known[i]);
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (!rule->glob && rule->facts.kind != PATH_ABSENT && path_is_below(path, rule->facts.real) &&
                    strlen(rule->facts.real) > longest)
                        longest = strlen(rule->facts.real);
        }
        return longest;
}

static void add_path_hole(struct seatbelt *seatbelt, const struct rule *rule, const char *beginning)
{
        const char *real = rule->facts.real;

        if (!add_rule(seatbelt, beginning, real, seatbelt_add_tree_spelled)) {
                miss_hole(
                        seatbelt, rule,
                        "its name has a control character, or bytes that are not UTF-8, which no profile can "
                        "name; rename it, or deny the directory that it is in");
                return;
        }
        if (rule->facts.kind == PATH_ABSENT && !is_ascii(real) &&
            !is_ascii(real + known_length(seatbelt->policy, real)))
                miss_hole(
                        seatbelt, rule,
                        "it does not exist, and its name could be made in another way to write the same letters, "
                        "which macOS takes for the same file; make it first");
        pin_above(seatbelt, real);
        /* A link that leads there must go on doing so. */
        for (size_t i = 0; i < rule->facts.links.count; i++) {
                const char *link = rule->facts.links.items[i];

                if (is_writable(seatbelt, link))
                        collect(seatbelt, &seatbelt->pins, link);
                pin_above(seatbelt, link);
        }
}

/* The directory that every match lies in, as far as the pattern names it. */
static void find_anchor(const struct glob *glob, size_t depth, struct text *out)
{
        for (size_t i = 0; i < depth; i++) {
                text_add(out, "/");
                text_add_bytes(out, glob->parts[i].text, glob->parts[i].length);
        }
}

/* Whether a directory could be moved so that what was matched in it is not any more. Parts that are names are pinned, and
 * what stands before all of them may be anything. But from "/a" of "/a/" "**" "/b" a directory with b in it could be moved to
 * another writable tree; not if there is none. */
static bool is_leaky(const struct seatbelt *seatbelt, const struct glob *glob)
{
        const abatis_policy *policy = seatbelt->policy;
        OWN_TEXT struct text anchor = { 0 };
        size_t depth = 0, named = 0;
        bool is_met = false, leads_out = policy->has_private_tmp;

        for (depth = 1; depth + 1 < glob->count && glob->parts[depth].kind != GLOB_ANY_DEPTH; depth++)
                ;
        if (depth + 1 >= glob->count)
                return false;
        while (named < depth && glob->parts[named].kind == GLOB_NAME)
                named++;
        find_anchor(glob, named, &anchor);
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind != RULE_WRITE)
                        continue;
                is_met |= glob_may_match_below(glob, rule->facts.real);
                leads_out |= named < depth || anchor.has_failed || !anchor.data ||
                             !path_is_below(rule->facts.real, anchor.data);
        }
        return is_met && leads_out;
}

static void add_pattern_hole(struct seatbelt *seatbelt, const struct rule *rule, const char *operations)
{
        const struct glob *glob = rule->glob;

        for (size_t count = glob->count; count; count--) {
                bool is_whole = count == glob->count, is_said;
                OWN_TEXT struct text line = { 0 };

                if (!is_whole && glob->parts[count - 1].kind == GLOB_ANY_DEPTH)
                        continue;
                text_addf(&line, "(%s", is_whole ? operations : "deny " PINNED);
                is_said = seatbelt_add_pattern(&line, glob, count, is_whole);
                text_add(&line, ")\n");
                seatbelt->profile.has_failed |= line.has_failed;
                if (is_said && line.data)
                        text_add(&seatbelt->profile, line.data);
                else if (is_whole) {
                        miss_hole(
                                seatbelt, rule,
                                "on macOS patterns know printable ASCII only, since other letters can be written "
                                "in several ways; deny the paths");
                        return;
                }
        }
        if (is_leaky(seatbelt, glob))
                miss_hole(
                        seatbelt, rule,
                        "a directory could be moved out of where the pattern holds, into another writable tree; "
                        "begin it with '**/'");
}

static void add_path_holes(struct seatbelt *seatbelt, enum rule_kind kind, const char *beginning)
{
        for (size_t i = 0; i < seatbelt->policy->rule_count; i++)
                if (seatbelt->policy->rules[i].kind == kind && !seatbelt->policy->rules[i].glob)
                        add_path_hole(seatbelt, &seatbelt->policy->rules[i], beginning);
        add_pins(seatbelt);
}

static void add_pattern_holes(struct seatbelt *seatbelt, enum rule_kind kind, const char *beginning)
{
        for (size_t i = 0; i < seatbelt->policy->rule_count; i++)
                if (seatbelt->policy->rules[i].kind == kind && seatbelt->policy->rules[i].glob)
                        add_pattern_hole(seatbelt, &seatbelt->policy->rules[i], beginning);
}

#define PROTECTS "deny " ALL_WRITES " network-bind"
/* Unix sockets, too. */
#define DENIES "deny " ALL_READS " " ALL_WRITES " " STARTS " file-ioctl network-bind network-outbound"

void seatbelt_add_protected_paths(struct seatbelt *seatbelt)
{
        add_path_holes(seatbelt, RULE_PROTECT, PROTECTS);
}

void seatbelt_add_protected_patterns(struct seatbelt *seatbelt)
{
        add_pattern_holes(seatbelt, RULE_PROTECT, PROTECTS);
}

void seatbelt_add_denied(struct seatbelt *seatbelt)
{
        add_path_holes(seatbelt, RULE_DENY, DENIES);
        add_pattern_holes(seatbelt, RULE_DENY, DENIES);
}
