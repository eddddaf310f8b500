/* record.c: what is written down of a skill when it is installed. */
#define _GNU_SOURCE
#include "skill/record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json.h"
#include "base/own.h"
#include "base/system.h"

enum { FORMAT = 1 };

static void write_time(char out[32])
{
        time_t now = (time_t)(system_now() / 1000000);
        struct tm parts;

        gmtime_r(&now, &parts);
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

int record_print(const struct package *package, char **out, abatis_error *err)
{
        char now[32];
        json_t *record;

        write_time(now);
        record = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "format", FORMAT, "name", package->manifest->name,
                           "version", package->manifest->version, "manifest_sha256", package->text_sha256,
                           "module_sha256", package->module_sha256, "tier", package->tier->name,
                           "installed_at", now);
        if (record && package->signer &&
            json_object_set_new(record, "signer", json_string(package->signer))) {
                json_decref(record);
                record = NULL;
        }
        return json_to_text(record, JSON_INDENT(2), out, err);
}

/* In the record, borrowed. */
struct record {
        int format;
        const char *name, *version, *text_sha256, *module_sha256, *tier, *installed_at, *signer;
};

static bool unpack(json_t *root, struct record *out)
{
        return root &&
               !json_unpack_ex(root, NULL, JSON_STRICT, "{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s?s}", "format",
                               &out->format, "name", &out->name, "version", &out->version, "manifest_sha256",
                               &out->text_sha256, "module_sha256", &out->module_sha256, "tier", &out->tier,
                               "installed_at", &out->installed_at, "signer", &out->signer) &&
               out->format == FORMAT && !strcmp(abatis_tier_find(out->tier)->name, out->tier) &&
               !strcmp(out->tier, "verified") == !!out->signer;
}

static bool matches(const struct record *record, const char *name, const struct package *package)
{
        return !strcmp(record->text_sha256, package->text_sha256) &&
               !strcmp(record->module_sha256, package->module_sha256) && !strcmp(record->name, name) &&
               !strcmp(package->manifest->name, name) && !strcmp(record->version, package->manifest->version);
}

int record_apply(const char *json, size_t length, const char *name, struct package *package,
                 abatis_error *err)
{
        json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, NULL);
        struct record record = { 0 };
        int r = 0;

        if (!unpack(root, &record))
                r = error_set(err, ABATIS_E_INVALID, "its record is damaged");
        else if (!matches(&record, name, package))
                r = error_set(err, ABATIS_E_INVALID, "it was changed since it was installed");
        else {
                package->tier = abatis_tier_find(record.tier);
                package->installed_at = strdup(record.installed_at);
                package->signer = record.signer ? strdup(record.signer) : NULL;
                if (!package->installed_at || (record.signer && !package->signer))
                        r = error_memory(err);
        }
        json_decref(root);
        return r;
}
