/* loop.c: says that it has begun, and never ends. */
#include <unistd.h>

int main(void)
{
        static volatile unsigned turns;

        write(1, "begun\n", 6);
        for (;;)
                turns++;
}
