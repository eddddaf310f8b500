/* test_shortage.c: lets every single allocation fail on the way from policy files to a policy, and in what is said of it.
 *
 * Each time the call must fail, or give the very result it gives with enough memory: never a weaker one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "compositions.h"
#include "policy/compose.h"
#include "shortage.h"

/* Gives a text, owned by the caller, that tells results apart. */
typedef int (*action)(char **out, abatis_error *err);

static void assert_survives(action act, long least)
{
        char *complete = NULL;
        abatis_error err;
        long failures = 0;

        if (act(&complete, &err) < 0)
                fail_msg("%s", err.message);
        for (long n = 1;; n++) {
                char untouched, *text = &untouched;
                int r;

                has_failed = false;
                countdown = n;
                r = act(&text, &err);
                countdown = 0;
                if (!has_failed) {
                        assert_int_equal(r, 0);
                        free(text);
                        break;
                }
                failures++;
                if (!r) {
                        if (strcmp(text, complete) != 0)
                                fail_msg("another result without allocation %ld: %s", n, text);
                        free(text);
                } else if ((r != ABATIS_E_MEMORY && !strstr(err.message, "Cannot allocate memory")) ||
                           err.code != r || text != &untouched)
                        fail_msg("%d without allocation %ld: %s", r, n, err.message);
        }
        free(complete);
        if (failures < least)
                fail_msg("only %ld allocations", failures);
}

/* ---- documents and layers ------------------------------------------------------------------------------- */

static const char yaml_text[] =
        "version: 1\nextends: [dev, tool]\n"
        "filesystem: &f {read: [all, system, {path: '/a*'}], write: ['${workspace}', '${tmp}'], deny: ['**/.env', ~/x]}\n"
        "network: {mode: list, connect: ['a:1', 'b:2'], bind: [80], unix: [/s]}\n"
        "process: {fork: false, signals: false, commands: [], check_arguments: true}\n"
        "environment: {pass: [A, B], deny: ['*_K'], set: {A: b, '#x': \"\\u2028\", C: d}}\n"
        "limits: {memory: 1GiB, processes: 9, open_files: 9, cpu: 9s, file_size: 9K, written: 9G, timeout: 9s, output: 9}\n";
static const char json_text[] =
        "{\"version\": 1, \"extends\": \"dev\", \"filesystem\": {\"read\": [\"all\", {\"path\": \"/a*\"}], \"deny\": []},"
        "\"environment\": {\"set\": {\"A\": \"\\ud83d\\ude00\"}}, \"limits\": {\"timeout\": \"9s\", \"memory\": 1024}}";
static const char toml_text[] =
        "extends = ['dev']\n[filesystem]\nread = ['all']\n[environment.set]\nA = 'b'\n";
static const char section_text[] =
        "sandbox: {allow_paths: {read: [/usr, ./x], write: [.]}, allow_network: {connect: [a, "
        "'b:1'], bind: [80]}, resource_limits: {max_memory_mb: 5, timeout_seconds: 3}}";
static const char table_text[] = "[sandbox]\nallowed_commands = ['ls']\nblocked_paths = ['/a']\n";
static const char srt_text[] =
        "{\"network\": {\"allowedDomains\": [\"a.org\"], \"deniedDomains\": [\"b.org\"]},"
        "\"filesystem\": {\"denyRead\": [\"~/x\"], \"allowWrite\": [\".\", \"y\"]}}";

static int read_and_print(enum document_format format, const char *text, char **out, abatis_error *err)
{
        struct layer *layer = NULL;
        int r = layer_read(format, "f", text, strlen(text), &layer, err);

        if (!r)
                r = layer_print(layer, out, err);
        layer_free(layer);
        return r;
}

