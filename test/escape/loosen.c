/* loosen FROM TO stack|code: a copy of a program whose stack, or whose code, the kernel makes writable and executable. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *path, size_t *length)
{
        FILE *file = fopen(path, "rb");
        char *bytes = NULL;

        if (file && !fseek(file, 0, SEEK_END) && (*length = (size_t)ftell(file)) > 0 &&
            (bytes = malloc(*length)) && (rewind(file), fread(bytes, 1, *length, file) != *length))
                exit(1);
        if (!bytes)
                exit(1);
        fclose(file);
        return bytes;
}

int main(int argc, char **argv)
{
        size_t length = 0;
        char *bytes = argc == 4 ? read_whole(argv[1], &length) : NULL;
        Elf64_Ehdr header;
        FILE *file;
        int changed = 0;

        if (!bytes)
                return 2;
        memcpy(&header, bytes, sizeof(header));
        for (size_t i = 0; i < header.e_phnum; i++) {
                char *at = bytes + header.e_phoff + i * sizeof(Elf64_Phdr);
                Elf64_Phdr segment;

                memcpy(&segment, at, sizeof(segment));
                if (segment.p_type != (strcmp(argv[3], "stack") ? PT_LOAD : PT_GNU_STACK) ||
                    (segment.p_type == PT_LOAD && !(segment.p_flags & PF_X)))
                        continue;
                segment.p_flags = PF_R | PF_W | PF_X;
                memcpy(at, &segment, sizeof(segment));
                changed++;
        }
        file = fopen(argv[2], "wb");
        return !changed || !file || fwrite(bytes, 1, length, file) != length || fclose(file) ? 1 : 0;
}
