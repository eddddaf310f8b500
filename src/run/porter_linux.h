/* porter_linux.h: what the host program and the porter of a shared session tell each other. */
#ifndef RUN_PORTER_LINUX_H
#define RUN_PORTER_LINUX_H

#include <stdint.h>

/* The porter's descriptors when it begins; 1 is its own image. */
enum { PORTER_REQUESTS = 0, PORTER_NULL = 2 };

/* With each message, a struct child_request, come these, in this order; the texts are a file. */
enum { REQUEST_TEXTS, REQUEST_CONTROL, REQUEST_STDIO, REQUEST_COUNT = REQUEST_STDIO + 3 };

/* What is said through its control socket: to it a signal's number, or: */
enum {
        CONTROL_END =
                -1, /* all that the command has started is being killed: the report is to wait for that */
        CONTROL_DRAIN =
                -2, /* after the report, with a pipe that others may still write into: it is read to its end */
        CONTROL_ASK =
                -3, /* the command is asked to end; when it has, who is left has to end too before the report */
};

/* From it: when the command has begun, when one that was asked to end has ended and left somebody (has_status), and the last word. */
struct porter_report {
        int32_t usher; /* the number of the process that says it, in the session; 0 in the last */
        int32_t has_status, status; /* of the command */
        int32_t has_failed, failed_op, failed_errno;
};

#endif
