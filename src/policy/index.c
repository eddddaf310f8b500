/* index.c: finds the rules that hold for a path without comparing it with each of them.
 *
 * Every path that has rules, and every directory above one, is a node in a hash table; a node knows the rules of all
 * nodes above it too. The path asked about is walked down once, from node to node, until there is none: the last one
 * has the answer for every kind of rule. */
#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct node {
        const char *path; /* borrowed from a rule; not terminated */
        size_t length;
        uint32_t parent;
        uint32_t rules[RULE_KINDS]; /* number + 1, or 0 */
};

/* Kept apart from the nodes: most walks end at a free one. */
struct slot {
        uint32_t tag;  /* of the hash, to tell most others from this one */
        uint32_t node; /* 0, the root's, which is never looked for: free */
};

struct rule_index {
        const struct rule *rules; /* borrowed: what it was made of */
        size_t rule_count;
        struct slot *slots; /* owned */
        unsigned shift;     /* what is left of a hash behind it is the number of a slot */
        struct node *nodes; /* owned; the first one is the root's */
        uint32_t node_count;
        uint32_t *patterns; /* owned */
        size_t pattern_count;
};

/* A walk down a path, from one component's end to the next. */
struct walk {
        const char *path;
        size_t length; /* walked so far */
        uint64_t bits; /* of that, mixed cheaply: a bit of work for each byte is what a walk costs */
};

/* Goes on to the end of the next component; false behind the last one. */
static inline bool walk_on(struct walk *walk)
{
        const char *at = walk->path + walk->length;
        uint64_t bits = walk->bits;

        if (!at[0] || !at[1])
                return false; /* at the end, or it is "/" */
        do
                bits = (bits << 5 | bits >> 59) ^ (unsigned char)*at++;
        while (*at && *at != '/');
        walk->length = (size_t)(at - walk->path);
        walk->bits = bits;
        return true;
}

/* Its upper bits choose a slot, its lower half is the tag; both depend on every byte. */
static inline uint64_t hash_of(const struct walk *walk)
{
        uint64_t product = walk->bits * 0x9e3779b97f4a7c15;

        return product ^ product >> 32;
}

static inline bool is_node_of(const struct node *node, const struct walk *walk)
{
        return node->length == walk->length && !memcmp(node->path, walk->path, walk->length);
}

/* The slot of what has been walked, or the free one where it belongs; without `is_exact` perhaps that of another path
 * with the same hash. */
static inline struct slot *find_slot(const struct rule_index *index, const struct walk *walk, bool is_exact)
{
        uint64_t hash = hash_of(walk);
        size_t last = ((size_t)1 << (64 - index->shift)) - 1;

        for (size_t i = hash >> index->shift;; i = (i + 1) & last) {
                struct slot *slot = &index->slots[i];

                if (!slot->node || (slot->tag == (uint32_t)hash &&
                                    (!is_exact || is_node_of(&index->nodes[slot->node], walk))))
                        return slot;
        }
}

/* The last node on the way down, and how far it was. */
static inline const struct node *find_deepest(const struct rule_index *index, struct walk *walk,
                                              bool is_exact)
{
        struct walk next = *walk;
        uint32_t deepest = 0, node;

        while (walk_on(&next) && (node = find_slot(index, &next, is_exact)->node)) {
                deepest = node;
                *walk = next;
        }
        return &index->nodes[deepest];
}

const uint32_t *index_find(const struct rule_index *index, const char *real, size_t *walked)
{
        struct walk walk = { .path = real };
        const struct node *node = find_deepest(index, &walk, false);

        /* One comparison for all: if the last one is right, the way to it was. */
        if (!is_node_of(node, &walk)) {
                walk = (struct walk){ .path = real };
                node = find_deepest(index, &walk, true);
        }
        *walked = walk.length;
        return node->rules;
}

bool index_has_patterns(const struct rule_index *index)
{
        return index->pattern_count > 0;
}

const uint32_t *index_patterns(const struct rule_index *index, size_t *count)
{
        *count = index->pattern_count;
        return index->patterns;
}

bool index_is_current(const struct rule_index *index, const abatis_policy *policy)
{
        return index && index->rules == policy->rules && index->rule_count == policy->rule_count;
}

/* ---- making it ------------------------------------------------------------------------------------------ */

/* The node of a rule's path; it and those above it are made if they are missing, from the top. */
static struct node *make_nodes(struct rule_index *index, const char *path)
{
        struct walk walk = { .path = path };
        uint32_t node = 0;

        while (walk_on(&walk)) {
                struct slot *slot = find_slot(index, &walk, true);

                if (!slot->node) {
                        index->nodes[index->node_count] =
                                (struct node){ .path = path, .length = walk.length, .parent = node };
                        *slot = (struct slot){ (uint32_t)hash_of(&walk), index->node_count++ };
                }
                node = slot->node;
        }
        return &index->nodes[node];
}

/* Of several rules of a kind the first one is named. */
static void add_first(uint32_t *rules, const uint32_t *more)
{
        for (size_t kind = 0; kind < RULE_KINDS; kind++)
                if (more[kind] && (!rules[kind] || more[kind] < rules[kind]))
                        rules[kind] = more[kind];
}

static void fill(struct rule_index *index)
{
        index->nodes[index->node_count++] = (struct node){ .path = "" };
        for (uint32_t i = 0; i < index->rule_count; i++) {
                const struct rule *rule = &index->rules[i];
                uint32_t own[RULE_KINDS] = { 0 };

                if (rule->glob) {
                        index->patterns[index->pattern_count++] = i;
                        continue;
                }
                own[rule->kind] = i + 1;
                add_first(make_nodes(index, rule->facts.real)->rules, own);
        }
        /* Parents come before their children, so they have got theirs already. */
        for (uint32_t i = 1; i < index->node_count; i++)
                add_first(index->nodes[i].rules, index->nodes[index->nodes[i].parent].rules);
}

/* How many nodes there can be at most. */
static size_t count_components(const abatis_policy *policy)
{
        size_t count = 1;

        for (size_t i = 0; i < policy->rule_count; i++)
                for (const char *at = policy->rules[i].facts.real; at && *at; at++)
                        count += *at == '/';
        return count;
}

int index_new(const abatis_policy *policy, struct rule_index **out, abatis_error *err)
{
        struct rule_index *index = calloc(1, sizeof(*index));
        size_t nodes = count_components(policy), slots = 16;
        unsigned shift = 60;

        if (!index)
                return error_memory(err);
        /* At least half of them stay free. */
        for (; slots < 2 * nodes; shift--)
                slots *= 2;
        index->rules = policy->rules;
        index->rule_count = policy->rule_count;
        index->shift = shift;
        index->slots = calloc(slots, sizeof(*index->slots));
        index->nodes = malloc(nodes * sizeof(*index->nodes));
        index->patterns = malloc((policy->rule_count + 1) * sizeof(*index->patterns));
        if (!index->slots || !index->nodes || !index->patterns) {
                index_free(index);
                return error_memory(err);
        }
        fill(index);
        *out = index;
        return 0;
}

void index_free(struct rule_index *index)
{
        if (!index)
                return;
        free(index->slots);
        free(index->nodes);
        free(index->patterns);
        free(index);
}
