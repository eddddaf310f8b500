/* own.h: says at a declaration who owns a descriptor or a heap pointer, and releases it at the end of the scope. */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdlib.h>
#include <unistd.h>

static inline void own_fd_close(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}

static inline void own_free(void *pointer)
{
        free(*(void **)pointer);
}

#define OWN_FD __attribute__((cleanup(own_fd_close)))
#define OWN_FREE __attribute__((cleanup(own_free)))

/* The only ways to hand over: the variable is left empty, so its scope's end releases nothing. */
static inline int take_fd(int *fd)
{
        int taken = *fd;

        *fd = -1;
        return taken;
}

#define take_pointer(variable)                            \
        ({                                                \
                __typeof__(variable) taken_ = (variable); \
                (variable) = NULL;                        \
                taken_;                                   \
        })

#endif
