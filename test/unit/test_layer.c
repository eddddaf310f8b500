/* test_layer.c: every key with right and wrong values, and what is said about a mistake. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "layers.h"

static struct layer *yaml(const char *text)
{
        return read_layer(DOCUMENT_YAML, text);
}

#define refuses(text, message) assert_layer_refused(DOCUMENT_YAML, text, message)

/* ---- types ---------------------------------------------------------------------------------------------- */

/* {"section": {"leaf": VALUE}}, which is JSON and YAML alike; the caller frees it. */
static char *document_of(enum key_id key, const char *value)
{
        size_t section = key_section_length(&keys[key]);
        char *text = NULL;

        assert_true((section ? asprintf(&text, "{\"%.*s\": {\"%s\": %s}}", (int)section, keys[key].name,
                                        key_leaf(&keys[key]), value)
                             : asprintf(&text, "{\"%s\": %s}", keys[key].name, value)) > 0);
        return text;
}

static bool is_read(enum document_format format, const char *text)
{
        abatis_error err = { .message = "" };
        struct layer *layer = NULL;
        int r = layer_read(format, "f", text, strlen(text), &layer, &err);

        layer_free(layer);
        if (r < 0 && (r != ABATIS_E_INVALID || strncmp(err.message, "f:1:", 4) != 0))
                fail_msg("%s: %s", text, err.message);
        return !r;
}

/* Which of the samples each type takes. */
static const char *const samples[] = {
        "null",
        "true",
        "7",
        "1.5",
        "\"x\"",
        "[]",
        "{}",
        "[\"x\"]",
        "[7]",
        "[null]",
        "[[]]",
        "[{}]",
        "[\"\"]",
        "[{\"path\":\"/x\"}]",
        "[{\"path\":\"\"}]",
        "[{\"path\":1}]",
        "[{\"path\":\"/x\",\"y\":1}]",
        "{\"A\":\"b\"}",
        "{\"A\":1}",
        "\"\"",
        "0",
        "-1",
        "false",
        "[true]",
        "[\"a b\"]",
        "{\"\":\"b\"}",
        "{\"A=\":\"b\"}",
        "\"7\"",
};

static const char *samples_of(enum key_type type)
{
        switch (type) {
        case TYPE_VERSION:
        case TYPE_SESSION:
        case TYPE_CALLS:
        case TYPE_MODE:
        case TYPE_DURATION:
                return "";
        case TYPE_BACKEND:
                return "\"\"";
        case TYPE_BASES:
        case TYPE_VARIABLES:
                return "\"x\" [] [\"x\"] \"7\"";
        case TYPE_TREES:
        case TYPE_HOLES:
        case TYPE_PATHS:
        case TYPE_PROGRAMS:
                return "[] [\"x\"] [{\"path\":\"/x\"}] [\"a b\"]";
        case TYPE_HOSTS:
                return "[]";
        case TYPE_PORTS:
                return "[] [7]";
        case TYPE_BOOLEAN:
                return "true false";
        case TYPE_MASKS:
                return "[] [\"x\"]";
        case TYPE_ASSIGNMENTS:
                return "{} {\"A\":\"b\"}";
        case TYPE_SIZE:
                return "7 \"7\"";
        case TYPE_NUMBER:
                return "7";
        case TYPE_LOG:
                return "true false";
        }
        return "";
}

/* The sample as one of the words of the list. */
static bool is_listed(const char *list, const char *sample)
{
        for (const char *at = list; (at = strstr(at, sample)); at++) {
                char before = at == list ? ' ' : at[-1], after = at[strlen(sample)];

                if (before == ' ' && (after == ' ' || !after))
                        return true;
        }
        return false;
}

static void every_key_takes_its_type_and_no_other(void **state)
{
        (void)state;
        for (enum key_id key = KEY_VERSION; key < KEY_COUNT; key++)
                for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
                        char *text = document_of(key, samples[i]);
                        bool is_right = is_listed(samples_of(keys[key].type), samples[i]);

                        if (is_read(DOCUMENT_YAML, text) != is_right ||
                            is_read(DOCUMENT_JSON, text) != is_right)
                                fail_msg("%s is %s", text, is_right ? "refused" : "read");
                        free(text);
                }
}

