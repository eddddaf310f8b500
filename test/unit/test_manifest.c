/* test_manifest.c: every key of skill.yaml with right and wrong values, and what is said about a mistake. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "scratch.h"
#include "skill/manifest.h"

/* The least that a manifest says: three lines of it, and a fourth. */
#define LEAST "name: hello\nversion: \"1\"\ndescription: Says hello.\nmodule: hello.wasm\n"

static struct manifest *read_text(const char *text)
{
        abatis_error err = { .message = "" };
        struct manifest *manifest = NULL;

        if (manifest_read("f", text, strlen(text), &manifest, &err) < 0)
                fail_msg("%s", err.message);
        return manifest;
}

static void takes(const char *more)
{
        OWN_TEXT struct text text = { 0 };

        text_add(&text, LEAST);
        text_add(&text, more);
        manifest_free(read_text(text.data));
}

static void refuses_all_of(const char *text, const char *message)
{
        struct manifest untouched, *manifest = &untouched;
        abatis_error err = { .message = "" };

        if (!manifest_read("f", text, strlen(text), &manifest, &err))
                fail_msg("read without '%s': %.60s", message, text);
        assert_ptr_equal(manifest, &untouched);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (strncmp(err.message, message, strlen(message)) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
        assert_int_equal(manifest_read("f", text, strlen(text), &manifest, NULL), ABATIS_E_INVALID);
}

/* As the fifth line. */
static void refuses(const char *more, const char *message)
{
        OWN_TEXT struct text text = { 0 };

        text_add(&text, LEAST);
        text_add(&text, more);
        refuses_all_of(text.data, message);
}

static void the_least_has_the_least(void **state)
{
        struct manifest *manifest = read_text(LEAST);

        (void)state;
        assert_string_equal(manifest->name, "hello");
        assert_string_equal(manifest->version, "1");
        assert_string_equal(manifest->description, "Says hello.");
        assert_string_equal(manifest->module, "hello.wasm");
        assert_string_equal(manifest->sha256, "");
        assert_string_equal(manifest->tier->name, "untrusted");
        assert_null(manifest->engine);
        assert_null(manifest->imports[0]);
        assert_null(manifest->policy_json);
        assert_null(manifest->input_json);
        assert_null(manifest->output_json);
        manifest_free(manifest);
}

static void every_key_is_kept(void **state)
{
        struct manifest *manifest = read_text(
                "abatis: 1\nname: a.b_c-9\nversion: 1.2.3\ndescription: Größe\nmodule: bin/x.wasm\n"
                "sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
                "tier: verified\nengine: wazero\nimports: [env.log, \"x.*\"]\n"
                "policy: {version: 1, filesystem: {read: [\"${workspace}/a\", {path: \"/~x\"}]}, limits: {cpu: 5s}}\n"
                "input: {type: object, properties: {n: {type: [integer, \"null\"]}}}\n"
                "output: {type: array, items: {type: number, minimum: 1.5}}\n");

        (void)state;
        assert_string_equal(manifest->name, "a.b_c-9");
        assert_string_equal(manifest->version, "1.2.3");
        assert_string_equal(manifest->module, "bin/x.wasm");
        assert_int_equal(strlen(manifest->sha256), 64);
        assert_string_equal(manifest->tier->name, "verified");
        assert_string_equal(manifest->engine, "wazero");
        assert_string_equal(manifest->imports[0], "env.log");
        assert_string_equal(manifest->imports[1], "x.*");
        assert_null(manifest->imports[2]);
        assert_string_equal(
                manifest->policy_json,
                "{\"version\":1,\"filesystem\":{\"read\":[\"${workspace}/a\",{\"path\":\"/~x\"}]},\"limits\":{"
                "\"cpu\":\"5s\"}}");
        assert_string_equal(manifest->input_json,
                            "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":[\"integer\",\"null\"]}}}");
        assert_string_equal(manifest->output_json,
                            "{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":1.5}}");
        manifest_free(manifest);
}

static void what_every_skill_has_is_needed(void **state)
{
        (void)state;
        refuses_all_of("", "f:1:1: a skill's manifest is a map, not nothing");
        refuses_all_of("- x\n", "f:1:1: a skill's manifest is a map, not a list");
        refuses_all_of("name: x\n", "f:1:1: there is no 'version', which every skill has");
        refuses_all_of("version: x\ndescription: x\nmodule: x\n", "f:1:1: there is no 'name'");
        refuses_all_of("name: x\nversion: x\nmodule: x\n", "f:1:1: there is no 'description'");
        refuses_all_of("name: x\nversion: x\ndescription: x\n", "f:1:1: there is no 'module'");
}

static void unknown_and_double_keys_are_refused(void **state)
{
        (void)state;
        refuses("polcy: {}\n", "f:5:1: unknown key 'polcy'; did you mean 'policy'?");
        refuses("something: 1\n", "f:5:1: unknown key 'something'; there are abatis, name, version");
        refuses("name: again\n", "f:5:1: ");
        refuses("abatis: 2\n", "f:5:9: abatis: this abatis reads format 1 only");
        refuses("abatis: \"1\"\n", "f:5:9: abatis: this abatis reads format 1 only");
        takes("abatis: 1\n");
}

static void names_are_no_paths(void **state)
{
        static const char *const bad[] = {
                "\"\"",
                ".",
                "..",
                ".hidden",
                "-flag",
                "a/b",
                "Hello",
                "a b",
                "_x",
                "\"a\\n\"",
                "ä",
                "~",
                "a\\b",
                "[a, b]",
                "true",
                "7",
                "a234567890123456789012345678901234567890123456789012345678901234x"
        };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                char text[256];

                snprintf(text, sizeof(text), "version: x\ndescription: x\nmodule: x\nname: %s\n", bad[i]);
                refuses_all_of(text, "f:4:7: name");
        }
        assert_true(manifest_is_name("a234567890123456789012345678901234567890123456789012345678901234"));
        assert_true(manifest_is_name("0..-_"));
        assert_false(manifest_is_name(""));
}

