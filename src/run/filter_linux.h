/* filter_linux.h: builds the seccomp program of a plan. */
#ifndef RUN_FILTER_LINUX_H
#define RUN_FILTER_LINUX_H

#include <linux/filter.h>
#include <stddef.h>

#include "policy/policy.h"

enum { FILTER_MAX = 384 };

struct filter {
        struct sock_filter code[FILTER_MAX];
        size_t length;
};

struct filter_options {
        enum network_mode network;
        bool has_loopback; /* with NETWORK_DENY: what may be on a loopback of its own is asked for */
        bool has_memory_files; /* no mount and no Landlock rule covers them, and they are started like any program */
        bool counts_memory;   /* by process: there must be none that belongs to no process */
        bool is_among_others; /* there are no namespaces: the numbers of processes and queues are the host's */
        /* There is a broker: it is asked before a file's mode, owner, times or attributes change; and */
        bool has_broker;
        bool asks_writes; /* about everything that makes, writes, moves or removes a file; */
        bool asks_reads;  /* about everything that is opened to be read; */
        bool asks_connects; /* about every connection: no unix socket may then take an address by another call; */
        bool asks_doors;    /* likewise, and the call goes on; */
        bool asks_streams;  /* about every connection of a list without a network of its own: TCP alone; */
        bool asks_signals;  /* about every signal to another process; */
        bool asks_truncate; /* before a file is cut off by its name; */
        bool asks_mappings; /* and before a file is mapped as code: nobody then shares descriptors but threads */
        /* A call that would be refused is let through if this word stands where a sixth argument would; 0: none is. For those who
         * have the filter because they start the command, and must do what it may not: nobody else knows the word, and the
         * command has no capabilities for what it lets through. */
        uint64_t pass;
};

/* Both fail only if the program outgrows FILTER_MAX. */
int filter_build(const struct filter_options *options, struct filter *filter, abatis_error *err);
/* What the command loads last: of enum plan_calls. */
int filter_build_second(unsigned calls, struct filter *filter, abatis_error *err);

#endif
