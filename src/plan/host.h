/* host.h: what this machine can enforce, as plain data: probed in run/, read by backends and printed for people. */
#ifndef PLAN_HOST_H
#define PLAN_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "abatis.h"

enum host_namespaces {
        NAMESPACES_NONE,
        NAMESPACES_USER, /* an ordinary user makes a user namespace first */
        NAMESPACES_ROOT, /* CAP_SYS_ADMIN makes mount and PID namespaces directly */
};

enum host_system { SYSTEM_LINUX, SYSTEM_MACOS, SYSTEM_WINDOWS };

/* One line of the doctor's report. */
struct host_finding {
        const char *name; /* static */
        bool is_available;
        bool is_required; /* without it the default policy is refused */
        char detail[512];
};

enum { HOST_MAX_FINDINGS = 24 };

/* A directory of the cgroup v2 hierarchy in which a job can have one of its own. */
struct host_cgroup {
        char directory[512];       /* "" when there is none */
        bool has_memory, has_pids; /* controllers that the job's own can use; its processor time needs none */
        bool must_enable_memory;   /* these have to be switched on for children first */
        bool must_enable_pids;
        char reason[256]; /* why there is none, or not all, and the fix */
};

/* A bubblewrap that was tried for real, with the arguments that commands get. Looked for where somebody asks for it, where nothing
 * else holds a policy, or by the full probe. */
struct host_bwrap {
        bool is_probed;
        bool is_available;             /* it makes namespaces and a read-only world here, */
        bool has_network;              /* and a network of its own */
        int minor;                     /* of version 0.MINOR */
        char path[256];                /* absolute; the file that was tried is the file that is used: */
        uint64_t device, inode;        /* this one, */
        int64_t changed_s, changed_ns; /* as it was */
        char version[32];
        char reason[256];         /* why not, and the fix */
        char network_reason[256]; /* likewise, of its network */
};

enum { HOST_OPEN_TREES = 4 };

/* Windows' AppContainer. */
struct host_container {
        bool is_available;
        bool is_nested; /* this process is in a job object itself: then another one cannot close the desktop */
        char reason[256]; /* why not, and the fix */
        char trees[4]
                  [260]; /* what Windows opens to every container: its own directory and those of programs */
};

/* One that could enforce, as the doctor tells it. */
struct host_backend {
        const char *name;    /* static */
        const char *version; /* static, or of the host; or NULL */
        const char *reason;  /* likewise: why it is not available; NULL when it is */
};

struct abatis_host {
        enum host_system system;
        char kernel[65], machine[65];
        unsigned uid, gid;
        int landlock_abi; /* 0: none */
        uint32_t landlock_errata;
        bool has_mount_setattr; /* recursive read-only, Linux 5.12 */
        enum host_namespaces namespaces;
        char namespaces_reason[512]; /* why none, and the fix */
        /* Looked for where there are no namespaces, where a policy needs it, or by the full probe. */
        bool has_broker; /* a supervisor can be asked about system calls, and see what they are about */
        char broker_reason[256]; /* why not, and the fix */
        bool has_descriptors;    /* it can have a caller's sockets, too: pidfd_getfd */
        /* What limits of a whole tree can stand on: looked for only where a policy has one, or by the full probe. */
        struct host_cgroup cgroup;
        bool has_io_accounting; /* the kernel counts what each process writes */
        /* Looked for where there are no namespaces, or by the full probe. */
        char hidden_reason
                [256];      /* why a process could hide from us in /proc, and the fix; "" when it could not */
        bool is_tmp_memory; /* /tmp is a tmpfs: what lies in it belongs to no process */
        struct host_bwrap bwrap;
        char seatbelt_reason[256]; /* of macOS: why there can be no sandbox, and the fix; "" when there can */
        struct host_container container;
        unsigned finding_count;
        struct host_finding *findings; /* owned: HOST_MAX_FINDINGS; NULL after the quick probe of a launch */
};

/* Mounts of its own, read-only with everything below: without them nothing can be hidden or private. */
static inline bool host_has_mounts(const abatis_host *host)
{
        return host->namespaces != NAMESPACES_NONE && host->has_mount_setattr;
}

enum {
        LANDLOCK_WITH_REFER = 2,    /* files can be moved to another directory */
        LANDLOCK_WITH_TRUNCATE = 3, /* who may not write a file cannot empty it */
        LANDLOCK_WITH_SCOPES = 6,   /* nobody outside is sent a signal, or reached by an abstract socket */
};

/* No namespaces, but what does for them. */
static inline bool host_is_bare(const abatis_host *host)
{
        return host->namespaces == NAMESPACES_NONE && host->has_broker &&
               host->landlock_abi >= LANDLOCK_WITH_REFER;
}

#endif
