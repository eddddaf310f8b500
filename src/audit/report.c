/* report.c: the log as a page for people: everything in one file, no script, nothing loaded from elsewhere. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/chart.h"
#include "audit/jobs.h"
#include "audit/read.h"
#include "audit/stats.h"
#include "base/error.h"
#include "base/own.h"

enum { LAST_SHOWN = 200 };

static const char page_head[] =
        "<!DOCTYPE html>\n"
        "<html lang=\"en\">\n"
        "<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>abatis audit report</title>\n"
        "<style>\n"
        ":root { --page: #f6f7f9; --card: #fff; --ink: #1c2530; --soft: #5b6675; --line: #dde2e8; --plain: #4c78a8;\n"
        "  --ok: #3d9a6c; --failed: #c97b12; --refused: #c43d4b; --timeout: #8a5cc2; --limit: #c2559d; --running: #8795a6; }\n"
        "@media (prefers-color-scheme: dark) {\n"
        "  :root { --page: #14181d; --card: #1d232b; --ink: #e4e9ef; --soft: #9aa7b5; --line: #323b46; --plain: #7fa8d6;\n"
        "    --ok: #58bd8b; --failed: #e0a04a; --refused: #ee7079; --timeout: #b08ae6; --limit: #e285c4; --running: #7d8b9b; }\n"
        "}\n"
        "* { box-sizing: border-box; }\n"
        "body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }\n"
        "main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px; }\n"
        "h1 { font-size: 26px; margin: 0 0 4px; }\n"
        "h2 { font-size: 17px; margin: 0 0 12px; }\n"
        "p { margin: 0 0 8px; }\n"
        ".soft, .more { color: var(--soft); }\n"
        "section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin-top: 18px; }\n"
        ".tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(100px, 1fr)); gap: 12px; margin-top: 18px; }\n"
        ".tile { background: var(--card); border: 1px solid var(--line); border-top: 4px solid var(--plain); border-radius: 10px; padding: 10px 14px; }\n"
        ".tile b { display: block; font-size: 20px; white-space: nowrap; line-height: 1.3; font-variant-numeric: tabular-nums; }\n"
        ".tile span { color: var(--soft); font-size: 13px; }\n"
        ".tile.ok { border-top-color: var(--ok); } .tile.failed { border-top-color: var(--failed); }\n"
        ".tile.refused { border-top-color: var(--refused); } .tile.timeout { border-top-color: var(--timeout); }\n"
        ".tile.limit { border-top-color: var(--limit); } .tile.running { border-top-color: var(--running); }\n"
        "svg { display: block; width: 100%; height: auto; }\n"
        "svg text { fill: var(--soft); font-size: 13px; }\n"
        ".grid { stroke: var(--line); } .plain { fill: var(--plain); }\n"
        "rect.ok { fill: var(--ok); } rect.failed { fill: var(--failed); } rect.refused { fill: var(--refused); }\n"
        "rect.timeout { fill: var(--timeout); } rect.limit { fill: var(--limit); } rect.running { fill: var(--running); }\n"
        ".key { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 10px; padding: 0; list-style: none; font-size: 13px; }\n"
        ".key i, td i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }\n"
        "i.ok { background: var(--ok); } i.failed { background: var(--failed); } i.refused { background: var(--refused); }\n"
        "i.timeout { background: var(--timeout); } i.limit { background: var(--limit); } i.running { background: var(--running); }\n"
        ".scroll { overflow-x: auto; }\n"
        "table { border-collapse: collapse; width: 100%; font-size: 14px; }\n"
        "th { text-align: left; color: var(--soft); font-weight: 600; }\n"
        "th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }\n"
        "td.wide { white-space: normal; width: 100%; overflow-wrap: anywhere; font-family: ui-monospace, monospace; font-size: 13px; }\n"
        "td.wide em { display: block; font-style: normal; color: var(--soft); }\n"
        "td.number { text-align: right; font-variant-numeric: tabular-nums; }\n"
        ".chain { border-left: 6px solid var(--ok); } .chain.broken { border-left-color: var(--refused); }\n"
        "pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; }\n"
        "</style>\n"
        "</head>\n"
        "<body>\n"
        "<main>\n"
        "<h1>What was run</h1>\n";

/* ---- beginning ------------------------------------------------------------------------------------------ */

static void add_range(struct text *html, const struct audit_jobs *jobs)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        text_add(html, "<p class=\"soft\">");
        if (jobs->count) {
                add_time(html, jobs->items[0].time);
                text_add(html, " to ");
                add_time(html, jobs->items[jobs->count - 1].time);
                text_add(html, ", UTC; ");
        }
        text_add(html, "made ");
        add_time(html, (int64_t)now.tv_sec * 1000000);
        text_add(html, " by abatis ");
        html_add(html, abatis_version());
        text_add(html, "</p>\n");
}

static void add_tile(struct text *html, const char *class, const char *value, const char *name)
{
        text_addf(html, "<div class=\"tile %s\"><b>%s</b><span>%s</span></div>\n", class, value, name);
}

static void add_number_tile(struct text *html, const char *class, uint64_t number, const char *name)
{
        char value[24];

        snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
        add_tile(html, class, value, name);
}

static void add_duration_tile(struct text *html, double milliseconds, const char *name)
{
        struct text value = { 0 };

        add_duration(&value, milliseconds);
        add_tile(html, "", value.data ? value.data : "", name);
        html->has_failed |= value.has_failed;
        text_done(&value);
}

