/* executable.c: reads ELF headers and the first line of scripts as the kernel does, and believes neither. */
#define _GNU_SOURCE
#include "base/executable.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

enum {
        SCRIPT_LINE_MAX = 256,          /* the kernel looks no further for the end of a script's first line */
        PROGRAM_HEADERS_MAX = 64 * 1024 /* bytes; likewise */
};

/* The two that the kernel looks at before it opens an interpreter, and what else a loader has. */
enum { SEGMENT_LOADED = 1, SEGMENT_INTERPRETER = 3, SEGMENT_NOTE = 4, SEGMENT_STACK = 0x6474e551 };

struct elf_header {
        unsigned char identity[16];
        uint16_t type, machine;
        uint32_t version;
        uint64_t entry, program_headers, section_headers;
        uint32_t flags;
        uint16_t size, program_header_size, program_header_count;
        uint16_t section_header_size, section_header_count, section_names;
};

struct program_header {
        uint32_t type, flags;
        uint64_t offset, address, physical_address, file_size, memory_size, alignment;
};

_Static_assert(sizeof(struct elf_header) == 64 && sizeof(struct program_header) == 56, "as in the file");

static bool is_elf(const void *bytes)
{
        return !memcmp(bytes, "\177ELF", 4);
}

/* What kernels for arm64 and x86_64 demand of the headers, besides the processor. */
static int check_header(const struct elf_header *header, const char *name, abatis_error *err)
{
        enum { CLASS_64 = 2, LITTLE_ENDIAN_DATA = 1 };

        if (header->identity[4] != CLASS_64 || header->identity[5] != LITTLE_ENDIAN_DATA)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is not a program for this processor in its 64-bit mode", name);
        if (header->program_header_size != sizeof(struct program_header) || !header->program_header_count ||
            (size_t)header->program_header_count * sizeof(struct program_header) > PROGRAM_HEADERS_MAX)
                return error_set(err, ABATIS_E_INVALID, "'%s' is damaged: its program headers make no sense",
                                 name);
        return 0;
}

/* All of it, or an error: a file that ends before is damaged. */
static int read_at(int fd, void *buffer, size_t size, uint64_t offset, const char *name, abatis_error *err)
{
        size_t done = 0;

        if (offset > INT64_MAX - size)
                return error_set(err, ABATIS_E_INVALID, "'%s' is damaged: it ends too early", name);
        while (done < size) {
                ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_os(err, errno, "cannot read '%s'", name);
                if (!got)
                        return error_set(err, ABATIS_E_INVALID, "'%s' is damaged: it ends too early", name);
                done += (size_t)got;
        }
        return 0;
}

static int read_interpreter(int fd, const struct program_header *segment, const char *name,
                            struct executable *out, abatis_error *err)
{
        OWN_FREE char *path = NULL;
        int r;

        if (segment->file_size < 2 || segment->file_size > PATH_MAX)
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is damaged: the name of its loader has %llu bytes", name,
                                 (unsigned long long)segment->file_size);
        path = malloc(segment->file_size);
        if (!path)
                return error_memory(err);
        r = read_at(fd, path, segment->file_size, segment->offset, name, err);
        if (r < 0)
                return r;
        if (path[segment->file_size - 1])
                return error_set(err, ABATIS_E_INVALID, "'%s' is damaged: the name of its loader has no end",
                                 name);
        out->interpreter = take_pointer(path);
        return 0;
}

/* What the kernel makes of it by itself, where no filter looks. */
static void judge_memory(const struct program_header *segments, size_t count, struct executable *out)
{
        enum { EXECUTABLE = 1, WRITABLE = 2 };

        out->has_executable_stack = true;
        for (size_t i = 0; i < count; i++) {
                const uint32_t flags = segments[i].flags;

                if (segments[i].type == SEGMENT_LOADED && flags & EXECUTABLE && flags & WRITABLE)
                        out->has_writable_code = true;
                if (segments[i].type == SEGMENT_STACK)
                        out->has_executable_stack = flags & EXECUTABLE;
        }
}

static int read_elf(int fd, const char *name, struct executable *out, abatis_error *err)
{
        OWN_FREE struct program_header *segments = NULL;
        struct elf_header header;
        size_t size;
        int r = read_at(fd, &header, sizeof(header), 0, name, err);

        if (!r)
                r = check_header(&header, name, err);
        if (r < 0 || !header.program_header_count)
                return r;
        out->kind = EXECUTABLE_ELF;
        size = header.program_header_count * sizeof(*segments);
        segments = calloc(header.program_header_count, sizeof(*segments));
        if (!segments)
                return error_memory(err);
        r = read_at(fd, segments, size, header.program_headers, name, err);
        if (!r)
                judge_memory(segments, header.program_header_count, out);
        for (size_t i = 0; i < header.program_header_count && !r; i++)
                if (segments[i].type == SEGMENT_INTERPRETER)
                        return read_interpreter(fd, &segments[i], name, out, err);
        return r;
}

