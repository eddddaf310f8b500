/* embed.c: a program that opens a sandbox of bubblewrap's and then finds another one.
 *
 *   embed path DIRECTORY IMPOSTOR       PATH leads to the impostor by then
 *   embed replace DIRECTORY IMPOSTOR    the impostor stands in its place by then */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <abatis.h>

static int fail(const abatis_error *err)
{
        printf("refused: %d: %s\n", -err->code, err->message);
        return err->code == ABATIS_E_BACKEND ? 0 : 1;
}

static int redirect(const char *way, const char *directory, const char *impostor)
{
        char path[4096];

        snprintf(path, sizeof(path), "%s/bwrap", directory);
        if (!strcmp(way, "replace"))
                return unlink(path) || symlink(impostor, path);
        snprintf(path, sizeof(path), "%s/..", impostor);
        return setenv("PATH", path, 1);
}

int main(int argc, char **argv)
{
        static const char *const command[] = { "/bin/true", NULL };
        const abatis_policy_options policy_options = { .size = sizeof(policy_options) };
        const abatis_sandbox_options options = { .size = sizeof(options), .backend = "bwrap" };
        abatis_job_options job = ABATIS_JOB_OPTIONS_INIT;
        abatis_policy *policy;
        abatis_sandbox *sandbox;
        abatis_result *result;
        abatis_error err;

        if (argc != 4)
                return 2;
        job.argv = command;
        if (abatis_policy_new(&policy_options, &policy, &err) < 0 ||
            abatis_policy_set(policy, "audit.log", "off", &err) < 0 ||
            abatis_sandbox_open(policy, &options, &sandbox, &err) < 0) {
                fail(&err);
                return 3;
        }
        if (redirect(argv[1], argv[2], argv[3]))
                return 4;
        if (abatis_run(sandbox, &job, &result, &err) < 0)
                return fail(&err);
        printf("ran by %s\n", abatis_sandbox_backend(sandbox));
        return abatis_result_exit_code(result);
}
