/* starters.c: protects what programs outside run, or take commands from: what a command leaves there would be run for it, later and
 * outside. */
#define _GNU_SOURCE
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "policy/compose.h"

/* In the workspace: settings of agents and editors that name hooks, servers and tasks, some of which start when the directory is
 * opened, or while an agent works in it. Not what a developer runs himself: build files are the command's work. */
static const char *const in_workspace[] = {
        ".abatis.yaml",
        ".aider.conf.yml",
        ".amazonq",
        ".claude",
        ".cline",
        ".codex",
        ".continue",
        ".crush.json",
        ".cursor",
        ".devcontainer",
        ".devcontainer.json",
        ".envrc",
        ".exrc",
        ".gemini",
        ".idea",
        ".junie",
        ".kilocode",
        ".kiro",
        ".mcp.json",
        ".nvim.lua",
        ".opencode",
        "opencode.json",
        "opencode.jsonc",
        ".qwen",
        ".roo",
        ".trae",
        ".vimrc",
        ".vscode",
        ".windsurf",
        ".zed",
        NULL,
};

/* In a home: what shells, sessions and git start with, directories that are usually in the PATH, and the same settings. */
static const char *const in_home[] = {
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".config/fish",
        ".inputrc",
        ".xprofile",
        ".xsession",
        ".xsessionrc",
        ".xinitrc",
        ".pam_environment",
        ".ssh",
        ".gitconfig",
        ".config/git",
        ".config/autostart",
        ".config/systemd",
        ".config/environment.d",
        ".local/bin",
        "bin",
        ".bun/bin",
        ".cargo/bin",
        ".deno/bin",
        ".npm-global/bin",
        "go/bin",
        ".local/share/systemd",
        ".config/plasma-workspace",
        ".config/tmux",
        ".config/zed",
        ".config/zsh",
        ".config/Claude",
        ".vim",
        ".vimrc",
        ".config/nvim",
        ".emacs",
        ".emacs.d",
        ".tmux.conf",
        ".direnvrc",
        ".config/direnv",
        ".npmrc",
        ".claude",
        ".claude.json",
        ".codex",
        ".gemini",
        ".cursor",
        ".continue",
        ".vscode",
        ".config/Code",
        ".config/Cursor",
        ".config/opencode",
        ".config/goose",
        ".aider.conf.yml",
        NULL,
};

static int protect_names(abatis_policy *policy, const char *directory, const char *const *names,
                         abatis_error *err)
{
        int r = 0;

        for (; *names && !r; names++) {
                OWN_FREE char *path = path_join(directory, *names);

                if (!path)
                        return error_memory(err);
                if (policy_may_write(policy, path))
                        r = policy_add_rule(policy, RULE_PROTECT, path, "starters", err);
        }
        return r;
}

/* One that is there has rules of its own (git.c); where there is none the command could make one, with hooks in it. */
static int protect_absent_repository(abatis_policy *policy, abatis_error *err)
{
        static const char *const name[] = { ".git", NULL };
        OWN_FREE char *path = path_join(policy->workspace, *name);
        struct stat status;

        if (!path)
                return error_memory(err);
        return reach_lstat(path, &status) < 0 ? protect_names(policy, policy->workspace, name, err) : 0;
}

int starters_protect(abatis_policy *policy, abatis_error *err)
{
        int r = protect_names(policy, policy->workspace, in_workspace, err);

        if (!r)
                r = protect_absent_repository(policy, err);

        for (size_t i = 0; i < 2 && policy->homes[i] && !r; i++)
                r = protect_names(policy, policy->homes[i], in_home, err);
        return r;
}
