/* unseen_linux.c: bounds what a process writes that has made itself unreadable.
 *
 * Of such a process (PR_SET_DUMPABLE, a program that cannot be read) only root learns what it writes. One that stays ends
 * the job soon; but it may be short, never waited for, and followed by the next. So for as long as somebody hides, all that
 * the whole machine writes is taken for his. A process in the middle of its exec hides for a moment, too: what it wrote is
 * known again as soon as it can be read. */
#define _GNU_SOURCE
#include "run/unseen_linux.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

enum { SECTOR = 512, SECTORS_WRITTEN = 10 /* the word of a line */ };

/* The kernel adds to this where it adds to write_bytes of a process. */
bool unseen_parse_vmstat(const char *text, uint64_t *out)
{
        const char *found = strstr(text, "\nnr_dirtied ");

        if (!found)
                return false;
        *out = strtoull(found + strlen("\nnr_dirtied "), NULL, 10);
        return true;
}

/* What goes round the page cache is on the disks. Partitions count twice: it is a bound. */
uint64_t unseen_parse_diskstats(const char *text)
{
        uint64_t sum = 0;

        for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
                const char *at = line;

                for (int word = 1; word < SECTORS_WRITTEN && *at && *at != '\n'; word++) {
                        at += strspn(at, " ");
                        at += strcspn(at, " \n");
                }
                if (*at == ' ')
                        sum += strtoull(at, NULL, 10);
        }
        return sum;
}

static bool read_text(const char *path, char *out, size_t size)
{
        OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t length = 0;
        ssize_t got = fd < 0 ? -1 : 1;

        while (got > 0 && length < size - 1) {
                got = read(fd, out + length, size - 1 - length);
                if (got > 0)
                        length += (size_t)got;
        }
        out[length] = '\0';
        return got >= 0;
}

bool unseen_read_machine(uint64_t *out)
{
        enum { TEXT_SIZE = 64 * 1024 };
        OWN_FREE char *text = malloc(TEXT_SIZE);
        uint64_t pages;

        if (!text || !read_text("/proc/vmstat", text, TEXT_SIZE) || !unseen_parse_vmstat(text, &pages))
                return false;
        *out = pages * (uint64_t)sysconf(_SC_PAGESIZE);
        if (read_text("/proc/diskstats", text, TEXT_SIZE))
                *out += unseen_parse_diskstats(text) * SECTOR;
        return true;
}

void unseen_settle(struct unseen *unseen, uint64_t machine, bool is_hidden, bool has_vanished)
{
        if (unseen->has_looked && (is_hidden || unseen->was_hidden) && machine > unseen->machine)
                unseen->pending += machine - unseen->machine;
        if (has_vanished)
                unseen->lost += unseen->pending;
        if (has_vanished || !is_hidden)
                unseen->pending = 0;
        unseen->machine = machine;
        unseen->has_looked = true;
        unseen->was_hidden = is_hidden;
}
