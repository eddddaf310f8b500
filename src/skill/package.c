/* package.c: reads a skill package from its directory, once. */
#define _GNU_SOURCE
#include "skill/package.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/document.h"
#include "skill/file.h"

enum { SIGNATURE_MAX = 256 };

void package_free(struct package *package)
{
        if (!package)
                return;
        manifest_free(package->manifest);
        free(package->text);
        free(package->module);
        free(package->signature);
        free(package->signer);
        free(package->installed_at);
        free(package);
}

static int read_bytes(int directory, const char *in, const char *name, size_t most, char **out,
                      size_t *length, abatis_error *err)
{
        OWN_FREE char *shown = path_join(in, name);

        return shown ? file_take(directory, name, HANDS_ANY, most, shown, out, length, err)
                     : error_memory(err);
}

/* Name by name, since a directory on the way may be a link, too. */
static int read_module(int top, const char *in, const char *path, struct package *package, abatis_error *err)
{
        OWN_FREE char *shown = path_join(in, path), *names = strdup(path);
        OWN_FD int at = -1;
        char *name = names, *slash;

        if (!shown || !names)
                return error_memory(err);
        while ((slash = strchr(name, '/'))) {
                int next;

                *slash = '\0';
                next = file_open_directory(at < 0 ? top : at, name, HANDS_ANY, shown, err);
                if (next < 0)
                        return next;
                own_fd_close(&at);
                at = next;
                name = slash + 1;
        }
        return file_take(at < 0 ? top : at, name, HANDS_ANY, MODULE_SIZE_MAX, shown, &package->module,
                         &package->module_length, err);
}

static int read_signature(int directory, const char *in, struct package *package, abatis_error *err)
{
        int r = read_bytes(directory, in, PACKAGE_SIGNATURE, SIGNATURE_MAX, &package->signature,
                           &package->signature_length, err);

        return r == ABATIS_E_NOT_FOUND ? 0 : r;
}

static void sum_up(struct package *package)
{
        sha256_text(package->text, package->text_length, package->text_sha256);
        sha256_text(package->module, package->module_length, package->module_sha256);
}

int package_make(char *text, size_t text_length, char *module, size_t module_length, const char *shown,
                 struct package **out, abatis_error *err)
{
        OWN_PACKAGE struct package *package = calloc(1, sizeof(*package));
        int r;

        if (!package) {
                free(text);
                free(module);
                return error_memory(err);
        }
        package->text = text;
        package->text_length = text_length;
        package->module = module;
        package->module_length = module_length;
        package->tier = abatis_tier_find(NULL);
        sum_up(package);
        r = manifest_read(shown, text, text_length, &package->manifest, err);
        if (!r)
                *out = take_pointer(package);
        return r;
}

int package_read(const char *directory, struct package **out, abatis_error *err)
{
        OWN_PACKAGE struct package *package = calloc(1, sizeof(*package));
        OWN_FREE char *shown = path_join(directory, PACKAGE_MANIFEST);
        OWN_FD int fd = fd_above_stdio(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        int r;

        if (!package || !shown)
                return error_memory(err);
        if (fd < 0)
                return error_os(err, errno, "'%s'", directory);
        package->tier = abatis_tier_find(NULL);
        r = read_bytes(fd, directory, PACKAGE_MANIFEST, DOCUMENT_SIZE_MAX, &package->text,
                       &package->text_length, err);
        if (!r)
                r = manifest_read(shown, package->text, package->text_length, &package->manifest, err);
        if (!r)
                r = read_module(fd, directory, package->manifest->module, package, err);
        if (!r)
                r = read_signature(fd, directory, package, err);
        if (r < 0)
                return r;
        sum_up(package);
        *out = take_pointer(package);
        return 0;
}

int package_check(const struct package *package, struct module **read, abatis_error *err)
{
        const struct module_options options = { .imports = (const char *const *)package->manifest->imports };
        const char *claimed = package->manifest->sha256, *path = package->manifest->module;
        OWN_MODULE struct module *module = NULL;
        abatis_error below = { 0 };
        int r;

        if (*claimed && strcmp(claimed, package->module_sha256))
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is not the module of the manifest: its sha256 is %s", path,
                                 package->module_sha256);
        r = module_read(package->module, package->module_length, &options, &module, &below);
        if (!r)
                r = module_check_command(module, &below);
        if (r < 0)
                return error_within(err, &below, "'%s'", path);
        if (read)
                *read = take_pointer(module);
        return 0;
}
