/* chart.h: charts for the report: SVG inside of HTML, coloured by the page's style. */
#ifndef AUDIT_CHART_H
#define AUDIT_CHART_H

#include "audit/jobs.h"
#include "audit/stats.h"
#include "base/text.h"

/* Text that HTML takes for nothing but text, in elements and in attributes. */
void html_add(struct text *html, const char *string);

/* Jobs over time, stacked by verdict. */
void chart_add_runs(struct text *html, const struct audit_jobs *jobs);
/* How many jobs took how long. */
void chart_add_durations(struct text *html, const struct audit_jobs *jobs);
/* A bar for each of the first names. `id` names the chart within the page. */
void chart_add_tallies(struct text *html, const char *id, const char *title, const struct tally *tallies,
                       size_t count);

#endif
