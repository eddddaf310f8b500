/* chart.c: charts for the report: SVG inside of HTML, coloured by the page's style. */
#include "audit/chart.h"

#include <stdio.h>
#include <string.h>

#include "audit/record.h"

enum {
        WIDTH = 960,
        HEIGHT = 220,
        LEFT = 48,
        TOP = 12,
        PLOT_WIDTH = WIDTH - LEFT - 8,
        PLOT_HEIGHT = HEIGHT - TOP - 34,
        BUCKETS_MAX = 60,
        TALLIES_MAX = 8,
        ROW = 30,
        LABEL_WIDTH = 130,
};

void html_add(struct text *html, const char *string)
{
        for (; *string; string++)
                switch (*string) {
                case '&':
                        text_add(html, "&amp;");
                        break;
                case '<':
                        text_add(html, "&lt;");
                        break;
                case '>':
                        text_add(html, "&gt;");
                        break;
                case '"':
                        text_add(html, "&quot;");
                        break;
                case '\'':
                        text_add(html, "&#39;");
                        break;
                default:
                        text_add_bytes(html, string, 1);
                }
}

static void begin(struct text *html, const char *id, const char *title, int height)
{
        text_addf(
                html,
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title\"><title id=\"%s-title\">",
                WIDTH, height, id, id);
        html_add(html, title);
        text_add(html, "</title>\n");
}

static void add_label(struct text *html, double x, double y, const char *anchor, const char *label)
{
        text_addf(html, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
        html_add(html, label);
        text_add(html, "</text>\n");
}

/* A line at the foot, at the top, and half-way if that is a whole number. */
static void add_scale(struct text *html, uint64_t most)
{
        for (int i = 0; i < 3; i++) {
                uint64_t value = i == 0 ? 0 : i == 1 ? most : most / 2;
                double y = TOP + PLOT_HEIGHT - (double)PLOT_HEIGHT * (double)value / (double)most;
                char number[24];

                if (i == 2 && (most % 2 || most < 4))
                        continue;
                snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
                text_addf(html, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                          LEFT + PLOT_WIDTH, y, y);
                add_label(html, LEFT - 8, y + 4, "end", number);
        }
}

/* ---- over time ------------------------------------------------------------------------------------------ */

struct buckets {
        int64_t start, span; /* microseconds */
        size_t count;
        uint64_t counts[BUCKETS_MAX][VERDICT_COUNT], most;
};

static void make_buckets(const struct audit_jobs *jobs, struct buckets *out)
{
        static const int64_t seconds[] = { 60,    300,   900,    3600,    3 * 3600,
                                           21600, 86400, 604800, 2592000, 31536000 };
        int64_t first = jobs->items[0].time, last = jobs->items[jobs->count - 1].time;

        *out = (struct buckets){ 0 };
        for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
                out->span = seconds[i] * 1000000;
                out->start = first / out->span * out->span;
                if ((last - out->start) / out->span < BUCKETS_MAX)
                        break;
        }
        if ((last - out->start) / out->span >= BUCKETS_MAX)
                out->span = (last - out->start) / BUCKETS_MAX + 1;
        out->count = (size_t)((last - out->start) / out->span) + 1;
        for (size_t i = 0; i < jobs->count; i++) {
                size_t at = (size_t)((jobs->items[i].time - out->start) / out->span);
                uint64_t sum = 0;

                out->counts[at][jobs->items[i].verdict]++;
                for (int j = 0; j < VERDICT_COUNT; j++)
                        sum += out->counts[at][j];
                if (sum > out->most)
                        out->most = sum;
        }
}

static void add_bucket(struct text *html, const struct buckets *buckets, size_t at)
{
        double step = (double)PLOT_WIDTH / (double)buckets->count, y = TOP + PLOT_HEIGHT;
        double width = step > 44 ? 40 : step * 0.86, x = LEFT + step * (double)at + (step - width) / 2;
        uint64_t sum = 0;

        for (int i = 0; i < VERDICT_COUNT; i++)
                sum += buckets->counts[at][i];
        if (!sum)
                return;
        text_add(html, "<g><title>");
        add_time(html, buckets->start + buckets->span * (int64_t)at);
        for (int i = 0; i < VERDICT_COUNT; i++)
                if (buckets->counts[at][i])
                        text_addf(html, ", %llu %s", (unsigned long long)buckets->counts[at][i],
                                  verdict_name((enum audit_verdict)i));
        text_add(html, "</title>");
        for (int i = 0; i < VERDICT_COUNT; i++) {
                double height = (double)PLOT_HEIGHT * (double)buckets->counts[at][i] / (double)buckets->most;

                if (!buckets->counts[at][i])
                        continue;
                y -= height;
                text_addf(html, "<rect class=\"%s\" x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\"/>",
                          verdict_name((enum audit_verdict)i), x, y, width, height);
        }
        text_add(html, "</g>\n");
}

