/* property.c: whatever the policy, what abatis_policy_check() says is what the sandbox does.
 *
 *   property ROLE DIRECTORY TOOLS SEED COUNT
 *
 * In each round a random tree and a random policy file; for each path, and some others, and each kind of access, the
 * engine is asked, and a probe really tries, outside as the control and in the sandbox. A round's seed is printed with
 * what went wrong in it; with a COUNT of 1 it is the only one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abatis.h"
#include "probe.h"
#include "questions.h"
#include "scene.h"

enum {
        MINIMUM = 1000,     /* comparisons that say something about their sum */
        ROUNDS_SHOWN = 12,  /* that went wrong; more would only say the same */
        FAILURES_SHOWN = 8, /* of each */
        SELF_TEST_ROUNDS = 400,
};

enum verdict { VERDICT_AGREES, VERDICT_SKIPPED, VERDICT_KNOWN, VERDICT_DISAGREES };

struct run {
        const char *role;                                        /* borrowed */
        char *tools, *directory, *probe, *program, *policy_file; /* owned, but by the self-test */
        unsigned long compared, skipped, known, rounds, refused, failed_rounds;
        unsigned long answers[3][2];       /* compared, by access and what the engine said */
        unsigned long disagreements[3][2]; /* the same of those that came out wrong */
        bool is_self_test;                 /* disagreements are wanted, and not shown */
        bool is_bare;                      /* there are no namespaces */
};

/* One round: what it is about and what came of it. */
struct round {
        struct run *run;
        uint64_t seed;
        struct scene scene;
        struct questions questions;
        char *policy_text;
        struct probe_answer *outside, *inside; /* one for each question */
        unsigned failures;
};

/* ---- telling -------------------------------------------------------------------------------------------- */

/* On one line, whatever is in it. */
static void print_text(const char *text)
{
        for (; *text; text++) {
                unsigned char byte = (unsigned char)*text;

                if (byte < 0x20 || byte >= 0x7f)
                        printf("\\x%02x", byte);
                else
                        putchar(byte);
        }
}

static void print_indented(const char *text)
{
        fputs("#   ", stdout);
        for (; *text; text++) {
                putchar(*text);
                if (*text == '\n' && text[1])
                        fputs("#   ", stdout);
        }
}

/* The first thing that goes wrong in a round is its failure; the others are listed with it. */
static void begin_failure(struct round *round)
{
        struct run *run = round->run;

        if (round->failures++) {
                fputs("# also: ", stdout);
                return;
        }
        run->failed_rounds++;
        printf("not ok check_and_sandbox_agree_as_%s - SEED=%llu COUNT=1: ", run->role,
               (unsigned long long)round->seed);
}

static void fail_round(struct round *round, const char *what, const char *why)
{
        begin_failure(round);
        printf("%s: ", what);
        print_text(why);
        putchar('\n');
}

static void print_answer(const struct probe_answer *answer)
{
        static const char *const states[] = { "found", "made", "missing" };

        printf("%s, %s", answer->error ? strerrorname_np(answer->error) : "done", states[answer->state]);
}

static void show_disagreement(struct round *round, size_t index)
{
        const struct question *question = &round->questions.items[index];
        static const char *const names[] = { "read", "write", "execute" };

        begin_failure(round);
        printf("%s '", names[question->access]);
        print_text(question->path);
        printf("': check says %s (", question->is_allowed ? "yes" : "no");
        print_text(question->rule);
        fputs("), the sandbox ", stdout);
        print_answer(&round->inside[index]);
        fputs(", outside ", stdout);
        print_answer(&round->outside[index]);
        if (!round->inside[index].error && (round->inside[index].device != round->outside[index].device ||
                                            round->inside[index].inode != round->outside[index].inode))
                fputs(", another file", stdout);
        putchar('\n');
}

/* ---- trying --------------------------------------------------------------------------------------------- */

