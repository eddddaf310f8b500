/* seatbelt_profile.c: writes the profile that macOS's Seatbelt is given, section by section; what comes later wins. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/seatbelt.h"
#include "policy/place.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- what every program needs ---------------------------------------------------------------------------- */

/* Of the processes only those that have this profile; of the kernel's values all but the lists of processes, with their names,
 * arguments and environments. */
static const char *const process_rules[] = {
        "(allow signal process-info* (target same-sandbox))",
        "(deny process-info* (target others))", /* (deny default) alone leaves lists of them */
        "(allow sysctl-read)",
        "(deny sysctl-read (sysctl-name-prefix \"kern.proc\"))",
};

/* Services that answer questions and do nothing for anybody. Those that start programs (launchservicesd, Apple events), write
 * preferences, hold keys or find the user's temporary directory are not among them. */
static const char *const service_rules[] = {
        "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))", /* names of users */
};

/* With any network: which resolvers and proxies there are, and whom to believe. */
static const char *const network_services[] = {
        "(allow mach-lookup (global-name \"com.apple.SystemConfiguration.configd\"))",
        "(allow mach-lookup (global-name \"com.apple.SystemConfiguration.DNSConfiguration\"))",
        "(allow mach-lookup (global-name \"com.apple.dnssd.service\"))",
        "(allow mach-lookup (global-name \"com.apple.trustd.agent\"))",
};

/* What (deny default) would refuse and (allow default) does not: what somebody outside would do for the command, what reaches other
 * programs, and what no tool needs of the kernel. */
static const char *const open_refusals[] = {
        "(deny mach-lookup mach-register mach-priv-host-port mach-priv-task-port)",
        "(deny appleevent-send lsopen job-creation)",
        "(deny signal process-info*)",
        "(deny ipc-posix* ipc-sysv*)",
        "(deny iokit-open nvram* sysctl-write system*)",
        "(allow system-fsctl system-info system-sched)",
        "(deny file-clone file-mount file-unmount file-chroot)", /* a clone is a file that was not read */
        "(deny file-write* file-link)",
};

/* Programs are loaded from here, whatever the policy says. */
static const char *const library_trees[] = {
        "/usr/lib", /* the loader, and what is not in its cache */
        "/System/Library",
        "/System/Cryptexes", /* where that cache is, by three names */
        "/System/Volumes/Preboot/Cryptexes",
        "/private/preboot/Cryptexes",
};

/* And read this as they start. */
static const char *const data_trees[] = {
        "/private/var/db/dyld", "/private/var/db/timezone", "/private/etc/localtime",
        "/private/var/select", /* which shell is sh */
        "/usr/share/icu",       "/usr/share/locale",        "/usr/share/zoneinfo",
};

/* Links are looked up on the way to what they stand for, and many programs look at every directory above their files. */
static const char *const known_links[] = { "/tmp", "/var", "/etc" };
static const char *const known_directories[] = {
        "/usr",     "/usr/share",   "/System",         "/System/Volumes",
        "/private", "/private/var", "/private/var/db", "/private/etc",
        "/dev"
};

static const char *const device_paths[] = { "/dev/null",    "/dev/zero", "/dev/random",
                                            "/dev/urandom", "/dev/tty",  "/dev/ptmx" };

static const char *const stream_links[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };

/* Behind each, something runs commands or signs for whoever asks; wherever they lie. */
static const char *const control_sockets[] = {
        "/docker[.]sock$",
        "/podman[^/]*[.]sock$",
        "/[.](colima|lima|orbstack|rd)/",
        "/com[.]apple[.]launchd[.][^/]*/",
        "/S[.]gpg-agent",
};

/* guard: what it does not forbid is allowed, as far as nobody outside would do for the command what it may not. */
static bool is_open(const abatis_policy *policy)
{
        return policy->reads_all && policy->executes_all && policy->reaches_control_sockets &&
               policy->network == NETWORK_ALLOW && !policy->commands.count;
}

/* ---- sections -------------------------------------------------------------------------------------------- */

