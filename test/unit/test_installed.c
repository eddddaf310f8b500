/* test_installed.c: a skill is what was installed, or it is refused; nothing else in the store is one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "skill/installed.h"

#define STORE "home/.local/share/abatis/skills"

static struct package *make(const char *name, const char *module, const char *tier)
{
        struct package *package = NULL;
        abatis_error err = { .message = "" };
        char *text = NULL;
        int length = asprintf(&text, "name: %s\nversion: \"1\"\ndescription: d\nmodule: m\n", name);

        assert_true(length > 0);
        if (package_make(text, (size_t)length, strdup(module), strlen(module), "f", &package, &err) < 0)
                fail_msg("%s", err.message);
        package->tier = abatis_tier_find(tier);
        return package;
}

static int add(const char *name, const char *module, const char *tier, bool is_forced,
               enum installed_how *how, abatis_error *err)
{
        struct package *package = make(name, module, tier);
        int r = installed_add(package, is_forced, how, err);

        package_free(package);
        return r;
}

static void assert_added(const char *name, const char *module, const char *tier, bool is_forced,
                         enum installed_how wanted)
{
        enum installed_how how = INSTALLED_NEW;
        abatis_error err = { .message = "" };

        if (add(name, module, tier, is_forced, &how, &err) < 0)
                fail_msg("%s", err.message);
        assert_int_equal(how, wanted);
}

static void assert_is(const char *name, const char *module, const char *tier)
{
        struct package *package = NULL;
        abatis_error err = { .message = "" };

        if (installed_open(name, &package, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(package->manifest->name, name);
        assert_string_equal(package->module, module);
        assert_string_equal(package->tier->name, tier);
        assert_non_null(package->installed_at);
        package_free(package);
}

static void assert_refused(const char *name, int code, const char *message)
{
        struct package untouched, *package = &untouched;
        abatis_error err = { .message = "" };

        assert_int_equal(installed_open(name, &package, &err), code);
        assert_ptr_equal(package, &untouched);
        if (strcmp(err.message, message) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
}

/* What the store has, with blanks between the names; valid until the next call. */
static const char *listed(void)
{
        static char out[256];
        struct strings names = { 0 };
        abatis_error err = { .message = "" };

        *out = '\0';
        if (installed_list(&names, &err) < 0)
                fail_msg("%s", err.message);
        for (size_t i = 0; i < names.count; i++)
                snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "", names.items[i]);
        strings_done(&names);
        return out;
}

static void overwrite(const char *relative, const char *text)
{
        assert_int_equal(chmod(at("%s", relative), 0600), 0);
        make_file(relative, text);
        assert_int_equal(chmod(at("%s", relative), 0400), 0);
}

