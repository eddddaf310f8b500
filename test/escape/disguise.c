/* disguise.c: makes a library look as if it had no code: disguise LIBRARY COPY
 *
 * Its segments can be read and no more, so that nobody asks whether they may be code. But it has text relocations, and names
 * another table of its segments, in which they are code: that one the loader goes by when it is done with relocations. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

static unsigned char image[1 << 20];

int main(int argc, char **argv)
{
        const Elf64_Ehdr *header = (const void *)image;
        Elf64_Phdr *table = (void *)(image + sizeof(*header)), *room = NULL, *spare = NULL;
        FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
        size_t size = file ? fread(image, 1, sizeof(image), file) : 0;

        for (size_t at = 0; at + 16 < size && !room; at += 8)
                if (!memcmp(image + at, "ROOM-FOR-A-TABLE", 16))
                        room = (void *)(image + at);
        for (int i = 0; i < header->e_phnum && room; i++)
                if (table[i].p_type == PT_NOTE || table[i].p_type == PT_GNU_EH_FRAME)
                        spare = &table[i];
        if (!spare || header->e_phoff != sizeof(*header))
                return 1;
        spare->p_type = PT_NULL;
        memcpy(room, table, header->e_phnum * sizeof(*table));
        for (int i = 0; i < header->e_phnum; i++) {
                size_t at = (size_t)((unsigned char *)room - image);

                if (table[i].p_type != PT_LOAD)
                        continue;
                if (at >= table[i].p_offset && at < table[i].p_offset + table[i].p_filesz)
                        spare->p_vaddr = table[i].p_vaddr + (at - table[i].p_offset);
                table[i].p_flags &= ~(unsigned)PF_X;
        }
        spare->p_type = PT_PHDR;
        file = fopen(argv[2], "wb");
        return !file || fwrite(image, 1, size, file) != size || fclose(file);
}