static void add_tiles(struct text *html, const struct audit_stats *stats)
{
        text_add(html, "<div class=\"tiles\">\n");
        add_number_tile(html, "", stats->total, stats->total == 1 ? "job" : "jobs");
        for (int i = 0; i < VERDICT_COUNT; i++)
                if (stats->by_verdict[i] || i == VERDICT_OK || i == VERDICT_REFUSED)
                        add_number_tile(html, verdict_name((enum audit_verdict)i), stats->by_verdict[i],
                                        verdict_name((enum audit_verdict)i));
        if (stats->finished) {
                add_duration_tile(html, stats->median, "median");
                add_duration_tile(html, stats->p99, "99th percentile");
        }
        text_add(html, "</div>\n");
}

static int add_chain(struct text *html, const char *file, abatis_error *err)
{
        OWN_FREE char *said = NULL;
        int faults = 0, r = audit_verify(file, &said, &faults, err);

        if (r < 0)
                return r;
        text_addf(html, "<section class=\"chain%s\">\n<h2>%s</h2>\n<pre>", faults ? " broken" : "",
                  faults ? "The log was changed" : "The log is as it was written");
        html_add(html, said);
        text_add(html, "</pre>\n</section>\n");
        return 0;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static void add_row(struct text *html, const struct audit_job *job)
{
        const char *verdict = verdict_name(job->verdict);

        text_add(html, "<tr><td>");
        add_time(html, job->time);
        text_addf(html, "</td><td><i class=\"%s\"></i>%s</td><td class=\"number\">", verdict, verdict);
        if (job->has_finished && job->has_signal)
                text_addf(html, "signal %d", job->signal);
        else if (job->has_finished)
                text_addf(html, "%d", job->exit_code);
        text_add(html, "</td><td class=\"number\">");
        if (job->has_finished)
                add_duration(html, job->duration_ms);
        text_add(html, "</td><td class=\"wide\">");
        html_add(html, job->command ? job->command : "");
        if (job->error) {
                text_add(html, "<em>");
                html_add(html, job->error);
                text_add(html, "</em>");
        }
        text_add(html, "</td></tr>\n");
}

static void begin_table(struct text *html, const char *title)
{
        text_addf(html,
                  "<section>\n<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>"
                  "<th scope=\"col\">Time (UTC)</th><th scope=\"col\">Verdict</th><th scope=\"col\">Exit</th>"
                  "<th scope=\"col\">Duration</th><th scope=\"col\">Command</th></tr></thead>\n<tbody>\n",
                  title);
}

static void end_table(struct text *html)
{
        text_add(html, "</tbody></table></div>\n</section>\n");
}

static void add_tables(struct text *html, const struct audit_jobs *jobs, const struct audit_stats *stats)
{
        size_t shown = jobs->count < LAST_SHOWN ? jobs->count : LAST_SHOWN;

        if (stats->slowest[0]) {
                begin_table(html, "Slowest");
                for (int i = 0; i < STATS_SLOWEST && stats->slowest[i]; i++)
                        add_row(html, stats->slowest[i]);
                end_table(html);
        }
        if (!shown)
                return;
        begin_table(html, "Last");
        for (size_t i = 0; i < shown; i++)
                add_row(html, &jobs->items[jobs->count - 1 - i]);
        end_table(html);
}

/* ---- charts --------------------------------------------------------------------------------------------- */

static void add_tally_section(struct text *html, const char *id, const char *title,
                              const struct tally *tallies, size_t count)
{
        if (!count)
                return;
        text_addf(html, "<section>\n<h2>%s</h2>\n", title);
        chart_add_tallies(html, id, title, tallies, count);
        text_add(html, "</section>\n");
}

static void add_charts(struct text *html, const struct audit_jobs *jobs, const struct audit_stats *stats)
{
        if (!jobs->count) {
                text_add(html, "<section><h2>Nothing was run</h2></section>\n");
                return;
        }
        text_add(html, "<section>\n<h2>Runs</h2>\n<ul class=\"key\">");
        for (int i = 0; i < VERDICT_COUNT; i++)
                if (stats->by_verdict[i])
                        text_addf(html, "<li><i class=\"%s\"></i>%s</li>",
                                  verdict_name((enum audit_verdict)i), verdict_name((enum audit_verdict)i));
        text_add(html, "</ul>\n");
        chart_add_runs(html, jobs);
        text_add(html, "</section>\n");
        add_tally_section(html, "refusals", "Refused because", stats->errors, stats->error_count);
        add_tally_section(html, "limits", "Limits hit", stats->limits, stats->limit_count);
        if (stats->finished) {
                text_add(html, "<section>\n<h2>Durations</h2>\n");
                chart_add_durations(html, jobs);
                text_add(html, "</section>\n");
        }
        add_tally_section(html, "programs", "Programs", stats->programs, stats->program_count);
}

int audit_report(const abatis_audit_query *query, char **out, abatis_error *err)
{
        OWN_JOBS struct audit_jobs jobs = { 0 };
        OWN_STATS struct audit_stats stats = { 0 };
        OWN_TEXT struct text html = { 0 };
        int r = jobs_read(query, &jobs, err);

        if (!r)
                r = stats_make(&jobs, &stats, err);
        if (r < 0)
                return r;
        text_add(&html, page_head);
        add_range(&html, &jobs);
        add_tiles(&html, &stats);
        r = add_chain(&html, query->file, err);
        if (r < 0)
                return r;
        add_charts(&html, &jobs, &stats);
        add_tables(&html, &jobs, &stats);
        if (jobs.bad.length) {
                text_add(&html, "<section>\n<h2>Lines that are no records</h2>\n<pre>");
                html_add(&html, jobs.bad.data);
                text_add(&html, "</pre>\n</section>\n");
        }
        text_add(&html, "</main>\n</body>\n</html>\n");
        return text_take(&html, out, err);
}
