/* inner_linux.h: what the program inside bubblewrap is told, and what it tells. */
#ifndef RUN_INNER_LINUX_H
#define RUN_INNER_LINUX_H

#include <stdint.h>

#include "run/child_request_linux.h"
#include "run/landlock_linux.h"

/* At the beginning of a file; places are counted from there. */
struct inner_settings {
        uint64_t size; /* of the file */
        struct ll_ruleset ruleset;
        uint64_t ruleset_size;
        uint32_t texts;                /* of the request, and of all that follows */
        uint32_t steps, step_count;    /* struct command_step */
        uint32_t rules, rule_count;    /* struct inner_rule */
        uint32_t covers, cover_count;  /* struct inner_cover */
        uint32_t opens_tmp, opens_shm; /* they are to be everybody's, and bubblewrap has given them no mode */
        struct child_request request;
};

/* As struct child_rule. */
struct inner_rule {
        uint64_t allowed;
        uint32_t path;
        uint32_t except, except_count; /* where the first stands: the others follow; 0: it has no list */
};

/* Something that bubblewrap must have mounted at this very path, and that must stay there. */
struct inner_cover {
        uint64_t inode;
        uint32_t major,
                minor; /* of its device: of what was there when the plan was carried out, or of the mask */
        uint32_t path;
        uint32_t is_mask;  /* it is another one, that nobody can read, */
        uint32_t is_known; /* and this one: bubblewrap did not make it */
};

/* Written once into the report, when it is over. Through the control come numbers of signals for the command, a byte each. */
struct inner_report {
        int32_t has_status, status; /* of the command */
        int32_t has_failed, failed_op, failed_plan_op, failed_errno;
        uint32_t failed_path; /* among the texts, or 0 */
};

#endif