static void every_key_takes_what_it_is_for(void **state)
{
        static const struct {
                enum key_id key;
                const char *value, *entries;
        } rights[] = {
                { KEY_VERSION, "1", "" },
                { KEY_EXTENDS, "dev", "dev" },
                { KEY_EXTENDS, "[dev, my-profile_2.x]", "dev|my-profile_2.x" },
                { KEY_READ, "[all]", "all" },
                { KEY_WRITE, "['${workspace}', '${tmp}', ~/x, inherited]",
                  "${workspace}|${tmp}|~/x|inherited" },
                { KEY_EXECUTE, "[system, {path: '/srv/[x]*'}, /opt]", "system|{/srv/[x]*}|/opt" },
                { KEY_DENY, "['~/.ssh', '**/.env', '*.pem']", "~/.ssh|**/.env|*.pem" },
                { KEY_PROTECT, "['${workspace}/.github']", "${workspace}/.github" },
                { KEY_NETWORK, "deny", "deny" },
                { KEY_NETWORK, "unix-only", "unix-only" },
                { KEY_NETWORK, "allow", "allow" },
                { KEY_NETWORK, "list", "list" },
                { KEY_CONNECT, "['a.example:443', '*.b:1', '127.0.0.1:65535', '[::1]:80', 'c:*']",
                  "a.example:443|*.b:1|127.0.0.1:65535|[::1]:80|c:*" },
                { KEY_CONNECT, "[inherited]", "inherited" },
                { KEY_BIND, "[1, 8080, 65535, 0x50, inherited]", "1|8080|65535|80|inherited" },
                { KEY_UNIX, "[/run/a.sock]", "/run/a.sock" },
                { KEY_FORK, "false", "false" },
                { KEY_SYSTEM_CALLS, "few", "few" },
                { KEY_SYSTEM_CALLS, "usual", "usual" },
                { KEY_EXECUTABLE_MEMORY, "false", "false" },
                { KEY_SIGNALS, "false", "false" },
                { KEY_COMMANDS, "[git, /usr/bin/make]", "git|/usr/bin/make" },
                { KEY_CHECK_ARGUMENTS, "true", "true" },
                { KEY_PASS, "all", "all" },
                { KEY_PASS, "none", "none" },
                { KEY_PASS, "[PATH, LC_*, all]", "PATH|LC_*|all" },
                { KEY_ENVIRONMENT_DENY, "['*_API_KEY']", "*_API_KEY" },
                { KEY_ENVIRONMENT_SET, "{CI: '1', EMPTY: '', EQUAL: a=b}", "CI=1|EMPTY=|EQUAL=a=b" },
                { KEY_MEMORY, "2GiB", "2GiB" },
                { KEY_MEMORY, "4096", "4096" },
                { KEY_PROCESSES, "256", "256" },
                { KEY_OPEN_FILES, "1024", "1024" },
                { KEY_CPU, "60s", "60s" },
                { KEY_FILE_SIZE, "'1G'", "1G" },
                { KEY_TIMEOUT, "500ms", "500ms" },
                { KEY_OUTPUT, "1MiB", "1MiB" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
                char *text = document_of(rights[i].key, rights[i].value);
                struct layer *layer = yaml(text);

                assert_values(layer, rights[i].key, rights[i].entries);
                for (enum key_id key = KEY_VERSION; key < KEY_COUNT; key++)
                        assert_int_equal(layer->has[key], key == rights[i].key);
                layer_free(layer);
                free(text);
        }
}

/* An empty list is not the same as none: it replaces what lies below. */
static void an_empty_list_is_there(void **state)
{
        struct layer *layer = yaml("filesystem: {write: []}\nextends: []\nprocess:\nlimits: {}\n");

        (void)state;
        assert_values(layer, KEY_WRITE, "");
        assert_values(layer, KEY_EXTENDS, "");
        assert_false(layer->has[KEY_READ]);
        assert_int_equal(layer->count, 0);
        layer_free(layer);
}

static void entries_remember_their_place(void **state)
{
        struct layer *layer = yaml("filesystem:\n  deny:\n  - /a\n  -   {path: /b}\nlimits: {timeout: 3s}\n");

        (void)state;
        assert_string_equal(layer->name, "f");
        assert_int_equal(layer->entries[0].line, 3);
        assert_int_equal(layer->entries[0].column, 5);
        assert_int_equal(layer->entries[1].line, 4);
        assert_int_equal(layer->entries[1].column, 14);
        assert_int_equal(layer->entries[2].line, 5);
        assert_int_equal(layer->entries[2].column, 19);
        layer_free(layer);
}

static void the_same_keys_mean_the_same_in_every_format(void **state)
{
        struct layer *from_yaml = yaml("version: 1\nextends: [dev, x]\n"
                                       "filesystem: {read: [all], deny: ['**/.env', {path: '/a*'}]}\n"
                                       "network: {mode: list, connect: ['a:1'], bind: [80]}\n"
                                       "process: {fork: false, commands: []}\n"
                                       "environment: {pass: all, set: {CI: '1'}}\n"
                                       "limits: {memory: 2GiB, processes: 9, timeout: 3s}\n");
        struct layer *from_json = read_layer(
                DOCUMENT_JSON,
                "{\"version\": 1, \"extends\": [\"dev\", \"x\"],"
                "\"filesystem\": {\"read\": [\"all\"], \"deny\": [\"**/.env\", {\"path\": \"/a*\"}]},"
                "\"network\": {\"mode\": \"list\", \"connect\": [\"a:1\"], \"bind\": [80]},"
                "\"process\": {\"fork\": false, \"commands\": []},"
                "\"environment\": {\"pass\": \"all\", \"set\": {\"CI\": \"1\"}},"
                "\"limits\": {\"memory\": \"2GiB\", \"processes\": 9, \"timeout\": \"3s\"}}");
        struct layer *from_toml =
                read_layer(DOCUMENT_TOML, "version = 1\nextends = ['dev', 'x']\n"
                                          "[filesystem]\nread = ['all']\ndeny = ['**/.env', {path = '/a*'}]\n"
                                          "[network]\nmode = 'list'\nconnect = ['a:1']\nbind = [80]\n"
                                          "[process]\nfork = false\ncommands = []\n"
                                          "[environment]\npass = 'all'\nset = {CI = '1'}\n"
                                          "[limits]\nmemory = '2GiB'\nprocesses = 9\ntimeout = '3s'\n");

        (void)state;
        assert_same_layers(from_yaml, from_json);
        assert_same_layers(from_yaml, from_toml);
        layer_free(from_yaml);
        layer_free(from_json);
        layer_free(from_toml);
}

/* ---- mistakes ------------------------------------------------------------------------------------------- */

static void an_unknown_key_is_refused_with_a_guess(void **state)
{
        (void)state;
        refuses("filesystem:\n  wirte: [/x]\n",
                "f:2:3: unknown key 'wirte' in filesystem; did you mean 'write'?");
        refuses("filesytem: {}\n", "f:1:1: unknown key 'filesytem'; did you mean 'filesystem'?");
        refuses("limits: {time-out: 3s}\n",
                "f:1:10: unknown key 'time-out' in limits; did you mean 'timeout'?");
        refuses("rules: []\n",
                "f:1:1: unknown key 'rules'; there are version, extends, session, backend, filesystem, network, "
                "process, environment, limits, audit");
        refuses("process: {quux: 1}\n",
                "f:1:11: unknown key 'quux' in process; there are fork, system_calls, executable_memory, "
                "signals, commands, check_arguments");
        refuses("filesystem.read: [all]\n",
                "f:1:1: unknown key 'filesystem.read'; there are version, extends, "
                "session, backend, filesystem, network, process, environment, limits, audit");
        refuses("limits: {limits.timeout: 3s}\n",
                "f:1:10: unknown key 'limits.timeout' in limits; there are memory, processes, open_files, cpu, "
                "file_size, written, connections, connections_per_second, traffic, timeout, output");
        refuses("read: [all]\n",
                "f:1:1: unknown key 'read'; there are version, extends, session, backend, filesystem, network, "
                "process, environment, limits, audit");
        refuses("\"\": 1\n",
                "f:1:1: unknown key ''; there are version, extends, session, backend, filesystem, network, process, "
                "environment, limits, audit");
        refuses("<<: {extends: dev}\n",
                "f:1:1: unknown key '<<'; there are version, extends, session, backend, filesystem, network, "
                "process, environment, limits, audit");
        refuses("Filesystem: {}\n", "f:1:1: unknown key 'Filesystem'; did you mean 'filesystem'?");
        assert_layer_refused(DOCUMENT_JSON, "{\"filesystem\":\n {\"wirte\": []}}",
                             "f:2:3: unknown key 'wirte' in filesystem; did you mean 'write'?");
        assert_layer_refused(DOCUMENT_TOML, "[filesystem]\nwirte = []\n",
                             "f:2:1: unknown key 'wirte' in filesystem; did you mean 'write'?");
}

static void the_whole_is_a_map_of_maps(void **state)
{
        (void)state;
        refuses("- a\n", "f:1:1: a policy is a map, not a list");
        refuses("hello\n", "f:1:1: a policy is a map, not text");
        refuses("filesystem: [read]\n", "f:1:13: filesystem takes a map, not a list");
        refuses("network: deny\n", "f:1:10: network takes a map, not text");
        refuses("limits: 3\n", "f:1:9: limits takes a map, not a whole number");
        assert_layer_refused(DOCUMENT_JSON, "[]", "f:1:1: a policy is a map, not a list");
        layer_free(yaml(""));
        layer_free(yaml("# nothing\n"));
        layer_free(read_layer(DOCUMENT_JSON, "null"));
        layer_free(read_layer(DOCUMENT_TOML, ""));
}

static void a_wrong_type_is_named(void **state)
{
        (void)state;
        refuses("filesystem: {read: all}\n", "f:1:20: filesystem.read takes a list of paths, not text");
        refuses("filesystem:\n  deny: {a: b}\n", "f:2:9: filesystem.deny takes a list of paths, not a map");
        refuses("filesystem: {write: [1]}\n",
                "f:1:22: filesystem.write takes a list of paths, not a whole number");
        refuses("filesystem: {write: [[/a]]}\n",
                "f:1:22: filesystem.write takes a list of paths, not a list");
        refuses("filesystem: {write: [{paht: /a}]}\n",
                "f:1:22: filesystem.write: a map here is of the form {path: \"/some/path\"}");
        refuses("filesystem:\n  read:\n", "f:2:8: filesystem.read takes a list of paths, not nothing");
        refuses("network: {mode: [deny]}\n",
                "f:1:17: network.mode takes deny, unix-only, allow or list, not a list");
        refuses("network: {connect: 'a:1'}\n", "f:1:20: network.connect takes a list of HOST:PORT, not text");
        refuses("network: {bind: 80}\n",
                "f:1:17: network.bind takes a list of port numbers, not a whole number");
        refuses("network: {bind: ['80']}\n", "f:1:18: network.bind takes a list of port numbers, not text");
        refuses("process: {fork: 'false'}\n", "f:1:17: process.fork takes true or false, not text");
        refuses("process: {system_calls: fewer}\n",
                "f:1:25: process.system_calls: unknown choice 'fewer'; did you mean 'few'?");
        refuses("process: {fork: no}\n", "f:1:17: process.fork takes true or false, not text");
        refuses("process: {commands: git}\n", "f:1:21: process.commands takes a list of programs, not text");
        refuses("environment: {pass: {A: b}}\n",
                "f:1:21: environment.pass takes all, none, or a list of names, not a map");
        refuses("environment: {deny: A}\n", "f:1:21: environment.deny takes a list of names, not text");
        refuses("environment: {set: [A=b]}\n",
                "f:1:20: environment.set takes a map of names to texts, not a list");
        refuses("environment: {set: {CI: 1}}\n",
                "f:1:25: environment.set.CI takes text, not a whole number; put it in quotes");
        refuses("environment: {set: {CI: true}}\n",
                "f:1:25: environment.set.CI takes text, not true or false; put it in quotes");
        refuses("extends: {dev: 1}\n",
                "f:1:10: extends takes a preset or profile, or a list of them, not a map");
        refuses("limits: {memory: 1.5}\n", "f:1:18: limits.memory takes a size such as 512MiB, not a number");
        refuses("limits: {timeout: [3s]}\n",
                "f:1:19: limits.timeout takes a duration such as 30s, not a list");
        refuses("limits: {processes: '9'}\n", "f:1:21: limits.processes takes a whole number, not text");
}

static void a_wrong_version_is_refused(void **state)
{
        (void)state;
        refuses("version: 2\n", "f:1:10: version: this abatis reads version 1 only");
        refuses("version: '1'\n", "f:1:10: version: this abatis reads version 1 only");
        refuses("version: 1.0\n", "f:1:10: version: this abatis reads version 1 only");
        refuses("version:\n", "f:1:9: version: this abatis reads version 1 only");
}

static void a_wrong_quantity_is_refused(void **state)
{
        (void)state;
        refuses("limits: {timeout: 30}\n", "f:1:19: limits.timeout: 30 has no unit; write 30s for seconds");
        refuses("limits: {timeout: 30sec}\n",
                "f:1:19: limits.timeout: '30sec' is not of the form 30s or 500ms");
        refuses("limits: {timeout: '30'}\n", "f:1:19: limits.timeout: '30' is not of the form 30s or 500ms");
        refuses("limits: {memory: 2Gib}\n", "f:1:18: limits.memory: '2Gib' is not of the form 512MiB");
        refuses("limits: {memory: -1}\n", "f:1:18: limits.memory: '-1' is not of the form 512MiB");
        refuses("limits: {memory: 0}\n", "f:1:18: limits.memory: '0' is zero; write none to have no limit");
        refuses("limits: {processes: 0}\n",
                "f:1:21: limits.processes: '0' is zero; write none to have no limit");
        refuses("limits: {memory: 99999999999999GiB}\n",
                "f:1:18: limits.memory: '99999999999999GiB' is too large");
        refuses("limits: {memory: 9223372036854775807}\n",
                "f:1:18: limits.memory: '9223372036854775807' is too large");
        refuses("limits: {memory: 18446744073709551616}\n",
                "f:1:18: the number 18446744073709551616 is too large");
        refuses("limits: {cpu: 18446744073709551616s}\n",
                "f:1:15: limits.cpu: '18446744073709551616s' is too large");
}

static void a_wrong_mode_is_refused_with_a_guess(void **state)
{
        (void)state;
        refuses("network: {mode: alow}\n",
                "f:1:17: network.mode: unknown mode 'alow'; did you mean 'allow'?");
        refuses("session: share\n", "f:1:10: session: unknown mode 'share'; did you mean 'shared'?");
        refuses("network: {mode: ''}\n",
                "f:1:17: network.mode: unknown mode ''; there are deny, unix-only, allow, list");
        refuses("network: {mode: something}\n",
                "f:1:17: network.mode: unknown mode 'something'; there are deny, unix-only, allow, list");
}

static void a_wrong_place_in_the_network_is_refused(void **state)
{
        static const char *const wrong[] = { "a",       ":80",    "a:",       "a:0",       "a:65536",
                                             "a:99999", "a:080",  "a:x",      "a b:1",     "a:1 ",
                                             "a:-1",    "a:+1",   "a:1.0",    "a:**",      "",
                                             ":",       "a:\\n1", "a:100000", "https://a/" };

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                char text[128];

                snprintf(text, sizeof(text), "{\"network\": {\"connect\": [\"%s\"]}}", wrong[i]);
                assert_false(is_read(DOCUMENT_YAML, text));
                assert_false(is_read(DOCUMENT_JSON, text));
        }
        refuses("network: {connect: [example.org]}\n",
                "f:1:21: network.connect: 'example.org' is not of the form HOST:PORT");
        refuses("network: {bind: [0]}\n", "f:1:18: network.bind: 0 is not a port, 1 to 65535");
        refuses("network: {bind: [65536]}\n", "f:1:18: network.bind: 65536 is not a port, 1 to 65535");
        refuses("network: {bind: [-1]}\n", "f:1:18: network.bind: -1 is not a port, 1 to 65535");
}

