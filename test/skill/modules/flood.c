/* flood.c: writes to standard output, or with "errors" to standard error, until that fails. */
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
        const int to = argc > 1 && !strcmp(argv[1], "errors") ? 2 : 1;
        static char text[65536];

        memset(text, 'x', sizeof text);
        while (write(to, text, sizeof text) > 0)
                ;
        return 7;
}
