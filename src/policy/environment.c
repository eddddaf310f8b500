/* environment.c: the environment a command gets: everything but what looks like a secret or steers the loader. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"

enum { LONGEST_NAME = 256 };

/* Where in a name, in upper or lower case, the text stands. */
enum position { WHOLE = 1, BEGINNING, END, ANYWHERE };

struct pattern {
        enum position position; /* 0 ends a list */
        size_t length;          /* counted by the compiler: a launch compares every variable */
        const char *text;
};

#define PATTERN(position, text)                      \
        {                                            \
                (position), sizeof(text) - 1, (text) \
        }
#define IS(text) PATTERN(WHOLE, text)
#define STARTS(text) PATTERN(BEGINNING, text)
#define ENDS(text) PATTERN(END, text)
#define HAS(text) PATTERN(ANYWHERE, text)
#define LIST(...) ((const struct pattern[]){ __VA_ARGS__, { 0 } })

/* By the first letter of the text, so that only few are compared at each place of a name: secrets; ways to somebody else's
 * process (agents, sockets, D-Bus); and what steers the loader or a shell before its first line. */
#define LETTER(letter) ((letter)&31)
static const struct pattern *const filtered[32] = {
        [LETTER('A')] = LIST(HAS("ACCESS_KEY"), HAS("API_KEY"), HAS("APIKEY"), HAS("AUTHTOKEN"),
                             STARTS("AWS_"), STARTS("AZURE_")),
        [LETTER('B')] = LIST(IS("BASH_ENV"), STARTS("BASH_FUNC_")),
        [LETTER('C')] = LIST(HAS("CONNECTION_STRING"), HAS("CREDENTIAL")),
        [LETTER('D')] =
                LIST(ENDS("DATABASE_URL"), STARTS("DBUS_"), IS("DOCKER_AUTH_CONFIG"), IS("DOCKER_HOST")),
        [LETTER('E')] = LIST(IS("ENV")),
        [LETTER('G')] = LIST(IS("GCONV_PATH"), STARTS("GH_"), IS("GLIBC_TUNABLES"), STARTS("GNOME_KEYRING_"),
                             IS("GPG_AGENT_INFO")),
        [LETTER('K')] = LIST(IS("KUBECONFIG")),
        [LETTER('L')] = LIST(STARTS("LD_")),
        [LETTER('P')] =
                LIST(ENDS("PASS"), HAS("PASSPHRASE"), HAS("PASSWD"), HAS("PASSWORD"), HAS("PRIVATE_KEY")),
        [LETTER('S')] = LIST(HAS("SECRET"), IS("SSH_AGENT_PID"), IS("SSH_AUTH_SOCK")),
        [LETTER('T')] = LIST(ENDS("TOKEN"), STARTS("TOKEN_")),
        [LETTER('V')] = LIST(STARTS("VAULT_")),
        [LETTER('W')] = LIST(HAS("WEBHOOK")),
        [LETTER('X')] = LIST(IS("XAUTHORITY"), IS("XDG_RUNTIME_DIR")),
        [LETTER('_')] = LIST(ENDS("_AUTH"), ENDS("_COOKIE"), ENDS("_DSN"), ENDS("_JWT"), ENDS("_KEY"),
                             HAS("_KEY_"), ENDS("_KEYS"), ENDS("_PAT"), ENDS("_PEM"), ENDS("_PWD"),
                             ENDS("_SK"), HAS("_TOKEN_"), ENDS("_TOKENS")),
};

/* Whether the text may stand at this place, with so much left of the name. */
static bool fits(const struct pattern *pattern, size_t at, size_t left)
{
        switch (pattern->position) {
        case WHOLE:
                return !at && left == pattern->length;
        case BEGINNING:
                return !at && left >= pattern->length;
        case END:
                return left == pattern->length;
        case ANYWHERE:
                return left >= pattern->length;
        }
        return true;
}

/* By a text's first letter, which letters come second: most places of a name are done with at that. */
struct seconds {
        uint32_t of[32]; /* bits */
};