static void a_list_of_places_needs_the_mode_for_it(void **state)
{
        (void)state;
        refuses("network:\n  mode: allow\n  connect: ['a:1']\n",
                "f:3:13: network.connect needs network.mode list, not allow");
        refuses("network: {connect: ['a:1'], mode: deny}\n",
                "f:1:21: network.connect needs network.mode list, not deny");
        layer_free(yaml("network: {mode: list, connect: ['a:1']}\n"));
        layer_free(yaml("network: {connect: ['a:1']}\n"));        /* the mode may lie below */
        layer_free(yaml("network: {mode: deny, connect: []}\n")); /* takes away what lies below */
}

static void a_path_is_something(void **state)
{
        (void)state;
        refuses("filesystem: {read: [~]}\n",
                "f:1:21: filesystem.read: in YAML a lone ~ means nothing; write \"~\"");
        refuses("filesystem:\n  deny:\n  - ~\n",
                "f:3:5: filesystem.deny: in YAML a lone ~ means nothing; write \"~\"");
        refuses("filesystem: {read: [null]}\n", "f:1:21: filesystem.read takes a list of paths, not nothing");
        refuses("filesystem: {read: ['']}\n", "f:1:21: filesystem.read: an empty path");
        refuses("filesystem: {read: [{path: ''}]}\n", "f:1:28: filesystem.read: an empty path");
}

