/* skill_package.c: what abatis.h says of skill packages. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abatis.h"
#include "base/error.h"
#include "base/json.h"
#include "base/own.h"
#include "skill/describe.h"
#include "skill/installed.h"
#include "skill/lint.h"
#include "skill/signature.h"

/* ---- list ----------------------------------------------------------------------------------------------- */

static void add_line(struct text *text, const char *name, const struct package *package, const char *problem)
{
        if (package) {
                text_addf(text, "%-20s %-10s %-10s %-8s ", name, package->manifest->version,
                          package->tier->name, "ok");
                text_add_line(text, package->manifest->description);
        } else {
                text_addf(text, "%-20s %-10s %-10s %-8s ", name, "-", "-", "changed");
                text_add_line(text, problem);
        }
        text_add(text, "\n");
}

/* One that cannot be opened is told, and does not hide the others. */
static int add_skill(const char *name, json_t *list, struct text *text, abatis_error *err)
{
        OWN_PACKAGE struct package *package = NULL;
        abatis_error below = { 0 };
        int r = installed_open(name, &package, &below);

        if (r == ABATIS_E_MEMORY)
                return error_memory(err);
        if (r == ABATIS_E_NOT_FOUND) /* removed meanwhile */
                return 0;
        if (!list)
                add_line(text, name, package, below.message);
        else if (json_array_append_new(list, package ? describe_briefly(package)
                                                     : describe_changed(name, below.message)) < 0)
                return error_memory(err);
        return 0;
}

int abatis_skill_list(abatis_format format, char **out, abatis_error *err)
{
        json_t *list = format == ABATIS_JSON ? json_array() : NULL;
        OWN_TEXT struct text text = { 0 };
        struct strings names = { 0 };
        int r = installed_list(&names, err);

        if (!r && format == ABATIS_JSON && !list)
                r = error_memory(err);
        text_add(&text, "");
        for (size_t i = 0; i < names.count && !r; i++)
                r = add_skill(names.items[i], list, &text, err);
        strings_done(&names);
        if (r < 0 || !list) {
                json_decref(list);
                return r ? r : text_take(&text, out, err);
        }
        return json_to_text(list, JSON_COMPACT, out, err);
}

/* ---- show, lint ----------------------------------------------------------------------------------------- */

int abatis_skill_show(const char *skill, abatis_format format, char **out, abatis_error *err)
{
        OWN_PACKAGE struct package *package = NULL;
        OWN_MODULE struct module *module = NULL;
        OWN_TEXT struct text text = { 0 };
        int r = installed_find(skill, &package, err);

        if (!r)
                r = package_check(package, &module, err);
        if (r < 0)
                return r;
        if (format == ABATIS_JSON)
                return json_to_text(describe_fully(package, module), JSON_COMPACT, out, err);
        describe_in_words(package, module, &text);
        return text_take(&text, out, err);
}

int abatis_skill_lint(const char *path, char **out, int *count, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        struct stat status;
        int found = 0, r;

        if (stat(path, &status) < 0)
                return error_os(err, errno, "'%s'", path);
        text_add(&text, "");
        r = S_ISDIR(status.st_mode) ? lint_package(path, &text, &found, err)
                                    : lint_module(path, &text, &found, err);
        if (!r)
                r = text_take(&text, out, err);
        if (!r)
                *count = found;
        return r;
}

/* ---- install, remove ------------------------------------------------------------------------------------ */

/* The user may grant the tier local, and may always give less; verified is what a key says. */
static int choose_tier(struct package *package, const abatis_skill_package_options *options,
                       abatis_error *err)
{
        const char *asked = package->manifest->tier->name, *given = options->tier;

        if (given && strcmp(given, "local") && strcmp(given, "untrusted"))
                return error_set(err, ABATIS_E_INVALID, "'%s' cannot be granted; local and untrusted can%s",
                                 given,
                                 strcmp(given, "verified") ? "" : ", and verified comes with a signature");
        if (!given && !strcmp(asked, "local"))
                return error_set(
                        err, ABATIS_E_INVALID,
                        "skill '%s' asks for the tier local, which only you can grant: --tier local; --tier "
                        "untrusted installs it without",
                        package->manifest->name);
        if (!given && !strcmp(asked, "verified")) {
                abatis_error below = { 0 };
                int r = signature_check(package, options->program, &package->signer, &below);

                if (r < 0)
                        return error_within(err, &below, "skill '%s' cannot be verified",
                                            package->manifest->name);
        }
        package->tier = abatis_tier_find(given ? given : asked);
        return 0;
}

int abatis_skill_install(const abatis_skill_package_options *options, char **out, abatis_error *err)
{
        static const char *const words[] = { [INSTALLED_NEW] = "installed",
                                             [INSTALLED_REPLACED] = "installed in the place of another",
                                             [INSTALLED_ALREADY] = "is installed already" };
        OWN_PACKAGE struct package *package = NULL;
        OWN_TEXT struct text text = { 0 };
        enum installed_how how = INSTALLED_NEW;
        int r;

        if (!options || options->size < sizeof(*options) || !options->directory)
                return error_set(err, ABATIS_E_INVALID,
                                 "abatis_skill_package_options.size is not set, or no directory");
        r = package_read(options->directory, &package, err);
        if (!r)
                r = package_check(package, NULL, err);
        if (!r)
                r = choose_tier(package, options, err);
        if (!r)
                r = installed_add(package, options->is_forced, &how, err);
        if (r < 0)
                return r;
        text_addf(&text, "%s %s: %s, %s", package->manifest->name, package->manifest->version, words[how],
                  package->tier->name);
        if (package->signer) {
                text_add(&text, ", signed by ");
                text_add_line(&text, package->signer);
        }
        text_add(&text, "\n");
        return text_take(&text, out, err);
}

int abatis_skill_remove(const char *name, abatis_error *err)
{
        return installed_remove(name, err);
}
