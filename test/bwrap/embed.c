/* embed.c: a program that opens a sandbox of bubblewrap's and then finds another one.
 *
 *   embed path DIRECTORY            PATH leads there by then
 *   embed replace OPENED REPLACED   makes a file and waits for another: then another program stands in its place */
#define _GNU_SOURCE
#include <fcntl.h>
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

static int redirect(char **argv)
{
        int fd;

        if (!strcmp(argv[1], "path"))
                return setenv("PATH", argv[2], 1);
        fd = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || close(fd))
                return -1;
        while (access(argv[3], F_OK))
                usleep(10000);
        return 0;
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

        if (argc < 3)
                return 2;
        job.argv = command;
        if (abatis_policy_new(&policy_options, &policy, &err) < 0 ||
            abatis_policy_set(policy, "audit.log", "off", &err) < 0 ||
            abatis_sandbox_open(policy, &options, &sandbox, &err) < 0) {
                fail(&err);
                return 3;
        }
        if (redirect(argv))
                return 4;
        if (abatis_run(sandbox, &job, &result, &err) < 0)
                return fail(&err);
        printf("ran by %s\n", abatis_sandbox_backend(sandbox));
        return abatis_result_exit_code(result);
}
