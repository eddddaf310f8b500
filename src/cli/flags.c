/* flags.c: the flags of the command line, as one table, and the policy they describe. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char flags_policy_help[] =
        "Policy:\n"
        "  --preset NAME        dev (default), tool, mcp, strict, guard or skill\n"
        "  --profile NAME       a profile; 'abatis profile list' has them\n"
        "  --policy FILE        a policy file: YAML, JSON (*.json) or TOML (*.toml)\n"
        "  --workspace DIR      the directory the command may change (default: where you are)\n"
        "  --data DIR           the agent's own data directory\n"
        "  --config FILE        an agent's configuration file outside --data\n"
        "  --read PATH          readable, where the preset does not already read all\n"
        "  --write PATH         readable, writable and executable\n"
        "  --exec PATH          readable and executable\n"
        "  --deny PATH          neither read nor written, always wins\n"
        "  --deny-glob PATTERN  the same for whatever matches, '**/.env' say, now or later\n"
        "  --protect PATH       readable, never written\n"
        "  --net MODE           deny, unix-only, allow, or list: what --connect and --bind name\n"
        "  --connect HOST:PORT  a host by name (*.example.org too) or address; implies --net list\n"
        "  --bind PORT          publish a port of the command's on the host's loopback; implies --net list\n"
        "  --unix PATH          a unix socket that is reached with --net deny or list, and no other\n"
        "  --no-loopback        no sockets at all with --net deny; an abatis that runs inside needs it\n"
        "  --no-verify-sni      TLS on port 443 and HTTP on 80 need not name the host that was asked for\n"
        "  --command NAME       only listed programs start: a name in PATH or an absolute path\n"
        "  --backend NAME       who enforces: auto, native, bwrap, seatbelt, appcontainer; none enforces nothing\n"
        "  --env NAME[=VALUE]   pass a variable although it looks secret, or set it\n"
        "Limits:\n"
        "  --timeout 30s        then the whole process tree is killed\n"
        "  --max-output 1MiB    of stdout and of stderr; the rest is dropped\n"
        "  --open-files N, --file-size SIZE   each process, each file\n"
        "  --processes N        the whole tree (as root only with a cgroup)\n"
        "  --memory SIZE, --cpu 10s, --written SIZE   the whole tree, which is killed when it is over\n"
        "  --connections N, --connections-per-second N, --traffic SIZE   with --connect: of the whole tree\n"
        "Audit:\n"
        "  --audit-log FILE     where it is written down what was run\n"
        "  --no-audit           nowhere\n";

