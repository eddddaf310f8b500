/* stamps_linux.c: whether Landlock's rules, made ahead, still fit what is there. */
#define _GNU_SOURCE
#include "run/stamps_linux.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { TICK_NS = 20 * 1000 * 1000 /* the longest in which a file system tells no two changes apart */ };

struct stamp {
        bool is_known; /* else it never fits */
        bool is_there;
        dev_t device;
        ino_t inode;
        struct timespec changed; /* of a directory whose entries have the rights; else 0 */
};

static bool is_older_than_a_tick(const struct timespec *changed)
{
        struct timespec now;
        int64_t age;

        clock_gettime(CLOCK_REALTIME, &now);
        age = (int64_t)(now.tv_sec - changed->tv_sec) * 1000000000 + now.tv_nsec - changed->tv_nsec;
        return age > TICK_NS;
}

static struct stamp look(const struct child_rule *rule)
{
        struct stamp stamp = { 0 };
        struct stat status;

        if (lstat(rule->path, &status) < 0) {
                stamp.is_known = errno == ENOENT || errno == ENOTDIR;
                return stamp;
        }
        stamp.is_known = stamp.is_there = true;
        stamp.device = status.st_dev;
        stamp.inode = status.st_ino;
        if (rule->except)
                stamp.changed = status.st_ctim;
        return stamp;
}

int stamps_take(struct stamps *stamps, const struct resources *resources)
{
        size_t count = resources->child.rule_count;

        stamps_done(stamps);
        stamps->items = calloc(count + 1, sizeof(*stamps->items));
        if (!stamps->items)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct stamp *stamp = &stamps->items[i];

                *stamp = look(&resources->rules[i]);
                /* The next change could have the same time. */
                if (resources->rules[i].except && stamp->is_there)
                        stamp->is_known = is_older_than_a_tick(&stamp->changed);
        }
        return 0;
}

static bool is_same(const struct stamp *before, const struct stamp *now)
{
        return before->is_known && now->is_known && before->is_there == now->is_there &&
               before->device == now->device && before->inode == now->inode &&
               before->changed.tv_sec == now->changed.tv_sec &&
               before->changed.tv_nsec == now->changed.tv_nsec;
}

bool stamps_are_current(const struct stamps *stamps, const struct resources *resources)
{
        for (size_t i = 0; i < resources->child.rule_count; i++) {
                const struct stamp now = look(&resources->rules[i]);

                if (!is_same(&stamps->items[i], &now))
                        return false;
        }
        return true;
}

void stamps_done(struct stamps *stamps)
{
        free(stamps->items);
        stamps->items = NULL;
}
