/* poll.h: see posix_windows.h. */