static int open_questions(const struct questions *questions)
{
        int fd = memfd_create("questions", MFD_CLOEXEC);
        FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "w");

        if (!file)
                die("questions", "memfd");
        for (size_t i = 0; i < questions->count; i++) {
                const struct question *question = &questions->items[i];
                size_t length = strlen(question->path);
                struct probe_question head = { (uint8_t)question->access, question->is_gentle,
                                               (uint16_t)length };

                fwrite(&head, sizeof(head), 1, file);
                fwrite(question->path, 1, length, file);
        }
        if (fclose(file) || lseek(fd, 0, SEEK_SET) < 0)
                die("questions", "memfd");
        return fd;
}

static void try_outside(struct round *round)
{
        const struct run *run = round->run;
        char word[] = "outside", *argv[] = { run->probe, run->program, word, NULL }, *envp[] = { NULL };
        size_t size = round->questions.count * sizeof(struct probe_answer);
        int in = open_questions(&round->questions), out = memfd_create("answers", MFD_CLOEXEC), status = -1;
        posix_spawn_file_actions_t actions;
        pid_t pid;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in, 0);
        posix_spawn_file_actions_adddup2(&actions, out, 1);
        errno = posix_spawn(&pid, run->probe, &actions, NULL, argv, envp);
        if (errno || waitpid(pid, &status, 0) < 0 || status ||
            pread(out, round->outside, size, 0) != (ssize_t)size)
                die("the control failed", run->probe);
        posix_spawn_file_actions_destroy(&actions);
        close(in);
        close(out);
}

/* Whether the policy that runs lets the probe be executed: a link may have led a rule to where it lies. */
static bool allows_probe(const struct run *run, abatis_policy *policy)
{
        int is_allowed = 0;
        char *rule = NULL;

        if (abatis_policy_check(policy, ABATIS_EXECUTE, run->probe, &is_allowed, &rule, NULL) < 0)
                die("check", run->probe);
        free(rule);
        return is_allowed;
}