static void a_name_is_a_name(void **state)
{
        (void)state;
        refuses("environment: {pass: ['A B']}\n", "f:1:22: environment.pass: 'A B' is not a name");
        refuses("environment: {pass: [A=b]}\n", "f:1:22: environment.pass: 'A=b' is not a name");
        refuses("environment: {pass: \"A\\nB\"}\n", "f:1:21: environment.pass: 'A\\nB' is not a name");
        refuses("environment: {set: {'A B': c}}\n",
                "f:1:21: environment.set: 'A B' is not the name of a variable");
        refuses("environment: {set: {'': c}}\n", "f:1:21: environment.set: '' is not the name of a variable");
        refuses("extends: ''\n", "f:1:10: extends: '' is not a name");
}

static void a_key_is_said_once(void **state)
{
        (void)state;
        refuses("filesystem: {read: [all]}\nfilesystem: {write: []}\n",
                "f:2:1: duplicate key 'filesystem', first on line 1");
        refuses("environment:\n  set:\n    A: b\n    A: c\n", "f:4:5: duplicate key 'A', first on line 3");
}

/* A file with very many of anything is read in no time, or refused. */
static void many_entries_take_no_time(void **state)
{
        enum { COUNT = 90000 };
        size_t size = COUNT * 11 + 64, used;
        char *text = malloc(size);
        clock_t before = clock();
        struct layer *layer;

        (void)state;
        assert_non_null(text);
        used = (size_t)snprintf(text, size, "network: {mode: list, connect: [");
        for (int i = 0; i < COUNT; i++)
                used += (size_t)snprintf(text + used, size - used, "a%x:1,", (unsigned)i);
        strcpy(text + used, "]}");
        layer = yaml(text);
        assert_int_equal(layer->count, COUNT + 1);
        layer_free(layer);
        free(text);
        assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 20);
}

