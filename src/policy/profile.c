/* profile.c: the profiles by name: the user's own first, then those that are part of the program. */
#define _GNU_SOURCE
#include "policy/profile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/compose.h"

/* A name, not a path: what is not one does not exist. */
static bool is_profile_name(const char *name)
{
        return *name && *name != '.' &&
               !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

static int user_path(const char *name, char **out, abatis_error *err)
{
        OWN_FREE char *file = text_join("profiles/", name, ".yaml");

        return file ? config_path(file, out, err) : error_memory(err);
}

static const struct shipped_profile *find_shipped(const char *name)
{
        for (const struct shipped_profile *shipped = shipped_profiles; shipped->name; shipped++)
                if (!strcmp(shipped->name, name))
                        return shipped;
        return NULL;
}

/* *text is NULL when there is no such profile; *title is how errors and origins call it. Both are owned. */
static int find_text(const char *name, bool is_shipped_only, char **title, char **text, size_t *length,
                     abatis_error *err)
{
        OWN_FREE char *path = NULL;
        const struct shipped_profile *shipped = find_shipped(name);
        int r = 0;

        *text = *title = NULL;
        if (!is_shipped_only && is_profile_name(name))
                r = user_path(name, &path, err);
        if (!r && path)
                r = file_read(path, FILE_OURS, text, length, err);
        if (r < 0)
                return r;
        if (*text)
                *title = take_pointer(path);
        else if (shipped) {
                *title = text_join("profile ", name, "");
                *text = strdup(shipped->text);
                *length = shipped->length;
        } else
                return 0;
        return *title && *text ? 0 : error_memory(err);
}

int profile_load(const char *name, bool is_shipped_only, struct layer **out, abatis_error *err)
{
        OWN_FREE char *title = NULL, *text = NULL;
        size_t length = 0;
        int r = find_text(name, is_shipped_only, &title, &text, &length, err);

        *out = NULL;
        if (r < 0 || !text)
                return r;
        r = layer_read(DOCUMENT_YAML, title, text, length, out, err);
        if (!r)
                (*out)->is_shipped = *title != '/';
        return r;
}

int abatis_profile_text(const char *name, char **out, abatis_error *err)
{
        OWN_FREE char *title = NULL, *text = NULL;
        size_t length = 0;
        int r = find_text(name, false, &title, &text, &length, err);

        if (!r && !text)
                r = error_set(err, ABATIS_E_INVALID,
                              "there is no profile '%s'; 'abatis profile list' has them", name);
        if (!r)
                *out = take_pointer(text);
        return r;
}

/* ---- the list ------------------------------------------------------------------------------------------- */

/* The first comment that is not for an editor says what the profile is for. */
static const char *find_summary(const char *text, size_t *length)
{
        while (*text == '#') {
                size_t line = strcspn(text, "\n");

                if (strncmp(text, "# yaml-language-server", 22) && line > 2) {
                        *length = line - 2;
                        return text + 2;
                }
                text += line + (text[line] == '\n');
        }
        *length = 0;
        return "";
}

static int list_one(struct text *out, const char *name, const char *where)
{
        OWN_FREE char *text = NULL;
        const char *summary = "";
        size_t length = 0;
        int r = abatis_profile_text(name, &text, NULL);

        if (!r)
                summary = find_summary(text, &length);
        out->has_failed |= r == ABATIS_E_MEMORY;
        text_addf(out, "%-16s %-8s %.*s\n", name, where, (int)length, summary);
        return 0;
}

static int list_users(struct text *out, abatis_error *err)
{
        OWN_FREE char *path = NULL;
        struct dirent **entries = NULL;
        int r = config_path("profiles", &path, err),
            count = path ? scandir(path, &entries, NULL, alphasort) : 0;

        for (int i = 0; i < count; i++) {
                char *dot = strrchr(entries[i]->d_name, '.');

                if (dot && !strcmp(dot, ".yaml")) {
                        *dot = '\0';
                        if (is_profile_name(entries[i]->d_name))
                                list_one(out, entries[i]->d_name, "yours");
                }
                free(entries[i]);
        }
        free(entries);
        return r;
}

int abatis_profile_list(char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };
        int r;

        for (const struct shipped_profile *shipped = shipped_profiles; shipped->name; shipped++)
                list_one(&text, shipped->name, "shipped");
        r = list_users(&text, err);
        return r ? r : text_take(&text, out, err);
}
