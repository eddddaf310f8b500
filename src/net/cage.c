/* cage.c: the relay gives up what it does not need any more, when all that it needs is open. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/relay.h"

enum {
        RESTRICT_SELF = 446 /* of Landlock; the C library's headers may be older */,
        FILTER = 2 /* SECCOMP_MODE_FILTER */
};

/* The sanitizers' own threads and reports need more than the relay does. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#else
enum { IS_SANITIZED = 0 };
#endif

/* Of a relay that root has started. It starts no program, which could have others. */
static int drop_capabilities(void)
{
        struct {
                uint32_t version;
                int pid;
        } header = { 0x20080522 /* _LINUX_CAPABILITY_VERSION_3 */, 0 };
        const struct {
                uint32_t effective, permitted, inheritable;
        } none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

        return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int cage_close(const struct relay_settings *settings)
{
        int r = drop_capabilities();

        /* As the kernel has it: struct sock_fprog. */
        const struct {
                unsigned short length;
                const uint64_t *code;
        } program = { (unsigned short)settings->cage.length, settings->cage.code };

        if (r < 0 || IS_SANITIZED)
                return r;
        if (settings->has_rules && syscall(RESTRICT_SELF, RELAY_RULES, 0) < 0)
                return -errno;
        if (settings->has_rules)
                close(RELAY_RULES);
        if (settings->cage.length > RELAY_CAGE_MAX)
                return -EINVAL;
        return prctl(PR_SET_SECCOMP, FILTER, &program) < 0 ? -errno : 0;
}