static void texts_are_of_one_line(void **state)
{
        char text[2048];

        (void)state;
        refuses_all_of("version: 1.0\n", "f:1:10: version takes a text; put the number in quotes");
        refuses_all_of("version: 1\n", "f:1:10: version takes a text; put the number in quotes");
        refuses_all_of("version: \"\"\n", "f:1:10: version: '' is not one word");
        refuses_all_of("version: a b\n", "f:1:10: version: 'a b' is not one word");
        refuses_all_of("description: |\n  two\n  lines\n", "f:1:14: description: it is one line");
        refuses_all_of("description: \"\\u202eevil\"\n", "f:1:14: description: it is one line");
        refuses_all_of("description: \"\\x1b[31m\"\n", "f:1:14: description: it is one line");
        refuses_all_of("description: \"\"\n", "f:1:14: description: it is empty");
        refuses_all_of("description: [x]\n", "f:1:14: description takes a text, not a list");
        snprintf(text, sizeof(text), "description: %01025d.x\n", 7);
        refuses_all_of(text, "f:1:14: description: it has more than 1024 bytes");
}

static void a_module_lies_in_the_package(void **state)
{
        static const char *const bad[] = { "/x",  "..",   "../x", "a/../x", ".",
                                           "./x", "a//x", "a/",   "\"\"",   "\"a\\n\"" };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                char text[64];

                snprintf(text, sizeof(text), "module: %s\n", bad[i]);
                refuses_all_of(text, "f:1:9: module: '");
        }
        refuses_all_of("module: [x]\n", "f:1:9: module takes the path of a file in the package, not a list");
}

static void claims_are_exact(void **state)
{
        (void)state;
        refuses("sha256: abc\n", "f:5:9: sha256 takes 64 digits");
        refuses("sha256: 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\n",
                "f:5:9: sha256 takes 64 digits");
        refuses("sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0\n",
                "f:5:9: sha256 takes 64 digits");
        refuses("tier: verifed\n", "f:5:7: tier: unknown tier 'verifed'; did you mean 'verified'?");
        refuses("tier: \"\"\n", "f:5:7: tier: unknown tier ''");
        refuses("tier: [local]\n", "f:5:7: tier takes local, verified or untrusted, not a list");
        refuses("engine: /bin/sh\n", "f:5:9: engine takes the name of an engine");
        refuses("imports: env.log\n", "f:5:10: imports takes a list of MODULE.NAME or MODULE.*, not text");
        refuses("imports: [env]\n", "f:5:11: imports: an entry is of the form");
        refuses("imports: [a.b, .x]\n", "f:5:16: imports: an entry is of the form");
        refuses("imports: [env.]\n", "f:5:11: imports: an entry is of the form");
        takes("tier: local\nimports: []\n");
}

static void a_policy_is_one(void **state)
{
        (void)state;
        refuses("policy: x\n", "f:5:9: policy takes a map with the keys of a policy file, not text");
        refuses("policy:\n  filesystem: {raed: [/x]}\n",
                "f:6:16: unknown key 'raed' in filesystem; did you mean 'read'?");
        refuses("policy: {limits: {cpu: 5}}\n", "f:5:24: limits.cpu: 5 has no unit");
        refuses("policy: {version: 2}\n", "f:5:19: version: this abatis reads version 1 only");
        refuses("policy: {network: {allowedDomains: []}}\n",
                "f:5:9: policy takes the keys of a policy file, not those");
        takes("policy: {}\n");
}

