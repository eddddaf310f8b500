/* test_executable.c: what the kernel would load with a file, and that no file, however damaged, is believed. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/executable.h"
#include "scratch.h"

static const char *write_bytes(const char *relative, const void *bytes, size_t length)
{
        const char *path = make_file(relative, "");
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, length), (ssize_t)length);
        close(fd);
        assert_int_equal(chmod(path, 0755), 0);
        return path;
}

static int read_file(const char *path, struct executable *out, abatis_error *err)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC), r;

        if (fd < 0)
                fail_msg("cannot open '%s'", path);
        r = executable_read(fd, path, out, err);
        close(fd);
        return r;
}

/* Whatever is said of it: no crash, and no result beside an error. */
static int try_bytes(const void *bytes, size_t length, char *message)
{
        struct executable found = { .kind = (enum executable_kind)77 };
        abatis_error err = { .message = "" };
        int r = read_file(write_bytes("hostile", bytes, length), &found, &err);

        if (r < 0) {
                assert_int_equal(err.code, r);
                assert_true(*err.message);
                assert_int_equal(found.kind, 77);
        } else {
                executable_done(&found);
        }
        if (message)
                snprintf(message, sizeof(err.message), "%s", err.message);
        return r;
}

/* ---- ELF ------------------------------------------------------------------------------------------------ */

struct image {
        Elf64_Ehdr header;
        Elf64_Phdr segments[3];
        char interpreter[32];
};

static struct image small_program(void)
{
        struct image image = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
                                           .e_type = ET_DYN,
                                           .e_version = 1,
                                           .e_phoff = offsetof(struct image, segments),
                                           .e_ehsize = sizeof(Elf64_Ehdr),
                                           .e_phentsize = sizeof(Elf64_Phdr),
                                           .e_phnum = 3 },
                               .segments = { { .p_type = PT_LOAD },
                                             { .p_type = PT_INTERP,
                                               .p_offset = offsetof(struct image, interpreter),
                                               .p_filesz = sizeof("/lib/ld.so") },
                                             { .p_type = PT_GNU_STACK } },
                               .interpreter = "/lib/ld.so" };

        return image;
}

static void a_program_names_its_loader(void **state)
{
        struct image image = small_program();
        struct executable found = { 0 };

        (void)state;
        assert_int_equal(read_file(write_bytes("program", &image, sizeof(image)), &found, NULL), 0);
        assert_int_equal(found.kind, EXECUTABLE_ELF);
        assert_string_equal(found.interpreter, "/lib/ld.so");
        assert_null(found.argument);
        executable_done(&found);
        assert_null(found.interpreter);
}

static void a_real_program_names_a_loader_that_exists(void **state)
{
        struct executable found = { 0 };

        (void)state;
        assert_int_equal(read_file("/proc/self/exe", &found, NULL), 0);
        assert_int_equal(found.kind, EXECUTABLE_ELF);
        assert_non_null(found.interpreter);
        assert_int_equal(access(found.interpreter, X_OK), 0);
        executable_done(&found);
}

static void a_static_program_needs_none(void **state)
{
        struct image image = small_program();
        struct executable found = { 0 };

        (void)state;
        image.segments[1].p_type = PT_NOTE;
        assert_int_equal(read_file(write_bytes("program", &image, sizeof(image)), &found, NULL), 0);
        assert_int_equal(found.kind, EXECUTABLE_ELF);
        assert_null(found.interpreter);
}

static void memory_that_is_written_and_executed_is_seen(void **state)
{
        static const struct {
                uint32_t code, stack_type, stack;
                bool has_code, has_stack;
        } cases[] = {
                { PF_R | PF_X, PT_GNU_STACK, PF_R | PF_W, false, false },
                { PF_R | PF_W, PT_GNU_STACK, PF_R | PF_W, false, false },
                { PF_R | PF_W | PF_X, PT_GNU_STACK, PF_R | PF_W, true, false },
                { PF_W | PF_X, PT_GNU_STACK, 0, true, false },
                { PF_R | PF_X, PT_GNU_STACK, PF_R | PF_W | PF_X, false, true },
                { PF_R | PF_X, PT_NULL, 0, false, true },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct image image = small_program();
                struct executable found = { 0 };

                image.segments[0].p_flags = cases[i].code;
                image.segments[2].p_type = cases[i].stack_type;
                image.segments[2].p_flags = cases[i].stack;
                assert_int_equal(read_file(write_bytes("program", &image, sizeof(image)), &found, NULL), 0);
                assert_int_equal(found.has_writable_code, cases[i].has_code);
                assert_int_equal(found.has_executable_stack, cases[i].has_stack);
                executable_done(&found);
        }
}

