/* secrets.c: what of a home a development command has no business reading, and which of it is there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

/* What a development command has no business reading. Existing ones are denied. In groups by the directory below home
 * that holds them, since one listing of a directory tells about all of its names. */
static const char *const home_secrets[] = {
        /* keys and password stores */
        ".ssh",
        ".gnupg",
        ".password-store",
        ".vault-token",
        ".netrc",
        ".authinfo",
        ".authinfo.gpg",
        ".age",
        /* cloud and cluster */
        ".aws",
        ".azure",
        ".boto",
        ".s3cfg",
        ".oci",
        ".kube",
        ".docker",
        ".fly",
        ".terraform.d",
        ".terraformrc",
        ".databrickscfg",
        ".snowflake",
        /* forges, registries, databases */
        ".git-credentials",
        ".npmrc",
        ".yarnrc.yml",
        ".pypirc",
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".gem/credentials",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".gradle/gradle.properties",
        ".composer/auth.json",
        ".nuget/NuGet",
        ".pgpass",
        ".my.cnf",
        ".cache/huggingface/token",
        /* browsers and messengers */
        ".mozilla",
        ".thunderbird",
        "snap/firefox",
        "snap/chromium",
        ".var/app",
        /* agents */
        ".claude",
        ".claude.json",
        ".codex",
        ".gemini",
        ".cursor",
        ".continue",
        ".aider.conf.yml",
        ".openclaw",
        ".openai",
        ".anthropic",
        /* what was typed */
        ".bash_history",
        ".zsh_history",
        ".python_history",
        ".node_repl_history",
        ".psql_history",
        ".mysql_history",
        NULL,
};

static const char *const config_secrets[] = {
        "op",
        "Bitwarden",
        "Bitwarden CLI",
        "1Password",
        "keepassxc",
        "sops",
        "gcloud",
        "doctl",
        "hcloud",
        "rclone",
        "fly",
        "heroku",
        "gh",
        "hub",
        "glab-cli",
        "google-chrome",
        "chromium",
        "BraveSoftware",
        "microsoft-edge",
        "vivaldi",
        "opera",
        "Signal",
        "Slack",
        "discord",
        "claude",
        "Claude",
        "github-copilot",
        "goose",
        "opencode",
        "openai",
        "containers/auth.json",
        "git/credentials",
        "composer/auth.json",
        NULL,
};

static const char *const share_secrets[] = {
        "keyrings", "kwalletd", "opencode", "goose", NULL,
};

