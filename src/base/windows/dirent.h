/* dirent.h: see posix_windows.h. */
