/* environment.c: the environment a command gets: everything but what looks like a secret or steers the loader. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"

/* Where in a name, which is in upper case by then, the text stands. */
enum position { WHOLE, BEGINNING, END, ANYWHERE };

struct pattern {
        enum position position;
        size_t length; /* counted by the compiler: a launch compares all of them with every variable */
        const char *text;
};

#define IS(text)                              \
        {                                     \
                WHOLE, sizeof(text) - 1, text \
        }
#define STARTS(text)                              \
        {                                         \
                BEGINNING, sizeof(text) - 1, text \
        }
#define ENDS(text)                          \
        {                                   \
                END, sizeof(text) - 1, text \
        }
#define HAS(text)                                \
        {                                        \
                ANYWHERE, sizeof(text) - 1, text \
        }

static const struct pattern filtered[] = {
        HAS("API_KEY"),
        HAS("APIKEY"),
        ENDS("_KEY"),
        ENDS("_KEYS"),
        ENDS("TOKEN"),
        ENDS("_TOKENS"),
        HAS("_TOKEN_"),
        STARTS("TOKEN_"),
        HAS("AUTHTOKEN"),
        HAS("SECRET"),
        HAS("PASSWORD"),
        HAS("PASSWD"),
        HAS("PASSPHRASE"),
        ENDS("PASS"),
        ENDS("_PWD"),
        HAS("CREDENTIAL"),
        HAS("PRIVATE_KEY"),
        HAS("ACCESS_KEY"),
        HAS("_KEY_"),
        ENDS("_AUTH"),
        ENDS("_COOKIE"),
        ENDS("_PAT"),
        ENDS("_JWT"),
        ENDS("_SK"),
        ENDS("_PEM"),
        STARTS("AWS_"),
        STARTS("AZURE_"),
        STARTS("GH_"),
        STARTS("VAULT_"),
        IS("KUBECONFIG"),
        IS("DOCKER_HOST"),
        IS("DOCKER_AUTH_CONFIG"),
        ENDS("DATABASE_URL"),
        ENDS("_DSN"),
        HAS("CONNECTION_STRING"),
        HAS("WEBHOOK"),
        /* ways to somebody else's process */
        IS("SSH_AUTH_SOCK"),
        IS("SSH_AGENT_PID"),
        IS("GPG_AGENT_INFO"),
        STARTS("DBUS_"),
        IS("XDG_RUNTIME_DIR"),
        STARTS("GNOME_KEYRING_"),
        IS("XAUTHORITY"),
        /* what steers the loader or a shell before its first line */
        STARTS("LD_"),
        IS("GCONV_PATH"),
        IS("BASH_ENV"),
        IS("ENV"),
        STARTS("BASH_FUNC_"),
        IS("GLIBC_TUNABLES"),
};

/* memmem() prepares itself for long texts each time. */
static bool contains(const char *name, size_t length, const struct pattern *pattern)
{
        const char *last = name + length - pattern->length;

        for (; name <= last; name++)
                /* NOLINTNEXTLINE(clang-analyzer-core.*): all of the name was filled */
                if (*name == *pattern->text && !memcmp(name, pattern->text, pattern->length))
                        return true;
        return false;
}

static bool matches(const struct pattern *pattern, const char *name, size_t length)
{
        if (length < pattern->length)
                return false;
        switch (pattern->position) {
        case WHOLE:
                return length == pattern->length && !memcmp(name, pattern->text, length);
        case BEGINNING:
                return !memcmp(name, pattern->text, pattern->length);
        case END:
                return !memcmp(name + length - pattern->length, pattern->text, pattern->length);
        case ANYWHERE:
                return contains(name, length, pattern);
        }
        return true;
}

bool environment_is_secret(const char *name, size_t length)
{
        char upper[256];

        /* No tool has a name this long; what hides in it is not passed on. */
        if (length > sizeof(upper))
                return true;
        for (size_t i = 0; i < length; i++)
                upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
        for (size_t i = 0; i < sizeof(filtered) / sizeof(*filtered); i++)
                if (matches(&filtered[i], upper, length))
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

/* A name with * in it for any characters; compared as it is written. */
static bool matches_mask(const char *mask, const char *name, size_t length)
{
        const char *star = NULL;
        size_t at = 0, resume = 0;

        while (at < length) {
                if (*mask == '*') {
                        star = mask++;
                        resume = at;
                } else if (*mask == name[at]) {
                        mask++;
                        at++;
                } else if (star) {
                        mask = star + 1;
                        at = ++resume;
                } else
                        return false;
        }
        return !mask[strspn(mask, "*")];
}

static bool is_denied(const abatis_policy *policy, const char *name, size_t length)
{
        for (size_t i = 0; i < policy->environment_denied.count; i++)
                if (matches_mask(policy->environment_denied.items[i], name, length))
                        return true;
        return false;
}

static bool is_plainly_named(const abatis_policy *policy, const char *name, size_t length)
{
        for (size_t i = 0; i < policy->environment_plain.count; i++) {
                const char *item = policy->environment_plain.items[i];

                if (strlen(item) == length && !memcmp(item, name, length))
                        return true;
        }
        return false;
}

static bool is_passed(const abatis_policy *policy, const char *entry)
{
        size_t length = strcspn(entry, "=");
        const char *request = find_request(policy, entry, length);

        if (is_denied(policy, entry, length))
                return false;
        if (request)
                return !request[length];
        if (policy->passes_named_only && !is_plainly_named(policy, entry, length))
                return false;
        return entry[length] && !environment_is_secret(entry, length) &&
               !has_password_in_url(entry + length) && !is_hidden_tmp(policy, entry);
}

/* A value that was kept from the command is a secret if its name or the policy says so; of the others, which were not
 * asked for, whatever may be one: words and paths that everybody knows would make the log unreadable. */
static bool is_kept_secret(const abatis_policy *policy, const char *entry)
{
        enum { LONG_ENOUGH = 8 };
        size_t length = strcspn(entry, "=");
        const char *value = entry + length + 1;

        if (!entry[length])
                return false;
        return environment_is_secret(entry, length) || is_denied(policy, entry, length) ||
               has_password_in_url(value) || (strlen(value) >= LONG_ENOUGH && *value != '/');
}

int environment_secrets(const abatis_policy *policy, const char *const *envp, const char ***out,
                        abatis_error *err)
{
        size_t count = 0, kept = 0;
        const char **list;

        while (envp[count])
                count++;
        list = calloc(count + 1, sizeof(*list));
        if (!list)
                return error_memory(err);
        for (size_t i = 0; i < count; i++)
                if (!is_passed(policy, envp[i]) && is_kept_secret(policy, envp[i]))
                        list[kept++] = strchr(envp[i], '=') + 1;
        *out = list;
        return 0;
}

int environment_filter(const abatis_policy *policy, const char *const *envp, const char ***out,
                       abatis_error *err)
{
        size_t count = 0, kept = 0;
        const char **list;

        while (envp[count])
                count++;
        list = calloc(count + policy->environment.count + 2, sizeof(*list));
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