#define READER(name, format)                                          \
        static int read_##name(char **out, abatis_error *err)         \
        {                                                             \
                return read_and_print(format, name##_text, out, err); \
        }
READER(yaml, DOCUMENT_YAML)
READER(json, DOCUMENT_JSON)
READER(toml, DOCUMENT_TOML)
READER(section, DOCUMENT_YAML)
READER(table, DOCUMENT_TOML)
READER(srt, DOCUMENT_JSON)

static void every_format_is_read_whole_or_memory_is_short(void **state)
{
        (void)state;
        assert_survives(read_yaml, 300);
        assert_survives(read_json, 30);
        assert_survives(read_srt, 30);
        assert_survives(read_toml, 30);
        assert_survives(read_section, 30);
        assert_survives(read_table, 30);
}

/* Anchors, and a map that has an index. */
static int read_tree(char **out, abatis_error *err)
{
        static const char text[] =
                "a: &a {x: [1, &b 'y']}\nb: [*a, *b]\nc: &c {0: 1,1: 1,2: 1,3: 1,4: 1,5: 1,6: 1,7: 1,"
                "8: 1,9: 1,10: 1,11: 1,12: 1,13: 1,14: 1,15: 1,16: 1,17: 1,18: 1}\nd: *c\n";
        struct node *root = NULL;
        int r = document_parse(DOCUMENT_YAML, "f", text, strlen(text), &root, err);

        node_free(root);
        if (r < 0)
                return r;
        countdown = 0; /* nothing is left that may fail */
        *out = strdup("read");
        return 0;
}

static void anchors_are_followed_or_memory_is_short(void **state)
{
        (void)state;
        assert_survives(read_tree, 30);
}

/* ---- a policy out of layers ----------------------------------------------------------------------------- */

/* Made before anything may fail. */
static struct texts texts;
static abatis_policy_options options;

static int read_text(const char *name, const char *text, struct layer **out, abatis_error *err)
{
        return text ? layer_read(DOCUMENT_YAML, name, text, strlen(text), out, err) : 0;
}

static int make_policy(abatis_policy **out, abatis_error *err)
{
        struct files files = { .is_project_trusted = texts.trusts_project };
        abatis_policy *policy = NULL;
        int r = policy_new_empty(&options, &policy, err);

        if (!r)
                r = read_text("system", texts.system, &files.system, err);
        if (!r)
                r = read_text("user", texts.user, &files.user, err);
        if (!r)
                r = read_text("project", texts.project, &files.project, err);
        if (!r)
                r = read_text("given", texts.given, &files.given, err);
        if (!r)
                r = compose_files(policy, &files, &options, err);
        files_done(&files);
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

static int compose_and_print(char **out, abatis_error *err)
{
        abatis_policy *policy = NULL;
        int r = make_policy(&policy, err);

        if (!r)
                r = abatis_policy_print(policy, ABATIS_TEXT, out, err);
        abatis_policy_free(policy);
        return r;
}

static int compose_and_lint(char **out, abatis_error *err)
{
        abatis_policy *policy = NULL;
        int count, r = make_policy(&policy, err);

        if (!r)
                r = abatis_policy_lint(policy, out, &count, err);
        abatis_policy_free(policy);
        return r;
}

static int compose_and_print_json(char **out, abatis_error *err)
{
        abatis_policy *policy = NULL;
        int r = make_policy(&policy, err);

        if (!r)
                r = abatis_policy_print(policy, ABATIS_JSON, out, err);
        abatis_policy_free(policy);
        return r;
}

static void make_layers(void)
{
        make_dir("home/.ssh");
        make_dir("home/.config/abatis");
        make_dir("ws/p");
        make_link("ws/link", "p");
        make_profile("low",
                     "extends: dev\nfilesystem: {read: [inherited, ~/no, system]}\nlimits: {timeout: 9s}\n");
        make_profile("high", "extends: [low, strict]\nnetwork: {mode: list, connect: ['a:1', 'b:2']}\n"
                             "environment: {pass: [A, B]}\n");
        texts = (struct texts){
                .system =
                        "filesystem: {read: [system, '${workspace}'], write: ['${workspace}'], execute: [system], deny: "
                        "['~/z', '**/*.pem']}\nnetwork: {mode: list, connect: ['a:1']}\n"
                        "environment: {pass: [A], deny: [X]}\nlimits: {timeout: 5s}\n",
                .user = "extends: high\nfilesystem: {deny: [~/x, '**/.env'], protect: ['${workspace}/p']}\n"
                        "environment: {set: {HERE: ~/y}}\n",
                .project = "filesystem: {read: [system, '${workspace}/link'], write: ['${workspace}']}\n"
                           "environment: {pass: [A]}\nlimits: {timeout: 4s}\n",
                .given = "limits: {output: 1KiB}\nnetwork: {connect: ['a:1']}\n",
        };
        options = (abatis_policy_options){ .size = sizeof(options), .workspace = at("ws") };
}

static void a_policy_is_never_weaker_for_lack_of_memory(void **state)
{
        (void)state;
        make_layers();
        assert_survives(compose_and_print, 700);
        texts.project = "process: {commands: [sh, /bin/ls]}\nfilesystem: {write: []}\n";
        texts.system = "process: {commands: [/bin/ls]}\nfilesystem: {read: [system, '${workspace}']}\n";
        assert_composition_refused_with(&texts, "process.commands 'sh' (project:1)");
        texts.project = "process: {commands: [/bin/ls]}\nfilesystem: {write: []}\n";
        assert_survives(compose_and_print, 700);
        texts.project = NULL;
        texts.system = NULL;
        assert_survives(compose_and_print, 500);
        assert_survives(compose_and_print_json, 500);
        assert_survives(compose_and_lint, 500);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static const char *policy_file;

static int convert(char **out, abatis_error *err)
{
        return abatis_policy_convert(policy_file, out, err);
}

static int list(char **out, abatis_error *err)
{
        return abatis_profile_list(out, err);
}

static int trust(char **out, abatis_error *err)
{
        return abatis_trust(options.workspace, 1, out, err);
}

static int from_files(char **out, abatis_error *err)
{
        abatis_policy *policy = NULL;
        int r = abatis_policy_new(&options, &policy, err);

        if (!r)
                r = abatis_policy_print(policy, ABATIS_TEXT, out, err);
        abatis_policy_free(policy);
        return r;
}

static void files_are_read_whole_or_memory_is_short(void **state)
{
        (void)state;
        policy_file = make_file("f.yaml", yaml_text);
        make_file("home/.config/abatis/policy.yaml", "filesystem: {deny: [~/x]}\n");
        make_file("ws/.abatis.yaml", "limits: {timeout: 4s}\n");
        make_dir("ws/.git/hooks");
        make_file("ws/.git/config", "");
        make_file("given.yaml", "extends: [strict, python]\n");
        make_profile("p", "# Mine.\nextends: dev\n");
        options = (abatis_policy_options){ .size = sizeof(options),
                                           .workspace = at("ws"),
                                           .file = at("given.yaml"),
                                           .layers = ABATIS_LAYER_USER | ABATIS_LAYER_PROJECT };
        assert_survives(convert, 300);
        assert_survives(from_files, 300);
        assert_survives(trust, 10);
        assert_survives(list, 10);
}

/* jansson's printing leaves out what it cannot hold, so that only the building of it is compared. */
static void a_schema_is_built_or_memory_is_short(void **state)
{
        long failures = 0;

        (void)state;
        json_set_alloc_funcs(__wrap_malloc, free);
        do {
                char *text = NULL;
                int r;

                has_failed = false;
                countdown = ++failures;
                r = abatis_policy_schema(&text, NULL);
                countdown = 0;
                assert_true(!r || (has_failed && r == ABATIS_E_MEMORY && !text));
                free(text);
        } while (has_failed);
        json_set_alloc_funcs(malloc, free);
        assert_true(failures > 500);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_format_is_read_whole_or_memory_is_short),
                cmocka_unit_test(anchors_are_followed_or_memory_is_short),
                COMPOSITION_TEST(a_policy_is_never_weaker_for_lack_of_memory),
                COMPOSITION_TEST(files_are_read_whole_or_memory_is_short),
                cmocka_unit_test(a_schema_is_built_or_memory_is_short),
        };

        return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
