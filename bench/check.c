/* Measures how often a second one core answers "may I?": against policies of many rules, and without a policy. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abatis.h"

enum {
        RULES = 100,
        ROUNDS = 31,
        BATCH = 4096, /* between two readings of the clock */
};

/* What exists everywhere: of the system, of a home, of a workspace, of a deep tree; two to seven names long. */
static const char *const ordinary[] = {
        "/etc/passwd",
        "/usr/bin/env",
        "{home}",
        "{home}/.bashrc",
        "{workspace}",
        "{workspace}/main.c",
        "{repository}/src/module-7/file-0.txt",
};
static const char *const linked[] = { "{link}/main.c" };
static const char *const blocked[] = { "/etc/passwd", "/usr/bin/env", "/etc", "/dev/null" };
static const char *const open_paths[] = { "{workspace}", "{workspace}/main.c", "{home}/.bashrc" };

/* Who is asked, and about what. */
struct questions {
        abatis_policy *policy;
        const char *data;
        struct command paths; /* its words */
};

static double cpu_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- askers: each answers 1 or 0 ------------------------------------------------------------------------ */

static int ask_policy(const struct questions *questions, const char *path, unsigned i)
{
        abatis_error err;
        int allowed;
        if (abatis_policy_check(questions->policy, (abatis_access)(i % 3), path, &allowed, NULL, &err) < 0)
                die("check %s: %s", path, err.message);
        return allowed;
}

static int ask_policy_why(const struct questions *questions, const char *path, unsigned i)
{
        abatis_error err;
        char *rule;
        int allowed;
        if (abatis_policy_check(questions->policy, (abatis_access)(i % 3), path, &allowed, &rule, &err) < 0)
                die("check %s: %s", path, err.message);
        free(rule);
        return allowed;
}

static int ask_blocked(const struct questions *questions, const char *path, unsigned i)
{
        (void)i;
        return abatis_is_write_blocked(path, questions->data);
}

/* What nobody can do without who resolves links exactly: one lookup in the kernel that stops at a link. */
static int ask_kernel(const struct questions *questions, const char *path, unsigned i)
{
        const struct {
                uint64_t flags, mode, resolve;
        } how = { O_WRONLY | O_DIRECTORY | O_CLOEXEC, 0, 4 /* no symbolic links */ };
        (void)questions;
        (void)i;
        if (syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how) >= 0)
                die("%s was opened", path);
        return errno == EISDIR;
}

/* ---- measuring ------------------------------------------------------------------------------------------ */

enum expected { NO, YES, BOTH };

typedef int asker(const struct questions *questions, const char *path, unsigned i);

/* Millions of answers a second, by the clock of the processor: the median of rounds. */
static double measure_once(const char *name, asker *ask, const struct questions *questions,
                           enum expected expected)
{
        double rates[ROUNDS];
        unsigned yes = 0;
        for (size_t round = 0; round < ROUNDS; round++) {
                double start = cpu_ns();
                yes = 0;
                for (unsigned i = 0; i < BATCH; i++)
                        yes += (unsigned)ask(questions, questions->paths.words[i % questions->paths.count],
                                             i);
                rates[round] = BATCH / (cpu_ns() - start) * 1e3;
        }
        /* A wrong answer is easily fast. */
        if (expected == NO ? yes != 0 : expected == YES ? yes != BATCH : yes == 0 || yes == BATCH)
                die("%s: %u of %d answers are yes", name, yes, BATCH);
        return quantile(rates, ROUNDS, 0.5);
}

/* Whatever else this machine does, it takes caches away and never gives any: the best attempt is nearest to the truth. */
static double measure(const char *name, asker *ask, const struct questions *questions, enum expected expected)
{
        double best = 0;
        for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++)
                best = fmax(best, measure_once(name, ask, questions, expected));
        printf("%-44s %9.3f %9.0f\n", name, best, 1e3 / best);
        return best;
}

static void choose(struct questions *questions, const struct place *place, const char *const *templates,
                   size_t count)
{
        questions->paths.count = questions->paths.used = 0;
        for (size_t i = 0; i < count; i++) {
                struct stat status;
                command_add(&questions->paths, place, templates[i]);
                if (stat(questions->paths.words[i], &status) < 0)
                        die("%s: %s", questions->paths.words[i], strerror(errno));
        }
}

#define CHOOSE(questions, place, templates) \
        choose(questions, place, templates, sizeof(templates) / sizeof *(templates))

/* Rules all over the places that are asked about, and near them. */
static abatis_policy *make_policy(const struct place *place, unsigned rules)
{
        static const struct {
                const char *key, *before, *after;
        } kinds[] = {
                { "filesystem.deny", "repository/src/module", "" },
                { "filesystem.protect", "workspace/kept", "" },
                { "filesystem.deny", "home/project", "/secret" },
        };
        char workspace[PATH_SIZE + 64];
        abatis_policy_options options = { .size = sizeof options, .preset = "dev", .workspace = workspace };
        abatis_policy *policy;
        abatis_error err;
        snprintf(workspace, sizeof workspace, "%s/workspace", place->dir);
        if (abatis_policy_new(&options, &policy, &err) < 0)
                die("no policy: %s", err.message);
        for (unsigned i = 0; i < rules; i++) {
                char path[PATH_SIZE + 80];
                snprintf(path, sizeof path, "%s/%s-%u%s", place->dir, kinds[i % 3].before, i,
                         kinds[i % 3].after);
                if (abatis_policy_set(policy, kinds[i % 3].key, path, &err) < 0)
                        die("%s %s: %s", kinds[i % 3].key, path, err.message);
        }
        return policy;
}

int main(int argc, char **argv)
{
        if (argc < 2)
                die("usage: check DIR");
        static struct place place;
        static struct questions questions;
        place_init(&place, argv[1]);
        questions.data = place.dir;
        printf("%-44s %9s %9s\n", "answers, on one core", "M/s", "ns each");

        questions.policy = make_policy(&place, RULES);
        CHOOSE(&questions, &place, ordinary);
        measure("one lookup in the kernel, nothing else", ask_kernel, &questions, BOTH);
        double checks = measure("policy of 100 rules", ask_policy, &questions, BOTH);
        measure("policy of 100 rules, and why", ask_policy_why, &questions, BOTH);
        CHOOSE(&questions, &place, linked);
        measure("policy of 100 rules, over a link", ask_policy, &questions, YES);
        abatis_policy_free(questions.policy);

        questions.policy = make_policy(&place, 10 * RULES);
        CHOOSE(&questions, &place, ordinary);
        measure("policy of 1000 rules", ask_policy, &questions, BOTH);
        abatis_policy_free(questions.policy);

        CHOOSE(&questions, &place, blocked);
        measure("is_write_blocked, of a path that is", ask_blocked, &questions, YES);
        CHOOSE(&questions, &place, open_paths);
        measure("is_write_blocked, of a path that is not", ask_blocked, &questions, NO);

        bar_at_least(&place, "policy checks a second, 100 rules, millions", checks, 1);
        return 0;
}
