/* preset.c: the built-in policies, as tables, and how one becomes rules for this user and workspace. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Root owns these and needs no capability to read them; for anybody else the file modes already refuse. */
static const char *const root_secrets[] = { "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-" };

/* Sockets behind which something runs commands for the caller, outside every sandbox. */
static const char *const control_sockets[] = {
        "/run/user",
        "/run/dbus",
        "/run/docker.sock",
        "/run/docker",
        "/run/containerd",
        "/run/podman",
        "/run/crio",
        "/run/libvirt",
        "/run/snapd.socket",
        "/run/lxd",
        "/run/incus",
        "/run/systemd/private",
        "/run/screen",
        "/var/snap/lxd/common/lxd/unix.socket",
        "/var/lib/lxd/unix.socket",
        "/var/lib/incus/unix.socket",
};

/* `strict` shows these and nothing else. */
const char *const preset_system_trees[] = { "/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                            "/libx32", "/etc", "/opt",  "/nix", "/gnu",   NULL };

/* `guard` keeps these from being written. */
static const char *const system_protects[] = { "/bin",     "/sbin",        "/usr/bin",   "/usr/sbin",
                                               "/usr/lib", "/usr/libexec", "/usr/lib32", "/usr/lib64",
                                               "/lib",     "/lib32",       "/lib64",     "/etc",
                                               "/boot",    "/proc",        "/sys",       "/dev" };

/* What else a preset says, as a file would. */
struct preset_setting {
        enum key_id key;
        const char *value;
};

/* For a program that computes. It has no processes to count, and root's could not be. */
static const struct preset_setting skill_settings[] = {
        { KEY_LOOPBACK, "false" },   { KEY_FORK, "false" },     { KEY_SYSTEM_CALLS, "few" },
        { KEY_MEMORY, "512MiB" },    { KEY_OPEN_FILES, "256" }, { KEY_CPU, "30s" },
        { KEY_FILE_SIZE, "256MiB" }, { KEY_WRITTEN, "256MiB" }, { KEY_TIMEOUT, "30s" },
        { KEY_OUTPUT, "1MiB" },
};

static const struct preset {
        const char *name, *origin;
        const struct preset_setting *settings;
        size_t setting_count;
        bool passes_named_only; /* of the environment, nothing */
        bool reads_all, reads_system, writes_workspace, has_private_tmp, denies_secrets, denies_data_root,
                is_guard;
        enum git_treatment git;
        enum network_mode network;
} presets[] = {
        { .name = "dev",
          .origin = "preset dev",
          .reads_all = true,
          .writes_workspace = true,
          .has_private_tmp = true,
          .denies_secrets = true,
          .git = GIT_PROTECTED,
          .network = NETWORK_DENY },
        { .name = "tool",
          .origin = "preset tool",
          .reads_all = true,
          .writes_workspace = true,
          .has_private_tmp = true,
          .denies_data_root = true,
          .git = GIT_DENIED,
          .network = NETWORK_DENY },
        { .name = "mcp",
          .origin = "preset mcp",
          .reads_all = true,
          .has_private_tmp = true,
          .denies_data_root = true,
          .git = GIT_DENIED,
          .network = NETWORK_ALLOW },
        { .name = "strict",
          .origin = "preset strict",
          .reads_system = true,
          .writes_workspace = true,
          .has_private_tmp = true,
          .denies_secrets = true,
          .git = GIT_PROTECTED,
          .network = NETWORK_DENY },
        { .name = "guard",
          .origin = "preset guard",
          .reads_all = true,
          .is_guard = true,
          .network = NETWORK_ALLOW },
        { .name = "skill",
          .origin = "preset skill",
          .settings = skill_settings,
          .setting_count = COUNT(skill_settings),
          .passes_named_only = true,
          .denies_secrets = true,
          .denies_data_root = true,
          .git = GIT_DENIED,
          .network = NETWORK_DENY },
};

const char *const preset_names[] = { "dev", "tool", "mcp", "strict", "guard", "skill", NULL };

bool preset_exists(const char *name)
{
        for (size_t i = 0; preset_names[i]; i++)
                if (!strcmp(preset_names[i], name))
                        return true;
        return false;
}

static const struct preset *find_preset(const char *name)
{
        for (size_t i = 0; i < COUNT(presets); i++)
                if (!strcmp(presets[i].name, name))
                        return &presets[i];
        return NULL;
}

const char *preset_origin(const char *name)
{
        return find_preset(name)->origin;
}

/* The account's home: $HOME may point elsewhere, and the keys do not move with it. */
int account_home(char **out, abatis_error *err)
{
        return system_account_home(out) ? error_memory(err) : 0;
}

/* Resolves an option that names a directory, or the working directory when it is NULL; the result is owned. */
static int resolve_directory(const char *what, const char *path, char **out, abatis_error *err)
{
        OWN_FREE char *real = path ? path_real(path) : reach_working_directory();
        struct stat status;

        if (!path)
                path = ".";
        if (!real)
                return error_os(err, errno, "%s '%s'", what, path);
        if (reach_stat(path, &status) < 0)
                return error_os(err, errno, "%s '%s'", what, path);
        if (!S_ISDIR(status.st_mode))
                return error_set(err, ABATIS_E_INVALID, "%s '%s' is not a directory", what, path);
        *out = take_pointer(real);
        return 0;
}

static int find_homes(abatis_policy *policy, abatis_error *err)
{
        const char *from_environment = getenv("HOME");
        OWN_FREE char *account = NULL;
        int r = account_home(&account, err);
        const char *candidates[2] = { from_environment, account };
        size_t found = 0;

        if (r < 0)
                return r;
        for (size_t i = 0; i < 2; i++) {
                char *real = NULL;

                if (!candidates[i] || *candidates[i] != '/' ||
                    (i && candidates[0] && !strcmp(candidates[0], candidates[1])))
                        continue;
                real = path_real(candidates[i]);
                if (!real && errno != ENOENT && errno != EACCES && errno != ENOTDIR)
                        return error_os(err, errno, "home directory '%s'", candidates[i]);
                /* A home of "/" (system accounts) would turn every path into one below home. */
                if (!real || !real[1] || (found && !strcmp(real, policy->homes[0]))) {
                        free(real);
                        continue;
                }
                policy->homes[found++] = real;
        }
        return 0;
}

static int add_existing(abatis_policy *policy, enum rule_kind kind, const char *const *paths, size_t count,
                        const char *origin, abatis_error *err)
{
        for (size_t i = 0; i < count; i++) {
                struct stat status;
                int r;

                if (lstat(paths[i], &status) < 0)
                        continue;
                r = policy_add_rule(policy, kind, paths[i], origin, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_system_path(const char *path)
{
        for (size_t i = 0; i < COUNT(system_protects); i++)
                if (!strcmp(path, system_protects[i]))
                        return true;
        return false;
}

/* Everything but the system is writable: each directory of the root by itself, not the root, whose entries (the link
 * /bin, say) could then be replaced. */
static int open_world(abatis_policy *policy, const char *origin, abatis_error *err)
{
        DIR *root = opendir("/");
        struct dirent *entry;
        int r = 0;

        if (!root)
                return error_os(err, errno, "cannot list '/'");
        while (!r && (entry = readdir(root))) {
                char path[sizeof(entry->d_name) + 1];
                struct stat status;

                snprintf(path, sizeof(path), "/%s", entry->d_name);
                if (*entry->d_name == '.' || is_system_path(path) || lstat(path, &status) < 0 ||
                    !S_ISDIR(status.st_mode))
                        continue;
                r = policy_add_rule(policy, RULE_WRITE, path, origin, err);
        }
        closedir(root);
        return r;
}

static int deny_below(abatis_policy *policy, const char *directory, const char *name, const char *origin,
                      abatis_error *err)
{
        OWN_FREE char *path = path_join(directory, name);

        return path ? policy_add_rule(policy, RULE_DENY, path, origin, err) : error_memory(err);
}

/* The agent's own files: `tool` and `mcp` deny the whole directory, `guard` what must not leak or change. */
static int add_data_rules(abatis_policy *policy, const struct preset *preset,
                          const abatis_policy_options *options, abatis_error *err)
{
        OWN_FREE char *config = NULL;
        int r = 0;

        if (policy->data && preset->denies_data_root)
                r = policy_add_rule(policy, RULE_DENY, policy->data, preset->origin, err);
        if (!r && policy->data && preset->is_guard)
                r = deny_below(policy, policy->data, "data", preset->origin, err);
        if (!r && policy->data && preset->is_guard)
                r = deny_below(policy, policy->data, "config.toml", preset->origin, err);
        if (r < 0 || !options->config)
                return r;
        config = path_real(options->config);
        if (!config)
                return error_os(err, errno, "configuration file '%s'", options->config);
        return policy_add_rule(policy, RULE_DENY, config, preset->origin, err);
}

int preset_deny_secrets(abatis_policy *policy, const char *origin, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < 2 && policy->homes[i] && !r; i++)
                r = secrets_deny(policy, policy->homes[i], origin, err);
        if (!r && !geteuid())
                r = add_existing(policy, RULE_DENY, root_secrets, COUNT(root_secrets), origin, err);
        return r;
}

static int open_workspace(abatis_policy *policy, const char *origin, abatis_error *err)
{
        const char *workspace = policy->workspace;

        if (path_is_below(workspace, "/proc") || path_is_below(workspace, "/dev") ||
            path_is_below(workspace, "/sys"))
                return error_set(
                        err, ABATIS_E_INVALID,
                        "the workspace '%s' lies where the command has a private directory; pass --workspace DIR",
                        workspace);
        if (path_is_below("/tmp", workspace))
                policy->has_private_tmp = false;
        return policy_add_rule(policy, RULE_WRITE, workspace, origin, err);
}

int preset_deny_control_sockets(abatis_policy *policy, abatis_error *err)
{
        return add_existing(policy, RULE_DENY, control_sockets, COUNT(control_sockets), "control sockets",
                            err);
}

int preset_open_system(abatis_policy *policy, enum rule_kind kind, const char *origin, abatis_error *err)
{
        return add_existing(policy, kind, preset_system_trees, COUNT(preset_system_trees) - 1, origin, err);
}

int preset_find_places(abatis_policy *policy, const abatis_policy_options *options, abatis_error *err)
{
        int r = resolve_directory("workspace", options->workspace, &policy->workspace, err);

        if (!r && options->program) {
                policy->program = path_real(options->program);
                if (!policy->program && errno == ENOMEM)
                        r = error_memory(err);
                if (!r && *options->program == '/') {
                        policy->called = strdup(options->program);
                        r = policy->called ? 0 : error_memory(err);
                }
        }
        if (!r && options->data)
                r = resolve_directory("data directory", options->data, &policy->data, err);
        return r ? r : find_homes(policy, err);
}

static int apply_settings(abatis_policy *policy, const struct preset *preset, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < preset->setting_count && !r; i++) {
                const struct setting setting = { .key = preset->settings[i].key,
                                                 .value = preset->settings[i].value,
                                                 .origin = preset->origin };

                r = policy_apply(policy, &setting, err);
                policy->has[setting.key] = true;
        }
        if (preset->passes_named_only) {
                policy_clear(policy, KEY_PASS);
                policy->has[KEY_PASS] = true;
        }
        return r;
}

int preset_apply(abatis_policy *policy, const char *name, const abatis_policy_options *options,
                 abatis_error *err)
{
        const struct preset *preset = find_preset(name);
        int r = 0;

        policy->preset = preset->name;
        policy->reads_all |= preset->reads_all;
        policy->executes_all |= preset->reads_all;
        policy->reaches_control_sockets |= preset->is_guard;
        policy->has_private_tmp |= preset->has_private_tmp;
        policy->network = preset->network;
        policy->has[KEY_READ] = policy->has[KEY_WRITE] = policy->has[KEY_EXECUTE] = policy->has[KEY_NETWORK] =
                true;

        if (!policy->workspace[1] && preset->writes_workspace)
                r = error_set(err, ABATIS_E_INVALID, "the workspace may not be '/'; pass --workspace DIR");
        if (!r && preset->reads_system)
                r = preset_open_system(policy, RULE_EXECUTE, preset->origin, err);
        if (!r && preset->reads_system)
                r = policy_add_rule(policy, RULE_EXECUTE, policy->workspace, preset->origin, err);
        if (!r && preset->writes_workspace)
                r = open_workspace(policy, preset->origin, err);
        if (!r && preset->is_guard)
                r = open_world(policy, preset->origin, err);
        if (!r && preset->is_guard)
                r = add_existing(policy, RULE_PROTECT, system_protects, COUNT(system_protects),
                                 preset->origin, err);
        if (!r && preset->denies_secrets)
                r = preset_deny_secrets(policy, preset->origin, err);
        if (!r)
                r = add_data_rules(policy, preset, options, err);
        if (!r)
                r = apply_settings(policy, preset, err);
        return r < 0 ? r : git_add_rules(policy, preset->git, preset->origin, err);
}

/* npx, by which most MCP servers are started, starts nothing without a cache that it can write; and the usual one holds programs that are
 * run outside. So under `mcp`, which writes nothing else, it has one in the private /tmp; never in one that others can write. */
int preset_give_cache(abatis_policy *policy, abatis_error *err)
{
        static const char variable[] = "npm_config_cache", item[] = "npm_config_cache=/tmp/npm";

        if (!policy->has_private_tmp || !policy->preset || strcmp(policy->preset, "mcp"))
                return 0;
        for (size_t i = 0; i < policy->environment.count; i++)
                if (strcspn(policy->environment.items[i], "=") == strlen(variable) &&
                    !strncmp(policy->environment.items[i], variable, strlen(variable)))
                        return 0;
        return strings_add(&policy->environment, item, err);
}
