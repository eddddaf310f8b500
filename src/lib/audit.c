/* audit.c: the code behind abatis.h's section on the audit log. */
#include "abatis.h"
#include "audit/read.h"
#include "base/error.h"

static int check_query(const abatis_audit_query *query, abatis_error *err)
{
        if (!query || query->size < sizeof(*query))
                return error_set(err, ABATIS_E_INVALID, "abatis_audit_query.size is not set");
        return 0;
}

int abatis_audit_verify(const char *file, char **out, int *faults, abatis_error *err)
{
        return audit_verify(file, out, faults, err);
}

int abatis_audit_list(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        int r = check_query(query, err);

        return r ? r : audit_list(query, format, out, err);
}

int abatis_audit_show(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        int r = check_query(query, err);

        return r ? r : audit_show(query, format, out, err);
}

int abatis_audit_stats(const abatis_audit_query *query, abatis_format format, char **out, abatis_error *err)
{
        int r = check_query(query, err);

        return r ? r : audit_stats(query, format, out, err);
}

int abatis_audit_report(const abatis_audit_query *query, char **out, abatis_error *err)
{
        int r = check_query(query, err);

        return r ? r : audit_report(query, out, err);
}

int abatis_audit_sql(const abatis_audit_query *query, char **out, abatis_error *err)
{
        int r = check_query(query, err);

        return r ? r : audit_sql(query, out, err);
}
