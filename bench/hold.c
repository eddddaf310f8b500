/* A command that says it runs, then stays until its input ends: the memory beside it can be read. */
#include <unistd.h>

int main(void)
{
        char byte = '\n';
        if (write(STDOUT_FILENO, &byte, 1) != 1)
                return 1;
        while (read(STDIN_FILENO, &byte, 1) > 0)
                continue;
        return 0;
}
