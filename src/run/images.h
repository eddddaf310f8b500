/* images.h: programs that the library executes from memory, as files would hold them: made by script/image.py. */
#ifndef RUN_IMAGES_H
#define RUN_IMAGES_H

#include <stddef.h>

/* From porter_linux.c. */
extern const unsigned char porter_image[];
extern const size_t porter_image_size;
/* From inner_linux.c. */
extern const unsigned char inner_image[];
extern const size_t inner_image_size;
/* From src/net/. */
extern const unsigned char relay_image[];
extern const size_t relay_image_size;

#endif
