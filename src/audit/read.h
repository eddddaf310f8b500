/* read.h: answers from the log: whether it is whole, and what was run. A query is checked by whoever makes it public. */
#ifndef AUDIT_READ_H
#define AUDIT_READ_H

#include "abatis.h"

/* What is wrong with it, one line each, then what there is; *faults says how many of the lines accuse. A NULL path is
 * usual_log_path(). */
int audit_verify(const char *path, char **out, int *faults, abatis_error *err);

int audit_list(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err);
int audit_show(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err);
int audit_stats(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err);
int audit_report(const abatis_audit_query *query, char **out, abatis_error *err);
int audit_sql(const abatis_audit_query *query, char **out, abatis_error *err);

#endif
