/* file.h: a file read once into memory, by no link, so that what was checked is what is used. */
#ifndef SKILL_FILE_H
#define SKILL_FILE_H

#include <stddef.h>

#include "abatis.h"

/* Who may have had a hand in it. */
enum file_hands {
        HANDS_ANY,
        HANDS_TRUSTED, /* the user's or root's, and nobody else may write it */
        HANDS_OWN, /* the user's, and nobody else may do anything with it; of a file: 0400 and a single name */
};

/* Both open without following a link in the path's last name; `shown` is how errors call it. A descriptor, ABATIS_E_NOT_FOUND, or what is
 * wrong with it. */
int file_open(int directory, const char *name, enum file_hands hands, const char *shown, abatis_error *err);
int file_open_directory(int directory, const char *name, enum file_hands hands, const char *shown,
                        abatis_error *err);
/* Opens it, too, and reads all of it, `most` bytes at most. *out, owned by the caller, has a NUL behind it. */
int file_take(int directory, const char *name, enum file_hands hands, size_t most, const char *shown,
              char **out, size_t *length, abatis_error *err);
/* The same of an open one. */
int file_take_open(int fd, size_t most, const char *shown, char **out, size_t *length, abatis_error *err);

#endif
