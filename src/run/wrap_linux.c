/* wrap_linux.c: hands a job over to bubblewrap.
 *
 * Init is as where there are no namespaces: it ends whoever is left, and with the host program. What it starts becomes bubblewrap, with
 * the plan's mounts as arguments, the filter and a program of ours (inner_linux.c) as descriptors. That one starts the command. */
#define _GNU_SOURCE
#include "run/wrap_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "run/bwrap_linux.h"
#include "run/images.h"
#include "run/inner_linux.h"
#include "run/memory_linux.h"
#include "run/request_linux.h"

static const char what[] = "the backend bwrap";

struct wrap {
        int image, settings, filter;
        int report[2], control[2];
        int *empties;
        size_t empty_count;
        long *passed; /* all that bubblewrap has, sorted */
        char image_path[32], settings_number[16], report_number[16], control_number[16];
        struct strings arguments;
        struct text texts; /* of the settings: reports name places in them */
        bool has_report;
};

/* ---- descriptors ---------------------------------------------------------------------------------------- */

static int open_empties(struct wrap *wrap, const struct plan *plan, bool has_modes, abatis_error *err)
{
        const size_t count = has_modes ? bwrap_count_empties(plan) : 0;

        wrap->empties = calloc(count + 1, sizeof(*wrap->empties));
        wrap->passed = calloc(count + 8, sizeof(*wrap->passed));
        if (!wrap->empties || !wrap->passed)
                return error_memory(err);
        for (; wrap->empty_count < count; wrap->empty_count++) {
                int fd = fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));

                if (fd < 0)
                        return error_os(err, errno, "cannot open a descriptor for each hidden file");
                wrap->empties[wrap->empty_count] = fd;
        }
        return 0;
}

static int open_files(struct wrap *wrap, const struct resources *resources, abatis_error *err)
{
        int r = bwrap_check(&resources->host->bwrap, err);

        if (r < 0)
                return r;
        wrap->image = memory_file(MEMORY_PROGRAM, "abatis inner", inner_image, inner_image_size, what, err);
        if (wrap->image < 0)
                return wrap->image;
        wrap->settings = memory_file(MEMORY_DATA, "abatis settings", "", 0, what, err);
        if (wrap->settings < 0)
                return wrap->settings;
        wrap->filter = memory_file(MEMORY_DATA, "abatis filter", "", 0, what, err);
        if (wrap->filter < 0)
                return wrap->filter;
        if (pipe2(wrap->report, O_CLOEXEC) < 0 || fds_above_stdio(wrap->report) < 0 ||
            pipe2(wrap->control, O_CLOEXEC | O_NONBLOCK) < 0 || fds_above_stdio(wrap->control) < 0)
                return error_os(err, errno, "cannot reach who is inside bubblewrap");
        return 0;
}

static int compare_numbers(const void *left, const void *right)
{
        const long a = *(const long *)left, b = *(const long *)right;

        return a < b ? -1 : a > b;
}

int wrap_open(struct job *job, abatis_error *err)
{
        const bool has_modes = bwrap_has_modes(&job->context.resources->host->bwrap);
        struct wrap *wrap;
        size_t count = 0;
        int r;

        /* With its terminal the command is in bubblewrap's session, and could stop that. */
        if (job->options.terminal && job->context.resources->host->landlock_abi < LANDLOCK_WITH_SCOPES)
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "a terminal inside bubblewrap needs Landlock's ABI 6; fix: the native backend");
        wrap = calloc(1, sizeof(*wrap));
        if (!wrap)
                return error_memory(err);
        wrap->image = wrap->settings = wrap->filter = wrap->report[0] = wrap->report[1] = wrap->control[0] =
                wrap->control[1] = -1;
        job->wrap = wrap;
        r = open_files(wrap, job->context.resources, err);
        if (!r)
                r = open_empties(wrap, job->context.plan, has_modes, err);
        if (r < 0)
                return r;
        for (; count < wrap->empty_count; count++)
                wrap->passed[count] = wrap->empties[count];
        wrap->passed[count++] = wrap->image;
        wrap->passed[count++] = wrap->settings;
        wrap->passed[count++] = wrap->filter;
        wrap->passed[count++] = wrap->report[1];
        wrap->passed[count++] = wrap->control[0];
        qsort(wrap->passed, count, sizeof(*wrap->passed), compare_numbers);
        return 0;
}

void wrap_close_ends(struct wrap *wrap)
{
        int *const fds[] = { &wrap->image,     &wrap->settings,   &wrap->filter,
                             &wrap->report[1], &wrap->control[0], &wrap->control[1] };

        for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
                if (*fds[i] >= 0)
                        close(*fds[i]);
                *fds[i] = -1;
        }
        while (wrap->empty_count)
                close(wrap->empties[--wrap->empty_count]);
}

