/* bwrap_linux.h: bubblewrap: what it is told, and whether it can be used here. */
#ifndef RUN_BWRAP_LINUX_H
#define RUN_BWRAP_LINUX_H

#include "plan/plan.h"

/* What becomes arguments, of a plan or of a trial. */
struct bwrap_order {
        const struct host_bwrap *bwrap; /* borrowed, as all here */
        const struct step *steps;
        size_t step_count;
        bool has_own_network;
        int filter;          /* descriptor that the filter is read from, or -1 */
        const int *empties;  /* descriptors that nothing is read from, one for each file that is hidden */
        const char *masks;   /* a directory that has these two, where bubblewrap gives no modes; else NULL */
        const char *program; /* that is PID 1, and its arguments: they end with NULL */
        const char *const *arguments;
};

#define BWRAP_MASK_FILE "file"
#define BWRAP_MASK_DIRECTORY "directory"

/* Which of the two hides this. */
const char *bwrap_mask_name(const struct step *step);
/* Whether it gives what it makes a mode: from 0.5 on. */
bool bwrap_has_modes(const struct host_bwrap *bwrap);
/* Everything from argv[0] on, and NULL behind the last. */
int bwrap_arguments(const struct bwrap_order *order, struct strings *out, abatis_error *err);
/* How many files are hidden, rather than directories. */
size_t bwrap_count_empties(const struct plan *plan);
/* An error when another program is there now than the one that was tried. Nobody but who may put one there can change it after that. */
int bwrap_check(const struct host_bwrap *bwrap, abatis_error *err);

#endif
