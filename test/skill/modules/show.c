/* show.c: prints its arguments and its environment, a line each. */
#include <stdio.h>

extern char **environ;

int main(int argc, char **argv)
{
        for (int i = 0; i < argc; i++)
                printf("argument %d %s\n", i, argv[i]);
        for (char **variable = environ; variable && *variable; variable++)
                printf("variable %s\n", *variable);
        return 0;
}
