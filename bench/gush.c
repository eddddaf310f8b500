/* A command that writes one gibibyte. */
#include <string.h>
#include <unistd.h>

int main(void)
{
        static char lines[64 * 1024];
        size_t left = (size_t)1 << 30;
        memset(lines, 'x', sizeof lines);
        for (size_t i = 79; i < sizeof lines; i += 80)
                lines[i] = '\n';
        while (left > 0) {
                ssize_t written = write(STDOUT_FILENO, lines, left < sizeof lines ? left : sizeof lines);
                if (written <= 0)
                        return 1;
                left -= (size_t)written;
        }
        return 0;
}
