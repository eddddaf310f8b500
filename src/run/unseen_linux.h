/* unseen_linux.h: the most that processes may have written which do not let us see it. */
#ifndef RUN_UNSEEN_LINUX_H
#define RUN_UNSEEN_LINUX_H

#include <stdbool.h>
#include <stdint.h>

struct unseen {
        uint64_t machine; /* what all processes had written at the last look */
        bool has_looked, was_hidden;
        uint64_t pending; /* of those that hide still, or are gone since the last look */
        uint64_t lost;    /* of those that are gone */
};

/* What was written since the machine began, by all its processes: at least what any of them did. */
bool unseen_read_machine(uint64_t *out);
bool unseen_parse_vmstat(const char *text, uint64_t *out); /* pages */
uint64_t unseen_parse_diskstats(const char *text);         /* sectors of 512 bytes */
/* Once per look: whether somebody hides now, and whether somebody who hid is gone. */
void unseen_settle(struct unseen *unseen, uint64_t machine, bool is_hidden, bool has_vanished);

#endif
