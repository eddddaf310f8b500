/* policies.c: a home and a workspace in the scratch tree, and questions about rules. */
#define _GNU_SOURCE
#include "policies.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const abatis_host able = { .kernel = "6.18.0",
                           .machine = "aarch64",
                           .uid = 1000,
                           .gid = 1000,
                           .landlock_abi = 7,
                           .has_mount_setattr = true,
                           .namespaces = NAMESPACES_USER };

char refused_message[1024];
char check_text[32768];
static char *host_home; /* owned */

int policies_setup(void **state)
{
        const char *home = getenv("HOME");

        if (scratch_setup(state))
                return -1;
        host_home = home ? strdup(home) : NULL;
        setenv("HOME", make_dir("home"), 1);
        make_dir("ws");
        return 0;
}

int policies_teardown(void **state)
{
        if (host_home)
                setenv("HOME", host_home, 1);
        else
                unsetenv("HOME");
        free(host_home);
        host_home = NULL;
        return scratch_teardown(state);
}

static int make_policy(const char *preset, const char *workspace, const char *data, const char *config,
                       abatis_policy **out, abatis_error *err)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .preset = preset,
                                                .workspace = workspace,
                                                .data = data,
                                                .config = config,
                                                .layers = ABATIS_NO_DEFAULT_LIMITS };

        return abatis_policy_new(&options, out, err);
}

abatis_policy *new_policy_with(const char *preset, const char *workspace, const char *data,
                               const char *config)
{
        abatis_policy *policy = NULL;
        abatis_error err;

        if (make_policy(preset, workspace, data, config, &policy, &err) < 0)
                fail_msg("no policy %s: %s", preset, err.message);
        return policy;
}

abatis_policy *new_policy(const char *preset)
{
        return new_policy_with(preset, at("ws"), NULL, NULL);
}

int refused_policy(const char *preset, const char *workspace, const char *data, const char *config)
{
        abatis_policy *policy = NULL;
        abatis_error err = { .message = "" };
        int r = make_policy(preset, workspace, data, config, &policy, &err);

        assert_null(policy);
        assert_int_equal(err.code, r);
        assert_int_equal(make_policy(preset, workspace, data, config, &policy, NULL), r);
        snprintf(refused_message, sizeof(refused_message), "%s", err.message);
        return r;
}

void set(abatis_policy *policy, const char *key, const char *value)
{
        abatis_error err;

        if (abatis_policy_set(policy, key, value, &err) < 0)
                fail_msg("%s=%s: %s", key, value, err.message);
}

void assert_set_fails(abatis_policy *policy, const char *key, const char *value, const char *named)
{
        size_t rules = policy->rule_count;
        abatis_error err = { 0 };
        int r = abatis_policy_set(policy, key, value, &err);

        if (r >= 0)
                fail_msg("%s=%s was accepted", key, value);
        assert_int_equal(err.code, r);
        if (!strstr(err.message, named))
                fail_msg("%s=%s: '%s' does not say '%s'", key, value, err.message, named);
        assert_int_equal(abatis_policy_set(policy, key, value, NULL), r);
        if (policy->rule_count != rules)
                fail_msg("%s=%s failed and left a rule behind", key, value);
}

const struct rule *rule_for(const abatis_policy *policy, enum rule_kind kind, const char *path)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == kind && !strcmp(policy->rules[i].path, path))
                        return &policy->rules[i];
        return NULL;
}

size_t count_rules(const abatis_policy *policy, enum rule_kind kind)
{
        size_t count = 0;

        for (size_t i = 0; i < policy->rule_count; i++)
                count += policy->rules[i].kind == kind && path_is_below(policy->rules[i].path, at("%s", ""));
        return count;
}

bool may(const abatis_policy *policy, abatis_access access, const char *path)
{
        bool is_allowed = !strcmp(path, "/");

        policy_decide(policy, access, path, &is_allowed);
        return is_allowed;
}