static void add_lines(struct seatbelt *seatbelt, const char *const *lines, size_t count)
{
        for (size_t i = 0; i < count; i++)
                text_addf(&seatbelt->profile, "%s\n", lines[i]);
}

static void begin_section(struct seatbelt *seatbelt, const char *name)
{
        text_addf(&seatbelt->profile, "\n; %s\n", name);
}

/* Paths of our own tables. */
static void add_own(struct seatbelt *seatbelt, const char *beginning, const char *path,
                    bool (*add)(struct text *, const char *))
{
        text_addf(&seatbelt->profile, "(%s", beginning);
        add(&seatbelt->profile, path);
        text_add(&seatbelt->profile, ")\n");
}

static void add_processes(struct seatbelt *seatbelt)
{
        struct text *profile = &seatbelt->profile;

        begin_section(seatbelt, "processes and services");
        add_lines(seatbelt, process_rules, COUNT(process_rules));
        text_addf(profile, "(%s process-fork)\n", seatbelt->policy->forbids_forks ? "deny" : "allow");
        add_lines(seatbelt, service_rules, COUNT(service_rules));
        /* Nobody answers to that name: whoever may ask for it is of this job. */
        text_add(profile, "(allow mach-lookup (global-name (param \"" PROFILE_JOB "\")))\n");
}

/* That it is there, and its attributes; not by seatbelt_add_itself(), which would follow links. */
static void know(struct seatbelt *seatbelt, const char *path)
{
        text_add(&seatbelt->profile, "(allow file-read-metadata (literal ");
        seatbelt_quote(&seatbelt->profile, path);
        text_add(&seatbelt->profile, "))\n");
}

static void add_reading(struct seatbelt *seatbelt)
{
        const abatis_policy *policy = seatbelt->policy;

        begin_section(seatbelt, "reading and starting");
        for (size_t i = 0; i < COUNT(known_links); i++)
                know(seatbelt, known_links[i]);
        for (size_t i = 0; i < COUNT(known_directories) && !policy->reads_all; i++)
                know(seatbelt, known_directories[i]);
        if (policy->reads_all)
                text_add(&seatbelt->profile, "(allow " READS ")\n");
        else
                text_add(&seatbelt->profile, "(allow file-read-data file-read-metadata (literal \"/\"))\n");
        if (seatbelt_starts_all(seatbelt))
                text_add(&seatbelt->profile, "(allow " STARTS ")\n");
        for (size_t i = 0; i < COUNT(library_trees); i++)
                if (!seatbelt_starts_all(seatbelt))
                        add_own(seatbelt,
                                policy->reads_all ? "allow file-map-executable"
                                                  : "allow " READS " file-map-executable",
                                library_trees[i], seatbelt_add_tree);
        for (size_t i = 0; i < COUNT(data_trees) && !policy->reads_all; i++)
                add_own(seatbelt, "allow " READS, data_trees[i], seatbelt_add_tree);
}

/* The directory that everybody uses, but for what a rule names in it. */
static void close_tmp(struct seatbelt *seatbelt)
{
        if (!seatbelt->policy->has_private_tmp)
                return;
        add_own(seatbelt, "deny " READS " " WRITES " " STARTS " network-bind network-outbound",
                "/private/tmp", seatbelt_add_tree_spelled);
        text_add(&seatbelt->profile,
                 "(allow file-read-metadata (literal \"/private\") (literal \"/private/tmp\"))\n");
}

static void open_own_tmp(struct seatbelt *seatbelt)
{
        bool has_sockets = network_has_unix_sockets(seatbelt->policy->network);

        if (!seatbelt->policy->has_private_tmp)
                return;
        begin_section(seatbelt, "its own directory for temporary files");
        text_addf(&seatbelt->profile,
                  "(allow " ALL_READS " " ALL_WRITES "%s%s (subpath (param \"" PROFILE_TMP "\")))\n",
                  has_sockets ? " network-bind network-outbound" : "",
                  seatbelt_lists_commands(seatbelt) ? "" : " " STARTS);
}