static void what_was_installed_is_found(void **state)
{
        struct stat status;

        (void)state;
        assert_string_equal(listed(), "");
        assert_refused("a", ABATIS_E_NOT_FOUND, "no skill 'a' is installed");
        assert_added("a", "one", "untrusted", false, INSTALLED_NEW);
        assert_added("b", "two", "local", false, INSTALLED_NEW);
        assert_is("a", "one", "untrusted");
        assert_is("b", "two", "local");
        assert_string_equal(listed(), "a b");
        assert_int_equal(stat(at(STORE), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
        assert_int_equal(stat(at(STORE "/a/module.wasm"), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0400);
}

static void another_one_needs_force(void **state)
{
        enum installed_how how;
        abatis_error err = { .message = "" };

        (void)state;
        assert_added("a", "one", "untrusted", false, INSTALLED_NEW);
        assert_added("a", "one", "untrusted", false, INSTALLED_ALREADY);
        assert_int_equal(add("a", "two", "untrusted", false, &how, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "--force"));
        assert_is("a", "one", "untrusted");
        /* The same with another tier is another one. */
        assert_int_equal(add("a", "one", "local", false, &how, &err), ABATIS_E_INVALID);
        assert_added("a", "two", "local", true, INSTALLED_REPLACED);
        assert_is("a", "two", "local");
        assert_string_equal(listed(), "a");
}

static void every_byte_counts(void **state)
{
        static const struct {
                const char *file, *text, *message;
        } changes[] = {
                { STORE "/a/module.wasm", "onf", "it was changed since it was installed" },
                { STORE "/a/module.wasm", "", "it was changed since it was installed" },
                { STORE "/a/skill.yaml", "name: a\nversion: \"1\"\ndescription: e\nmodule: m\n",
                  "it was changed since it was installed" },
                { STORE "/a/record.json", "", "its record is damaged" },
                { STORE "/a/record.json", "{}", "its record is damaged" },
                { STORE "/a/record.json", "[]", "its record is damaged" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
                char message[256];

                assert_added("a", "one", "untrusted", false, i ? INSTALLED_ALREADY : INSTALLED_NEW);
                assert_is("a", "one", "untrusted");
                overwrite(changes[i].file, changes[i].text);
                snprintf(message, sizeof(message), "skill 'a': %s; install it again", changes[i].message);
                assert_refused("a", ABATIS_E_INVALID, message);
                /* And without force it is installed again. */
                assert_added("a", "one", "untrusted", false, INSTALLED_REPLACED);
        }
        unlink(at(STORE "/a/module.wasm"));
        assert_refused("a", ABATIS_E_INVALID, "skill 'a': 'module.wasm' does not exist; install it again");
}

/* The bytes are the same, and yet. */
static void hands_of_others_are_seen(void **state)
{
        (void)state;
        assert_added("a", "one", "untrusted", false, INSTALLED_NEW);
        chmod(at(STORE "/a/skill.yaml"), 0600);
        assert_refused("a", ABATIS_E_INVALID,
                       "skill 'a': 'skill.yaml' has mode 600, not 400; install it again");
        chmod(at(STORE "/a/skill.yaml"), 0400);
        assert_is("a", "one", "untrusted");
        chmod(at(STORE "/a"), 0755);
        assert_refused("a", ABATIS_E_INVALID, "skill 'a': 'a' has mode 755, not 700; install it again");
        chmod(at(STORE "/a"), 0700);
        assert_int_equal(link(at(STORE "/a/skill.yaml"), at("other")), 0);
        assert_refused("a", ABATIS_E_INVALID,
                       "skill 'a': 'skill.yaml' has another name, too; install it again");
        unlink(at("other"));
        assert_is("a", "one", "untrusted");
        assert_int_equal(rename(at(STORE "/a/skill.yaml"), at("elsewhere")), 0);
        assert_int_equal(symlink(at("elsewhere"), at(STORE "/a/skill.yaml")), 0);
        assert_refused("a", ABATIS_E_INVALID, "skill 'a': 'skill.yaml' is a symbolic link; install it again");
}

static void a_skill_has_its_own_name_only(void **state)
{
        (void)state;
        assert_added("a", "one", "local", false, INSTALLED_NEW);
        assert_int_equal(rename(at(STORE "/a"), at(STORE "/b")), 0);
        assert_refused("b", ABATIS_E_INVALID,
                       "skill 'b': it was changed since it was installed; install it again");
        assert_int_equal(symlink(at(STORE "/b"), at(STORE "/a")), 0);
        assert_refused("a", ABATIS_E_INVALID,
                       "skill 'a': 'a' is not a directory, or a symbolic link; install it again");
        assert_refused("../b", ABATIS_E_INVALID, "'../b' is no name of a skill");
        assert_refused("", ABATIS_E_INVALID, "'' is no name of a skill");
}

static void a_store_of_others_is_none(void **state)
{
        enum installed_how how;
        abatis_error err = { .message = "" };
        char message[512];

        (void)state;
        assert_added("a", "one", "local", false, INSTALLED_NEW);
        chmod(at(STORE), 0755);
        snprintf(message, sizeof(message), "'%s' has mode 755, not 700", at(STORE));
        assert_refused("a", ABATIS_E_INVALID, message);
        assert_int_equal(add("b", "two", "local", false, &how, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, message);
        chmod(at(STORE), 0700);
        assert_is("a", "one", "local");
        if (geteuid())
                return;
        assert_int_equal(chown(at(STORE "/a/module.wasm"), 4343, 4343), 0);
        assert_refused("a", ABATIS_E_INVALID,
                       "skill 'a': 'module.wasm' belongs to another user; install it again");
        assert_int_equal(chown(at(STORE), 4343, 4343), 0);
        snprintf(message, sizeof(message), "'%s' belongs to another user", at(STORE));
        assert_refused("a", ABATIS_E_INVALID, message);
}

static void what_is_left_behind_is_no_skill(void **state)
{
        const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

        (void)state;
        assert_added("a", "one", "untrusted", false, INSTALLED_NEW);
        make_file(STORE "/.passing-0123456789abcdef/record.json", "{}");
        make_file(STORE "/.passing-fedcba9876543210/record.json", "{}");
        make_file(STORE "/Stray", "");
        assert_int_equal(utimensat(AT_FDCWD, at(STORE "/.passing-0123456789abcdef"), old, 0), 0);
        assert_string_equal(listed(), "a");
        assert_added("b", "two", "untrusted", false, INSTALLED_NEW);
        assert_string_equal(listed(), "a b");
        /* The old one is gone, the young one may be somebody's. */
        assert_int_equal(access(at(STORE "/.passing-0123456789abcdef"), F_OK), -1);
        assert_int_equal(access(at(STORE "/.passing-fedcba9876543210"), F_OK), 0);
}

static void what_stands_in_the_way_is_replaced(void **state)
{
        (void)state;
        assert_added("b", "two", "untrusted", false, INSTALLED_NEW);
        make_file(STORE "/a", "a file");
        assert_added("a", "one", "untrusted", false, INSTALLED_REPLACED);
        assert_is("a", "one", "untrusted");
        assert_string_equal(listed(), "a b");
}

static void what_is_removed_is_gone(void **state)
{
        abatis_error err = { .message = "" };

        (void)state;
        assert_int_equal(installed_remove("a", &err), ABATIS_E_NOT_FOUND);
        assert_added("a", "one", "untrusted", false, INSTALLED_NEW);
        assert_added("ab", "one", "untrusted", false, INSTALLED_NEW);
        assert_int_equal(installed_remove("a", &err), 0);
        assert_refused("a", ABATIS_E_NOT_FOUND, "no skill 'a' is installed; did you mean 'ab'?");
        assert_int_equal(installed_remove("a", &err), ABATIS_E_NOT_FOUND);
        assert_int_equal(installed_remove("../ab", &err), ABATIS_E_INVALID);
        assert_string_equal(listed(), "ab");
        /* One that was changed can be removed, too. */
        overwrite(STORE "/ab/record.json", "");
        assert_int_equal(installed_remove("ab", &err), 0);
        assert_string_equal(listed(), "");
}

static int setup(void **state)
{
        int r = scratch_setup(state);

        unsetenv("XDG_DATA_HOME");
        setenv("HOME", make_dir("home"), 1);
        return r;
}

#define STORE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, scratch_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORE_TEST(what_was_installed_is_found),
                STORE_TEST(another_one_needs_force),
                STORE_TEST(every_byte_counts),
                STORE_TEST(hands_of_others_are_seen),
                STORE_TEST(a_skill_has_its_own_name_only),
                STORE_TEST(a_store_of_others_is_none),
                STORE_TEST(what_is_left_behind_is_no_skill),
                STORE_TEST(what_stands_in_the_way_is_replaced),
                STORE_TEST(what_is_removed_is_gone),
        };

        return cmocka_run_group_tests_name("installed", tests, NULL, NULL);
}
