/* test_foreign.c: the policies of three other tools, as they are, become layers of ours. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "layers.h"
#include "policies.h"

#define refuses(format, text, message) assert_layer_refused(format, text, message)

/* Which keys a layer says anything about, in the order of the table. */
static void assert_has(const struct layer *layer, const char *wanted)
{
        char has[512] = "";

        for (enum key_id key = KEY_VERSION; key < KEY_COUNT; key++)
                if (layer->has[key])
                        snprintf(has + strlen(has), sizeof(has) - strlen(has), "%s%s", *has ? " " : "",
                                 key_leaf(&keys[key]));
        assert_string_equal(has, wanted);
}

/* ---- YAML with a section `sandbox` ---------------------------------------------------------------------- */

static void a_section_lists_what_is_allowed(void **state)
{
        struct layer *layer =
                read_layer(DOCUMENT_YAML, "version: \"1.0\"\n"
                                          "default_action: deny\n"
                                          "policies:\n"
                                          "  - name: anything\n"
                                          "    rules: [{deep: true}]\n"
                                          "sandbox:\n"
                                          "  allow_paths:\n"
                                          "    read: [/usr, ~/docs, ./src]\n"
                                          "    write: [., /srv/out]\n"
                                          "    execute: [/usr/bin]\n"
                                          "  allow_network:\n"
                                          "    connect: [api.example.org:443, example.com, '*.b:80']\n"
                                          "    bind: [8080, '8081', 'localhost:8082', '127.0.0.1:8083']\n"
                                          "  resource_limits:\n"
                                          "    max_memory_mb: 512\n"
                                          "    max_open_files: 64\n"
                                          "    max_processes: 9\n"
                                          "    timeout_seconds: 30\n");

        (void)state;
        assert_has(layer, "extends read write execute mode connect bind memory processes open_files timeout");
        assert_values(layer, KEY_EXTENDS, "");
        assert_values(layer, KEY_READ, "/usr|~/docs|${workspace}/src");
        assert_values(layer, KEY_WRITE, "${workspace}|/srv/out");
        assert_values(layer, KEY_EXECUTE, "/usr/bin");
        assert_values(layer, KEY_NETWORK, "list");
        assert_values(layer, KEY_CONNECT, "api.example.org:443|example.com:*|*.b:80");
        assert_values(layer, KEY_BIND, "8080|8081|8082|8083");
        assert_values(layer, KEY_MEMORY, "512MiB");
        assert_values(layer, KEY_OPEN_FILES, "64");
        assert_values(layer, KEY_PROCESSES, "9");
        assert_values(layer, KEY_TIMEOUT, "30s");
        layer_free(layer);
}

/* It lists what is allowed: what it does not name is not. */
static void what_a_section_leaves_out_is_not_allowed(void **state)
{
        struct layer *layer = read_layer(DOCUMENT_YAML, "sandbox: {resource_limits: {timeout_seconds: 1}}");

        (void)state;
        assert_has(layer, "extends read write execute mode timeout");
        assert_values(layer, KEY_READ, "");
        assert_values(layer, KEY_WRITE, "");
        assert_values(layer, KEY_EXECUTE, "");
        assert_values(layer, KEY_NETWORK, "deny");
        layer_free(layer);
        layer = read_layer(DOCUMENT_YAML, "sandbox: {allow_network: {connect: [], bind: []}}");
        assert_values(layer, KEY_NETWORK, "deny");
        layer_free(layer);
        /* Words of ours are names there. */
        layer = read_layer(DOCUMENT_YAML, "sandbox: {allow_paths: {read: [all], write: [inherited]}}");
        assert_values(layer, KEY_READ, "${workspace}/all");
        assert_values(layer, KEY_WRITE, "${workspace}/inherited");
        layer_free(layer);
}

