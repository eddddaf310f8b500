/* checks.h: what the parts of the test program for Windows share. */
#ifndef WINDOWS_CHECKS_H
#define WINDOWS_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/acl_windows.h"
#include "run/container_windows.h"
#include "run/firewall_windows.h"
#include "run/journal_windows.h"
#include "run/places_windows.h"
#include "run/run_windows.h"
#include "run/start_windows.h"
#include "run/token_windows.h"

/* One line: "ok NAME", or "not ok NAME" with where it was. */
void result(const char *name, bool is_held, const char *file, int line, const char *what);
#define CHECK(name, condition) result(name, condition, __FILE__, __LINE__, #condition)
void skip(const char *name, const char *reason);

/* wine has no containers, keeps of an access list no more than a file's mode has room for, and no limits of job objects. */
bool is_wine(void);

/* A path in the scratch directory, as plans have it and as Windows does; good until some calls later. */
const char *at(const char *name);
const char *native(const char *name);
void make_file(const char *name);
void make_directory(const char *name);
bool exists(const char *name);
/* This program, in both ways. */
const char *own_path(void);
const char *own_name(void);

/* A plan with steps; freed with free_plan(). */
struct plan *new_plan(void);
void free_plan(struct plan *plan);

void check_parts(void);
void check_files(void);
void check_journal(void);
void check_starts(void);
void check_runs(void);
void check_containers(void);

#endif
