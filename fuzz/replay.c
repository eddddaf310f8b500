/* replay.c: gives every file named, and every file in the folders named, to a fuzz target once; needs no fuzzer. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
        enum { SIZE_MAX_READ = 4 * 1024 * 1024 };
        FILE *file = fopen(path, "rb");
        uint8_t *buffer = malloc(SIZE_MAX_READ), *exact;
        size_t size;

        if (!file || !buffer) {
                perror(path);
                exit(2);
        }
        size = fread(buffer, 1, SIZE_MAX_READ, file);
        fclose(file);
        /* Without slack behind it, so that valgrind and the sanitizers see a read past the end. */
        exact = realloc(buffer, size ? size : 1);
        LLVMFuzzerTestOneInput(exact ? exact : buffer, size);
        free(exact ? exact : buffer);
        return 1;
}

static int replay(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;
        int count = 0;

        if (!folder)
                return replay_file(path);
        while ((entry = readdir(folder))) {
                char *inside;

                if (entry->d_name[0] == '.')
                        continue;
                if (asprintf(&inside, "%s/%s", path, entry->d_name) < 0)
                        exit(2);
                count += replay_file(inside);
                free(inside);
        }
        closedir(folder);
        return count;
}

int main(int argc, char **argv)
{
        int count = 0;

        for (int i = 1; i < argc; i++)
                count += replay(argv[i]);
        printf("%d inputs\n", count);
        return !count;
}
