/* inside.h: what the test program does when it is the command. */
#ifndef WINDOWS_INSIDE_H
#define WINDOWS_INSIDE_H

/* The words after "inside". Returns the exit code. */
int inside_main(int count, char **words);

#endif
