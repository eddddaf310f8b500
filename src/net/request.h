/* request.h: requests of plain HTTP, one after the other, each of which must be for the host that was asked for.
 *
 * Not a byte of a head is passed on before the head is read to its end. All pass as they came, but for one thing: whoever would like to
 * go on in another protocol is heard as if he had not said so (disarm.h). */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct allowance;
struct request;

/* `host` is borrowed. NULL for want of memory. */
struct request *request_new(const char *host, uint16_t port);
void request_free(struct request *request);
/* Reads and passes on as far as it goes. 0; -EACCES if a request is refused, and request_problem() says why; -EDQUOT if the allowance is
 * used up; or another negative errno. */
int request_pump(struct request *request, int from, int to, struct allowance *allowance, uint64_t *passed);
/* Something that may pass waits for room. */
bool request_has_more(const struct request *request);
bool request_is_at_end(const struct request *request);
/* The first head was read and may pass: there is somebody to connect to. */
bool request_is_good(const struct request *request);
/* Reads without passing anything on. As request_pump(). */
int request_read(struct request *request, int from);
const char *request_problem(const struct request *request);

#endif
