/* inet.h: see posix_windows.h. Not by Windows' own header, whose poll() is another. */
#ifndef BASE_WINDOWS_ARPA_INET_H
#define BASE_WINDOWS_ARPA_INET_H

#define AF_INET 2
#define AF_INET6 23
#define INET_ADDRSTRLEN 22
#define INET6_ADDRSTRLEN 65

int inet_pton(int family, const char *text, void *out);
const char *inet_ntop(int family, const void *address, char *out, size_t size);

#endif
