/* poll.h: see posix_windows.h. */
#ifndef BASE_WINDOWS_POLL_H
#define BASE_WINDOWS_POLL_H
#endif
