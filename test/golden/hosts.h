/* hosts.h: descriptions of machines, one file each: "key: value" with the fields of struct abatis_host. */
#ifndef GOLDEN_HOSTS_H
#define GOLDEN_HOSTS_H

#include "plan/host.h"

struct machine {
        char name[64]; /* of the file, without its ending */
        abatis_host host;
};

/* Reads one description. An empty line and one that begins with # say nothing. What is wrong with it is written to `problem`, with the line's
 * number: a key that there is not, or twice, a value of the wrong kind or too long. */
bool host_read(const char *text, abatis_host *out, char *problem, size_t size);

/* All files *.host of the directory, by name; owned. Ends the program with a message when one is wrong or there is none. */
struct machine *hosts_read_all(const char *directory, size_t *count);

#endif
