/* fuzz_manifest.c: whatever a skill.yaml is, it is read without harm; what is taken of it is within its bounds, and JSON where it says so.
 *
 * links: src/skill/manifest.c src/skill/tree.c src/skill/tier.c src/base/json.c src/base/json_text.c src/base/sha256*.c
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/layer.h"
#include "skill/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

static void check_object(const char *text)
{
        json_t *root = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

        check(!text || json_is_object(root));
        json_decref(root);
}

/* The policy is one, too, when it is read as a file of its own. */
static void check_policy(const char *json)
{
        struct layer *layer = NULL;

        if (!json || strlen(json) > DOCUMENT_SIZE_MAX)
                return;
        check(!layer_read(DOCUMENT_JSON, "f", json, strlen(json), &layer, NULL));
        check(!layer->has[KEY_EXTENDS] && !layer->has[KEY_BACKEND] && !layer->has[KEY_SESSION] &&
              !layer->has[KEY_AUDIT_LOG]);
        layer_free(layer);
}

static void check_texts(const struct manifest *manifest)
{
        check(manifest_is_name(manifest->name) && *manifest->version && *manifest->module != '/');
        check(strlen(manifest->description) <= MANIFEST_DESCRIPTION_MAX &&
              !strchr(manifest->description, '\n'));
        for (const char *dots = manifest->module; (dots = strstr(dots, "..")); dots += 2)
                check((dots != manifest->module && dots[-1] != '/') || (dots[2] && dots[2] != '/'));
        check(!*manifest->sha256 || strlen(manifest->sha256) == SHA256_TEXT_SIZE - 1);
        for (char **import = manifest->imports; *import; import++)
                check(strchr(*import, '.') != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct manifest *manifest = NULL;
        abatis_error err = { .message = "" };
        int r = manifest_read("f", size ? (const char *)data : "", size, &manifest, &err);

        if (r < 0) {
                check(!manifest && r == ABATIS_E_INVALID && err.code == r && !strncmp(err.message, "f:", 2));
                return 0;
        }
        check_texts(manifest);
        check_object(manifest->policy_json);
        check_object(manifest->input_json);
        check_object(manifest->output_json);
        check_policy(manifest->policy_json);
        manifest_free(manifest);
        return 0;
}
