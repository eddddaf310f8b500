/* files.c: what an honest skill does with files.
 *
 *   files read PATH | write PATH TEXT | list PATH | size PATH | make PATH | rename FROM TO | remove PATH | touch PATH TIME
 *
 * Prints what it got, and ends with 1 and the reason on standard error when it did not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *what)
{
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        return 1;
}

static int read_file(char **words)
{
        char text[4096];
        const int fd = open(words[0], O_RDONLY);
        ssize_t length = fd < 0 ? -1 : 0;

        while (fd >= 0 && (length = read(fd, text, sizeof text)) > 0)
                fwrite(text, 1, (size_t)length, stdout);
        return length < 0 ? fail(words[0]) : close(fd);
}

static int write_file(char **words)
{
        const int fd = open(words[0], O_WRONLY | O_CREAT | O_TRUNC, 0644);

        if (fd < 0 || write(fd, words[1], strlen(words[1])) < 0)
                return fail(words[0]);
        return close(fd);
}

static int compare(const void *one, const void *other)
{
        return strcmp(*(char *const *)one, *(char *const *)other);
}

static int list_directory(char **words)
{
        static char *names[10000];
        DIR *directory = opendir(words[0]);
        const struct dirent *entry;
        size_t count = 0;

        if (!directory)
                return fail(words[0]);
        while (count < sizeof names / sizeof *names && (entry = readdir(directory)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        names[count++] = strdup(entry->d_name);
        qsort(names, count, sizeof *names, compare);
        for (size_t i = 0; i < count; i++)
                puts(names[i]);
        return closedir(directory);
}

static int show_size(char **words)
{
        struct stat status;

        if (stat(words[0], &status) < 0)
                return fail(words[0]);
        printf("%s %lld\n", S_ISDIR(status.st_mode) ? "directory" : "file",
               S_ISDIR(status.st_mode) ? 0 : (long long)status.st_size);
        return 0;
}

static int make_directory(char **words)
{
        return mkdir(words[0], 0755) < 0 ? fail(words[0]) : 0;
}

static int rename_file(char **words)
{
        return rename(words[0], words[1]) < 0 ? fail(words[0]) : 0;
}

static int remove_file(char **words)
{
        return remove(words[0]) < 0 ? fail(words[0]) : 0;
}

static int touch(char **words)
{
        const struct timespec times[2] = { { .tv_sec = atoll(words[1]) }, { .tv_sec = atoll(words[1]) } };
        struct stat status;

        if (utimensat(AT_FDCWD, words[0], times, 0) < 0 || stat(words[0], &status) < 0)
                return fail(words[0]);
        printf("%lld\n", (long long)status.st_mtim.tv_sec);
        return 0;
}

static const struct {
        const char *verb;
        int words;
        int (*act)(char **words);
} verbs[] = {
        { "read", 1, read_file },     { "write", 2, write_file },    { "list", 1, list_directory },
        { "size", 1, show_size },     { "make", 1, make_directory }, { "rename", 2, rename_file },
        { "remove", 1, remove_file }, { "touch", 2, touch },
};

int main(int argc, char **argv)
{
        for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
                if (!strcmp(argv[1], verbs[i].verb) && argc == verbs[i].words + 2)
                        return verbs[i].act(argv + 2);
        fputs("usage: files VERB PATH [WORD]\n", stderr);
        return 2;
}