/* A hostile name or value does not reach a terminal as it is. */
static void a_message_is_one_line_of_text(void **state)
{
        (void)state;
        refuses("\"a\\e[2Jb\\n\": 1\n",
                "f:1:1: unknown key 'a\\x1b[2Jb\\n'; there are version, extends, session, backend, filesystem, "
                "network, process, environment, limits, audit");
        refuses("network: {mode: \"\\u009b2J\"}\n",
                "f:1:17: network.mode: unknown mode '\\u009b2J'; there are deny, unix-only, allow, list");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_key_takes_its_type_and_no_other),
                cmocka_unit_test(every_key_takes_what_it_is_for),
                cmocka_unit_test(an_empty_list_is_there),
                cmocka_unit_test(entries_remember_their_place),
                cmocka_unit_test(the_same_keys_mean_the_same_in_every_format),
                cmocka_unit_test(an_unknown_key_is_refused_with_a_guess),
                cmocka_unit_test(the_whole_is_a_map_of_maps),
                cmocka_unit_test(a_wrong_type_is_named),
                cmocka_unit_test(a_wrong_version_is_refused),
                cmocka_unit_test(a_wrong_quantity_is_refused),
                cmocka_unit_test(a_wrong_mode_is_refused_with_a_guess),
                cmocka_unit_test(a_wrong_place_in_the_network_is_refused),
                cmocka_unit_test(a_list_of_places_needs_the_mode_for_it),
                cmocka_unit_test(a_path_is_something),
                cmocka_unit_test(a_name_is_a_name),
                cmocka_unit_test(a_key_is_said_once),
                cmocka_unit_test(many_entries_take_no_time),
                cmocka_unit_test(a_message_is_one_line_of_text),
        };

        return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
