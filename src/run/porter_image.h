/* porter_image.h: the porter's program, as a file would hold it. Made from porter_linux.c. */
#ifndef RUN_PORTER_IMAGE_H
#define RUN_PORTER_IMAGE_H

#include <stddef.h>

extern const unsigned char porter_image[];
extern const size_t porter_image_size;

#endif
