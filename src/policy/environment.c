/* environment.c: the environment a command gets: everything but what looks like a secret or steers the loader. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"

/* Matched without regard to case. A `*` at the beginning or the end stands for any run of characters. */
static const char *const filtered[] = {
        "*API_KEY*",
        "*APIKEY*",
        "*_KEY",
        "*_KEYS",
        "*TOKEN",
        "*_TOKENS",
        "*_TOKEN_*",
        "TOKEN_*",
        "*AUTHTOKEN*",
        "*SECRET*",
        "*PASSWORD*",
        "*PASSWD*",
        "*PASSPHRASE*",
        "*PASS",
        "*_PWD",
        "*CREDENTIAL*",
        "*PRIVATE_KEY*",
        "*ACCESS_KEY*",
        "*_KEY_*",
        "*_AUTH",
        "*_COOKIE",
        "*_PAT",
        "*_JWT",
        "*_SK",
        "*_PEM",
        "AWS_*",
        "AZURE_*",
        "GH_*",
        "VAULT_*",
        "KUBECONFIG",
        "DOCKER_HOST",
        "DOCKER_AUTH_CONFIG",
        "*DATABASE_URL",
        "*_DSN",
        "*CONNECTION_STRING*",
        "*WEBHOOK*",
        /* ways to somebody else's process */
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GPG_AGENT_INFO",
        "DBUS_*",
        "XDG_RUNTIME_DIR",
        "GNOME_KEYRING_*",
        "XAUTHORITY",
        /* what steers the loader or a shell before its first line */
        "LD_*",
        "GCONV_PATH",
        "BASH_ENV",
        "ENV",
        "BASH_FUNC_*",
        "GLIBC_TUNABLES",
};

/* `name` is in upper case. */
static bool matches(const char *pattern, const char *name, size_t length)
{
        bool is_open_before = *pattern == '*';
        size_t wanted = strlen(pattern += is_open_before);
        bool is_open_after = pattern[wanted - 1] == '*';

        wanted -= is_open_after;
        if (length < wanted)
                return false;
        if (is_open_before && is_open_after)
                return memmem(name, length, pattern, wanted);
        if (!is_open_before && !is_open_after && length != wanted)
                return false;
        return !memcmp(is_open_before ? name + length - wanted : name, pattern, wanted);
}

bool environment_is_secret(const char *name, size_t length)
{
        char upper[256];

        /* No tool has a name this long; what hides in it is not passed on. */
        if (length > sizeof(upper))
                return true;
        for (size_t i = 0; i < length; i++)
                upper[i] = (char)toupper((unsigned char)name[i]);
        for (size_t i = 0; i < sizeof(filtered) / sizeof(*filtered); i++)
                if (matches(filtered[i], upper, length))
                        return true;
        return false;
}

/* The user's word on a variable: NAME passes it, NAME=VALUE replaces it. NULL when there is none. */
static const char *find_request(const abatis_policy *policy, const char *name, size_t length)
{
        const char *found = NULL;

        for (size_t i = 0; i < policy->environment.count; i++) {
                const char *item = policy->environment.items[i];

                if (strcspn(item, "=") == length && !memcmp(item, name, length))
                        found = item;
        }
        return found;
}

/* A temporary directory that does not exist inside would break every mktemp. */
static bool is_hidden_tmp(const abatis_policy *policy, const char *entry)
{
        bool is_allowed;

        if (strncmp(entry, "TMPDIR=/", 8))
                return false;
        policy_decide(policy, ABATIS_WRITE, entry + 7, &is_allowed);
        return !is_allowed && !(policy->has_private_tmp && !strcmp(entry + 7, "/tmp"));
}

/* scheme://user:password@host, whatever the variable is called and however many there are. */
static bool has_password_in_url(const char *value)
{
        while ((value = strstr(value, "://"))) {
                const char *at, *colon;

                value += 3;
                at = memchr(value, '@', strcspn(value, "/?# "));
                colon = at ? memchr(value, ':', (size_t)(at - value)) : NULL;
                if (colon && colon + 1 < at)
                        return true;
        }
        return false;
}

static bool is_passed(const abatis_policy *policy, const char *entry)
{
        size_t length = strcspn(entry, "=");
        const char *request = find_request(policy, entry, length);

        if (request)
                return !request[length];
        return entry[length] && !environment_is_secret(entry, length) &&
               !has_password_in_url(entry + length) && !is_hidden_tmp(policy, entry);
}

int environment_filter(const abatis_policy *policy, const char *const *envp, const char ***out,
                       abatis_error *err)
{
        size_t count = 0, kept = 0;
        const char **list;

        while (envp[count])
                count++;
        list = calloc(count + policy->environment.count + 1, sizeof(*list));
        if (!list)
                return error_memory(err);
        for (size_t i = 0; i < count; i++)
                if (is_passed(policy, envp[i]))
                        list[kept++] = envp[i];
        for (size_t i = 0; i < policy->environment.count; i++) {
                const char *item = policy->environment.items[i];

                /* A name that was set twice gets the last value. */
                if (strchr(item, '=') && find_request(policy, item, strcspn(item, "=")) == item)
                        list[kept++] = item;
        }
        *out = list;
        return 0;
}
