/* connections.c: what abatis run says about the network: each verdict, if asked for, and once of each that is refused what would
 * allow it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { HINTS_MAX = 16, TARGET_SIZE = 320 };

/* "example.org:443", or an address in its place; without a port, "example.org"; of one from the host "port 8080, from 127.0.0.1". */
static void write_target(const abatis_connection *connection, char out[TARGET_SIZE])
{
        const char *host = *connection->name ? connection->name : connection->address;
        bool is_v6 = strchr(host, ':');

        if (!strcmp(connection->direction, "in"))
                snprintf(out, TARGET_SIZE, "port %u, from %s", connection->port, host);
        else if (connection->port)
                snprintf(out, TARGET_SIZE, "%s%s%s:%u%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                         connection->port, strcmp(connection->transport, "udp") ? "" : "/udp");
        else
                snprintf(out, TARGET_SIZE, "%s", host);
}

/* One line of plain characters: the command chooses names and paths, and must not write lines of ours. */
static void print_line(char *line)
{
        for (char *at = line; *at; at++)
                if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
                        *at = '?';
        fprintf(stderr, "%s\n", line);
}

/* A command that tries again and again is told once. */
static bool is_new(struct connection_log *log, const char *line)
{
        char **hints;

        for (size_t i = 0; i < log->count; i++)
                if (!strcmp(log->hints[i], line))
                        return false;
        hints = log->count < HINTS_MAX ? realloc(log->hints, (log->count + 1) * sizeof(*hints)) : NULL;
        if (!hints)
                return false;
        log->hints = hints;
        hints[log->count] = strdup(line);
        log->count += hints[log->count] != NULL;
        return true;
}

static void hint(struct connection_log *log, const abatis_connection *connection, const char *target)
{
        char line[1024];

        /* What an entry allows and is refused all the same, no other entry would allow. */
        if (*connection->rule)
                snprintf(line, sizeof(line), "abatis: refused a connection to %s: %s", target,
                         connection->problem);
        else
                snprintf(line, sizeof(line), "abatis: refused %s; to allow it: --connect %s%s", target,
                         target, connection->port ? "" : ":PORT");
        if (is_new(log, line))
                print_line(line);
}

static void print(const abatis_connection *connection, const char *target)
{
        char line[1024];
        int length = snprintf(line, sizeof(line), "net %-7s %s", connection->verdict, target);

        if (*connection->name && *connection->address)
                length +=
                        snprintf(line + length, sizeof(line) - (size_t)length, " at %s", connection->address);
        if (!strcmp(connection->verdict, "closed"))
                length += snprintf(line + length, sizeof(line) - (size_t)length, ", %llu bytes out, %llu in",
                                   (unsigned long long)connection->sent,
                                   (unsigned long long)connection->received);
        if (connection->count > 1 && (size_t)length < sizeof(line))
                length += snprintf(line + length, sizeof(line) - (size_t)length, ", %llu times",
                                   (unsigned long long)connection->count);
        if (connection->pid && (size_t)length < sizeof(line))
                length += snprintf(line + length, sizeof(line) - (size_t)length, ", by %s (%d)",
                                   connection->program, connection->pid);
        if (*connection->problem && (size_t)length < sizeof(line))
                snprintf(line + length, sizeof(line) - (size_t)length, ": %s", connection->problem);
        print_line(line);
}

void connections_hear(void *user, const abatis_connection *connection)
{
        struct connection_log *log = user;
        char target[TARGET_SIZE];

        if (!strcmp(connection->verdict, "ended")) {
                char line[sizeof(connection->problem) + 16];

                snprintf(line, sizeof(line), "abatis: %s", connection->problem);
                print_line(line);
                return;
        }
        write_target(connection, target);
        if (log->is_watched)
                print(connection, target);
        else if (!strcmp(connection->verdict, "refused"))
                hint(log, connection, target);
}
