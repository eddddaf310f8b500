/* dirent.h: see posix_windows.h. */
#ifndef BASE_WINDOWS_DIRENT_H
#define BASE_WINDOWS_DIRENT_H
#endif
