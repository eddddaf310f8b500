/* audits.h: audit logs for tests: records, and the files read and changed behind the log's back. */
#ifndef UNIT_AUDITS_H
#define UNIT_AUDITS_H

#include "audit/audit.h"
#include "scratch.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

/* A log at at("log/audit.jsonl"), which begins a new file after `max_size` bytes (0: 64 MiB). */
struct audit_log *open_log(uint64_t max_size, unsigned keep);
/* One record about a command of one word; fails the test when it cannot be written. */
void append(struct audit_log *log, enum audit_event event, const char *id, const char *word);
/* A fresh log of so many records: "word1", "word2", ... */
void write_log(int count);

const char *log_path(void);
const char *head_path(void);
char *read_text(const char *path, size_t *length);                       /* owned by the caller */
void write_text(const char *path, const char *text, size_t length);      /* in place of what is there */
char **read_lines(const char *path, size_t *count);                      /* owned; each with its newline */
void write_lines_to(const char *path, char *const *lines, size_t count); /* NULL ones are left out */
void free_lines(char **lines, size_t count);

/* Of a line without its newline; valid until the next call. */
char *hash_of_line(const char *line);

/* Verifies, and fails the test unless there are so many faults (-1: any but none) and each of the texts, up to NULL, is
 * said. */
void assert_verifies(int faults, ...);

#endif