void chart_add_runs(struct text *html, const struct audit_jobs *jobs)
{
        /* At the ends of the axis a label must not leave the picture. */
        static const char *const anchors[] = { "start", "middle", "end" };
        struct buckets buckets;
        size_t labels, step;

        if (!jobs->count)
                return;
        make_buckets(jobs, &buckets);
        begin(html, "runs", "Jobs over time, by verdict", HEIGHT);
        add_scale(html, buckets.most);
        for (size_t i = 0; i < buckets.count; i++)
                add_bucket(html, &buckets, i);
        labels = buckets.count < 5 ? buckets.count : 5;
        step = labels > 1 ? (buckets.count - 1) / (labels - 1) : 1;
        for (size_t i = 0; i < labels; i++) {
                char time[RECORD_TIME_SIZE];
                double width = (double)PLOT_WIDTH / (double)buckets.count;

                record_format_time(buckets.start + buckets.span * (int64_t)(i * step), time);
                time[10] = ' ';
                time[buckets.span >= INT64_C(86400) * 1000000 ? 10 : 16] = '\0';
                add_label(html, LEFT + width * ((double)(i * step) + 0.5), HEIGHT - 12,
                          width > LABEL_WIDTH ? "middle" : anchors[i + 1 == labels ? 2 : i > 0], time);
        }
        text_add(html, "</svg>\n");
}

/* ---- durations ------------------------------------------------------------------------------------------ */

void chart_add_durations(struct text *html, const struct audit_jobs *jobs)
{
        static const struct {
                double below;
                const char *name;
        } steps[] = {
                { 1, "< 1 ms" },      { 3, "1–3 ms" },      { 10, "3–10 ms" },    { 30, "10–30 ms" },
                { 100, "30–100 ms" }, { 300, "0.1–0.3 s" }, { 1000, "0.3–1 s" },  { 3000, "1–3 s" },
                { 10000, "3–10 s" },  { 60000, "10–60 s" }, { 1e300, "> 1 min" },
        };
        enum { COUNT = sizeof(steps) / sizeof(*steps) };
        uint64_t counts[COUNT] = { 0 }, most = 0;
        double step = (double)PLOT_WIDTH / COUNT;

        for (size_t i = 0; i < jobs->count; i++) {
                int at = 0;

                if (!jobs->items[i].has_finished)
                        continue;
                while (at < COUNT - 1 && jobs->items[i].duration_ms >= steps[at].below)
                        at++;
                if (++counts[at] > most)
                        most = counts[at];
        }
        if (!most)
                return;
        begin(html, "durations", "How long jobs took", HEIGHT);
        add_scale(html, most);
        for (int i = 0; i < COUNT; i++) {
                double height = (double)PLOT_HEIGHT * (double)counts[i] / (double)most;

                text_add(html, "<g><title>");
                html_add(html, steps[i].name);
                text_addf(html, ": %llu</title>", (unsigned long long)counts[i]);
                text_addf(
                        html,
                        "<rect class=\"plain\" x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\"/></g>\n",
                        LEFT + step * i + step * 0.1, TOP + PLOT_HEIGHT - height, step * 0.8, height);
                add_label(html, LEFT + step * (i + 0.5), HEIGHT - 12, "middle", steps[i].name);
        }
        text_add(html, "</svg>\n");
}

/* ---- names ---------------------------------------------------------------------------------------------- */

void chart_add_tallies(struct text *html, const char *id, const char *title, const struct tally *tallies,
                       size_t count)
{
        size_t shown = count < TALLIES_MAX ? count : TALLIES_MAX;

        if (!shown)
                return;
        begin(html, id, title, (int)shown * ROW + 4);
        for (size_t i = 0; i < shown; i++) {
                double y = (double)(i * ROW) + 2,
                       width = 300.0 * (double)tallies[i].count / (double)tallies[0].count;
                struct text name = { 0 };
                char number[24];

                snprintf(number, sizeof(number), "%llu", (unsigned long long)tallies[i].count);
                /* An image has no line breaks: the whole of a long name is in its title. */
                text_add_bytes(&name, tallies[i].name,
                               text_utf8_prefix(tallies[i].name, strnlen(tallies[i].name, 76)));
                if (strlen(tallies[i].name) > 76)
                        text_add(&name, "…");
                text_add(html, "<g><title>");
                html_add(html, tallies[i].name);
                text_addf(
                        html,
                        ": %llu</title><rect class=\"plain\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                        (unsigned long long)tallies[i].count, LEFT, y, width < 2 ? 2 : width, ROW - 8);
                add_label(html, LEFT - 8, y + 16, "end", number);
                add_label(html, LEFT + (width < 2 ? 2 : width) + 8, y + 16, "start",
                          name.data ? name.data : "");
                text_add(html, "</g>\n");
                html->has_failed |= name.has_failed;
                text_done(&name);
        }
        text_add(html, "</svg>\n");
        if (count > shown)
                text_addf(html, "<p class=\"more\">and %zu more</p>\n", count - shown);
}