static void a_wrong_section_is_refused_at_its_place(void **state)
{
        (void)state;
        refuses(DOCUMENT_YAML, "sandbox:\n  allow_paths: {raed: [/a]}\n",
                "f:2:17: unknown key 'raed' in sandbox.allow_paths; did you mean 'read'?");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: {}, deny_paths: []}\n",
                "f:1:28: unknown key 'deny_paths' in sandbox; there are allow_paths, allow_network, resource_limits");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: {}}\nfilesystem: {deny: [/a]}\n",
                "f:2:1: unknown key 'filesystem' in the file; there are version, default_action, policies, sandbox");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: [/a]}\n",
                "f:1:24: sandbox.allow_paths takes a map, not a list");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: {read: /a}}\n", "f:1:31: read takes a list, not text");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: {read: [1]}}\n", "f:1:32: read takes a list of texts");
        refuses(DOCUMENT_YAML, "sandbox: {allow_paths: {read: ['']}}\n",
                "f:1:32: read takes a list of texts");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {connect: ['a b:1']}}\n",
                "f:1:37: 'a b:1' is not of the form HOST or HOST:PORT");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {connect: ['a:70000']}}\n",
                "f:1:37: 'a:70000' is not of the form HOST or HOST:PORT");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {bind: ['0.0.0.0:80']}}\n",
                "f:1:34: bind takes ports of the loopback, such as 8080 or localhost:8080");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {bind: [0]}}\n",
                "f:1:34: bind takes ports of the loopback, such as 8080 or localhost:8080");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {bind: [true]}}\n",
                "f:1:34: bind takes ports of the loopback, such as 8080 or localhost:8080");
        refuses(DOCUMENT_YAML, "sandbox: {allow_network: {bind: [\"80\\nfilesystem: {read: [all]}\"]}}\n",
                "f:1:34: bind takes ports of the loopback, such as 8080 or localhost:8080");
        refuses(DOCUMENT_YAML, "sandbox: {resource_limits: {max_memory_mb: 0}}\n",
                "f:1:44: max_memory_mb takes a whole number from 1 to 2147483647");
        refuses(DOCUMENT_YAML, "sandbox: {resource_limits: {max_memory_mb: 1.5}}\n",
                "f:1:44: max_memory_mb takes a whole number from 1 to 2147483647");
        refuses(DOCUMENT_YAML, "sandbox: {resource_limits: {timeout_seconds: 2147483648}}\n",
                "f:1:46: timeout_seconds takes a whole number from 1 to 2147483647");
        refuses(DOCUMENT_YAML, "sandbox: true\n",
                "f:1:1: unknown key 'sandbox'; there are version, extends, "
                "session, backend, filesystem, network, process, environment, limits, audit");
}

/* ---- TOML with a table [sandbox] ------------------------------------------------------------------------ */

static void a_table_blocks_paths_and_lists_commands(void **state)
{
        struct layer *layer =
                read_layer(DOCUMENT_TOML, "[server]\nport = 1\n"
                                          "[sandbox]\n"
                                          "enabled = true\n"
                                          "allowed_commands = ['git', 'ls']\n"
                                          "blocked_paths = ['/etc/shadow', '~/.ssh', '**/.env']\n"
                                          "max_execution_time_secs = 5\n"
                                          "max_output_bytes = 100\n");

        (void)state;
        assert_has(layer, "deny commands check_arguments timeout output");
        assert_values(layer, KEY_COMMANDS, "git|ls");
        assert_values(layer, KEY_DENY, "/etc/shadow|~/.ssh|**/.env");
        assert_values(layer, KEY_TIMEOUT, "5s");
        assert_values(layer, KEY_OUTPUT, "100");
        assert_values(layer, KEY_CHECK_ARGUMENTS, "true");
        assert_false(layer->is_disabled);
        layer_free(layer);
}

static void a_table_has_defaults(void **state)
{
        struct layer *layer = read_layer(DOCUMENT_TOML, "[sandbox]\n");

        (void)state;
        assert_has(layer, "check_arguments timeout output");
        assert_values(layer, KEY_TIMEOUT, "30s");
        assert_values(layer, KEY_OUTPUT, "1MiB");
        layer_free(layer);
        layer = read_layer(DOCUMENT_TOML, "[sandbox]\nallowed_commands = []\n");
        assert_values(layer, KEY_COMMANDS, "");
        layer_free(layer);
}