/* The kernel takes the first. */
static void the_first_of_two_loaders_counts(void **state)
{
        struct image image = small_program();
        struct executable found = { 0 };

        (void)state;
        image.segments[2] = image.segments[1];
        image.segments[2].p_offset++;
        assert_int_equal(read_file(write_bytes("program", &image, sizeof(image)), &found, NULL), 0);
        assert_string_equal(found.interpreter, "/lib/ld.so");
        executable_done(&found);
}

static void what_is_neither_program_nor_script_needs_nothing(void **state)
{
        static const char *const contents[] = { "", "#", "echo hello\n", "\177EL", " #!/bin/sh\n", "MZ" };
        struct executable found = { .kind = EXECUTABLE_ELF };

        (void)state;
        for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
                const char *path = write_bytes("file", contents[i], strlen(contents[i]));

                assert_int_equal(read_file(path, &found, NULL), 0);
                assert_int_equal(found.kind, EXECUTABLE_OTHER);
                assert_null(found.interpreter);
        }
}

static void a_program_cut_short_anywhere_is_refused(void **state)
{
        struct image image = small_program();
        size_t whole = offsetof(struct image, interpreter) + sizeof("/lib/ld.so");

        (void)state;
        assert_int_equal(try_bytes(&image, whole, NULL), 0);
        for (size_t length = 4; length < whole; length++)
                if (try_bytes(&image, length, NULL) != ABATIS_E_INVALID)
                        fail_msg("%zu of %zu bytes were accepted", length, whole);
}

static void offsets_out_of_the_file_are_refused(void **state)
{
        static const uint64_t offsets[] = { 1 << 20,         1ull << 40, INT64_MAX,
                                            INT64_MAX - 55,  1ull << 63, UINT64_MAX - 4096,
                                            UINT64_MAX - 55, UINT64_MAX, INT64_MAX - 10 };

        (void)state;
        for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
                struct image image = small_program();

                image.header.e_phoff = offsets[i];
                assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
                image = small_program();
                image.segments[1].p_offset = offsets[i];
                assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
        }
}

static void sizes_that_make_no_sense_are_refused(void **state)
{
        static const uint64_t names[] = { 0, 1, PATH_MAX + 1, 1ull << 32, UINT64_MAX };
        static const uint16_t counts[] = { 0, 65535, 1171 };
        static const uint16_t sizes[] = { 0, 32, 55, 57, 65535 };
        struct image image;

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                image = small_program();
                image.segments[1].p_filesz = names[i];
                assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
        }
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
                image = small_program();
                image.header.e_phnum = counts[i];
                assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
        }
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                image = small_program();
                image.header.e_phentsize = sizes[i];
                assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
        }
        image = small_program();
        image.segments[1].p_filesz--; /* no NUL at its end */
        assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
}

static void a_32_bit_program_is_refused_by_name(void **state)
{
        struct image image = small_program();
        char message[1024];

        (void)state;
        image.header.e_ident[EI_CLASS] = ELFCLASS32;
        assert_int_equal(try_bytes(&image, sizeof(image), message), ABATIS_E_INVALID);
        assert_non_null(strstr(message, "64-bit"));
        assert_non_null(strstr(message, at("hostile")));
        image = small_program();
        image.header.e_ident[EI_DATA] = ELFDATA2MSB;
        assert_int_equal(try_bytes(&image, sizeof(image), NULL), ABATIS_E_INVALID);
}

static void what_cannot_be_read_is_an_error(void **state)
{
        struct executable found = { 0 };
        abatis_error err;
        int fd = open(make_file("file", "#!/bin/sh\n"), O_WRONLY | O_CLOEXEC);

        (void)state;
        assert_int_equal(executable_read(fd, "file", &found, &err), ABATIS_E_SYSTEM);
        close(fd);
        assert_int_equal(executable_read(-1, "file", &found, &err), ABATIS_E_SYSTEM);
        fd = open(at("%s", ""), O_RDONLY | O_CLOEXEC);
        assert_int_equal(executable_read(fd, "file", &found, NULL), ABATIS_E_SYSTEM);
        close(fd);
}

static void no_single_changed_byte_does_harm(void **state)
{
        static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
        struct image image = small_program();
        unsigned char *bytes = (unsigned char *)&image;

        (void)state;
        for (size_t at = 0; at < sizeof(image); at++)
                for (size_t i = 0; i < sizeof(values); i++) {
                        unsigned char before = bytes[at];
                        unsigned char copy[sizeof(image) + EXECUTABLE_ADDED] = { 0 };

                        bytes[at] = values[i];
                        try_bytes(&image, sizeof(image), NULL);
                        memcpy(copy, &image, sizeof(image));
                        executable_disarm(copy, sizeof(image), "copy", NULL);
                        bytes[at] = before;
                }
}

/* ---- scripts -------------------------------------------------------------------------------------------- */

