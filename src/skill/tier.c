/* tier.c: the trust tiers, as one table: what a program or a module gets, by where it comes from. */
#include <string.h>

#include "abatis.h"
#include "base/error.h"
#include "base/json_text.h"

/* The last one is for everything unknown. Nothing of the user's or a project's files may open what a tier closes; the
 * administrator's ceiling holds for all. */
static const abatis_tier tiers[] = {
        { .name = "local",
          .native = "the OS sandbox of the policy as given (preset dev)",
          .module =
                  "the OS sandbox of the policy as given (preset skill), in it the engine's sandbox and limits",
          .layers = ABATIS_LAYERS_ALL,
          .may_connect = 1 },
        { .name = "verified",
          .native = "the OS sandbox of preset tool, with the user's keys and tokens denied, too",
          .module =
                  "the OS sandbox of preset skill, where nothing exists but the engine and the directories that are listed, in it "
                  "the engine's sandbox and limits",
          .file = "verified.json",
          .policy = "{\"version\":1,\"extends\":\"tool\"}",
          .layers = ABATIS_LAYER_SYSTEM | ABATIS_DENY_SECRETS,
          .may_connect = 1 },
        { .name = "untrusted",
          .native =
                  "an OS sandbox where nothing exists but system paths and what is listed, and no workspace; "
                  "1 GiB of memory, 128 processes, 60 s of processor time, 1 GiB written",
          .module = "the same as verified",
          .file = "untrusted.json",
          .policy =
                  "{\"version\":1,\"extends\":[],\"filesystem\":{\"execute\":[\"system\"],"
                  "\"write\":[\"${tmp}\"]},\"network\":{\"mode\":\"deny\"},"
                  "\"environment\":{\"pass\":[\"PATH\",\"LANG\",\"LC_ALL\",\"TZ\"]},"
                  "\"limits\":{\"memory\":\"1GiB\",\"processes\":128,\"cpu\":\"60s\",\"written\":\"1GiB\"}}",
          .layers = ABATIS_LAYER_SYSTEM | ABATIS_DENY_SECRETS },
};
enum { TIERS = sizeof(tiers) / sizeof(*tiers) };

const abatis_tier *abatis_tier_find(const char *name)
{
        for (size_t i = 0; name && i < TIERS; i++)
                if (!strcmp(name, tiers[i].name))
                        return &tiers[i];
        return &tiers[TIERS - 1];
}

int abatis_tier_apply(const abatis_tier *tier, abatis_policy_options *options, abatis_error *err)
{
        if (tier->policy && (options->preset || options->file))
                return error_set(err, ABATIS_E_INVALID, "the tier %s has a policy of its own; leave out '%s'",
                                 tier->name, options->preset ? options->preset : options->file);
        options->layers = (options->layers & ~(unsigned)ABATIS_LAYERS_ALL) | tier->layers;
        if (tier->policy) {
                options->file = tier->file;
                options->text = tier->policy;
        }
        return 0;
}

static const char *network_of(const abatis_tier *tier)
{
        return tier->may_connect ? "when asked for" : "never";
}

static void add_row(struct text *text, const abatis_tier *tier)
{
        text_addf(text, "| `%s` | %s | %s | %s |\n", tier->name, tier->native, tier->module,
                  network_of(tier));
}

static void add_object(struct text *text, const abatis_tier *tier)
{
        const char *const pairs[][2] = { { "{\"tier\":", tier->name },
                                         { ",\"native\":", tier->native },
                                         { ",\"module\":", tier->module },
                                         { ",\"network\":", network_of(tier) } };

        for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
                text_add(text, pairs[i][0]);
                json_text_string(text, pairs[i][1], strlen(pairs[i][1]));
        }
        text_add(text, "}");
}

int abatis_tier_print(abatis_format format, char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };

        text_add(&text, format == ABATIS_JSON
                                ? "["
                                : "| tier | a native program | a WebAssembly module | network |\n"
                                  "|---|---|---|---|\n");
        for (size_t i = 0; i < TIERS; i++) {
                if (format == ABATIS_JSON && i)
                        text_add(&text, ",");
                if (format == ABATIS_JSON)
                        add_object(&text, &tiers[i]);
                else
                        add_row(&text, &tiers[i]);
        }
        if (format == ABATIS_JSON)
                text_add(&text, "]");
        return text_take(&text, out, err);
}