static const struct flag {
        const char *name, *key; /* a key of the policy, or NULL */
        unsigned takes;         /* which verbs know it */
        bool has_value;
} flags_table[] = {
        { "--preset", NULL, TAKES_POLICY, true },
        { "--profile", NULL, TAKES_POLICY, true },
        { "--policy", NULL, TAKES_POLICY, true },
        { "--workspace", NULL, TAKES_POLICY, true },
        { "--data", NULL, TAKES_POLICY, true },
        { "--config", NULL, TAKES_POLICY, true },
        { "--read", "filesystem.read", TAKES_POLICY, true },
        { "--write", "filesystem.write", TAKES_POLICY, true },
        { "--exec", "filesystem.execute", TAKES_POLICY, true },
        { "--deny", "filesystem.deny", TAKES_POLICY, true },
        { "--deny-glob", "filesystem.deny_glob", TAKES_POLICY, true },
        { "--protect", "filesystem.protect", TAKES_POLICY, true },
        { "--net", "network.mode", TAKES_POLICY, true },
        { "--connect", "network.connect", TAKES_POLICY, true },
        { "--bind", "network.bind", TAKES_POLICY, true },
        { "--unix", "network.unix", TAKES_POLICY, true },
        { "--no-loopback", "network.loopback", TAKES_POLICY, false },
        { "--no-verify-sni", "network.verify_sni", TAKES_POLICY, false },
        { "--command", "process.commands", TAKES_POLICY, true },
        { "--backend", "backend", TAKES_POLICY, true },
        { "--env", "environment.pass", TAKES_POLICY, true },
        { "--timeout", "limits.timeout", TAKES_POLICY, true },
        { "--max-output", "limits.output", TAKES_POLICY, true },
        { "--memory", "limits.memory", TAKES_POLICY, true },
        { "--processes", "limits.processes", TAKES_POLICY, true },
        { "--open-files", "limits.open_files", TAKES_POLICY, true },
        { "--file-size", "limits.file_size", TAKES_POLICY, true },
        { "--written", "limits.written", TAKES_POLICY, true },
        { "--cpu", "limits.cpu", TAKES_POLICY, true },
        { "--connections", "limits.connections", TAKES_POLICY, true },
        { "--connections-per-second", "limits.connections_per_second", TAKES_POLICY, true },
        { "--traffic", "limits.traffic", TAKES_POLICY, true },
        { "--audit-log", "audit.log", TAKES_POLICY, true },
        { "--no-audit", "audit.log", TAKES_POLICY, false },
        { "--best-effort", NULL, TAKES_BEST_EFFORT, false },
        { "--json", NULL, TAKES_JSON, false },
        { "--merge", NULL, TAKES_STDIO, false },
        { "--pty", NULL, TAKES_STDIO, false },
        { "--watch-net", NULL, TAKES_STDIO, false },
        { "--result-fd", NULL, TAKES_RESULT_FD, true },
        { "--context", NULL, TAKES_STDIO, true },
        { "--test", NULL, TAKES_TEST, false },
        { "--tier", NULL, TAKES_TIER | TAKES_SKILL, true },
        { "--tiers", NULL, TAKES_TIER, false },
        { "--engine", NULL, TAKES_SKILL, true },
        { "--import", NULL, TAKES_SKILL, true },
        { "--allow", NULL, TAKES_SKILL, true },
        { "--yes", NULL, TAKES_WRAP, false },
        { "--dry-run", NULL, TAKES_WRAP, false },
        { "--undo", NULL, TAKES_WRAP, false },
        { "--server", NULL, TAKES_WRAP, true },
        { "--help", NULL, 0, false },
};

#define FLAG_COUNT (sizeof(flags_table) / sizeof(*flags_table))

int complain(const char *format, ...)
{
        abatis_error err;
        const size_t size = sizeof(err.message);
        va_list arguments;

        va_start(arguments, format);
        if (vsnprintf(err.message, size, format, arguments) >= (int)size)
                memcpy(err.message + size - 4, "...", 4);
        va_end(arguments);
        err.code = ABATIS_E_INVALID;
        return fail(&err);
}

void make_printable(char *text)
{
        for (; *text; text++)
                if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f)
                        *text = '?';
}

int fail(const abatis_error *err)
{
        char line[sizeof(err->message) + 16];

        /* One write: the line stays whole when several of us share a terminal. */
        snprintf(line, sizeof(line), "abatis: %s\n", err->message);
        for (char *at = line; at[1]; at++)
                if (*at == '\n')
                        *at = '?';
        make_printable(line);
        print_text(2, line);
        switch (err->code) {
        case ABATIS_E_NOT_FOUND:
                return EXIT_NOT_FOUND;
        case ABATIS_E_NOT_EXECUTABLE:
                return EXIT_NOT_EXECUTABLE;
        case ABATIS_E_NO_RESULT:
                return EXIT_NO_RESULT;
        }
        return EXIT_REFUSED;
}