static void a_script_names_its_interpreter_as_the_kernel_reads_it(void **state)
{
        static const struct {
                const char *text, *interpreter, *argument;
        } cases[] = {
                { "#!/bin/sh\n", "/bin/sh", NULL },
                { "#!/bin/sh", "/bin/sh", NULL },
                { "#! \t /bin/sh \t \nx", "/bin/sh", NULL },
                { "#!/usr/bin/env python3\n", "/usr/bin/env", "python3" },
                { "#!/usr/bin/env  -S python3 -u  \n", "/usr/bin/env", "-S python3 -u" },
                { "#!/bin/sh -e x\ty\n", "/bin/sh", "-e x\ty" },
                { "#!/bin/sh\r\n", "/bin/sh\r", NULL },
                { "#!sh\n", "sh", NULL },
                { "#!\n/bin/sh\n", NULL, NULL },
                { "#!", NULL, NULL },
                { "#! ", NULL, NULL },
                { "#!  \n", NULL, NULL },
        };
        struct executable found;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *path = write_bytes("script", cases[i].text, strlen(cases[i].text));

                assert_int_equal(read_file(path, &found, NULL), 0);
                if (!cases[i].interpreter) {
                        assert_int_equal(found.kind, EXECUTABLE_OTHER);
                        assert_null(found.interpreter);
                        continue;
                }
                assert_int_equal(found.kind, EXECUTABLE_SCRIPT);
                assert_string_equal(found.interpreter, cases[i].interpreter);
                if (cases[i].argument)
                        assert_string_equal(found.argument, cases[i].argument);
                else
                        assert_null(found.argument);
                executable_done(&found);
        }
}

static void a_nul_ends_the_interpreter(void **state)
{
        static const char bytes[] = "#!/bin/sh\0/bin/other\n";
        struct executable found;

        (void)state;
        assert_int_equal(read_file(write_bytes("script", bytes, sizeof(bytes) - 1), &found, NULL), 0);
        assert_string_equal(found.interpreter, "/bin/sh");
        assert_null(found.argument);
        executable_done(&found);
}

static void an_interpreter_whose_end_is_out_of_view_is_none(void **state)
{
        char bytes[4096];
        struct executable found;

        (void)state;
        memset(bytes, 'x', sizeof(bytes));
        memcpy(bytes, "#!/", 3);
        assert_int_equal(read_file(write_bytes("script", bytes, sizeof(bytes)), &found, NULL), 0);
        assert_int_equal(found.kind, EXECUTABLE_OTHER);
        /* The newline is the first byte that the kernel does not see. */
        bytes[256] = '\n';
        assert_int_equal(read_file(write_bytes("script", bytes, sizeof(bytes)), &found, NULL), 0);
        assert_int_equal(found.kind, EXECUTABLE_OTHER);
        bytes[255] = '\n';
        assert_int_equal(read_file(write_bytes("script", bytes, sizeof(bytes)), &found, NULL), 0);
        assert_int_equal(strlen(found.interpreter), 253);
        executable_done(&found);
        /* Only its argument is cut off. */
        bytes[255] = 'x';
        bytes[9] = ' ';
        assert_int_equal(read_file(write_bytes("script", bytes, sizeof(bytes)), &found, NULL), 0);
        assert_string_equal(found.interpreter, "/xxxxxx");
        assert_int_equal(strlen(found.argument), 246);
        executable_done(&found);
}

/* The kernel's own word on each first line: it starts /bin/true by the same path, or it does not. */
static void the_kernel_agrees(void **state)
{
        static const char *const texts[] = {
                "#!/bin/true\n",
                "#!/bin/true",
                "#! \t/bin/true \t\n",
                "#!/bin/true a b\n",
                "#!/bin/true\r\n",
                "#!\n/bin/true\n",
                "#!",
                "#!  \n",
                "#!/bin/true\tx",
        };
        struct executable found;

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                const char *path = write_bytes("script", texts[i], strlen(texts[i]));
                char *const argv[] = { (char *)path, NULL };
                bool is_true;
                int status;
                pid_t pid = fork();

                if (!pid) {
                        execv(path, argv);
                        _exit(1);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(read_file(path, &found, NULL), 0);
                is_true = found.interpreter && !strcmp(found.interpreter, "/bin/true");
                if ((status == 0) != is_true)
                        fail_msg("%s: status %d, interpreter %s", texts[i], status,
                                 found.interpreter ? found.interpreter : "none");
                executable_done(&found);
        }
}

/* ---- a loader that cannot be started -------------------------------------------------------------------- */

static unsigned char *load(const char *path, size_t spare, size_t *length)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        unsigned char *bytes;
        struct stat status;

        assert_true(fd >= 0 && !fstat(fd, &status));
        *length = (size_t)status.st_size;
        bytes = malloc(*length + spare);
        assert_non_null(bytes);
        assert_int_equal(read(fd, bytes, *length), status.st_size);
        close(fd);
        return bytes;
}