void wrap_free(struct wrap *wrap)
{
        if (!wrap)
                return;
        wrap_close_ends(wrap);
        if (wrap->report[0] >= 0)
                close(wrap->report[0]);
        strings_done(&wrap->arguments);
        text_done(&wrap->texts);
        free(wrap->empties);
        free(wrap->passed);
        free(wrap);
}

/* ---- what the one inside is told ------------------------------------------------------------------------ */

static void add_rules(struct text *out, struct text *texts, const struct resources *resources)
{
        for (size_t i = 0; i < resources->child.rule_count; i++) {
                const struct child_rule *rule = &resources->rules[i];
                struct inner_rule told = { .allowed = rule->allowed, .path = request_add(texts, rule->path) };

                for (size_t j = 0; rule->except && rule->except[j]; j++) {
                        uint32_t place = request_add(texts, rule->except[j]);

                        told.except = told.except ? told.except : place;
                        told.except_count++;
                }
                text_add_bytes(out, &told, sizeof(told));
        }
}

static bool is_mounted(enum plan_op op)
{
        return op == PLAN_HIDE || op == PLAN_PROTECT || op == PLAN_PIN || op == PLAN_WRITABLE ||
               op == PLAN_SHOW;
}

static void note_identity(const struct stat *status, struct inner_cover *cover)
{
        cover->inode = status->st_ino;
        cover->major = major(status->st_dev);
        cover->minor = minor(status->st_dev);
}

/* What is there now, no link followed. */
static int identify(const struct step *step, struct inner_cover *cover, abatis_error *err)
{
        long fd = child_walk(step->path);
        struct stat status;
        int r = fd < 0 ? (int)fd : 0;

        if (!r && fstat((int)fd, &status) < 0)
                r = -errno;
        if (fd >= 0)
                close((int)fd);
        if (r < 0)
                return error_os(err, -r, "'%s' is not what it was when the plan was made", step->path);
        note_identity(&status, cover);
        return 0;
}

/* One that we have made. */
static int identify_mask(const struct step *step, const char *masks, struct inner_cover *cover,
                         abatis_error *err)
{
        OWN_FREE char *path = text_join(masks, "/", bwrap_mask_name(step));
        struct stat status;

        if (!path)
                return error_memory(err);
        if (lstat(path, &status) < 0)
                return error_os(err, errno, "cannot find the mask '%s'", path);
        note_identity(&status, cover);
        cover->is_known = 1;
        return 0;
}

static int add_covers(struct text *out, struct text *texts, const struct plan *plan, const char *masks,
                      struct inner_settings *settings, abatis_error *err)
{
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *step = &plan->steps[i];
                struct inner_cover cover = { .is_mask = step->op == PLAN_HIDE };
                /* One that is not in view is made where it is hidden. */
                const bool is_made = cover.is_mask && step->value == PATH_ABSENT;
                int r = is_mounted(step->op) && !is_made ? identify(step, &cover, err) : 0;

                if (!r && cover.is_mask && masks)
                        r = identify_mask(step, masks, &cover, err);
                if (r < 0)
                        return r;
                if (!is_mounted(step->op))
                        continue;
                cover.path = request_add(texts, step->path);
                text_add_bytes(out, &cover, sizeof(cover));
                settings->cover_count++;
        }
        return 0;
}

static int write_settings(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;
        const struct plan *plan = job->context.plan;
        const bool has_modes = bwrap_has_modes(&resources->host->bwrap);
        struct wrap *wrap = job->wrap;
        struct inner_settings settings = { .ruleset = resources->child.ruleset,
                                           .ruleset_size = resources->child.ruleset_size,
                                           .rule_count = (uint32_t)resources->child.rule_count,
                                           .opens_tmp = !has_modes && plan_has(plan, PLAN_PRIVATE_TMP),
                                           .opens_shm = !has_modes && plan_has(plan, PLAN_PRIVATE_SHM) };
        OWN_TEXT struct text lists = { 0 };
        /* A session of its own comes first, and would have no terminal. */
        const size_t first = job->options.terminal;
        int r = request_write(&job->child, &resources->child.calls, (const char *const *)job->stdio.paths,
                              &settings.request, &wrap->texts, err);

        if (r < 0)
                return r;
        settings.steps = (uint32_t)sizeof(settings);
        settings.step_count = (uint32_t)(resources->inside.command_count - first);
        text_add_bytes(&lists, &resources->inside.command[first],
                       settings.step_count * sizeof(*resources->inside.command));
        settings.rules = (uint32_t)(sizeof(settings) + lists.length);
        add_rules(&lists, &wrap->texts, resources);
        settings.covers = (uint32_t)(sizeof(settings) + lists.length);
        r = add_covers(&lists, &wrap->texts, plan, has_modes ? NULL : job->child.own_tmp, &settings, err);
        if (r < 0)
                return r;
        settings.texts = (uint32_t)(sizeof(settings) + lists.length);
        settings.size = settings.texts + wrap->texts.length;
        if (lists.has_failed || wrap->texts.has_failed)
                return error_memory(err);
        if (memory_write(wrap->settings, &settings, sizeof(settings)) < 0 ||
            memory_write(wrap->settings, lists.data, lists.length) < 0 ||
            memory_write(wrap->settings, wrap->texts.data, wrap->texts.length) < 0)
                return error_os(err, errno, "cannot tell who is inside bubblewrap what to do");
        return 0;
}