/* What whoever runs it decides. */
static void a_policy_is_a_skills(void **state)
{
        (void)state;
        refuses("policy: {extends: dev}\n", "f:5:10: policy.extends is not for a skill to say");
        refuses("policy: {audit: off}\n", "f:5:10: policy.audit is not for a skill to say");
        refuses("policy: {audit: {log: off}}\n", "f:5:10: policy.audit is not for a skill to say");
        refuses("policy: {backend: none}\n", "f:5:10: policy.backend is not for a skill to say");
        refuses("policy: {session: shared}\n", "f:5:10: policy.session is not for a skill to say");
        refuses("policy: {filesystem: {read: [\"~/.ssh\"]}}\n",
                "f:5:30: policy.filesystem.read: '~/.ssh': a skill");
        refuses("policy: {filesystem: {read: [\"${home}\"]}}\n",
                "f:5:30: policy.filesystem.read: '${home}': a");
        refuses("policy: {filesystem: {write: [\"${workspaces}\"]}}\n",
                "f:5:31: policy.filesystem.write: '${wo");
        refuses("policy: {filesystem: {write: [\"${workspace}/${home}\"]}}\n",
                "f:5:31: policy.filesystem.write");
        refuses("policy: {network: {mode: unix-only, unix: [\"~/x\"]}}\n",
                "f:5:44: policy.network.unix: '~/x'");
        refuses("policy: {environment: {set: {X: \"${home}\"}}}\n",
                "f:5:33: policy.environment.set: '${home}'");
        takes("policy: {filesystem: {read: [\"${workspace}\", \"${data}/x\", /usr/share], write: [\"${tmp}\"]}}\n");
}

static void schemas_are_schemas(void **state)
{
        (void)state;
        refuses("input: [x]\n", "f:5:8: input takes a JSON Schema, which is a map, not a list");
        refuses("input: {}\n", "f:5:8: input: a schema says its type");
        refuses("output: {type: objekt}\n",
                "f:5:16: unknown type 'objekt' in a schema; did you mean 'object'?");
        refuses("output: {type: 7}\n", "f:5:16: a schema's type is a text, not ");
        refuses("output: {type: [string, x]}\n", "f:5:25: unknown type 'x' in a schema");
        refuses("input: {type: object, properties: [x]}\n", "f:5:35: properties takes a map of schemas");
        refuses("input: {type: object, properties: {a: x}}\n", "f:5:39: a schema is a map, not text");
        refuses("input: {type: array, items: {type: x}}\n", "f:5:36: unknown type 'x'");
        refuses("input: {type: object, properties: {type: {type: y}}}\n", "f:5:49: unknown type 'y'");
        refuses("input: {type: number, maximum: .inf}\n", "f:5:32: JSON has no such number");
        takes("input: {type: object, properties: {type: {type: string}, any: true}}\n");
}

static void schemas_have_bounds(void **state)
{
        OWN_TEXT struct text deep = { 0 }, large = { 0 };

        (void)state;
        text_add(&deep, "input: {type: object, x: ");
        for (int i = 0; i < MANIFEST_SCHEMA_DEPTH; i++)
                text_add(&deep, "[");
        for (int i = 0; i < MANIFEST_SCHEMA_DEPTH; i++)
                text_add(&deep, "]");
        text_add(&deep, "}\n");
        refuses(deep.data, "f:5:8: input: it is deeper than 32 levels");
        text_add(&large, "input: {type: object, x: \"");
        for (int i = 0; i < 1024; i++)
                text_add(&large, "0123456789012345678901234567890123456789012345678901234567890123");
        text_add(&large, "\"}\n");
        refuses(large.data, "f:5:8: input: it has more than 64 KiB");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_least_has_the_least),
                cmocka_unit_test(every_key_is_kept),
                cmocka_unit_test(what_every_skill_has_is_needed),
                cmocka_unit_test(unknown_and_double_keys_are_refused),
                cmocka_unit_test(names_are_no_paths),
                cmocka_unit_test(texts_are_of_one_line),
                cmocka_unit_test(a_module_lies_in_the_package),
                cmocka_unit_test(claims_are_exact),
                cmocka_unit_test(a_policy_is_one),
                cmocka_unit_test(a_policy_is_a_skills),
                cmocka_unit_test(schemas_are_schemas),
                cmocka_unit_test(schemas_have_bounds),
        };

        return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
