/* fd.h: descriptors that a library keeps in somebody else's process. */
#ifndef BASE_FD_H
#define BASE_FD_H

/* The same one, or -1, with a number above 2. A host program that has closed 0, 1 or 2 has given these numbers to what is opened next, and
 * still names them when it says what a command gets: that must never be one of ours. */
int fd_above_stdio(int fd);
/* Both of a pair; on failure none is left. 0 or -1. */
int fds_above_stdio(int fds[2]);

#endif
