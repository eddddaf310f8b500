/* The table of contenders: how each sandbox is told to launch a command under the same policy. */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * What the `dev` preset means, in bubblewrap's words: the world read-only, the workspace writable, private
 * /tmp, /dev and /proc, the secrets that exist in the home masked, own user, PID and IPC namespaces, no
 * network, no capabilities, and the same system call filter. A network namespace is bubblewrap's only own way
 * to deny the network. Its /dev is a tmpfs, so /dev/shm is private already. It has no Landlock: it does less than
 * abatis here.
 */
#define BUBBLEWRAP_POLICY                                                                                  \
        "{bwrap}", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", \
                "{workspace}", "{workspace}", "--tmpfs", "{home}/.ssh", "--tmpfs", "{home}/.gnupg",        \
                "--tmpfs", "{home}/.aws", "--tmpfs", "{home}/.config/gh", "--ro-bind", "/dev/null",        \
                "{home}/.netrc", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--new-session",      \
                "--die-with-parent", "--cap-drop", "ALL", "--unsetenv", "EXAMPLE_API_KEY", "--seccomp",    \
                "9" /* FILTER_FD */

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

const struct contender plain_spawn = { .name = "posix_spawn" };
const struct contender run_abatis = { .name = "abatis run", .words = WORDS("{abatis}", "run", "--") };
const struct contender run_with_pattern = {
        .name = "abatis run --deny-glob", .words = WORDS("{abatis}", "run", "--deny-glob", "**/.env", "--")
};
/* No sandbox: what it costs to be asked, whoever answers. */
const struct contender run_asked_opens = { .name = "a broker that opens everything",
                                           .words = WORDS("{bin}/notified", "opens") };
const struct contender run_asked_directories = { .name = "a broker that lets every directory be opened",
                                                 .words = WORDS("{bin}/notified", "directories") };
/* Nobody else here writes a log; what ours adds has a bar of its own. */
const struct contender run_unlogged = { .name = "abatis run --no-audit",
                                        .words = WORDS("{abatis}", "run", "--no-audit", "--") };
const struct contender run_floor = { .name = "rules and a filter, no more",
                                     .words = WORDS("{bin}/floor"),
                                     .takes_filter = true };
const struct contender run_least = { .name = "the same mounts, no policy",
                                     .words = WORDS("{bin}/least"),
                                     .takes_filter = true };
const struct contender bubblewrap = {
        .name = "bubblewrap",
        .words = WORDS(BUBBLEWRAP_POLICY, "--unshare-net"),
        .takes_filter = true,
};

/* Shown for orientation, judged by no bar; one that is not on PATH, or does not work here, is left out. */
const struct contender extra_contenders[] = {
        { .name = "fork", .start = START_FORK },
        { .name = "vfork", .start = START_VFORK },
        { .name = "sh -c", .words = WORDS("sh", "-c") },
        { .name = "abatis run", .words = WORDS("{abatis}", "run", "--") },
        { .name = "abatis run, git workspace",
          .words = WORDS("{abatis}", "run", "--workspace", "{repository}", "--") },
        { .name = "abatis run, preset strict",
          .words = WORDS("{abatis}", "run", "--preset", "strict", "--read", "{bin}", "--exec", "{bin}",
                         "--") },
        { .name = "bubblewrap, network open", .words = WORDS(BUBBLEWRAP_POLICY), .takes_filter = true },
        { .name = "landrun", .words = WORDS("landrun", "--rox", "/", "--rw", "{workspace}", "--rw", "/tmp") },
        { .name = "nsjail", .words = WORDS("nsjail", "-Mo", "-Q", "-R", "/", "-B", "{workspace}", "--") },
        /* Firejail hides /var/tmp and makes /var unexecutable, but the command lies there. */
        { .name = "firejail",
          .words = WORDS("firejail", "--quiet", "--noprofile", "--read-only=/", "--read-write={workspace}",
                         "--private-tmp", "--keep-var-tmp", "--writable-var", "--private-dev",
                         "--blacklist={home}/.ssh", "--blacklist={home}/.gnupg", "--blacklist={home}/.aws",
                         "--blacklist={home}/.config/gh", "--blacklist={home}/.netrc", "--net=none",
                         "--ipc-namespace", "--caps.drop=all", "--nonewprivs", "--seccomp", "--") },
        { .name = "minijail",
          .words = WORDS("minijail0", "-U", "-m", "-M", "-p", "-r", "-v", "-e", "-l", "-n", "-P", "/", "-k",
                         "tmpfs,/tmp,tmpfs", "--") },
        { .name = "crun",
          .words = WORDS("crun", "--root", "{crun}", "--cgroup-manager=disabled", "run", "--bundle",
                         "{bundle}", "bench"),
          .has_command = true },
        { .name = "codex sandbox", .words = WORDS("codex", "sandbox", "--") },
        { .name = "srt", .words = WORDS("srt", "--settings", "{srt.json}") },
};
const size_t extra_contender_count = COUNT(extra_contenders);