static struct seconds find_seconds(void)
{
        struct seconds seconds = { 0 };

        for (size_t i = 0; i < 32; i++)
                for (const struct pattern *pattern = filtered[i]; pattern && pattern->position; pattern++)
                        seconds.of[i] |= 1u << LETTER(pattern->text[1]);
        return seconds;
}

static bool stands_at(const struct pattern *pattern, const char *place)
{
        for (size_t i = 0; i < pattern->length; i++) {
                char upper = place[i] >= 'a' && place[i] <= 'z' ? (char)(place[i] - 'a' + 'A') : place[i];

                if (upper != pattern->text[i])
                        return false;
        }
        return true;
}

static bool is_secret(const struct seconds *seconds, const char *name, size_t length)
{
        /* No tool has a name this long; what hides in it is not passed on. */
        if (length > LONGEST_NAME)
                return true;
        for (size_t at = 0; at + 1 < length; at++) {
                const struct pattern *pattern = filtered[LETTER(name[at])];

                if (!(seconds->of[LETTER(name[at])] >> LETTER(name[at + 1]) & 1))
                        continue;
                for (; pattern->position; pattern++)
                        if (fits(pattern, at, length - at) && stands_at(pattern, name + at))
                                return true;
        }
        return false;
}

bool environment_is_secret(const char *name, size_t length)
{
        const struct seconds seconds = find_seconds();

        return is_secret(&seconds, name, length);
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

static bool is_passed(const abatis_policy *policy, const struct seconds *seconds, const char *entry)
{
        size_t length = strcspn(entry, "=");
        const char *request = find_request(policy, entry, length);

        if (is_denied(policy, entry, length))
                return false;
        if (request)
                return !request[length];
        if (policy->passes_named_only && !is_plainly_named(policy, entry, length))
                return false;
        return entry[length] && !is_secret(seconds, entry, length) && !has_password_in_url(entry + length) &&
               !is_hidden_tmp(policy, entry);
}

/* A value that was kept from the command is a secret if its name or the policy says so; of the others, which were not
 * asked for, whatever may be one: words and paths that everybody knows would make the log unreadable. */
static bool is_kept_secret(const abatis_policy *policy, const struct seconds *seconds, const char *entry)
{
        enum { LONG_ENOUGH = 8 };
        size_t length = strcspn(entry, "=");
        const char *value = entry + length + 1;

        if (!entry[length])
                return false;
        return is_secret(seconds, entry, length) || is_denied(policy, entry, length) ||
               has_password_in_url(value) || (strlen(value) >= LONG_ENOUGH && *value != '/');
}

int environment_sort(const abatis_policy *policy, const char *const *envp, const char ***passed,
                     const char ***secrets, abatis_error *err)
{
        const struct seconds seconds = find_seconds();
        size_t count = 0, passed_count = 0, secret_count = 0;
        const char **lists[2];

        while (envp[count])
                count++;
        lists[0] = calloc(count + policy->environment.count + 3, sizeof(**lists));
        lists[1] = secrets ? calloc(count + 1, sizeof(**lists)) : NULL;
        if (!lists[0] || (secrets && !lists[1])) {
                free(lists[0]);
                free(lists[1]);
                return error_memory(err);
        }
        for (size_t i = 0; i < count; i++)
                if (is_passed(policy, &seconds, envp[i]))
                        lists[0][passed_count++] = envp[i];
                else if (secrets && is_kept_secret(policy, &seconds, envp[i]))
                        lists[1][secret_count++] = strchr(envp[i], '=') + 1;
        for (size_t i = 0; i < policy->environment.count; i++) {
                const char *item = policy->environment.items[i];

                /* A name that was set twice gets the last value. */
                if (strchr(item, '=') && find_request(policy, item, strcspn(item, "=")) == item)
                        lists[0][passed_count++] = item;
        }
        *passed = lists[0];
        if (secrets)
                *secrets = lists[1];
        return 0;
}