static void a_wrong_table_is_refused_at_its_place(void **state)
{
        (void)state;
        refuses(DOCUMENT_TOML, "[sandbox]\nenable = true\n",
                "f:2:1: unknown key 'enable' in [sandbox]; did you mean 'enabled'?");
        refuses(DOCUMENT_TOML, "[sandbox]\nenabled = 'yes'\n", "f:2:11: enabled takes true or false");
        refuses(DOCUMENT_TOML, "[sandbox]\nblocked_paths = '/a'\n",
                "f:2:17: blocked_paths takes a list, not text");
        refuses(DOCUMENT_TOML, "[sandbox]\nallowed_commands = [1]\n",
                "f:2:21: allowed_commands takes a list of texts");
        refuses(DOCUMENT_TOML, "[sandbox]\nmax_output_bytes = -1\n",
                "f:2:20: max_output_bytes takes a whole number from 1 to 2147483647");
        refuses(DOCUMENT_TOML, "[sandbox]\nmax_execution_time_secs = '5s'\n",
                "f:2:27: max_execution_time_secs takes a whole number from 1 to 2147483647");
}

/* What is read as one format must not hide rules of the other. */
static void formats_are_not_mixed(void **state)
{
        (void)state;
        refuses(DOCUMENT_TOML, "[sandbox]\n[filesystem]\ndeny = ['/a']\n",
                "f:3:1: filesystem.deny is of another format than 'sandbox'; make two files of it");
        refuses(DOCUMENT_YAML, "network: {mode: deny}\nsandbox: {enabled: true}\n",
                "f:1:11: network.mode is of another format than 'sandbox'; make two files of it");
        refuses(DOCUMENT_YAML, "sandbox: {enabled: true}\nextends: strict\n",
                "f:2:1: extends is of another format than 'sandbox'; make two files of it");
        /* Tables of the same name that are somebody else's stay somebody else's. */
        layer_free(read_layer(DOCUMENT_TOML, "[sandbox]\n[network]\nhost = 'a'\n[limits]\nrate = 1\n"));
        refuses(DOCUMENT_JSON, "{\"filesystem\": {\"denyRead\": [], \"deny\": []}}",
                "f:1:33: unknown key 'deny' in filesystem; there are denyRead, allowWrite, denyWrite");
}

static int make_from(const char *file, abatis_policy **out, abatis_error *err)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .workspace = at("ws"),
                                                .file = file };

        return abatis_policy_new(&options, out, err);
}

static void a_disabled_sandbox_runs_nothing(void **state)
{
        const char *file = make_file("off.toml", "[sandbox]\nenabled = false\n");
        abatis_policy *policy = NULL;
        abatis_error err;
        char wanted[256], *text;

        (void)state;
        assert_int_equal(make_from(file, &policy, &err), ABATIS_E_INVALID);
        snprintf(wanted, sizeof(wanted), "%s: sandbox is disabled", file);
        assert_string_equal(err.message, wanted);
        assert_null(policy);
        assert_int_equal(abatis_policy_convert(file, &text, &err), ABATIS_E_INVALID);
        make_file("off.toml", "[sandbox]\nenabled = true\n");
        assert_int_equal(make_from(file, &policy, &err), 0);
        assert_int_equal(abatis_policy_limit(policy, "limits.timeout"), 30000);
        assert_int_equal(abatis_policy_limit(policy, "limits.output"), 1024 * 1024);
        assert_int_equal(policy->commands.count, 0);
        abatis_policy_free(policy);
}

/* ---- the settings of srt -------------------------------------------------------------------------------- */

static void srt_denies_reading_and_allows_writing(void **state)
{
        struct layer *layer = read_layer(
                DOCUMENT_JSON,
                "{\"network\": {\"allowedDomains\": [\"example.org\", \"*.example.com\"], "
                "\"deniedDomains\": [\"evil.org\"]},\n"
                "\"filesystem\": {\"denyRead\": [\"~/.ssh\", \"secret\"], \"allowWrite\": [\".\", \"./out\", "
                "\"/srv\"], \"denyWrite\": [\".env\", \"./a/**\"]}}");

        (void)state;
        assert_has(layer, "extends read write execute deny protect mode connect");
        assert_values(layer, KEY_EXTENDS, "");
        assert_values(layer, KEY_READ, "all");
        assert_values(layer, KEY_EXECUTE, "all");
        assert_values(layer, KEY_DENY, "~/.ssh|${workspace}/secret");
        assert_values(layer, KEY_WRITE, "${workspace}|${workspace}/out|/srv");
        assert_values(layer, KEY_PROTECT, "${workspace}/.env|${workspace}/a/**");
        assert_values(layer, KEY_NETWORK, "list");
        assert_values(layer, KEY_CONNECT, "example.org:*|*.example.com:*");
        layer_free(layer);
}

