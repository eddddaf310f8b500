/* What the measuring programs share: the scratch place, the contenders, samples and the bars. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        PATH_SIZE = 4096,
        WORDS_MAX = 96,    /* words of one expanded command line, its NULL included */
        TEXT_SIZE = 16384, /* characters of one expanded command line */
        ATTEMPTS_MAX = 3,  /* a measurement that is too noisy is repeated this often in all */
        FILTER_FD = 9,
};

/* The scratch directory that run.sh lays out: bin/ home/ workspace/ repository/ and the overhead trees. */
struct place {
        char dir[PATH_SIZE];    /* also the file `bars` lies here */
        char abatis[PATH_SIZE]; /* the binary that is measured */
        char bwrap[PATH_SIZE];  /* empty when it is not on PATH */
};

enum start { START_SPAWN, START_FORK, START_VFORK };

/* One way to launch a command: these words, with {name} replaced, stand in front of it. */
struct contender {
        const char *name;
        const char *const *words; /* none: it is started alone */
        bool has_command;         /* the command is named elsewhere: see trees.sh */
        bool takes_filter;        /* it is given ours, on FILTER_FD */
        enum start start;
};

/* An expanded command line; the strings live in `text`. */
struct command {
        const char *words[WORDS_MAX];
        size_t count;
        enum start start;
        int filter; /* descriptor to read from the beginning, or -1 */
        char text[TEXT_SIZE];
        size_t used;
};

/* What one launch took, from before posix_spawn until it has been waited for. */
struct sample {
        double us;     /* by the wall clock */
        double cpu_us; /* user and system, of it and of every descendant that was waited for */
};

/* contenders.c */
extern const struct contender plain_spawn, run_abatis, run_with_pattern, run_asked_opens,
        run_asked_directories, run_unlogged, run_floor, run_least, bubblewrap;
extern const struct contender extra_contenders[];
extern const size_t extra_contender_count;
void place_init(struct place *place, const char *dir);
void command_add(struct command *command, const struct place *place, const char *template);
bool command_init(struct command *command, const struct place *place, const struct contender *contender,
                  const char *const *payload);
const char *const *bench_environment(const struct place *place);

/* sample.c */
double now_us(void);
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
int launch_once(const struct command *command, const char *const *environment, struct sample *out);
void launch_checked(const char *name, const struct command *command, const char *const *environment,
                    struct sample *out);
/* So many launches, so many of them at once; returns the microseconds that they took. */
double spawn_many(const struct command *command, const char *const *environment, size_t total,
                  size_t at_once);
double quantile(const double *samples, size_t count, double rank);
double spread_of_halves(const double *samples, size_t count);
void shuffle(size_t *order, size_t count, uint64_t *state);
/* For results.json: what a part has measured of somebody, in pairs of a key and a value up to NULL. */
void figure_write(const struct place *place, const char *part, const char *name, ...)
        __attribute__((sentinel));
void bar_at_most(const struct place *place, const char *name, double value, double limit);
void bar_at_least(const struct place *place, const char *name, double value, double limit);

#endif