static void add_devices(struct seatbelt *seatbelt)
{
        begin_section(seatbelt, "devices, and terminals of the command's own");
        text_add(&seatbelt->profile,
                 "(deny " ALL_READS " " ALL_WRITES " " STARTS " file-ioctl (regex \"^/[Dd][Ee][Vv]/\"))\n");
        for (size_t i = 0; i < COUNT(device_paths); i++)
                add_own(seatbelt, "allow " ALL_READS " file-write-data file-ioctl", device_paths[i],
                        seatbelt_add_itself);
        for (size_t i = 0; i < COUNT(stream_links); i++)
                know(seatbelt, stream_links[i]);
        text_add(&seatbelt->profile,
                 "(allow " ALL_READS " file-write-data file-ioctl (literal (param \"" PROFILE_TTY "\")))\n"
                 "(allow " ALL_READS " file-write-data (subpath \"/dev/fd\"))\n"
                 "(allow pseudo-tty)\n"
                 "(allow " ALL_READS " file-write-data file-ioctl\n"
                 "  (require-all (regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\")))\n");
        /* The same files by their numbers, for which no rule is. */
        text_add(&seatbelt->profile, "(deny " ALL_READS " " ALL_WRITES " (subpath \"/.vol\"))\n");
}

/* ---- the network ----------------------------------------------------------------------------------------- */

/* Whether the entry means this machine's own loopback, over TCP. */
static bool is_loopback(const struct place *place)
{
        static const struct address loopback = { .is_v6 = true, .bytes = { [15] = 1 } };

        if (place->is_udp)
                return false;
        if (place->kind == PLACE_NAME)
                return !strcmp(place->name, PLACE_HOST);
        if (place->kind != PLACE_ADDRESSES)
                return false;
        return place->base.is_v6 ? place->prefix == 128 && address_is_in(&loopback, &place->base, 128)
                                 : place->prefix >= 8 && place->base.bytes[0] == 127;
}

enum {
        PORTS_MOST =
                64 /* a rule each: Seatbelt knows no ranges, and its compiler takes a second for thousands */
};

static bool add_ports(struct seatbelt *seatbelt, const struct place *place)
{
        size_t all = 0;

        for (size_t i = 0; i < place->port_count; i++)
                all += (size_t)(place->ports[i].high - place->ports[i].low) + 1;
        for (size_t i = 0; i < place->port_count && all <= PORTS_MOST; i++)
                for (unsigned port = place->ports[i].low; port <= place->ports[i].high; port++)
                        text_addf(&seatbelt->profile,
                                  "(allow network-outbound (remote tcp \"localhost:%u\"))\n", port);
        return all <= PORTS_MOST;
}

static void add_entry(struct seatbelt *seatbelt, size_t index)
{
        struct place place;

        if (place_parse(seatbelt->policy->connect.items[index], &place, NULL) < 0)
                plan_miss(seatbelt->plan, CLAUSE_CONNECT, index, "it is no place");
        else if (!is_loopback(&place))
                plan_miss(
                        seatbelt->plan, CLAUSE_CONNECT, index,
                        "Seatbelt knows neither names nor addresses of hosts, only this machine and any; a list "
                        "needs a relay, which this version has on Linux only");
        else if (!add_ports(seatbelt, &place))
                plan_miss(
                        seatbelt->plan, CLAUSE_CONNECT, index,
                        "Seatbelt takes ports one by one, and of an entry this version gives it 64 at most");
        else
                plan_miss(
                        seatbelt->plan, CLAUSE_CONNECT, index,
                        "what Seatbelt calls localhost is every address of this machine, so the port would be "
                        "reached on all of them; with --best-effort it is");
}

static void add_list(struct seatbelt *seatbelt)
{
        const struct strings *bind = &seatbelt->policy->bind;

        for (size_t i = 0; i < seatbelt->policy->connect.count; i++)
                add_entry(seatbelt, i);
        for (size_t i = 0; i < bind->count; i++) {
                text_addf(&seatbelt->profile,
                          "(allow network-bind network-inbound (local tcp \"localhost:%lu\"))\n",
                          strtoul(bind->items[i], NULL, 10));
                plan_miss(
                        seatbelt->plan, CLAUSE_BIND, i,
                        "what Seatbelt calls localhost is every address of this machine, so others could come "
                        "from the network; with --best-effort they can");
        }
}