bool check_says(abatis_policy *policy, abatis_access access, const char *path)
{
        abatis_error err;
        char *rule = NULL;
        int allowed = 2;

        if (abatis_policy_check(policy, access, path, &allowed, &rule, &err) < 0)
                fail_msg("check '%s': %s", path, err.message);
        assert_true(allowed == 0 || allowed == 1);
        assert_true(*rule);
        assert_null(strchr(rule, '\n'));
        snprintf(check_text, sizeof(check_text), "%s", rule);
        free(rule);
        return allowed;
}

const char *make_program(const char *relative, const char *loader)
{
        struct {
                Elf64_Ehdr header;
                Elf64_Phdr segments[3];
                char loader[512];
        } image = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
                                .e_type = ET_DYN,
                                .e_phoff = sizeof(image.header),
                                .e_phentsize = sizeof(image.segments[0]),
                                .e_phnum = 3 },
                    .segments = { { .p_type = PT_LOAD },
                                  { .p_type = loader ? PT_INTERP : PT_NULL },
                                  { .p_type = PT_GNU_STACK } } };
        const char *path = make_file(relative, "");
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (loader) {
                image.segments[1].p_offset = (Elf64_Off)((char *)image.loader - (char *)&image);
                image.segments[1].p_filesz = strlen(loader) + 1;
                snprintf(image.loader, sizeof(image.loader), "%s", loader);
        }
        assert_true(fd >= 0);
        assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
        close(fd);
        assert_int_equal(chmod(path, 0755), 0);
        return path;
}

const char *make_script(const char *relative, const char *first_line)
{
        const char *path = make_file(relative, first_line);

        assert_int_equal(chmod(path, 0755), 0);
        return path;
}

static bool write_to(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

        if (fd >= 0)
                close(fd);
        return is_written;
}

static bool enter_own_mounts(void)
{
        char users[32], groups[32];

        snprintf(users, sizeof(users), "%u %u 1", geteuid(), geteuid());
        snprintf(groups, sizeof(groups), "%u %u 1", getegid(), getegid());
        if (geteuid() && (unshare(CLONE_NEWUSER) < 0 || !write_to("/proc/self/setgroups", "deny") ||
                          !write_to("/proc/self/uid_map", users) || !write_to("/proc/self/gid_map", groups)))
                return false;
        return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int ask_with_own_mounts(int (*ask)(const void *argument), const void *argument)
{
        int status;
        pid_t pid = fork();

        if (!pid)
                _exit(enter_own_mounts() ? ask(argument) : 77);
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip();
        return WEXITSTATUS(status);
}

abatis_policy *policy_with_everything(void)
{
        abatis_policy *policy = new_policy("strict");

        make_dir("ws/denied");
        make_dir("ws/kept");
        set(policy, "filesystem.deny", at("ws/denied"));
        set(policy, "filesystem.protect", at("ws/kept"));
        set(policy, "filesystem.deny_glob", "**/.env");
        assert_int_equal(policy_add_glob(policy, RULE_PROTECT, "*.lock", "test", NULL), 0);
        set(policy, "network.mode", "unix-only");
        set(policy, "network.connect", "example.org:443");
        set(policy, "network.bind", "8080");
        set(policy, "network.unix", "/run/socket");
        set(policy, "process.commands", "git");
        set(policy, "process.commands", "sh");
        set(policy, "limits.timeout", "1s");
        set(policy, "limits.output", "1K");
        set(policy, "limits.open_files", "9");
        set(policy, "limits.file_size", "1K");
        set(policy, "limits.processes", "9");
        set(policy, "limits.memory", "1M");
        set(policy, "limits.cpu", "1s");
        set(policy, "limits.written", "1G");
        set(policy, "limits.connections", "9");
        set(policy, "limits.connections_per_second", "9");
        set(policy, "limits.traffic", "1G");
        return policy;
}