static void what_srt_leaves_out_is_not_allowed(void **state)
{
        struct layer *layer = read_layer(DOCUMENT_JSON, "{\"filesystem\": {\"denyRead\": []}}");

        (void)state;
        assert_values(layer, KEY_WRITE, "");
        assert_values(layer, KEY_NETWORK, "deny");
        layer_free(layer);
        layer = read_layer(DOCUMENT_JSON, "{\"network\": {\"allowedDomains\": []}}");
        assert_values(layer, KEY_NETWORK, "deny");
        assert_values(layer, KEY_WRITE, "");
        layer_free(layer);
}

/* A domain that is denied within what is allowed could not be held. */
static void an_exception_of_srt_is_refused(void **state)
{
        (void)state;
        refuses(DOCUMENT_JSON,
                "{\"network\": {\"allowedDomains\": [\"*.a.org\"], \"deniedDomains\": [\"b.a.org\"]}}",
                "f:1:63: deniedDomains 'b.a.org' is an exception to allowedDomains '*.a.org', which cannot be enforced; "
                "list the domains to allow one by one");
        refuses(DOCUMENT_JSON,
                "{\"network\": {\"allowedDomains\": [\"b.a.org\"], \"deniedDomains\": [\"*.a.org\"]}}",
                "f:1:63: deniedDomains '*.a.org' is an exception to allowedDomains 'b.a.org', which cannot be enforced; "
                "list the domains to allow one by one");
        refuses(DOCUMENT_JSON,
                "{\"network\": {\"allowedDomains\": [\"a.org\"], \"deniedDomains\": [\"A.org\"]}}",
                "f:1:61: deniedDomains 'A.org' is an exception to allowedDomains 'a.org', which cannot be enforced; "
                "list the domains to allow one by one");
        layer_free(read_layer(DOCUMENT_JSON, "{\"network\": {\"allowedDomains\": [\"*.a.org\"], "
                                             "\"deniedDomains\": [\"a.org\", \"ba.org\", \"*.b.org\"]}}"));
}

