/* resolver_files.h: what /etc/hosts and /etc/resolv.conf say at present. */
#ifndef NET_RESOLVER_FILES_H
#define NET_RESOLVER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/address.h"
#include "net/resolver.h"

enum { RESOLVER_SERVERS_MAX = 3 /* libc asks no more either */ };

struct resolver_servers {
        struct address addresses[RESOLVER_SERVERS_MAX];
        size_t count;       /* at least one */
        int64_t timeout_ms; /* for one of them to answer */
        size_t attempts;    /* how often each is asked */
};

/* Tells one state of a file from the next. */
struct resolver_stamp {
        bool is_there;
        dev_t device;
        ino_t inode;
        off_t size;
        struct timespec changed;
};

struct resolver_file {
        char *path; /* owned */
        int given;  /* borrowed, while it is read from: a descriptor of it; else -1 */
        bool was_read;
        bool is_shut;                /* another is there now that may not be read */
        struct resolver_stamp stamp; /* of what was read */
};

struct resolver_files {
        struct resolver_file hosts_file, servers_file;
        char *text;         /* owned: the hosts' names lie in it */
        struct host *hosts; /* owned: sorted by name */
        size_t host_count;
        struct resolver_servers servers;
        int64_t next_look; /* in milliseconds; before that nobody looks at the files */
};

/* NULL for a path of the system. 0 or -ENOMEM; resolver_files_done() has to be called either way. */
int resolver_files_init(struct resolver_files *files, const char *hosts, const char *resolv_conf,
                        int64_t now);
void resolver_files_done(struct resolver_files *files);
/* Reads what has changed, and looks no more than once a second. True if the servers are others now, so that their answers
 * may be others too. For want of memory everything stays as it was, and is tried again later. */
bool resolver_files_refresh(struct resolver_files *files, int64_t now);
/* The same, now, with a descriptor of the one or the other, which is closed. For one that is shut. */
bool resolver_files_take(struct resolver_files *files, enum resolver_file_kind kind, int fd);
/* How many addresses the hosts file has for the name, those of IPv6 first. */
size_t resolver_files_find(const struct resolver_files *files, const char *name,
                           struct address out[RESOLVER_ADDRESSES_MAX]);

#endif
