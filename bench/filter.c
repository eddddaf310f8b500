/* Writes the system call filter of the default policy to stdout, as bubblewrap takes one by --seccomp. */
#include <stdio.h>

#include "run/filter_linux.h"

int main(void)
{
        static struct filter filter;
        const struct filter_options options = { .network = NETWORK_DENY, .has_memory_files = true };
        if (filter_build(&options, &filter, NULL) < 0)
                return 1;
        return fwrite(filter.code, sizeof *filter.code, filter.length, stdout) != filter.length;
}
