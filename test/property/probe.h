/* probe.h: what is asked of the probe on its standard input, and what it answers on its standard output. */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>

/* One question; `length` bytes of path follow it. */
struct probe_question {
        uint8_t access;    /* abatis_access */
        uint8_t is_gentle; /* outside the sandbox, nothing is made: the file modes are asked instead */
        uint16_t length;
};

enum probe_state {
        PROBE_FOUND,   /* the path was there, and what the answer says was done to it */
        PROBE_MADE,    /* it was not; it was made, and is gone again */
        PROBE_MISSING, /* it was not, and what was asked could not be tried */
};

struct probe_answer {
        int32_t error; /* errno, or 0 */
        uint16_t state;
        uint8_t is_directory, is_pipe;
        uint64_t device, inode; /* of what was found; of what was made, its device */
};

#endif
