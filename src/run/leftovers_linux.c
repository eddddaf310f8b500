/* leftovers_linux.c: finds out what must not be there after the commands of a sandbox, and tells what was. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "run/job_linux.h"

/* The path of a directory without a link in it, owned by the caller; NULL in *out where there is none. */
static int find_directory(const char *path, char **out, abatis_error *err)
{
        *out = path_has_no_link(path) ? strdup(path) : path_real(path);
        return !*out && errno == ENOMEM ? error_memory(err) : 0;
}

/* The directories of one repository follow each other. */
static int add(struct resources *resources, const abatis_policy *policy, const char *directory,
               const char *path, abatis_error *err)
{
        struct child_leftover *leftover = &resources->leftovers[resources->leftover_count];
        struct strings *strings = &resources->strings;
        struct stat status;
        int r = 0;

        if (!strings->count || strcmp(strings->items[strings->count - 1], directory) != 0)
                r = strings_add(strings, directory, err);
        if (r < 0)
                return r;
        leftover->directory = strings->items[strings->count - 1];
        leftover->name = strrchr(path, '/') + 1;
        if (!policy_may_write(policy, path) && !reach_lstat(path, &status))
                leftover->known = status.st_ino;
        resources->leftover_count++;
        return 0;
}

int leftovers_find(const abatis_policy *policy, struct resources *resources, abatis_error *err)
{
        const struct strings *paths = &policy->leftovers;
        int r = 0;

        if (!paths->count)
                return 0;
        resources->leftovers = calloc(paths->count, sizeof(*resources->leftovers));
        if (!resources->leftovers)
                return error_memory(err);
        for (size_t i = 0; i < paths->count && !r; i++) {
                const char *path = paths->items[i];
                OWN_FREE char *above = strndup(path, (size_t)(strrchr(path, '/') - path)), *directory = NULL;

                if (!above)
                        return error_memory(err);
                if (!git_leftover_is_possible(policy, path))
                        continue;
                r = find_directory(above, &directory, err);
                if (!r && directory)
                        r = add(resources, policy, directory, path, err);
        }
        return r;
}

int job_expect_leftovers(struct job *job, abatis_error *err)
{
        const struct resources *resources = job->context.resources;

        if (!resources->leftover_count)
                return 0;
        job->child.findings = calloc(resources->leftover_count, sizeof(*job->child.findings));
        if (!job->child.findings)
                return error_memory(err);
        job->child.leftovers = resources->leftovers;
        __atomic_store_n(&job->child.leftover_count, resources->leftover_count, __ATOMIC_RELEASE);
        return 0;
}

static int tell(const struct child_leftover *leftover, const struct child_finding *finding,
                struct strings *out, abatis_error *err)
{
        char name[CHILD_ASIDE_SIZE];
        OWN_FREE char *path = text_join(leftover->directory, "/", leftover->name), *aside = NULL;
        int r;

        child_leftover_name(leftover->name, finding->number, name);
        aside = finding->is_moved ? text_join(leftover->directory, "/", name) : strdup("");
        if (!path || !aside)
                return error_memory(err);
        r = strings_add(out, path, err);
        return r ? r : strings_add(out, aside, err);
}

static int fail(const struct child_leftover *leftover, int error, abatis_error *err)
{
        error_os(
                err, error,
                "'%s/%s' may lead git to programs of the command's, and cannot be moved aside; remove it before "
                "git is used there",
                leftover->directory, leftover->name);
        if (err)
                err->code = ABATIS_E_NO_RESULT;
        return ABATIS_E_NO_RESULT;
}

int job_clear_leftovers(struct job *job, struct job_outcome *out, abatis_error *err)
{
        const struct child_job *child = &job->child;
        int r = 0;

        child_leftovers_clear(&job->child);
        for (size_t i = 0; i < child->leftover_count && !r; i++) {
                const struct child_finding *finding = &child->findings[i];

                if (finding->error)
                        return fail(&child->leftovers[i], finding->error, err);
                if (out && (finding->is_moved || finding->is_removed))
                        r = tell(&child->leftovers[i], finding, &out->set_aside, err);
        }
        return r;
}
