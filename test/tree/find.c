/* find.c: who has a word among its arguments; a library for the tests, which look often.
 *
 * A thread whose leader has ended keeps the arguments that the leader no longer shows. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_file(const char *path, char *text, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

        if (fd >= 0)
                close(fd);
        if (length >= 0)
                text[length] = '\0';
        return length;
}

static ssize_t read_words(const char *pid, char *text, size_t size)
{
        char path[64];
        const struct dirent *entry;
        ssize_t length;
        DIR *tasks;

        snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
        length = read_file(path, text, size);
        if (length)
                return length;
        snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
        tasks = opendir(path);
        while (tasks && length <= 0 && (entry = readdir(tasks))) {
                snprintf(path, sizeof(path), "/proc/%.16s/task/%.16s/cmdline", pid, entry->d_name);
                length = *entry->d_name == '.' ? 0 : read_file(path, text, size);
        }
        if (tasks)
                closedir(tasks);
        return length;
}

static int has_word(const char *text, ssize_t length, const char *word)
{
        for (const char *at = text; at < text + length; at += strlen(at) + 1)
                if (!strcmp(at, word))
                        return 1;
        return 0;
}

/* Of the program whose path ends like this, if one is given. Returns how many there are; the first `size` are in pids. */
int find(const char *word, const char *program, int *pids, int size)
{
        DIR *directory = opendir("/proc");
        const struct dirent *entry;
        char text[4096];
        int count = 0;

        while (directory && (entry = readdir(directory))) {
                ssize_t length;
                size_t end;

                if (!isdigit((unsigned char)*entry->d_name))
                        continue;
                length = read_words(entry->d_name, text, sizeof(text));
                if (length <= 0 || !has_word(text, length, word))
                        continue;
                end = strlen(text);
                if (program && (end < strlen(program) || strcmp(text + end - strlen(program), program) != 0))
                        continue;
                if (count < size)
                        pids[count] = atoi(entry->d_name);
                count++;
        }
        if (directory)
                closedir(directory);
        return count;
}