static int write_filter(const struct job *job, abatis_error *err)
{
        const struct sock_fprog *filter =
                job->child.closed ? job->child.closed : &job->context.resources->child.filter;
        const int fd = job->wrap->filter;

        /* It is read from where it is. */
        if (memory_write(fd, filter->filter, filter->len * sizeof(*filter->filter)) < 0 ||
            lseek(fd, 0, SEEK_SET) < 0)
                return error_os(err, errno, "cannot give bubblewrap the filter");
        return 0;
}

int wrap_fill(struct job *job, abatis_error *err)
{
        static const char *const environment[] = { NULL };
        const abatis_policy *policy = job->context.policy;
        struct wrap *wrap = job->wrap;
        const char *const inside[] = { wrap->settings_number, wrap->report_number, wrap->control_number,
                                       NULL };
        struct bwrap_order order = { .bwrap = &job->context.resources->host->bwrap,
                                     .steps = job->context.plan->steps,
                                     .step_count = job->context.plan->step_count,
                                     .has_own_network = policy->network != NETWORK_ALLOW,
                                     .filter = wrap->filter,
                                     .empties = wrap->empties,
                                     .program = wrap->image_path,
                                     .arguments = inside };
        int r = 0;

        if (!bwrap_has_modes(order.bwrap)) {
                r = job_make_masks(job, BWRAP_MASK_FILE, BWRAP_MASK_DIRECTORY, err);
                order.masks = job->child.own_tmp;
        }
        if (!r)
                r = write_settings(job, err);
        if (!r)
                r = write_filter(job, err);
        snprintf(wrap->image_path, sizeof(wrap->image_path), "/proc/self/fd/%d", wrap->image);
        snprintf(wrap->settings_number, sizeof(wrap->settings_number), "%d", wrap->settings);
        snprintf(wrap->report_number, sizeof(wrap->report_number), "%d", wrap->report[1]);
        snprintf(wrap->control_number, sizeof(wrap->control_number), "%d", wrap->control[0]);
        if (!r)
                r = bwrap_arguments(&order, &wrap->arguments, err);
        if (r < 0)
                return r;
        job->child.program = order.bwrap->path;
        job->child.argv = (const char *const *)wrap->arguments.items;
        job->child.envp = environment;
        job->child.passed = wrap->passed;
        job->child.passed_count = (int)wrap->empty_count + 5;
        job->child.control = wrap->control[1];
        return 0;
}

/* ---- what it says --------------------------------------------------------------------------------------- */

void wrap_conclude(struct job *job)
{
        struct wrap *wrap = job->wrap;
        struct child_job *child = &job->child;
        struct inner_report report;

        if (wrap->has_report)
                return;
        if (fcntl(wrap->report[0], F_SETFL, O_NONBLOCK) < 0 ||
            read(wrap->report[0], &report, sizeof(report)) != sizeof(report)) {
                /* Who was inside was killed: bubblewrap says so by its exit code. */
                if (child->has_status && WIFEXITED(child->status) && WEXITSTATUS(child->status) > 128)
                        child->status = WEXITSTATUS(child->status) - 128;
                return;
        }
        wrap->has_report = true;
        child->has_status = report.has_status;
        child->status = report.status;
        if (!report.has_failed)
                return;
        child->has_failed = true;
        child->failed_in_init = report.failed_op == COMMAND_WAIT;
        child->failed_op = (enum command_op)report.failed_op;
        child->failed_plan_op = (unsigned)report.failed_plan_op;
        child->failed_errno = report.failed_errno;
        child->failed_path = report.failed_path ? wrap->texts.data + report.failed_path : NULL;
        child->program = job->program;
}

int wrap_report(const struct job *job, abatis_error *err)
{
        const struct child_job *child = &job->child;

        if (job->wrap->has_report || !child->has_status || !WIFEXITED(child->status))
                return 0;
        return error_set(
                err, ABATIS_E_SYSTEM,
                "bubblewrap ended with exit code %d before the command began; its own words are on stderr",
                WEXITSTATUS(child->status));
}