/* PATH is searched once, before anything is timed: posix_spawn gets absolute paths only. */
static bool find_program(const char *name, char out[PATH_SIZE])
{
        const char *path = getenv("PATH");
        if (path == NULL)
                path = "/usr/bin:/bin";
        while (*path != '\0') {
                size_t length = strcspn(path, ":");
                int n = snprintf(out, PATH_SIZE, "%.*s/%s", (int)length, path, name);
                if (n > 0 && n < PATH_SIZE && out[0] == '/' && access(out, X_OK) == 0)
                        return true;
                path += length;
                path += *path == ':';
        }
        out[0] = '\0';
        return false;
}

void place_init(struct place *place, const char *dir)
{
        const char *abatis = getenv("ABATIS");
        if (abatis == NULL || abatis[0] != '/')
                die("ABATIS must hold the absolute path of the binary to measure");
        if (snprintf(place->dir, sizeof place->dir, "%s", dir) >= (int)sizeof place->dir ||
            snprintf(place->abatis, sizeof place->abatis, "%s", abatis) >= (int)sizeof place->abatis)
                die("path too long");
        find_program("bwrap", place->bwrap);
}

static void append(struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct command *command, const char *format, ...)
{
        size_t room = sizeof command->text - command->used;
        va_list arguments;
        va_start(arguments, format);
        int n = vsnprintf(command->text + command->used, room, format, arguments);
        va_end(arguments);
        if (n < 0 || (size_t)n >= room)
                die("command line too long");
        command->used += (size_t)n;
}

static void append_variable(struct command *command, const struct place *place, const char *name,
                            size_t length)
{
        if (length == strlen("abatis") && memcmp(name, "abatis", length) == 0)
                append(command, "%s", place->abatis);
        else if (length == strlen("bwrap") && memcmp(name, "bwrap", length) == 0)
                append(command, "%s", place->bwrap);
        else
                append(command, "%s/%.*s", place->dir, (int)length, name);
}

/* Adds one word; {abatis} and {bwrap} stand for the programs, any other {name} for DIR/name. */
void command_add(struct command *command, const struct place *place, const char *template)
{
        if (command->count + 1 >= WORDS_MAX)
                die("too many words in a command line");
        command->words[command->count++] = command->text + command->used;
        command->words[command->count] = NULL;
        for (const char *at = template; *at != '\0';) {
                const char *end = *at == '{' ? strchr(at, '}') : NULL;
                if (end != NULL) {
                        append_variable(command, place, at + 1, (size_t)(end - at - 1));
                        at = end + 1;
                } else {
                        append(command, "%c", *at++);
                }
        }
        command->used++; /* keep the NUL */
}

/* Once for all launches: who starts one begins to read it anew. */
static int open_filter(const struct place *place)
{
        static bool is_open;
        char path[PATH_SIZE + 16];
        if (is_open)
                return FILTER_FD;
        snprintf(path, sizeof path, "%s/filter", place->dir);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || dup2(fd, FILTER_FD) < 0)
                die("cannot open %s", path);
        close(fd);
        is_open = true;
        return FILTER_FD;
}

/* False when the contender's program is not installed. */
bool command_init(struct command *command, const struct place *place, const struct contender *contender,
                  const char *const *payload)
{
        char program[PATH_SIZE];
        command->count = command->used = 0;
        command->start = contender->start;
        command->filter = contender->takes_filter ? open_filter(place) : -1;
        for (size_t i = 0; contender->words != NULL && contender->words[i] != NULL; i++) {
                const char *word = contender->words[i];
                if (i == 0 && word[0] != '{') {
                        if (!find_program(word, program))
                                return false;
                        word = program;
                }
                command_add(command, place, word);
                if (i == 0 && command->words[0][0] == '\0')
                        return false;
        }
        for (size_t i = 0; payload[i] != NULL && !contender->has_command; i++)
                command_add(command, place, payload[i]);
        return true;
}

/* An environment as a developer's shell has it, with one secret to keep back; the same for all. */
const char *const *bench_environment(const struct place *place)
{
        static const char *environment[32];
        static char home[PATH_SIZE + 16];
        static const char *const fixed[] = {
                "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
                "USER=bench",
                "LOGNAME=bench",
                "SHELL=/bin/bash",
                "TERM=xterm-256color",
                "LANG=C",
                "LC_ALL=C",
                "EDITOR=vi",
                "PAGER=cat",
                "COLORTERM=truecolor",
                "XDG_SESSION_TYPE=tty",
                "XDG_SESSION_CLASS=user",
                "MAIL=/var/mail/bench",
                "SHLVL=1",
                "LESS=-R",
                "GIT_PAGER=cat",
                "EXAMPLE_API_KEY=not-a-real-key",
        };
        size_t count = 0;
        snprintf(home, sizeof home, "HOME=%s/home", place->dir);
        environment[count++] = home;
        for (size_t i = 0; i < COUNT(fixed); i++)
                environment[count++] = fixed[i];
        environment[count] = NULL;
        return environment;
}