static int run(const char *path, const char *argument)
{
        char *const argv[] = { (char *)path, (char *)argument, NULL };
        int status;
        pid_t pid = fork();

        if (!pid) {
                execv(path, argv);
                _exit(errno == EACCES ? 100 : 101);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* A copy of the program that is loaded by another loader. */
static const char *copy_with_loader(const char *program, const char *loader)
{
        size_t length, added = strlen(loader) + 1;
        unsigned char *bytes = load(program, added, &length);
        Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
        Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(bytes + header->e_phoff);
        const char *path;

        memcpy(bytes + length, loader, added);
        for (int i = 0; i < header->e_phnum; i++)
                if (segments[i].p_type == PT_INTERP) {
                        segments[i].p_offset = length;
                        segments[i].p_filesz = added;
                }
        path = write_bytes("program", bytes, length + added);
        free(bytes);
        return path;
}

static void a_disarmed_loader_loads_programs_and_does_not_start(void **state)
{
        struct executable found = { 0 };
        const char *armed, *disarmed;
        unsigned char *bytes;
        abatis_error err;
        size_t length;

        (void)state;
        assert_int_equal(read_file("/bin/true", &found, NULL), 0);
        if (!found.interpreter)
                skip(); /* a machine whose programs are static */
        bytes = load(found.interpreter, EXECUTABLE_ADDED, &length);
        armed = write_bytes("armed", bytes, length);
        if (executable_disarm(bytes, length, found.interpreter, &err) < 0)
                fail_msg("%s", err.message);
        disarmed = write_bytes("disarmed", bytes, length + EXECUTABLE_ADDED);
        free(bytes);
        executable_done(&found);

        assert_int_equal(run(armed, "/bin/true"), 0);
        assert_int_equal(run(disarmed, "/bin/true"), 100);
        assert_int_equal(run(copy_with_loader("/bin/true", armed), NULL), 0);
        assert_int_equal(run(copy_with_loader("/bin/true", disarmed), NULL), 0);
        assert_int_equal(run(copy_with_loader("/bin/false", disarmed), NULL), 1);
}

static void what_cannot_be_disarmed_is_refused(void **state)
{
        struct {
                struct image image;
                char added[EXECUTABLE_ADDED];
        } padded = { small_program(), "" };
        unsigned char *bytes = (unsigned char *)&padded;
        const size_t headers = offsetof(struct image, interpreter);

        (void)state;
        assert_int_equal(executable_disarm(bytes, sizeof(struct image), "x", NULL), 0);
        padded.image = small_program();
        for (size_t length = 0; length < headers; length++)
                assert_int_equal(executable_disarm(bytes, length, "x", NULL), ABATIS_E_INVALID);
        padded.image.segments[1].p_type = padded.image.segments[2].p_type = PT_LOAD;
        assert_int_equal(executable_disarm(bytes, sizeof(struct image), "x", NULL), ABATIS_E_INVALID);
        padded.image = small_program();
        padded.image.header.e_phoff = UINT64_MAX - 8;
        assert_int_equal(executable_disarm(bytes, sizeof(struct image), "x", NULL), ABATIS_E_INVALID);
        padded.image.header.e_ident[0] = 'x';
        assert_int_equal(executable_disarm(bytes, sizeof(struct image), "x", NULL), ABATIS_E_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SCRATCH_TEST(a_program_names_its_loader),
                SCRATCH_TEST(a_real_program_names_a_loader_that_exists),
                SCRATCH_TEST(a_static_program_needs_none),
                SCRATCH_TEST(memory_that_is_written_and_executed_is_seen),
                SCRATCH_TEST(the_first_of_two_loaders_counts),
                SCRATCH_TEST(what_is_neither_program_nor_script_needs_nothing),
                SCRATCH_TEST(a_program_cut_short_anywhere_is_refused),
                SCRATCH_TEST(offsets_out_of_the_file_are_refused),
                SCRATCH_TEST(sizes_that_make_no_sense_are_refused),
                SCRATCH_TEST(a_32_bit_program_is_refused_by_name),
                SCRATCH_TEST(what_cannot_be_read_is_an_error),
                SCRATCH_TEST(no_single_changed_byte_does_harm),
                SCRATCH_TEST(a_script_names_its_interpreter_as_the_kernel_reads_it),
                SCRATCH_TEST(a_nul_ends_the_interpreter),
                SCRATCH_TEST(an_interpreter_whose_end_is_out_of_view_is_none),
                SCRATCH_TEST(the_kernel_agrees),
                SCRATCH_TEST(a_disarmed_loader_loads_programs_and_does_not_start),
                SCRATCH_TEST(what_cannot_be_disarmed_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