int print_bytes(int fd, const char *bytes, size_t left)
{
        while (left) {
                ssize_t written = write(fd, bytes, left);
                struct pollfd room = { fd, POLLOUT, 0 };

                if (written < 0 && errno == EAGAIN)
                        poll(&room, 1, -1); /* somebody made our output non-blocking */
                if (written < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (written <= 0)
                        return EXIT_REFUSED;
                bytes += written;
                left -= (size_t)written;
        }
        return 0;
}

int print_text(int fd, const char *text)
{
        return print_bytes(fd, text, strlen(text));
}

int print_document(char *text)
{
        make_printable(text);
        return print_text(1, text);
}

static bool is_taken(const struct flag *flag, unsigned takes)
{
        return flag->takes & takes || !flag->takes;
}

static const struct flag *find_flag(const char *word, size_t length, unsigned takes)
{
        for (size_t i = 0; i < FLAG_COUNT; i++)
                if (strlen(flags_table[i].name) == length && !memcmp(flags_table[i].name, word, length) &&
                    is_taken(&flags_table[i], takes))
                        return &flags_table[i];
        return NULL;
}

static int complain_unknown(const char *word, size_t length, unsigned takes)
{
        const struct flag *elsewhere = find_flag(word, length, ~0u);
        const char *names[FLAG_COUNT + 1] = { NULL }, *nearest;
        size_t count = 0;

        if (elsewhere)
                return complain("%s does not go with this verb; 'abatis VERB --help' lists what does",
                                elsewhere->name);
        for (size_t i = 0; i < FLAG_COUNT; i++)
                if (is_taken(&flags_table[i], takes))
                        names[count++] = flags_table[i].name;
        nearest = abatis_suggest(word, names);
        if (nearest)
                return complain("unknown flag '%s'; did you mean '%s'?", word, nearest);
        return complain("unknown flag '%s'; 'abatis VERB --help' lists them", word);
}

static int set_result_fd(const char *value, struct flags *flags)
{
        char *end;
        long number = strtol(value, &end, 10);

        if (*end || end == value || number < 3 || number > 1 << 20)
                return complain("--result-fd: '%s' is not a descriptor above 2", value);
        if (fcntl((int)number, F_GETFD) < 0)
                return complain("--result-fd: descriptor %ld is not open", number);
        flags->result_fd = (int)number;
        return 0;
}

/* The value of a key whose flag takes none. */
static const char *said_by(const struct flag *flag)
{
        return strcmp(flag->key, "audit.log") == 0 ? "off" : "false";
}

static int add_word(const char *word, const char ***list, size_t *count)
{
        const char **words = realloc(*list, (*count + 2) * sizeof(*words));

        if (!words)
                return complain("out of memory");
        words[(*count)++] = word;
        words[*count] = NULL;
        *list = words;
        return 0;
}

static int allow_feature(const char *name, struct flags *flags)
{
        static const struct {
                const char *name;
                unsigned bit;
        } features[] = { { "64-bit", ABATIS_SKILL_64_BIT },
                         { "shared", ABATIS_SKILL_SHARED },
                         { "memories", ABATIS_SKILL_MEMORIES } };

        for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
                if (!strcmp(name, features[i].name)) {
                        flags->allows |= features[i].bit;
                        return 0;
                }
        return complain("--allow: '%s' is none of 64-bit, shared and memories", name);
}

static int apply(const struct flag *flag, const char *value, struct flags *flags)
{
        struct setting *settings;

        if (flag->key) {
                settings = realloc(flags->settings, (flags->setting_count + 1) * sizeof(*settings));
                if (!settings)
                        return complain("out of memory");
                flags->settings = settings;
                settings[flags->setting_count++] =
                        (struct setting){ flag->name, flag->key, flag->has_value ? value : said_by(flag) };
        } else if (!strcmp(flag->name, "--preset") || !strcmp(flag->name, "--profile"))
                flags->policy.preset = value;
        else if (!strcmp(flag->name, "--policy"))
                flags->policy.file = value;
        else if (!strcmp(flag->name, "--workspace"))
                flags->policy.workspace = value;
        else if (!strcmp(flag->name, "--data"))
                flags->policy.data = value;
        else if (!strcmp(flag->name, "--config"))
                flags->policy.config = value;
        else if (!strcmp(flag->name, "--best-effort"))
                flags->is_best_effort = true;
        else if (!strcmp(flag->name, "--json"))
                flags->has_json = true;
        else if (!strcmp(flag->name, "--context"))
                flags->context = value;
        else if (!strcmp(flag->name, "--merge"))
                flags->is_merged = true;
        else if (!strcmp(flag->name, "--pty"))
                flags->has_terminal = true;
        else if (!strcmp(flag->name, "--watch-net"))
                flags->watches_network = true;
        else if (!strcmp(flag->name, "--test"))
                flags->is_tested = true;
        else if (!strcmp(flag->name, "--tier"))
                flags->tier = value;
        else if (!strcmp(flag->name, "--tiers"))
                flags->wants_tiers = true;
        else if (!strcmp(flag->name, "--yes"))
                flags->is_agreed = true;
        else if (!strcmp(flag->name, "--dry-run"))
                flags->is_dry = true;
        else if (!strcmp(flag->name, "--undo"))
                flags->is_undone = true;
        else if (!strcmp(flag->name, "--server"))
                return add_word(value, &flags->servers, &flags->server_count);
        else if (!strcmp(flag->name, "--engine"))
                flags->engine = value;
        else if (!strcmp(flag->name, "--import"))
                return add_word(value, &flags->imports, &flags->import_count);
        else if (!strcmp(flag->name, "--allow"))
                return allow_feature(value, flags);
        else if (!strcmp(flag->name, "--help"))
                flags->wants_help = true;
        else
                return set_result_fd(value, flags);
        return 0;
}

int flags_parse(char **argv, unsigned takes, struct flags *out)
{
        *out = (struct flags){ .policy.size = sizeof(out->policy),
                               .policy.layers = ABATIS_LAYERS_ALL | ABATIS_NO_DEFAULT_LIMITS,
                               .result_fd = -1 };
        out->policy.program = own_program();
        for (; *argv && **argv == '-' && strcmp(*argv, "-"); argv++) {
                size_t length = strcspn(*argv, "=");
                bool is_joined = (*argv)[length];
                char *value = is_joined ? *argv + length + 1 : argv[1];
                const struct flag *flag;
                int r;

                if (!strcmp(*argv, "--")) {
                        argv++;
                        break;
                }
                flag = find_flag(*argv, length, takes);
                if (!flag)
                        return complain_unknown(*argv, length, takes);
                if (is_joined && !flag->has_value)
                        return complain("%s takes no value", flag->name);
                if (flag->has_value && !is_joined && !argv[1])
                        return complain("%s needs a value", flag->name);
                if (flag->has_value)
                        read_path(value);
                r = apply(flag, value, out);
                if (r)
                        return r;
                argv += flag->has_value && !is_joined;
        }
        out->rest = argv;
        return 0;
}

void flags_done(struct flags *flags)
{
        free(flags->settings);
        free(flags->servers);
        free(flags->imports);
}

static bool sets(const struct flags *flags, const char *key)
{
        for (size_t i = 0; i < flags->setting_count; i++)
                if (!strcmp(flags->settings[i].key, key))
                        return true;
        return false;
}

/* A key is what a file calls it: who has given a flag knows it by that. */
static int blame_flag(const char *flag, abatis_error *err)
{
        const size_t size = sizeof(err->message);
        char line[sizeof(err->message) + 64];

        snprintf(line, sizeof(line), "%s: %s", flag, strstr(err->message, ": ") + 2);
        if (strlen(line) >= size)
                memcpy(line + size - 4, "...", 4);
        memcpy(err->message, line, strlen(line) + 1);
        err->code = ABATIS_E_INVALID;
        return ABATIS_E_INVALID;
}

static int set_all(const struct flags *flags, abatis_policy *policy, abatis_error *err)
{
        if ((sets(flags, "network.connect") || sets(flags, "network.bind")) && !sets(flags, "network.mode") &&
            abatis_policy_set(policy, "network.mode", "list", err) < 0)
                return blame_flag(sets(flags, "network.connect") ? "--connect" : "--bind", err);
        for (size_t i = 0; i < flags->setting_count; i++)
                if (abatis_policy_set(policy, flags->settings[i].key, flags->settings[i].value, err) < 0)
                        return blame_flag(flags->settings[i].flag, err);
        return 0;
}

int flags_compose(const struct flags *flags, abatis_policy **out, abatis_error *err)
{
        abatis_policy *policy;
        int r = abatis_policy_new(&flags->policy, &policy, err);

        if (r < 0)
                return r;
        r = set_all(flags, policy, err);
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

int flags_make_policy(const struct flags *flags, abatis_policy **out)
{
        abatis_error err;

        return flags_compose(flags, out, &err) < 0 ? fail(&err) : 0;
}