static const struct secret_group {
        const char *directory; /* below home, or "" */
        const char *const *names;
        bool is_listed; /* cheaper than to ask for each name */
} secret_groups[] = {
        { "", home_secrets, true },
        { ".config", config_secrets, true },
        { ".local/share", share_secrets, false },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- which names a directory has ------------------------------------------------------------------------ */

enum { NAMES_MAX = 64, CLASSES = 128, NOT_LISTED = 0 };

/* What a directory has of a group's names, or of the first parts of those with a slash. One listing costs less than a
 * lookup for each of them. */
struct listing {
        const char *const *names;                      /* borrowed */
        unsigned char first[CLASSES], next[NAMES_MAX]; /* names of one hash: index + 1, 0 at the end */
        unsigned char types[NAMES_MAX];                /* as the directory tells them, + 1; or NOT_LISTED */
};

_Static_assert(COUNT(home_secrets) <= NAMES_MAX && COUNT(config_secrets) <= NAMES_MAX,
               "listing is too small");

static unsigned class_of(const char *name)
{
        unsigned hash = 5381;

        for (; *name && *name != '/'; name++)
                hash = hash * 33 + (unsigned char)*name;
        return hash % CLASSES;
}

static void add_names(struct listing *listing, const char *const *names)
{
        memset(listing, 0, sizeof(*listing));
        listing->names = names;
        for (unsigned i = 0; names[i]; i++) {
                unsigned char *first = &listing->first[class_of(names[i])];

                listing->next[i] = *first;
                *first = (unsigned char)(i + 1);
        }
}

static void note_entry(void *user, const char *found, unsigned char type)
{
        struct listing *listing = user;
        size_t length = strlen(found);

        for (unsigned at = listing->first[class_of(found)]; at; at = listing->next[at - 1]) {
                const char *name = listing->names[at - 1];

                if (!strncmp(name, found, length) && (!name[length] || name[length] == '/'))
                        listing->types[at - 1] = (unsigned char)(type + 1);
        }
}

/* ---- what exists is denied ------------------------------------------------------------------------------ */

/* An open directory that secrets are looked for in. */
struct place {
        int fd;
        const char *path;
        bool is_real; /* no symbolic link in the path */
};

/* Without a link on the way if there is none. A directory that few secrets are looked for in, or that its owner cannot
 * list, is searched by name. */
static int open_place(struct place *place, bool is_listed)
{
        const int how[] = { O_RDONLY | O_DIRECTORY, system_name_flags | O_DIRECTORY };

        place->fd = -1;
        for (int i = !is_listed; i < 2 && place->fd < 0; i++) {
                place->fd = reach_open_without_links(place->path, (unsigned)how[i]);
                place->is_real = place->fd >= 0;
                if (place->fd < 0 && (errno == ELOOP || errno == ENOSYS))
                        place->fd = reach_open(place->path, how[i]);
                if (place->fd < 0 && errno != EACCES)
                        break;
        }
        return place->fd;
}

/* `type` is what the directory's listing says of it. */
static int deny_if_exists(abatis_policy *policy, const struct place *place, const char *name,
                          unsigned char type, const char *origin, abatis_error *err)
{
        bool is_known = type == DT_DIR || type == DT_REG;
        unsigned mode = (unsigned)DTTOIF(type);
        OWN_FREE char *joined = NULL;
        struct stat status;

        if (!is_known || strchr(name, '/')) {
                if (!fstatat(place->fd, name, &status, AT_SYMLINK_NOFOLLOW))
                        mode = status.st_mode;
                else if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
                        return 0;
                else
                        return error_os(err, errno, "cannot examine '%s/%s'", place->path, name);
        }
        joined = path_join(place->path, name);
        if (!joined)
                return error_memory(err);
        if (place->is_real && !S_ISLNK(mode) && !strchr(name, '/'))
                return policy_add_examined(policy, RULE_DENY, joined, path_kind_of(mode), origin, err);
        return policy_add_rule(policy, RULE_DENY, joined, origin, err);
}

static int deny_group(abatis_policy *policy, const char *path, const struct secret_group *group,
                      const char *origin, abatis_error *err)
{
        struct place place = { .path = path };
        OWN_FD int directory = open_place(&place, group->is_listed);
        struct listing listing;
        bool is_listed;
        int r = 0;

        if (directory < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                               ? 0
                               : error_os(err, errno, "cannot open '%s'", path);
        add_names(&listing, group->names);
        is_listed = group->is_listed && system_list(directory, note_entry, &listing);
        for (unsigned i = 0; group->names[i] && !r; i++)
                if (!is_listed)
                        r = deny_if_exists(policy, &place, group->names[i], DT_UNKNOWN, origin, err);
                else if (listing.types[i] != NOT_LISTED)
                        r = deny_if_exists(policy, &place, group->names[i], listing.types[i] - 1, origin,
                                           err);
        return r;
}

int secrets_deny(abatis_policy *policy, const char *home, const char *origin, abatis_error *err)
{
        for (size_t i = 0; i < COUNT(secret_groups); i++) {
                const char *below = secret_groups[i].directory;
                OWN_FREE char *path = *below ? path_join(home, below) : strdup(home);
                int r = path ? deny_group(policy, path, &secret_groups[i], origin, err) : error_memory(err);

                if (r < 0)
                        return r;
        }
        return 0;
}
