/* keys.c: the keys of a policy, by their names and types. */
#include "policy/keys.h"

#include <string.h>

#include "base/units.h"

const char *const backend_names[BACKEND_COUNT + 1] = { "auto",     "native",       "bwrap",
                                                       "seatbelt", "appcontainer", "none" };

const struct key keys[KEY_COUNT] = {
        [KEY_VERSION] = { "version", TYPE_VERSION, "The version of this format: 1." },
        [KEY_EXTENDS] = { "extends", TYPE_BASES,
                          "The preset or profile, or several, that this file builds on." },
        [KEY_SESSION] = { "session", TYPE_SESSION,
                          "private: every command has its own /tmp and leaves no process; shared: those of one sandbox share both." },
        [KEY_BACKEND] = { "backend", TYPE_BACKEND,
                          "Who enforces: auto, the strongest there is; or this one or nobody. none enforces nothing." },
        [KEY_READ] = { "filesystem.read", TYPE_TREES, "What may be read: all, or a list of paths." },
        [KEY_WRITE] = { "filesystem.write", TYPE_TREES,
                        "What may be written; it may be read and executed too." },
        [KEY_EXECUTE] = { "filesystem.execute", TYPE_TREES,
                          "What may be executed, and read: all, or a list of paths." },
        [KEY_DENY] = { "filesystem.deny", TYPE_HOLES, "What may be neither read nor written; always wins." },
        [KEY_PROTECT] = { "filesystem.protect", TYPE_HOLES,
                          "What may be read but never written; wins over write." },
        [KEY_NETWORK] = { "network.mode", TYPE_MODE,
                          "deny: no more than a loopback of its own; unix-only; allow; list: only what connect and bind name." },
        [KEY_CONNECT] = { "network.connect", TYPE_HOSTS,
                          "HOST:PORT that may be connected to in mode list: a name, *.NAME, an address or a range." },
        [KEY_BIND] = { "network.bind", TYPE_PORTS,
                       "Ports of the sandbox that are published on the host's loopback in mode list." },
        [KEY_UNIX] = { "network.unix", TYPE_PATHS,
                       "Unix sockets that may be connected to in mode deny or list, and no others." },
        [KEY_VERIFY_SNI] = { "network.verify_sni", TYPE_BOOLEAN,
                             "Whether TLS on port 443 and HTTP on port 80 must name the host that was asked for; true." },
        [KEY_LOOPBACK] = { "network.loopback", TYPE_BOOLEAN,
                           "Whether the command has a loopback of its own in mode deny; true." },
        [KEY_FORK] = { "process.fork", TYPE_BOOLEAN, "Whether the command may start other processes." },
        [KEY_SYSTEM_CALLS] = { "process.system_calls", TYPE_CALLS,
                               "usual: all but what no tool needs; few: what a program that computes and works on files needs, and nothing else." },
        [KEY_EXECUTABLE_MEMORY] = { "process.executable_memory", TYPE_BOOLEAN,
                                    "false: nothing that the command can write ever becomes code; needs process.commands." },
        [KEY_SIGNALS] = { "process.signals", TYPE_BOOLEAN,
                          "false: processes outside can never be signalled." },
        [KEY_COMMANDS] = { "process.commands", TYPE_PROGRAMS,
                           "The only executables that may run; an empty list is all." },
        [KEY_CHECK_ARGUMENTS] = { "process.check_arguments", TYPE_BOOLEAN,
                                  "Refuse a command line that names a denied path." },
        [KEY_PASS] = { "environment.pass", TYPE_VARIABLES,
                       "Variables that are passed: all (but what looks secret), none, or a list of names." },
        [KEY_ENVIRONMENT_DENY] = { "environment.deny", TYPE_MASKS, "Variables that are never passed." },
        [KEY_ENVIRONMENT_SET] = { "environment.set", TYPE_ASSIGNMENTS, "Variables and their values." },
        [KEY_MEMORY] = { "limits.memory", TYPE_SIZE, "Memory of the whole process tree." },
        [KEY_PROCESSES] = { "limits.processes", TYPE_NUMBER, "Processes of the whole tree." },
        [KEY_OPEN_FILES] = { "limits.open_files", TYPE_NUMBER, "Open files of each process." },
        [KEY_CPU] = { "limits.cpu", TYPE_DURATION, "Processor time of the whole tree." },
        [KEY_FILE_SIZE] = { "limits.file_size", TYPE_SIZE, "Size of each file that is written." },
        [KEY_WRITTEN] = { "limits.written", TYPE_SIZE, "Bytes that the whole tree writes to storage." },
        [KEY_CONNECTIONS] = { "limits.connections", TYPE_NUMBER,
                              "Connections that the whole tree has at once, in mode list." },
        [KEY_CONNECTION_RATE] = { "limits.connections_per_second", TYPE_NUMBER,
                                  "Connections that the whole tree begins in any second, in mode list." },
        [KEY_TRAFFIC] = { "limits.traffic", TYPE_SIZE,
                          "Bytes that all connections pass, both ways together, in mode list." },
        [KEY_TIMEOUT] = { "limits.timeout", TYPE_DURATION, "Time after which the whole tree is killed." },
        [KEY_OUTPUT] = { "limits.output", TYPE_SIZE, "Bytes kept of stdout and of stderr." },
        [KEY_AUDIT_LOG] = { "audit.log", TYPE_LOG,
                            "Whether it is written down what was run, and the file, if not the usual one." },
        [KEY_AUDIT_SYNC] = { "audit.sync", TYPE_BOOLEAN,
                             "true: a record is on the disk before the command goes on." },
        [KEY_AUDIT_SIZE] = { "audit.size", TYPE_SIZE, "Size at which a new file is begun; 64MiB." },
        [KEY_AUDIT_KEEP] = { "audit.keep", TYPE_NUMBER, "How many older files are kept; all." },
};

