/* cli_windows.c: what the command line asks of Windows, and what it has not there. */
#include <stdio.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "cli/cli.h"
#include "cli/trials.h"

const char *own_program(void)
{
        static wchar_t name[PATH_MAX];
        DWORD length = GetModuleFileNameW(NULL, name, PATH_MAX);

        return length && length < PATH_MAX ? wide_path_name(name) : NULL;
}

void read_path(char *word)
{
        wide_path_read(word);
}

int cmd_audit(char **argv)
{
        (void)argv;
        return complain("there is no audit log on Windows yet");
}

int cmd_serve(char **argv)
{
        (void)argv;
        return complain("serve is not for Windows yet");
}

int cmd_exec_request(char **argv)
{
        (void)argv;
        return complain("exec-request is not for Windows yet");
}

int cmd_sh(char **argv)
{
        (void)argv;
        return complain("abatis-sh is not for Windows yet");
}

int cmd_skill(char **argv)
{
        (void)argv;
        return complain("skills are not for Windows yet");
}

int cmd_hook(char **argv)
{
        (void)argv;
        return complain("hook is not for Windows yet");
}

int cmd_mcp(char **argv)
{
        (void)argv;
        return complain("mcp is not for Windows yet");
}

int cmd_mcp_wrap(char **argv)
{
        (void)argv;
        return complain("mcp-wrap is not for Windows yet");
}

int cmd_file_inside(char **argv)
{
        (void)argv;
        return complain("mcp is not for Windows yet");
}

int trials_run(json_t *report)
{
        (void)report;
        return complain("doctor --test is for Linux yet; here, test/windows of the sources does it");
}

int cmd_doctor_inside(char **argv)
{
        (void)argv;
        return complain("doctor --test is for Linux yet");
}
