/* setting.h: the policy that a request asks for. */
#ifndef SERVER_SETTING_H
#define SERVER_SETTING_H

#include "server/request.h"

/* Made anew for every request: what the files say now counts. `program` is our own file, or NULL; `skill` what shall be run, or
 * NULL: a command. */
int setting_make_policy(const struct request *request, const char *program, abatis_skill *skill,
                        abatis_policy **out, abatis_error *err);
/* The tier that the request names, which is "untrusted" if it names none. */
const abatis_tier *setting_tier(const struct request *request);

#endif