static bool is_blank(char byte)
{
        return byte == ' ' || byte == '\t';
}

/* As the kernel's own parser: up to 256 bytes, no quoting, everything after the interpreter is one argument. An
 * interpreter whose end is not in view is none. */
static int parse_script(const char *line, size_t length, struct executable *out, abatis_error *err)
{
        const char *end = memchr(line, '\n', length), *from = line + 2, *stop;

        if (!end)
                end = memchr(line, '\0', length);
        while (from < line + length && is_blank(*from))
                from++;
        if (!end) {
                end = line + length;
                for (stop = from; stop < end && !is_blank(*stop); stop++)
                        ;
                if (stop == end)
                        return 0;
        }
        while (end > from && is_blank(end[-1]))
                end--;
        if (from >= end || !*from)
                return 0;
        for (stop = from; stop < end && *stop && !is_blank(*stop); stop++)
                ;
        out->kind = EXECUTABLE_SCRIPT;
        out->interpreter = strndup(from, (size_t)(stop - from));
        while (stop < end && is_blank(*stop))
                stop++;
        if (stop < end && *stop)
                out->argument = strndup(stop, (size_t)(end - stop));
        return !out->interpreter || (stop < end && *stop && !out->argument) ? error_memory(err) : 0;
}

static int read_any(int fd, const char *name, struct executable *out, abatis_error *err)
{
        /* The kernel's buffer, which is filled up with zeros, too. */
        char start[SCRIPT_LINE_MAX] = { 0 };
        ssize_t got = pread(fd, start, sizeof(start), 0);

        if (got < 0)
                return error_os(err, errno, "cannot read '%s'", name);
        if (start[0] == '#' && start[1] == '!')
                return parse_script(start, sizeof(start), out, err);
        return is_elf(start) ? read_elf(fd, name, out, err) : 0;
}

int executable_read(int fd, const char *name, struct executable *out, abatis_error *err)
{
        OWN_EXECUTABLE struct executable found = { 0 };
        int r = read_any(fd, name, &found, err);

        if (r < 0)
                return r;
        *out = found;
        found = (struct executable){ 0 };
        return 0;
}

void executable_done(struct executable *executable)
{
        free(executable->interpreter);
        free(executable->argument);
        *executable = (struct executable){ 0 };
}

/* Which header of a loader can become another: the kernel and the loader itself look at neither of these in an
 * interpreter. */
static struct program_header *find_spare(struct program_header *segments, size_t count)
{
        static const uint32_t types[] = { SEGMENT_INTERPRETER, SEGMENT_STACK, SEGMENT_NOTE };

        for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
                for (size_t j = 0; j < count; j++)
                        if (segments[j].type == types[i])
                                return &segments[j];
        return NULL;
}

/* A program that names "/" as its interpreter is refused: a directory cannot be executed. What is an interpreter itself
 * is not asked for one. */
int executable_disarm(unsigned char *image, size_t length, const char *name, abatis_error *err)
{
        OWN_FREE struct program_header *segments = NULL;
        struct program_header *spare;
        struct elf_header header;
        size_t size;
        int r;

        if (length < sizeof(header) || !is_elf(image))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not an ELF file", name);
        memcpy(&header, image, sizeof(header));
        r = check_header(&header, name, err);
        if (r < 0 || !header.program_header_count)
                return r;
        size = header.program_header_count * sizeof(*segments);
        if (header.program_headers < sizeof(header) || header.program_headers > length ||
            size > length - header.program_headers)
                return error_set(err, ABATIS_E_INVALID, "'%s' is damaged: its program headers make no sense",
                                 name);
        segments = malloc(size);
        if (!segments)
                return error_memory(err);
        memcpy(segments, image + header.program_headers, size);
        spare = find_spare(segments, header.program_header_count);
        if (!spare)
                return error_set(err, ABATIS_E_INVALID, "'%s' has no program header to spare", name);
        *spare = (struct program_header){ .type = SEGMENT_INTERPRETER,
                                          .flags = 4 /* readable */,
                                          .offset = length,
                                          .file_size = EXECUTABLE_ADDED,
                                          .alignment = 1 };
        memcpy(image + header.program_headers, segments, size);
        memcpy(image + length, "/", EXECUTABLE_ADDED);
        return 0;
}
