/*
 * Measures launches on big hosts: from a process with much memory, in a workspace of many files, under a policy of many rules, among
 * many mounts. The first two must not be felt; of the others twice as many may cost twice as much, and no more.
 */
#define _GNU_SOURCE
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 31, BLOCKS = 5, BLOCK_ROUNDS = 60, SIZES = 3 };

/* The second half of something costs as much as the first; with a quadratic step it would cost three times as much. */
#define LINEAR_MAX 1.6
#define SAME_MAX 1.1

static const char *const payload[] = { "{bin}/true", NULL };

static void make_directory(const char *path)
{
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                die("cannot make %s: %s", path, strerror(errno));
}

static void enter(const char *path)
{
        if (chdir(path) < 0)
                die("cannot enter %s: %s", path, strerror(errno));
}

static void format_path(char out[PATH_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void format_path(char out[PATH_SIZE], const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        if (vsnprintf(out, PATH_SIZE, format, arguments) >= PATH_SIZE)
                die("the scratch directory's name is too long");
        va_end(arguments);
}

/* Medians of launches of these, in turn; of each in its own directory if it has one. */
static void measure_in_turn(const struct place *place, const struct command *commands,
                            const char *const *dirs, size_t count, double *medians)
{
        static double samples[SIZES + 1][ROUNDS];
        const char *const *environment = bench_environment(place);
        for (size_t round = 0; round < ROUNDS + 1; round++)
                for (size_t i = 0; i < count; i++) {
                        struct sample sample;
                        if (dirs != NULL)
                                enter(dirs[i]);
                        launch_checked("abatis", &commands[i], environment, &sample);
                        if (round > 0)
                                samples[i][round - 1] = sample.us;
                }
        for (size_t i = 0; i < count; i++)
                medians[i] = quantile(samples[i], ROUNDS, 0.5);
}

/* What the second half costs against the first. */
static void judge_growth(const struct place *place, const char *name, const size_t *sizes,
                         const double *medians)
{
        char bar[128];
        double growth = (medians[2] - medians[1]) / (medians[1] - medians[0]);
        printf("%-24s", name);
        for (size_t i = 0; i < SIZES; i++)
                printf(" %8zu: %6.1f ms", sizes[i], medians[i] / 1e3);
        printf("   %.2f\n", growth);
        figure_write(place, "big hosts", name, "least_us", medians[0], "half_us", medians[1], "most_us",
                     medians[2], NULL);
        snprintf(bar, sizeof bar, "big hosts: %s, the second half of them, times the first", name);
        bar_at_most(place, bar, growth, LINEAR_MAX);
}

/* ---- rules ---------------------------------------------------------------------------------------------- */

static void write_policy(const struct place *place, const char *path, const char *kind, const char *trees,
                         size_t count)
{
        FILE *file = fopen(path, "we");
        if (file == NULL)
                die("cannot write %s: %s", path, strerror(errno));
        fprintf(file, "version: 1\nfilesystem:\n  %s:\n", kind);
        for (size_t i = 0; i < count; i++)
                fprintf(file, "    - %s/%zu\n", trees, i);
        /* With a list of what is read nothing else is, not even the command. */
        if (strcmp(kind, "read") == 0)
                fprintf(file, "  execute:\n    - %s/bin\n", place->dir);
        if (fclose(file) != 0)
                die("cannot write %s", path);
}

static void measure_rules(const struct place *place, const char *base, const char *kind)
{
        static const size_t sizes[SIZES] = { 10, 505, 1000 };
        static struct command commands[SIZES];
        static char policies[SIZES][PATH_SIZE];
        char trees[PATH_SIZE], path[PATH_SIZE], name[64];
        double medians[SIZES];
        format_path(trees, "%s/trees", base);
        make_directory(trees);
        for (size_t i = 0; i < sizes[SIZES - 1]; i++) {
                format_path(path, "%s/%zu", trees, i);
                make_directory(path);
        }
        for (size_t i = 0; i < SIZES; i++) {
                format_path(policies[i], "%s/%s-%zu.yaml", base, kind, sizes[i]);
                write_policy(place, policies[i], kind, trees, sizes[i]);
                const char *words[] = {
                        "{abatis}", "run", "--no-audit", "--policy", policies[i], "--", NULL
                };
                command_init(&commands[i], place, &(struct contender){ .words = words }, payload);
        }
        measure_in_turn(place, commands, NULL, SIZES, medians);
        snprintf(name, sizeof name, "rules (%s)", kind);
        judge_growth(place, name, sizes, medians);
}

/* ---- mounts --------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                die("cannot write %s: %s", path, strerror(errno));
        close(fd);
}

static void enter_own_mounts(const char *base)
{
        char ids[2][32];
        snprintf(ids[0], sizeof ids[0], "%u %u 1", geteuid(), geteuid());
        snprintf(ids[1], sizeof ids[1], "%u %u 1", getegid(), getegid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                die("no namespaces: %s", strerror(errno));
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", ids[0]);
        write_file("/proc/self/gid_map", ids[1]);
        if (mount("mounts", base, "tmpfs", 0, NULL) < 0)
                die("cannot mount on %s: %s", base, strerror(errno));
}

static void add_mounts(const char *base, size_t from, size_t to)
{
        char path[PATH_SIZE];
        for (size_t i = from; i < to; i++) {
                format_path(path, "%s/%zu", base, i);
                make_directory(path);
                if (mount(path, path, NULL, MS_BIND, NULL) < 0)
                        die("cannot mount on %s: %s", path, strerror(errno));
        }
}

/* In a process of its own: it does not come back from there. */
static void measure_mounts(const struct place *place, const char *base)
{
        static const size_t sizes[SIZES] = { 0, 1000, 2000 };
        static struct command commands[2];
        double medians[SIZES], both[2] = { 0 };
        int status;
        fflush(stdout);
        pid_t pid = fork();
        if (pid < 0)
                die("cannot fork: %s", strerror(errno));
        if (pid > 0) {
                if (waitpid(pid, &status, 0) < 0 || status != 0)
                        die("mounts could not be measured");
                return;
        }
        bool has_peer = command_init(&commands[1], place, &bubblewrap, payload);
        command_init(&commands[0], place, &run_unlogged, payload);
        enter_own_mounts(base);
        for (size_t i = 0; i < SIZES; i++) {
                add_mounts(base, i ? sizes[i - 1] : 0, sizes[i]);
                measure_in_turn(place, commands, NULL, has_peer ? 2 : 1, both);
                medians[i] = both[0];
        }
        judge_growth(place, "mounts", sizes, medians);
        if (has_peer)
                printf("%-24s %35zu: %6.1f ms\n", "  the same, bubblewrap", sizes[SIZES - 1], both[1] / 1e3);
        fflush(stdout);
        _exit(0);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static void make_files(const char *dir, size_t directories, size_t files)
{
        char path[PATH_SIZE];
        for (size_t i = 0; i < directories; i++) {
                format_path(path, "%s/%zu", dir, i);
                make_directory(path);
                for (size_t j = 0; j < files; j++) {
                        format_path(path, "%s/%zu/%zu", dir, i, j);
                        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                        if (fd < 0)
                                die("cannot make %s: %s", path, strerror(errno));
                        close(fd);
                }
        }
}

static void measure_files(const struct place *place, const char *base)
{
        static struct command commands[2];
        char few[PATH_SIZE], many[PATH_SIZE];
        const char *const dirs[] = { few, many };
        double medians[2];
        format_path(few, "%s/few", base);
        format_path(many, "%s/many", base);
        make_directory(few);
        make_directory(many);
        make_files(many, 100, 1000);
        for (size_t i = 0; i < 2; i++)
                command_init(&commands[i], place, &run_unlogged, payload);
        measure_in_turn(place, commands, dirs, 2, medians);
        printf("%-24s %8d: %6.2f ms %6d: %6.2f ms   %.2f\n", "files in the workspace", 0, medians[0] / 1e3,
               100000, medians[1] / 1e3, medians[1] / medians[0]);
        bar_at_most(place, "big hosts: 100,000 files in the workspace, times none", medians[1] / medians[0],
                    SAME_MAX);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static size_t choose_size(void)
{
        const size_t wanted = (size_t)4 << 30;
        size_t pages = (size_t)sysconf(_SC_AVPHYS_PAGES), half = pages / 2 * (size_t)sysconf(_SC_PAGESIZE);
        return half < wanted ? half : wanted;
}

static void measure_memory(const struct place *place, const char *name, int spares)
{
        static struct command command;
        static double samples[2][BLOCKS * BLOCK_ROUNDS];
        size_t size = choose_size(), count = 0;
        abatis_sandbox *sandbox = jobs_open_sandbox_with(place, spares, "off");
        char bar[128];
        command_init(&command, place, &plain_spawn, payload);
        const struct jobs jobs = { .sandbox = sandbox,
                                   .argv = command.words,
                                   .environment = bench_environment(place),
                                   .at_once = 1 };
        jobs_run(&jobs, BLOCK_ROUNDS);
        for (size_t block = 0; block < BLOCKS; block++, count += BLOCK_ROUNDS)
                for (size_t is_big = 0; is_big < 2; is_big++) {
                        char *memory = is_big ? mmap(NULL, size, PROT_READ | PROT_WRITE,
                                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
                                              : NULL;
                        if (memory == MAP_FAILED)
                                die("no memory: %s", strerror(errno));
                        jobs_run(&jobs, 1);
                        for (size_t i = 0; i < BLOCK_ROUNDS; i++) {
                                usleep(500);
                                samples[is_big][count + i] = jobs_run(&jobs, 1);
                        }
                        if (is_big)
                                munmap(memory, size);
                }
        double small = quantile(samples[0], count, 0.5), big = quantile(samples[1], count, 0.5);
        printf("%-24s %8d: %6.2f ms %5.1fG: %6.2f ms   %.2f\n", name, 0, small / 1e3,
               (double)size / (1024.0 * 1024 * 1024), big / 1e3, big / small);
        figure_write(place, "big hosts", name, "small_us", small, "big_us", big, NULL);
        snprintf(bar, sizeof bar, "big hosts: %s, times with none", name);
        bar_at_most(place, bar, big / small, SAME_MAX);
        abatis_sandbox_free(sandbox);
}

int main(int argc, char **argv)
{
        static const char *const kinds[] = { "read", "write", "deny", "protect" };
        static struct place place;
        char base[PATH_SIZE], mounts[PATH_SIZE], workspace[PATH_SIZE];
        if (argc != 2)
                die("usage: hosts DIR");
        place_init(&place, argv[1]);
        format_path(base, "%s/hosts", place.dir);
        format_path(mounts, "%s/hosts/mounts", place.dir);
        format_path(workspace, "%s/workspace", place.dir);
        make_directory(base);
        make_directory(mounts);
        printf("big hosts: medians of launches\n");
        measure_memory(&place, "memory, begun anew", -1);
        measure_memory(&place, "memory, prepared", 1);
        measure_files(&place, base);
        enter(workspace);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                measure_rules(&place, base, kinds[i]);
        measure_mounts(&place, mounts);
        return 0;
}
