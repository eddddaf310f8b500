/* leave.c: ends with the status that it is told, from main or, with "exit", from within. */
#include <stdlib.h>

int main(int argc, char **argv)
{
        const int status = argc > 1 ? atoi(argv[1]) : 0;

        if (argc > 2)
                exit(status);
        return status;
}