static void add_listed_sockets(struct seatbelt *seatbelt)
{
        const abatis_policy *policy = seatbelt->policy;

        for (size_t i = 0; i < policy->socket_places.count; i++) {
                OWN_TEXT struct text line = { 0 };
                bool is_allowed, is_said;
                const struct rule *rule =
                        policy_decide(policy, ABATIS_READ, policy->socket_places.items[i], &is_allowed);

                if (rule && rule->kind == RULE_DENY) {
                        plan_miss(seatbelt->plan, CLAUSE_UNIX, i, "%s '%s' denies it", rule->origin,
                                  rule->path);
                        continue;
                }
                text_add(&line, "(allow network-outbound");
                is_said = seatbelt_add_itself(&line, policy->socket_places.items[i]);
                text_add(&line, ")\n");
                seatbelt->profile.has_failed |= line.has_failed;
                if (is_said && line.data)
                        text_add(&seatbelt->profile, line.data);
                else
                        plan_miss(seatbelt->plan, CLAUSE_UNIX, i, "its name cannot be said in a profile");
        }
}

/* Sockets of the first kind reach nobody by being made. */
static void add_network(struct seatbelt *seatbelt)
{
        struct text *profile = &seatbelt->profile;

        begin_section(seatbelt, "network");
        text_add(profile, "(allow system-socket (socket-domain AF_UNIX))\n");
        switch (seatbelt->policy->network) {
        case NETWORK_DENY:
                break;
        case NETWORK_UNIX_ONLY:
                text_add(profile, "(allow network-outbound (remote unix-socket))\n"
                                  "(allow network-inbound (local unix-socket))\n"
                                  /* It would ask others by the network. */
                                  "(deny network-outbound (literal \"/private/var/run/mDNSResponder\"))\n");
                break;
        case NETWORK_ALLOW:
                /* A unix socket is bound where files may be written. */
                text_add(profile, "(deny network-bind)\n"
                                  "(allow network-outbound)\n"
                                  "(allow network-inbound)\n"
                                  "(allow network-bind (local ip \"*:*\"))\n"
                                  "(allow system-socket)\n");
                add_lines(seatbelt, network_services, COUNT(network_services));
                break;
        case NETWORK_LIST:
                add_list(seatbelt);
                break;
        }
        add_listed_sockets(seatbelt);
}

static void close_control_sockets(struct seatbelt *seatbelt)
{
        if (!network_has_unix_sockets(seatbelt->policy->network) || seatbelt->policy->reaches_control_sockets)
                return;
        for (size_t i = 0; i < COUNT(control_sockets); i++) {
                text_add(&seatbelt->profile, "(deny network-outbound (regex ");
                seatbelt_quote(&seatbelt->profile, control_sockets[i]);
                text_add(&seatbelt->profile, "))\n");
        }
}

void seatbelt_write(struct seatbelt *seatbelt)
{
        struct text *profile = &seatbelt->profile;

        if (is_open(seatbelt->policy)) {
                text_add(profile, "(version 1)\n(allow default)\n");
                add_lines(seatbelt, open_refusals, COUNT(open_refusals));
        } else
                text_add(profile, "(version 1)\n(deny default)\n");
        add_processes(seatbelt);
        add_network(seatbelt);
        close_control_sockets(seatbelt);
        add_reading(seatbelt);
        close_tmp(seatbelt);
        begin_section(seatbelt, "the policy's trees");
        seatbelt_add_grants(seatbelt);
        begin_section(seatbelt, "what is protected");
        seatbelt_add_protected_paths(seatbelt);
        open_own_tmp(seatbelt);
        /* They hold there, too: what is protected could be moved there, with the directory that it is in. */
        begin_section(seatbelt, "what is protected by its name");
        seatbelt_add_protected_patterns(seatbelt);
        add_devices(seatbelt);
        begin_section(seatbelt, "what is denied");
        seatbelt_add_denied(seatbelt);
}
