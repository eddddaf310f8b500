/* kin_linux.c: finds the descendants of a job's init among all processes of this machine.
 *
 * Init is a subreaper: who loses its parent becomes init's child, so nobody leaves and nobody else comes in. A verdict
 * stands for as long as the process lives, which is why only new ones are read. Whether one is new its directory's inode
 * tells, without a file being opened: of 2,000 processes the list takes 1 ms, and all their parents took 13. */
#define _GNU_SOURCE
#include "run/kin_linux.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/syscall_linux.h"
#include "run/tree_linux.h"

enum {
        NO_INODE = 1, /* what the kernel says when it has no memory for one */
        ROUNDS = 16,  /* in which parents may die under our eyes */
        /* Looks after which a stranger is asked again: between two files of one look a number may have become another's,
         * if the job goes through all of them that fast. */
        STRANGER_LOOKS = 16,
};

static int compare_pids(const void *left, const void *right)
{
        const struct kin_entry *a = left, *b = right;

        return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct kin_entry *find(struct kin *kin, unsigned pid)
{
        const struct kin_entry key = { .pid = pid };

        return kin->count ? bsearch(&key, kin->now, kin->count, sizeof(key), compare_pids) : NULL;
}

static int add(struct kin *kin, unsigned pid, uint64_t inode)
{
        if (kin->count == kin->capacity) {
                size_t wanted = kin->capacity ? 2 * kin->capacity : 256;
                struct kin_entry *grown = realloc(kin->now, wanted * sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                kin->now = grown;
                kin->capacity = wanted;
        }
        kin->now[kin->count++] = (struct kin_entry){ .pid = pid, .inode = inode };
        return 0;
}

static int list(struct kin *kin, int proc)
{
        char buffer[32768] __attribute__((aligned(8)));
        bool is_sorted = true;
        long got;

        if (lseek(proc, 0, SEEK_SET) < 0)
                return -errno;
        while ((got = syscall(SYS_getdents64, proc, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);
                        char *end;
                        unsigned long pid = strtoul(entry->name, &end, 10);

                        at += entry->length;
                        if (*end || !pid || *entry->name < '1' || *entry->name > '9')
                                continue;
                        if (kin->count && kin->now[kin->count - 1].pid >= pid)
                                is_sorted = false;
                        if (add(kin, (unsigned)pid, entry->inode) < 0)
                                return -ENOMEM;
                }
        if (got < 0)
                return -errno;
        if (!is_sorted)
                qsort(kin->now, kin->count, sizeof(*kin->now), compare_pids);
        return 0;
}

/* Who is still the same keeps its verdict. A stranger that is older than init never needs another. */
static void inherit(struct kin *kin)
{
        size_t old = 0;

        for (size_t i = 0; i < kin->count; i++) {
                struct kin_entry *entry = &kin->now[i];
                const struct kin_entry *was;

                while (old < kin->before_count && kin->before[old].pid < entry->pid)
                        old++;
                was = old < kin->before_count ? &kin->before[old] : NULL;
                if (!was || was->pid != entry->pid || was->inode != entry->inode ||
                    entry->inode == NO_INODE || (was->bond != KIN_OURS && was->bond != KIN_STRANGER))
                        continue;
                if (was->bond == KIN_STRANGER && was->start >= kin->start &&
                    (entry->pid + kin->looks) % STRANGER_LOOKS == 0)
                        continue;
                *entry = *was;
        }
}

static int identify(const struct kin *kin, int proc, struct kin_entry *entry)
{
        struct tree_process process = { 0 };
        char text[1024];
        ssize_t r = tree_read(proc, entry->pid, "stat", text, sizeof(text));

        if (r == -ESRCH) {
                entry->bond = KIN_GONE;
                return 0;
        }
        if (r < 0)
                return (int)r;
        if (!tree_parse_stat(text, 1, &process))
                return -EPROTO;
        entry->parent = process.parent;
        entry->start = process.start;
        entry->bond = process.start < kin->start ? KIN_STRANGER : KIN_UNKNOWN;
        return 0;
}

/* By its parent, if that is known and can be one: nobody is older than its parent. */
static enum kin_bond judge(struct kin *kin, const struct kin_entry *entry, bool *has_parent)
{
        const struct kin_entry *parent;

        *has_parent = true;
        if (entry->parent == kin->init)
                return KIN_OURS;
        if (!entry->parent)
                return KIN_STRANGER; /* the first of all, the kernel's own, and who came from another namespace */
        parent = find(kin, entry->parent);
        *has_parent = parent && parent->bond != KIN_GONE && parent->start <= entry->start;
        return *has_parent ? parent->bond : KIN_UNKNOWN;
}

/* Its parent is not in the list. Mostly that has died, and the process has another one now; or it was born after its
 * number had been passed, and is listed here. */
static int ask_again(struct kin *kin, int proc, size_t index)
{
        unsigned before = kin->now[index].parent;
        struct kin_entry parent = { .pid = before, .inode = NO_INODE };
        int r = identify(kin, proc, &kin->now[index]);

        if (r < 0 || kin->now[index].bond != KIN_UNKNOWN || kin->now[index].parent != before)
                return r;
        if (find(kin, before))
                return identify(kin, proc, find(kin, before));
        r = identify(kin, proc, &parent);
        if (r < 0 || parent.bond == KIN_GONE)
                return r;
        r = add(kin, before, NO_INODE);
        if (r < 0)
                return r;
        kin->now[kin->count - 1] = parent;
        qsort(kin->now, kin->count, sizeof(*kin->now), compare_pids);
        return 0;
}

/* Parents mostly have lower numbers, and so are settled before their children. */
static int settle(struct kin *kin, int proc)
{
        bool is_settled = false;
        int r = 0;

        for (int round = 0; round < ROUNDS && !is_settled; round++) {
                is_settled = true;
                for (size_t i = 0; i < kin->count && !r; i++) {
                        bool has_parent;

                        if (kin->now[i].bond != KIN_UNKNOWN)
                                continue;
                        kin->now[i].bond = judge(kin, &kin->now[i], &has_parent);
                        if (kin->now[i].bond != KIN_UNKNOWN)
                                continue;
                        is_settled = false;
                        if (!has_parent || round)
                                r = ask_again(kin, proc, i);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Init is no member: it is ours. */
static int find_init(struct kin *kin, int proc)
{
        struct kin_entry *init = find(kin, kin->init);
        int r = init ? identify(kin, proc, init) : -ESRCH;

        if (r < 0)
                return r;
        if (init->bond == KIN_GONE)
                return -ESRCH;
        kin->start = init->start;
        init->bond = KIN_OURS;
        return 0;
}

int kin_look(struct kin *kin, int proc)
{
        struct kin_entry *last = kin->before;
        size_t last_capacity = kin->before_capacity;
        int r;

        kin->before = kin->now;
        kin->before_count = kin->count;
        kin->before_capacity = kin->capacity;
        kin->now = last;
        kin->capacity = last_capacity;
        kin->count = 0;
        kin->looks++;
        r = list(kin, proc);
        if (r < 0)
                return r;
        inherit(kin);
        r = find_init(kin, proc);
        for (size_t i = 0; i < kin->count && !r; i++)
                if (kin->now[i].bond == KIN_UNKNOWN)
                        r = identify(kin, proc, &kin->now[i]);
        return r ? r : settle(kin, proc);
}

/* The verdict was of somebody who had the number before, if the numbers went round in the middle of a look. */
void kin_check(struct kin *kin, unsigned pid, unsigned parent)
{
        const struct kin_entry *above = find(kin, parent);
        struct kin_entry *entry = find(kin, pid);

        if (entry && pid != kin->init && parent != kin->init && (!above || above->bond != KIN_OURS))
                entry->inode = NO_INODE;
}

void kin_done(struct kin *kin)
{
        free(kin->now);
        free(kin->before);
        *kin = (struct kin){ 0 };
}