/* So many different domains of each, none of them an exception. */
static char *many_domains(size_t allowed, size_t denied)
{
        struct text text = { 0 };
        char *whole;

        text_add(&text, "{\"network\": {\"allowedDomains\": [");
        for (size_t i = 0; i < allowed; i++)
                text_addf(&text, "%s\"a%zu.org\"", i ? "," : "", i);
        text_add(&text, "],\n\"deniedDomains\": [");
        for (size_t i = 0; i < denied; i++)
                text_addf(&text, "%s\"d%zu.org\"", i ? "," : "", i);
        text_add(&text, "]}}");
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

/* Tens of thousands of each would keep whoever clones a repository waiting. */
static void denied_and_allowed_domains_make_a_million_pairs_at_most(void **state)
{
        char *most = many_domains(1000, 1000), *more = many_domains(1001, 1000);

        (void)state;
        layer_free(read_layer(DOCUMENT_JSON, most));
        refuses(DOCUMENT_JSON, more, "f:2:18: too many domains beside so many allowedDomains");
        free(most);
        free(more);
}

static void wrong_settings_of_srt_are_refused_at_their_place(void **state)
{
        (void)state;
        refuses(DOCUMENT_JSON, "{\"network\": {\"allowedDomains\": [], \"allowUnixSockets\": []}}",
                "f:1:36: unknown key 'allowUnixSockets' in network; there are allowedDomains, deniedDomains");
        refuses(DOCUMENT_JSON, "{\"filesystem\": {\"allowWrite\": []}, \"ignoreViolations\": {}}",
                "f:1:36: unknown key 'ignoreViolations' in the file; there are network, filesystem");
        refuses(DOCUMENT_JSON, "{\"filesystem\": {\"allowWrite\": [\"\"]}}",
                "f:1:32: allowWrite takes a list of texts");
        refuses(DOCUMENT_JSON, "{\"network\": {\"allowedDomains\": [\"a.org:443\"]}}",
                "f:1:33: 'a.org:443' is not a domain");
        refuses(DOCUMENT_JSON, "{\"network\": {\"allowedDomains\": [\"a b\"]}}",
                "f:1:33: 'a b' is not a domain");
        refuses(DOCUMENT_JSON, "{\"network\": {\"deniedDomains\": \"a\"}}",
                "f:1:31: deniedDomains takes a list, not text");
        refuses(DOCUMENT_JSON, "{\"network\": {\"deniedDomains\": [1]}}",
                "f:1:32: deniedDomains takes a list of texts");
}

/* ---- converted ------------------------------------------------------------------------------------------ */

/* What is printed is of our own format, and means the same. */
static void assert_converts(const char *name, const char *text)
{
        const char *file = make_file(name, text), *again;
        struct layer *before, *after;
        abatis_error err;
        char *converted, *twice;

        if (abatis_policy_convert(file, &converted, &err) < 0)
                fail_msg("%s", err.message);
        before = read_layer(document_format_of(name), text);
        after = read_layer(DOCUMENT_YAML, converted);
        assert_int_equal(strncmp(converted, "version: 1\n", 11), 0);
        after->has[KEY_VERSION] = before->has[KEY_VERSION];
        assert_same_layers(before, after);
        again = make_file("converted.yaml", converted);
        assert_int_equal(abatis_policy_convert(again, &twice, &err), 0);
        assert_string_equal(converted, twice);
        layer_free(before);
        layer_free(after);
        free(converted);
        free(twice);
}

static void converted_files_mean_the_same(void **state)
{
        (void)state;
        assert_converts("a.yaml",
                        "sandbox: {allow_paths: {read: [/usr]}, allow_network: {connect: [a], bind: [80]}}");
        assert_converts("b.toml",
                        "[sandbox]\nallowed_commands = ['git']\nblocked_paths = ['/a b', '**/\"x']\n");
        assert_converts(
                "c.json",
                "{\"filesystem\": {\"denyRead\": [\"/\\u2028\\u202e\\u2069\\u0085\\u0080\\ufeff\\uffff\\t\\n\\\\\\\"\"]}}");
        assert_converts("d.yaml",
                        "filesystem: {read: [all, {path: '/[x]'}], write: []}\nenvironment: {set: {}}\n");
        assert_converts(
                "e.yaml",
                "environment: {pass: none, set: {'#A': b, 'B:': c, '\"': d, '-': e, \"\\u2028\": f}}\n");
        assert_converts(
                "f.json",
                "{\"environment\": {\"set\": {\"{a\": \"1\", \"!b\": \"\", \"*c\": \"\\u0001\", \"\\t\": \"x\"}}}");
        assert_converts("g.yaml",
                        "version: 1\nextends: []\nlimits: {memory: 0x10, cpu: 010s, processes: 3}\n");
        assert_converts("h.yaml", "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_section_lists_what_is_allowed),
                cmocka_unit_test(what_a_section_leaves_out_is_not_allowed),
                cmocka_unit_test(a_wrong_section_is_refused_at_its_place),
                cmocka_unit_test(a_table_blocks_paths_and_lists_commands),
                cmocka_unit_test(a_table_has_defaults),
                cmocka_unit_test(a_wrong_table_is_refused_at_its_place),
                cmocka_unit_test(formats_are_not_mixed),
                POLICY_TEST(a_disabled_sandbox_runs_nothing),
                cmocka_unit_test(srt_denies_reading_and_allows_writing),
                cmocka_unit_test(what_srt_leaves_out_is_not_allowed),
                cmocka_unit_test(an_exception_of_srt_is_refused),
                cmocka_unit_test(denied_and_allowed_domains_make_a_million_pairs_at_most),
                cmocka_unit_test(wrong_settings_of_srt_are_refused_at_their_place),
                POLICY_TEST(converted_files_mean_the_same),
        };

        return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
