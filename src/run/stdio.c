/* stdio.c: lets go of what was opened for a command's descriptors 0, 1 and 2. */
#include "run/stdio.h"

#include <stdlib.h>
#include <unistd.h>

void stdio_close_ends(struct stdio *stdio)
{
        for (int i = 0; i < 3; i++) {
                if (stdio->ends[i] >= 0)
                        close(stdio->ends[i]);
                stdio->ends[i] = -1;
        }
}

void stdio_done(struct stdio *stdio)
{
        stdio_close_ends(stdio);
        for (int i = 0; i < 3; i++)
                free(stdio->paths[i]);
}
