/* container_windows.h: an AppContainer of one job: its name, its SID, its profile. */
#ifndef RUN_CONTAINER_WINDOWS_H
#define RUN_CONTAINER_WINDOWS_H

#include "run/system_windows.h"

/* "abatis." and 32 hexadecimal digits that nobody can guess or has used before. */
enum { CONTAINER_NAME_SIZE = 7 + 32 + 1 };

int container_name_new(char out[CONTAINER_NAME_SIZE], abatis_error *err);
bool container_name_is_ours(const char *name);

/* One of S-1-15-2 with seven numbers behind it. */
struct container_sid {
        union {
                SID sid;
                unsigned char bytes[SECURITY_MAX_SID_SIZE];
        } u;
};

/* The SID that Windows derives from a name: it is made from a hash of it. So whoever knows the name of a container, and of our own ones
 * only, knows its SID, without the container and on any machine. */
int container_find_sid(const char *name, struct container_sid *out, abatis_error *err);

/* Why this Windows cannot make one, and the fix; NULL when it can. */
const char *container_reason(void);

/* Makes the profile, and compares its SID. *folder, owned by the caller, is its own directory. ABATIS_E_BACKEND when there are no containers here. */
int container_make(const char *name, const struct container_sid *sid, wchar_t **folder, abatis_error *err);
/* With its directory. One that is not there is no error. */
int container_remove(const char *name, abatis_error *err);

#endif