enum key_id key_find(const char *name, size_t length)
{
        enum key_id id = KEY_VERSION;

        while (id < KEY_COUNT && (strncmp(keys[id].name, name, length) || keys[id].name[length]))
                id++;
        return id;
}

const char *key_leaf(const struct key *key)
{
        const char *dot = strchr(key->name, '.');

        return dot ? dot + 1 : key->name;
}

size_t key_section_length(const struct key *key)
{
        const char *leaf = key_leaf(key);

        return leaf == key->name ? 0 : (size_t)(leaf - key->name) - 1;
}

bool key_takes_none(enum key_id key)
{
        return !strncmp(keys[key].name, "limits.", strlen("limits."));
}

int key_parse_limit(enum key_id key, const char *text, uint64_t *out, abatis_error *err)
{
        if (!strcmp(text, "none") && key_takes_none(key)) {
                *out = 0;
                return 0;
        }
        if (keys[key].type == TYPE_DURATION)
                return units_parse_duration(text, out, err);
        if (keys[key].type == TYPE_SIZE)
                return units_parse_size(text, out, err);
        return units_parse_count(text, out, err);
}

int abatis_policy_takes(const char *key)
{
        static const unsigned char takes[] = {
                [TYPE_VERSION] = ABATIS_TAKES_NUMBER,
                [TYPE_BASES] = ABATIS_TAKES_SEVERAL,
                [TYPE_SESSION] = 0,
                [TYPE_CALLS] = 0,
                [TYPE_BACKEND] = 0,
                [TYPE_TREES] = ABATIS_TAKES_SEVERAL,
                [TYPE_HOLES] = ABATIS_TAKES_SEVERAL,
                [TYPE_MODE] = 0,
                [TYPE_HOSTS] = ABATIS_TAKES_SEVERAL,
                [TYPE_PORTS] = ABATIS_TAKES_SEVERAL | ABATIS_TAKES_NUMBER,
                [TYPE_PATHS] = ABATIS_TAKES_SEVERAL,
                [TYPE_PROGRAMS] = ABATIS_TAKES_SEVERAL,
                [TYPE_BOOLEAN] = ABATIS_TAKES_FLAG,
                [TYPE_VARIABLES] = ABATIS_TAKES_SEVERAL,
                [TYPE_MASKS] = ABATIS_TAKES_SEVERAL,
                [TYPE_ASSIGNMENTS] = ABATIS_TAKES_SEVERAL,
                [TYPE_SIZE] = ABATIS_TAKES_NUMBER,
                [TYPE_DURATION] = 0,
                [TYPE_NUMBER] = ABATIS_TAKES_NUMBER,
                [TYPE_LOG] = 0,
        };
        enum key_id id = key_find(key, strlen(key));

        if (!strcmp(key, "filesystem.deny_glob"))
                return ABATIS_TAKES_SEVERAL;
        return id == KEY_COUNT ? ABATIS_E_INVALID : takes[keys[id].type];
}
