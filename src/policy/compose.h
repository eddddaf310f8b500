/* compose.h: how files, profiles and presets become one policy. */
#ifndef POLICY_COMPOSE_H
#define POLICY_COMPOSE_H

#include "policy/layer.h"
#include "policy/policy.h"

/* What a path in a document stands for. */
enum meaning {
        MEANS_PATH,
        MEANS_PATTERN,
        MEANS_ALL,
        MEANS_SYSTEM,
        MEANS_INHERITED,
        MEANS_TMP, /* the private one */
};
/* expand.c: *out, with the variables replaced, is owned by the caller; only for a path or a pattern. */
int expand_path(const abatis_policy *policy, const struct entry *entry, enum meaning *meaning, char **out,
                abatis_error *err);

/* The same for a text that is a path only when it begins like one. */
int expand_value(const abatis_policy *policy, const char *value, char **out, abatis_error *err);
/* The same for the entry of a list of programs or sockets. */
int expand_item(const abatis_policy *policy, const struct entry *entry, char **out, abatis_error *err);

/* apply.c: how a layer is put on a policy. */
struct manner {
        bool is_asked;     /* by the user, not by a preset or profile */
        bool skips_absent; /* written for many machines: what is not on this one is left out */
        bool makes_places; /* a shipped profile's own directories are made */
        bool narrows; /* nobody has vouched for it, and narrow_check() has found that it only takes away */
};
int apply_layer(abatis_policy *policy, const struct layer *layer, const struct manner *manner,
                abatis_error *err);
/* "FILE:LINE:COLUMN: KEY: " before what went wrong. */
int entry_error(const struct layer *layer, const struct entry *entry, const abatis_error *below,
                abatis_error *err);

struct files;
/* From the lowest layer up, on an empty policy. */
int compose_files(abatis_policy *policy, const struct files *files, const abatis_policy_options *options,
                  abatis_error *err);

/* narrow.c: refuses a layer that would allow more than the policy does. */
int narrow_check(const abatis_policy *policy, const struct layer *layer, abatis_error *err);
/* ceiling.c: cuts down what presets gave, and refuses what was asked for beyond it. */
int ceiling_apply(abatis_policy *policy, const abatis_policy *ceiling, abatis_error *err);

/* files.c: the files that lie where they are looked for. Each is owned, NULL when there is none. */
struct files {
        struct layer *system, *user, *project, *given;
        char *project_path; /* of the project's file */
        bool is_project_trusted;
};
int files_find(const abatis_policy_options *options, const char *workspace, struct files *out,
               abatis_error *err);
void files_done(struct files *files);
/* The nearest .abatis.yaml from here up to the root of the repository; *out is NULL when there is none. */
int files_find_project(const char *workspace, char **out, abatis_error *err);
/* Reads the whole of a regular file, at most DOCUMENT_SIZE_MAX bytes; *out is NULL when there is none. */
enum file_care {
        FILE_ANY,
        FILE_OURS,    /* belongs to the user or root, and not everybody can write it */
        FILE_NO_LINK, /* comes with a project: a link in it could lead anywhere */
};
int file_read(const char *path, enum file_care care, char **out, size_t *length, abatis_error *err);
/* "$XDG_CONFIG_HOME/abatis/NAME", or below ~/.config, owned by the caller; NULL in *out when there is no home. */
int config_path(const char *name, char **out, abatis_error *err);
/* The same for $XDG_STATE_HOME and ~/.local/state, for $XDG_DATA_HOME and ~/.local/share, and for $XDG_CACHE_HOME and ~/.cache. */
int state_path(const char *name, char **out, abatis_error *err);
int data_path(const char *name, char **out, abatis_error *err);
int cache_path(const char *name, char **out, abatis_error *err);

/* The usual place of the audit log, owned by the caller: below $XDG_STATE_HOME, in the user's home, or, for a user without
 * one, in /var/tmp or /tmp. */
int usual_log_path(char **out, abatis_error *err);

/* Makes every directory on the way to the path, and with_last the path itself, private to the user. */
int make_directories(char *path, bool with_last, abatis_error *err);

/* trust.c */
int trust_check(const char *path, const char *text, size_t length, bool *is_trusted, abatis_error *err);

/* profile.c: a shipped profile or, unless they do not count, one of the user's. NULL in *out when there is none of that
 * name. */
int profile_load(const char *name, bool is_shipped_only, struct layer **out, abatis_error *err);

#endif