static bool try_inside(struct round *round, abatis_sandbox *sandbox, bool has_probe)
{
        const struct run *run = round->run;
        const char *argv[] = { run->probe, run->program, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        size_t length = 0, size = round->questions.count * sizeof(struct probe_answer);
        abatis_result *result = NULL;
        abatis_error err = { 0 };
        const char *answers;
        bool is_whole;

        options.argv = argv;
        options.cwd = "/";
        options.capture = 1;
        options.stdin_fd = open_questions(&round->questions);
        options.stdout_fd = options.stderr_fd = -1;
        if (abatis_run(sandbox, &options, &result, &err) < 0) {
                close(options.stdin_fd);
                if (has_probe)
                        fail_round(round, "the probe did not run", err.message);
                return false;
        }
        close(options.stdin_fd);
        if (!has_probe)
                fail_round(round, "the probe ran", "check says that it may not be executed");
        answers = abatis_result_stdout(result, &length);
        is_whole = !abatis_result_exit_code(result) && length == size;
        if (is_whole)
                memcpy(round->inside, answers, size);
        else
                fail_round(round, "the probe did not come to its end", abatis_result_stderr(result, NULL));
        abatis_result_free(result);
        return is_whole;
}

/* ---- judging -------------------------------------------------------------------------------------------- */

/* The same file, or a new one in the same file system. */
static bool is_same_object(const struct probe_answer *left, const struct probe_answer *right)
{
        return left->state == right->state && left->device == right->device && left->inode == right->inode;
}

/* Where the command has something of its own instead of the host's, "yes" is about that. */
static enum verdict judge_private(const struct question *question, const struct probe_answer *outside,
                                  const struct probe_answer *inside)
{
        bool is_new = outside->state == PROBE_MADE && question->is_at_top;

        if (!inside->error)
                return !is_same_object(outside, inside) || question->place == PLACE_DEVICE
                               ? VERDICT_AGREES
                               : VERDICT_DISAGREES;
        /* Where something is denied deeper down, a directory stands for the host's program. */
        if (question->access == ABATIS_EXECUTE && inside->is_directory)
                return VERDICT_AGREES;
        /* What the host has there is not in it, nor are the directories on the way. */
        return !is_new && inside->state == PROBE_MISSING && inside->error == ENOENT ? VERDICT_AGREES
                                                                                    : VERDICT_DISAGREES;
}

/* A read-only mount lets pipes be written; Landlock does not, but has no holes: a right on a writable tree reaches into
 * what is protected in it, and that on a private /tmp into what is shown there. */
static bool is_known_limit(const struct question *question, const struct probe_answer *inside)
{
        return question->access == ABATIS_WRITE && inside->is_pipe && inside->state == PROBE_FOUND &&
               (!strncmp(question->rule, "protect '", 9) || is_below(question->path, "/tmp"));
}

/* Without namespaces the command has the host's own places, and what it may do there is a matter of its own. */
static bool is_elsewhere_in_bare(const struct question *question)
{
        return question->place != PLACE_HOST || is_below(question->path, "/dev") ||
               is_below(question->path, "/tmp") || is_below(question->path, "/proc");
}

/* Where it is, or would be made; or NULL. */
static char *find_real(const char *path)
{
        char *real = realpath(path, NULL), *parent, *found;
        const char *slash = strrchr(path, '/');

        if (real || errno != ENOENT || !slash || slash == path)
                return real;
        parent = strndup(path, (size_t)(slash - path));
        found = parent ? realpath(parent, NULL) : NULL;
        if (found)
                real = join(found, slash + 1);
        free(parent);
        free(found);
        return real;
}

/* Landlock knows files, not names: what has a right has it by each of its names, and a link is followed whatever directory it
 * lies in. What the broker denies can be executed. None of it gives away what is denied by all of its names. */
static bool is_known_limit_in_bare(const struct question *question, abatis_policy *asked)
{
        char *real = find_real(question->path);
        struct stat status;
        int is_allowed = 0;
        bool is_known = question->access == ABATIS_EXECUTE && !strncmp(question->rule, "deny '", 6);

        if (!real)
                return is_known;
        is_known |= !stat(real, &status) && !S_ISDIR(status.st_mode) && status.st_nlink > 1;
        if (!is_known && strcmp(real, question->path) != 0 &&
            !abatis_policy_check(asked, question->access, real, &is_allowed, NULL, NULL))
                is_known = is_allowed;
        free(real);
        return is_known;
}

static enum verdict judge_in_bare(const struct question *question, const struct probe_answer *outside,
                                  const struct probe_answer *inside, abatis_policy *asked)
{
        if (outside->error || outside->state == PROBE_MISSING || is_elsewhere_in_bare(question))
                return VERDICT_SKIPPED;
        if (question->access == ABATIS_EXECUTE && outside->state == PROBE_MADE && inside->state != PROBE_MADE)
                return VERDICT_SKIPPED;
        if (question->is_allowed && !question->has_error)
                return inside->error ? VERDICT_DISAGREES : VERDICT_AGREES;
        if (inside->error)
                return VERDICT_AGREES;
        return is_known_limit_in_bare(question, asked) ? VERDICT_KNOWN : VERDICT_DISAGREES;
}

static enum verdict judge(const struct question *question, const struct probe_answer *outside,
                          const struct probe_answer *inside)
{
        /* What the user cannot do anyway proves nothing, nor what could not be tried. */
        if (outside->error || outside->state == PROBE_MISSING)
                return VERDICT_SKIPPED;
        if (question->access == ABATIS_EXECUTE && outside->state == PROBE_MADE && inside->state != PROBE_MADE)
                return VERDICT_SKIPPED;
        if (question->has_error)
                return inside->error ? VERDICT_AGREES : VERDICT_DISAGREES;
        if (question->is_allowed && question->place != PLACE_HOST)
                return judge_private(question, outside, inside);
        if (question->is_allowed)
                return !inside->error && is_same_object(outside, inside) ? VERDICT_AGREES : VERDICT_DISAGREES;
        /* A new root has directories of its own on the way to what is in view; they show nothing else. */
        if (!inside->error && question->access == ABATIS_READ && inside->is_directory &&
            !is_same_object(outside, inside))
                return VERDICT_AGREES;
        if (!inside->error && is_known_limit(question, inside))
                return VERDICT_KNOWN;
        return inside->error ? VERDICT_AGREES : VERDICT_DISAGREES;
}

static void compare(struct round *round, abatis_policy *asked)
{
        struct run *run = round->run;

        for (size_t i = 0; i < round->questions.count; i++) {
                const struct question *question = &round->questions.items[i];
                enum verdict verdict =
                        run->is_bare ? judge_in_bare(question, &round->outside[i], &round->inside[i], asked)
                                     : judge(question, &round->outside[i], &round->inside[i]);

                run->skipped += verdict == VERDICT_SKIPPED;
                run->known += verdict == VERDICT_KNOWN;
                if (verdict == VERDICT_SKIPPED || verdict == VERDICT_KNOWN)
                        continue;
                run->compared++;
                run->answers[question->access][question->is_allowed]++;
                if (verdict == VERDICT_AGREES)
                        continue;
                run->disagreements[question->access][question->is_allowed]++;
                if (!run->is_self_test && round->failures < FAILURES_SHOWN)
                        show_disagreement(round, i);
        }
}

/* ---- rounds --------------------------------------------------------------------------------------------- */

static void save_policy(const struct run *run, const char *text)
{
        FILE *file = fopen(run->policy_file, "we");

        if (!file || fputs(text, file) < 0 || fclose(file))
                die("write", run->policy_file);
}

/* The policy of a text, or NULL when it is refused. */
static abatis_policy *make_policy(const struct round *round, const char *text)
{
        abatis_policy_options options = { .size = sizeof(options),
                                          .workspace = round->scene.workspace_name,
                                          .data = round->scene.data,
                                          .program = round->scene.program,
                                          .file = round->run->policy_file };
        abatis_policy *policy = NULL;
        abatis_error err;

        save_policy(round->run, text);
        if (abatis_policy_new(&options, &policy, &err) < 0) {
                if (getenv("VERBOSE"))
                        printf("# refused: %s\n", err.message);
                return NULL;
        }
        return policy;
}

static abatis_sandbox *open_sandbox(struct round *round, abatis_policy *policy)
{
        const abatis_sandbox_options options = { .size = sizeof(options) };
        abatis_sandbox *sandbox = NULL;
        abatis_error err;
        int r = abatis_sandbox_open(policy, &options, &sandbox, &err);

        if (r < 0 && r != ABATIS_E_UNENFORCEABLE && r != ABATIS_E_INVALID)
                fail_round(round, "the sandbox did not open", err.message);
        else if (r < 0 && getenv("VERBOSE"))
                printf("# refused: %s\n", err.message);
        return sandbox;
}

static void try_policy(struct round *round, abatis_policy *asked, abatis_policy *run)
{
        abatis_sandbox *sandbox = open_sandbox(round, run);

        if (!sandbox) {
                round->run->refused++;
                return;
        }
        questions_make(&round->questions, &round->scene);
        questions_ask(&round->questions, asked);
        round->outside = calloc(round->questions.count, sizeof(*round->outside));
        round->inside = calloc(round->questions.count, sizeof(*round->inside));
        if (!round->outside || !round->inside)
                die("round", "memory");
        try_outside(round);
        if (try_inside(round, sandbox, allows_probe(round->run, run)))
                compare(round, asked);
        free(round->outside);
        free(round->inside);
        questions_done(&round->questions);
        abatis_sandbox_free(sandbox);
}

/* In the self-test the engine is asked about another policy than the one that runs. */
static void play_round(struct run *run, uint64_t seed)
{
        struct round round = { .run = run, .seed = seed };
        abatis_policy *asked, *other = NULL;
        char *tree, *other_text = NULL;

        /* Some of them where the command may have a directory of its own. */
        if (asprintf(&tree, "%s/tree-%d", seed % 4 ? run->directory : "/tmp", getpid()) < 0)
                die("round", "memory");
        run->rounds++;
        scene_make(&round.scene, seed, tree, run->tools);
        setenv("HOME", round.scene.home_name, 1);
        round.policy_text = scene_policy(&round.scene);
        asked = make_policy(&round, round.policy_text);
        if (run->is_self_test) {
                other_text = scene_policy(&round.scene);
                other = make_policy(&round, other_text);
        }
        if (asked && (other || !run->is_self_test))
                try_policy(&round, asked, other ? other : asked);
        else
                run->refused++;
        if (round.failures)
                print_indented(round.policy_text);
        fflush(stdout);
        if (round.failures && getenv("KEEP"))
                exit(1);
        abatis_policy_free(asked);
        abatis_policy_free(other);
        free(round.policy_text);
        free(other_text);
        free(tree);
        scene_done(&round.scene);
}

static bool print_fact(const struct run *run, bool holds, const char *name)
{
        printf("%s %s_as_%s\n", holds ? "ok" : "not ok", name, run->role);
        return holds;
}

static bool has_all(const unsigned long counts[3][2], unsigned long least)
{
        for (int access = 0; access < 3; access++)
                for (int answer = 0; answer < 2; answer++)
                        if (counts[access][answer] < least)
                                return false;
        return true;
}

static void print_figures(const struct run *run, uint64_t seed)
{
        printf("# %s: seed %llu, %lu comparisons in %lu rounds, %lu of them refused; %lu not comparable\n",
               run->role, (unsigned long long)seed, run->compared, run->rounds, run->refused, run->skipped);
        if (run->known && run->is_bare)
                printf("skip every_name_of_a_file_is_held_as_%s - known limit: Landlock knows files, not names, and what the "
                       "broker denies can be executed; %lu seen\n",
                       run->role, run->known);
        else if (run->known)
                printf("skip pipes_are_not_written_where_nothing_may_be_as_%s - known limit: Landlock's right on a writable "
                       "tree reaches into what is protected in it; %lu seen\n",
                       run->role, run->known);
        printf("# %s: said yes/no: read %lu/%lu, write %lu/%lu, execute %lu/%lu\n", run->role,
               run->answers[0][1], run->answers[0][0], run->answers[1][1], run->answers[1][0],
               run->answers[2][1], run->answers[2][0]);
}

static bool find_disagreements(struct run *run, uint64_t seed, unsigned long count)
{
        bool is_fine = true;

        do {
                play_round(run, seed + run->rounds);
                if (run->rounds > 100 && run->compared < run->rounds)
                        break; /* nearly all of them are refused: it would never end */
        } while (run->compared < count && run->failed_rounds < ROUNDS_SHOWN && count > 1);
        print_figures(run, seed);
        if (!run->failed_rounds)
                is_fine = print_fact(run, true, "check_and_sandbox_agree");
        if (count < MINIMUM)
                return is_fine && !run->failed_rounds;
        /* Without namespaces whole presets are refused. */
        if (!run->is_bare)
                is_fine &=
                        print_fact(run, run->refused * 3 < run->rounds, "refused_policies_are_the_minority");
        is_fine &= print_fact(run, has_all(run->answers, run->compared / 100),
                              "every_answer_to_every_kind_of_access_is_compared");
        return is_fine && !run->failed_rounds;
}

/* The control of the whole: each kind of disagreement is seen when there is one. */
static bool notice_a_wrong_policy(struct run *run, uint64_t seed)
{
        run->is_self_test = true;
        for (uint64_t round = 0; round < SELF_TEST_ROUNDS && !has_all(run->disagreements, 3); round++)
                play_round(run, seed + round);
        return print_fact(run, has_all(run->disagreements, 3),
                          "another_policy_than_the_one_asked_is_noticed");
}

int main(int argc, char **argv)
{
        struct run run = { 0 }, self_test;
        uint64_t seed;
        unsigned long count;
        bool is_fine;

        if (argc != 6) {
                fprintf(stderr, "property ROLE DIRECTORY TOOLS SEED COUNT\n");
                return 2;
        }
        run.role = argv[1];
        run.is_bare = !strcmp(run.role, "bare");
        run.directory = realpath(argv[2], NULL);
        run.tools = realpath(argv[3], NULL);
        if (!run.directory || !run.tools)
                die("realpath", argv[2]);
        run.probe = join(run.tools, "probe");
        run.program = join(run.tools, "forty-two");
        run.policy_file = join(run.directory, "policy.yaml");
        seed = strtoull(argv[4], NULL, 10);
        count = strtoul(argv[5], NULL, 10);
        umask(022);
        self_test = run;
        is_fine = find_disagreements(&run, seed, count);
        if (count >= MINIMUM)
                is_fine &= notice_a_wrong_policy(&self_test, seed);
        puts("complete");
        free(run.tools);
        free(run.directory);
        free(run.probe);
        free(run.program);
        free(run.policy_file);
        return is_fine ? 0 : 1;
}
